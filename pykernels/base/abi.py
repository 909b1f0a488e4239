"""Declare the two C ABIs of ``cpp_defs/include/pykernels`` as ctypes structures; encode and decode attributes."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from enum import IntEnum, IntFlag
from typing import Any

DEFINITION_ABI = 1
KERNEL_ABI = 4
MAX_NDIM = 20
DETAIL_SIZE = 2 + MAX_NDIM
SCALAR_IS_TRAIN = -1
#: Size of the buffer that callers provide for an error text, in bytes.
ERROR_SIZE = 8192


class AttrType(IntEnum):
    """Attribute types; the numbers are those of OneFlow's ``AttrType``."""

    INT32 = 1
    INT64 = 2
    BOOL = 3
    FLOAT = 4
    DOUBLE = 5
    STRING = 6
    SHAPE = 7
    DTYPE = 8
    LIST_INT32 = 9
    LIST_INT64 = 10
    LIST_FLOAT = 11
    LIST_DTYPE = 12
    LIST_SHAPE = 13
    LIST_STRING = 14


class OpFlag(IntFlag):
    """``pk_op_flags``."""

    INFERS_SHAPE = 1
    INFERS_DTYPE = 2
    HAS_SBP = 4
    NO_GRADIENT = 8
    CPU_ONLY = 16
    INFERS_INPUTS = 32


class KernelFlag(IntFlag):
    """``pk_kernel_flags``."""

    PYTHON = 1
    ELEMENTWISE = 2
    ITERATIONS = 4


class Status(IntEnum):
    """``pk_status``."""

    OK = 0
    RAISED = 1
    WRONG_SHAPE = 2


class Attr(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("type", c_int32),
        ("count", c_int32),
        ("integer", c_int64),
        ("real", c_double),
        ("text", c_char_p),
        ("integers", POINTER(c_int64)),
        ("reals", POINTER(c_double)),
        ("texts", POINTER(c_char_p)),
    ]


class Argument(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("count", c_int32),
        ("variadic", c_int32),
        ("optional", c_int32),
        ("is_mutable", c_int32),
    ]


class Attribute(ctypes.Structure):
    _fields_ = [("initial", Attr), ("has_default", c_int32)]


class Op(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("file", c_char_p),
        ("line", c_int32),
        ("flags", c_uint32),
        ("n_inputs", c_int32),
        ("n_outputs", c_int32),
        ("n_attributes", c_int32),
        ("inputs", POINTER(Argument)),
        ("outputs", POINTER(Argument)),
        ("attributes", POINTER(Attribute)),
    ]


class Gradient(ctypes.Structure):
    _fields_ = [("op", c_char_p), ("file", c_char_p), ("line", c_int32)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("argument", c_char_p),
        ("index", c_int32),
        ("dtype", c_int32),
        ("ndim", c_int32),
        ("is_dynamic", c_int32),
        ("dims", c_int64 * MAX_NDIM),
    ]


class Instance(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("n_inputs", c_int32),
        ("n_outputs", c_int32),
        ("n_attrs", c_int32),
        ("inputs", POINTER(Tensor)),
        ("outputs", POINTER(Tensor)),
        ("attrs", POINTER(Attr)),
        ("parallel_num", c_int64),
    ]


_PlanOp = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
_PlanInput = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
_PlanOutput = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_int32)
_PlanAttribute = ctypes.CFUNCTYPE(None, c_void_p, POINTER(Attr))
_PlanBind = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_int32, c_char_p)
_PlanNote = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class PlanSink(ctypes.Structure):
    _fields_ = [
        ("user", c_void_p),
        ("op", _PlanOp),
        ("input", _PlanInput),
        ("output", _PlanOutput),
        ("attribute", _PlanAttribute),
        ("bind", _PlanBind),
        ("note", _PlanNote),
    ]


SbpSink = ctypes.CFUNCTYPE(None, c_void_p, c_int32, c_char_p, c_int32, c_int32, c_int64)
# Error buffers are plain addresses here, because a callback must be able to write into them.
InferFn = ctypes.CFUNCTYPE(c_int32, c_int32, POINTER(Instance), c_void_p, c_size_t)
GradientFn = ctypes.CFUNCTYPE(c_int32, c_int32, POINTER(Instance), POINTER(PlanSink), c_void_p, c_size_t)
SbpFn = ctypes.CFUNCTYPE(c_int32, c_int32, POINTER(Instance), SbpSink, c_void_p, c_void_p, c_size_t)


class Definition(ctypes.Structure):
    _fields_ = [
        ("abi", c_uint32),
        ("n_ops", c_int32),
        ("n_gradients", c_int32),
        ("ops", POINTER(Op)),
        ("gradients", POINTER(Gradient)),
        ("infer", InferFn),
        ("gradient", GradientFn),
        ("sbp", SbpFn),
    ]


class Kernel(ctypes.Structure):
    _fields_ = [
        ("run", c_void_p),
        ("flags", c_uint32),
        ("n_scalars", c_int32),
        ("scalars", POINTER(c_int32)),
        ("ranks", POINTER(c_int32)),
    ]


KernelFn = ctypes.CFUNCTYPE(
    c_int32, POINTER(Kernel), POINTER(c_void_p), POINTER(c_int64), c_void_p, c_int64, c_int64, POINTER(c_int64)
)

# A callback cannot return a pointer to a structure, so `resolve` returns its address.
ResolveFn = ctypes.CFUNCTYPE(c_void_p, c_int64, POINTER(Instance), c_void_p, c_size_t)
ExplainFn = ctypes.CFUNCTYPE(
    None,
    POINTER(Kernel),
    POINTER(Instance),
    c_int32,
    POINTER(c_void_p),
    POINTER(c_int64),
    c_void_p,
    POINTER(c_int64),
    c_void_p,
    c_size_t,
)


class Services(ctypes.Structure):
    _fields_ = [("resolve", ResolveFn), ("explain", ExplainFn)]


_INTEGERS = {AttrType.INT32, AttrType.INT64, AttrType.BOOL, AttrType.DTYPE}
_REALS = {AttrType.FLOAT, AttrType.DOUBLE}
_INTEGER_LISTS = {AttrType.SHAPE, AttrType.LIST_INT32, AttrType.LIST_INT64, AttrType.LIST_DTYPE}


def encode_attr(name: str, type_: AttrType, value: Any) -> Attr:
    """Return an ``Attr`` that holds `value`, as `decode_attr` returns it, and keeps alive what it points to."""
    attr = Attr(name=name.encode(), type=type_, count=1)
    if type_ in _INTEGERS:
        attr.integer = int(value)
    elif type_ in _REALS:
        attr.real = float(value)
    elif type_ is AttrType.STRING:
        attr.text = value.encode()
    else:
        attr.count = len(value)
        if type_ is AttrType.LIST_FLOAT:
            attr.reals = (c_double * max(1, len(value)))(*value)
        elif type_ is AttrType.LIST_STRING:
            attr.texts = (c_char_p * max(1, len(value)))(*(v.encode() for v in value))
        else:
            flat = value if type_ in _INTEGER_LISTS else [n for shape in value for n in (len(shape), *shape)]
            attr.integers = (c_int64 * max(1, len(flat)))(*flat)
    return attr


def decode_attr(attr: Attr) -> Any:
    """Return the value of an ``Attr``: int (OneFlow's number for a dtype), float, bool, str, or a tuple for lists."""
    type_ = AttrType(attr.type)
    if type_ is AttrType.BOOL:
        return bool(attr.integer)
    if type_ in _INTEGERS:
        return int(attr.integer)
    if type_ in _REALS:
        return float(attr.real)
    if type_ is AttrType.STRING:
        return attr.text.decode()
    if type_ is AttrType.LIST_FLOAT:
        return tuple(attr.reals[: attr.count])
    if type_ is AttrType.LIST_STRING:
        return tuple(attr.texts[i].decode() for i in range(attr.count))
    if type_ in _INTEGER_LISTS:
        return tuple(attr.integers[: attr.count])
    shapes, at = [], 0
    for _ in range(attr.count):
        ndim = attr.integers[at]
        shapes.append(tuple(attr.integers[at + 1 : at + 1 + ndim]))
        at += 1 + ndim
    return tuple(shapes)
