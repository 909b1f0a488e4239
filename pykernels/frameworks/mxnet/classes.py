"""Register classes written for ``mx.operator.register`` in MXNet through the native registrar."""

from __future__ import annotations

import ctypes
import functools
import importlib
import itertools
from collections.abc import Callable
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from typing import Any

from pykernels.base import callbacks
from pykernels.base.errors import DefinitionError
from pykernels.frameworks.mxnet import input_errors, names, plugin
from pykernels.frameworks.mxnet.class_errors import RegisteredClass
from pykernels.frameworks.mxnet.class_operator import ClassOperator
from pykernels.frameworks.mxnet.class_property import MAX_DIMS, ClassProperty

_METHODS = (
    "list_arguments",
    "list_outputs",
    "list_auxiliary_states",
    "infer_shape",
    "infer_type",
    "infer_storage_type",
    "infer_storage_type_backward",
    "declare_backward_dependency",
    "create_operator",
)


class _Property(ctypes.Structure):
    """``PythonProperty`` of the registrar."""

    _fields_ = [
        ("id", c_int64),
        ("arguments", c_void_p),
        ("outputs", c_void_p),
        ("states", c_void_p),
        ("dependencies", c_void_p),
        ("n_dependencies", c_int32),
    ]


class _Operator(ctypes.Structure):
    """``PythonOperator`` of the registrar."""

    _fields_ = [("id", c_int64), ("unassigned", c_char_p)]


def _function(*arguments: Any) -> Any:
    return ctypes.CFUNCTYPE(c_int32, *arguments, c_void_p, c_size_t)


class _Functions(ctypes.Structure):
    """``PythonFunctions`` of the registrar."""

    _fields_ = [
        ("create_property", _function(c_char_p, c_int32, POINTER(c_char_p), POINTER(c_char_p), POINTER(_Property))),
        ("infer_shape", _function(c_int64, c_int32, POINTER(c_int), POINTER(POINTER(c_int)), POINTER(c_int))),
        ("infer_type", _function(c_int64, c_int32, POINTER(c_int))),
        ("infer_storage_type", _function(c_int64, c_int32, POINTER(c_int))),
        ("infer_backward_storage_type", _function(c_int64, c_int32, POINTER(c_int), POINTER(c_int))),
        (
            "create_operator",
            _function(
                c_int64,
                c_char_p,
                c_int32,
                POINTER(POINTER(ctypes.c_uint)),
                POINTER(c_int),
                POINTER(c_int),
                POINTER(_Operator),
            ),
        ),
        (
            "run",
            _function(
                c_int64, c_int32, c_int32, POINTER(c_void_p), POINTER(c_int), POINTER(c_int), c_int32, POINTER(c_int32)
            ),
        ),
    ]


_classes: dict[str, RegisteredClass] = {}
# Objects that MXNet uses, by number, kept until MXNet releases them.
_live: dict[int, Any] = {}
_numbers = itertools.count(1)


def register(name: str, cls: type, where: str) -> None:
    """Register a class as the operator `name`; errors name the place `where`. Raises as `pykernels.register`."""
    missing = [method for method in _METHODS if not callable(getattr(cls, method, None))]
    if not isinstance(cls, type) or missing:
        raise DefinitionError(
            f"{where}: {name!r} is registered with {cls!r}, which is not a subclass of mx.operator.CustomOpProp"
            f"{f' (it has no {missing[0]})' if isinstance(cls, type) else ''}"
        )
    registrar = _registrar()
    # As in MXNet, the semantics in force now decide between NDArrays and mx.np arrays.
    _classes[name] = RegisteredClass(name, cls, where, importlib.import_module("mxnet.util").is_np_array())
    registrar.register_class(name, is_others=names.is_of_mxnet(name))
    names.give(name, cls, where)
    input_errors.explain(name)


@functools.lru_cache(maxsize=1)
def _registrar() -> Any:
    registrar = plugin.registrar()
    callables: tuple[Callable[..., None], ...] = (
        _create_property,
        _infer_shape,
        _infer_type,
        _infer_storage_type,
        _infer_backward_storage_type,
        _create_operator,
        _run,
    )
    fields = [type_ for _, type_ in _Functions._fields_]  # type: ignore[misc]
    functions = [type_(_reporting(function)) for type_, function in zip(fields, callables, strict=True)]
    registrar.init_classes(_Functions(*functions))
    return registrar


def _reporting(function: Callable[..., None]) -> Callable[..., int]:
    def report(*arguments: Any) -> int:
        *given, error, size = arguments
        return callbacks.answer(lambda: function(*given), error, size, "pykernels failed: ")

    return report


def _keep(value: Any) -> int:
    """Keep an object for MXNet under a new number, and release the objects that MXNet has retired."""
    for retired in iter(_registrar().next_retired, 0):
        _live.pop(retired, None)
    number = next(_numbers)
    _live[number] = value
    return number


def _create_property(name: bytes, n: int, keys: Any, values: Any, made: Any) -> None:
    attributes = {keys[i].decode(): values[i].decode() for i in range(n)}
    # Attributes such as __ctx_group__ belong to the graph, not to the operator.
    own = {key: value for key, value in attributes.items() if not (key.startswith("__") and key.endswith("__"))}
    prop = ClassProperty(_classes[name.decode()], own)
    lists = [ctypes.cast(each, c_void_p).value for each in (*prop.lists, prop.c_dependencies)]
    made[0] = _Property(_keep(prop), *lists, len(prop.dependencies))


def _infer_shape(number: int, n: int, ndims: Any, shapes: Any, dims: Any) -> None:
    prop = _live[number]
    given = [[shapes[i][axis] for axis in range(ndims[i])] for i in range(len(prop.arguments))]
    is_unknown = [ndims[i] < 0 for i in range(len(given))]
    inferred = prop.infer_shape(given)
    legacy = not importlib.import_module("mxnet.util").is_np_shape()
    for i, shape in enumerate(inferred):
        # MXNet does not accept an unknown rank here: it reads a rank of 0 as a known rank.
        if legacy and not shape and i < len(given) and is_unknown[i]:
            op, method = prop.registered, prop.registered.cls.infer_shape
            raise op.wrong(method, f"leaves the shape of '{prop.arguments[i]}' unknown; give it in the graph")
        ndims[i] = len(shape)
        for axis, dim in enumerate(shape):
            dims[i * MAX_DIMS + axis] = dim


def _infer_type(number: int, n: int, types: Any) -> None:
    prop = _live[number]
    for i, type_ in enumerate(prop.infer_type(types[: len(prop.arguments)])):
        types[i] = type_


def _infer_storage_type(number: int, n: int, storages: Any) -> None:
    prop = _live[number]
    for i, storage in enumerate(prop.infer_storage_type(storages[: len(prop.arguments)])):
        storages[i] = storage


def _infer_backward_storage_type(number: int, n: int, storages: Any, tags: Any) -> None:
    prop = _live[number]
    for i, storage in enumerate(prop.infer_backward_storage_type(storages[:n], tags[:n])):
        storages[i] = storage


def _create_operator(number: int, text: bytes, n: int, shapes: Any, ndims: Any, types: Any, made: Any) -> None:
    prop = _live[number]
    device, _, device_id = text.decode().rstrip(")").partition("(")
    context = _context_class()(device, int(device_id))
    in_shapes = [[shapes[i][axis] for axis in range(ndims[i])] for i in range(n)]
    op = ClassOperator(prop, prop.create_operator(context, in_shapes, types[:n]), context)
    made[0] = _Operator(_keep(op), op.unassigned)


@functools.cache
def _context_class() -> Any:
    return importlib.import_module("mxnet.context").Context


def _run(number: int, backward: int, n: int, handles: Any, tags: Any, requests: Any, is_train: int, taken: Any) -> None:
    _live[number].run(bool(backward), handles[:n], tags[:n], requests, bool(is_train), taken)
