"""The tables of a library as C++ source: its ops, and what each kernel was compiled for (``registry/library``)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pykernels.base import abi
from pykernels.define.definition import OpDef
from pykernels.tools.ship.kernels import LibraryKernel

__all__ = ["LibraryOp", "definition_symbol", "kernel_symbol", "tables", "text"]


@dataclass(frozen=True, eq=False)
class LibraryOp:
    """An op type of a library.

    Attributes
    ----------
    op : OpDef
    definition : int
        Which of the library's definitions it belongs to.
    domain, name : str
        What its nodes are called.
    where : str
        File and line of its kernel.
    dtypes : sequence of sequence of int
        As ``onnx.node_dtypes`` finds them.
    """

    op: OpDef
    definition: int
    domain: str
    name: str
    where: str
    dtypes: Sequence[Sequence[int]]


def definition_symbol(number: int) -> str:
    """What the function of a definition is called in a library."""
    return f"pk_library_definition_{number}"


def kernel_symbol(number: int) -> str:
    """What a kernel's function is called in a library."""
    return f"pk_library_kernel_{number}"


def tables(ops: Sequence[LibraryOp], kernels: Sequence[LibraryKernel]) -> str:
    """The source; the numbers of symbols are positions in the arguments."""
    return "\n".join(_lines(ops, kernels)) + "\n"


def _lines(ops: Sequence[LibraryOp], kernels: Sequence[LibraryKernel]) -> Iterator[str]:
    yield '#include "library/library.h"'
    yield 'extern "C" {'
    for number in sorted({op.definition for op in ops}):
        yield f"const pk_definition* {definition_symbol(number)}(char*, size_t);"
    for number in range(len(kernels)):
        arguments = "const pk_kernel*, void* const*, const int64_t*, const pk_scalar*, int64_t, int64_t, int64_t*"
        yield f"int32_t {kernel_symbol(number)}({arguments});"
    yield "}"
    yield "namespace pykernels::library {"
    yield "namespace {"
    for number, op in enumerate(ops):
        yield from _array("int32_t", f"dtypes_{number}", [str(dtype) for row in op.dtypes for dtype in row])
    for number, kernel in enumerate(kernels):
        yield from _kernel_arrays(number, kernel)
    yield "}"
    yield f"const int32_t n_ops = {len(ops)};"
    yield from _array("OpEntry", "ops", [_op_entry(number, op) for number, op in enumerate(ops)])
    numbers = {op.op: number for number, op in enumerate(ops)}
    yield f"const int32_t n_kernels = {len(kernels)};"
    entries = [_kernel_entry(number, numbers[kernel.op], kernel) for number, kernel in enumerate(kernels)]
    yield from _array("KernelEntry", "kernels", entries)
    yield "}"


def _array(type_: str, name: str, items: Sequence[str]) -> Iterator[str]:
    yield f"const {type_} {name}[] = {{"
    yield from (f"    {item}," for item in items or ["{}"])
    yield "};"


def _op_entry(number: int, op: LibraryOp) -> str:
    texts = ", ".join(map(text, (op.domain, op.name, op.where)))
    return f"{{{definition_symbol(op.definition)}, {op.op.index}, {texts}, {len(op.dtypes)}, dtypes_{number}}}"


def _kernel_entry(number: int, op: int, kernel: LibraryKernel) -> str:
    instance = kernel.instance
    parts = [
        *(op, kernel_symbol(number), kernel.flags, instance.n_inputs, instance.n_outputs, f"tensors_{number}"),
        *(len(kernel.signature.scalars), f"scalars_{number}"),
        *(len(kernel.signature.constants), f"constants_{number}"),
    ]
    return f"{{{', '.join(map(str, parts))}}}"


def _kernel_arrays(number: int, kernel: LibraryKernel) -> Iterator[str]:
    instance = kernel.instance
    tensors = [*instance.inputs[: instance.n_inputs], *instance.outputs[: instance.n_outputs]]
    yield from _array(
        "TensorEntry",
        f"tensors_{number}",
        [
            f"{{{text(t.argument.decode())}, {t.index}, {t.dtype}, {-1 if kernel.any_rank else t.ndim}}}"
            for t in tensors
        ],
    )
    yield from _array("int32_t", f"scalars_{number}", [str(position) for _, position in kernel.signature.scalars])
    constants = {name for name, _ in kernel.signature.constants}
    attrs = [attr for attr in instance.attrs[: instance.n_attrs] if attr.name.decode() in constants]
    for at, attr in enumerate(attrs):
        yield from _attr_arrays(f"constant_{number}_{at}", attr)
    yield from _array(
        "pk_attr", f"constants_{number}", [_attr(f"constant_{number}_{i}", a) for i, a in enumerate(attrs)]
    )


def _attr_arrays(name: str, attr: abi.Attr) -> Iterator[str]:
    value = abi.decode_attr(attr)
    if attr.type == abi.AttrType.LIST_FLOAT:
        yield from _array("double", f"{name}_reals", [float(v).hex() for v in value])
    elif attr.type == abi.AttrType.LIST_STRING:
        yield from _array("char* const", f"{name}_texts", [text(v) for v in value])
    elif isinstance(value, tuple):
        flat = value if attr.type != abi.AttrType.LIST_SHAPE else [n for shape in value for n in (len(shape), *shape)]
        yield from _array("int64_t", f"{name}_integers", [str(v) for v in flat])


def _attr(name: str, attr: abi.Attr) -> str:
    value = abi.decode_attr(attr)
    is_list = isinstance(value, tuple)
    pointers = {
        "integers": is_list and attr.type not in (abi.AttrType.LIST_FLOAT, abi.AttrType.LIST_STRING),
        "reals": attr.type == abi.AttrType.LIST_FLOAT,
        "texts": attr.type == abi.AttrType.LIST_STRING,
    }
    string = text(value) if attr.type == abi.AttrType.STRING else "nullptr"
    arrays = ", ".join(f"{name}_{kind}" if used else "nullptr" for kind, used in pointers.items())
    number = int(attr.integer)
    return f"{{{text(attr.name.decode())}, {attr.type}, {attr.count}, {number}, {attr.real!r}, {string}, {arrays}}}"


def text(value: str) -> str:
    """A string literal of C and C++."""
    if value.isascii() and value.isprintable():
        return json.dumps(value)
    return '"' + "".join(f"\\{byte:03o}" for byte in value.encode()) + '"'
