"""Write the tables of a library as C++ source: its ops and kernels, for ``registry/library``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pykernels.base import abi
from pykernels.define.definition import OpDef
from pykernels.tools.ship.kernels import LibraryKernel


@dataclass(frozen=True, eq=False)
class LibraryOp:
    """An op type of a library."""

    op: OpDef
    #: The index of its definition in the library.
    definition: int
    #: The domain and type of its nodes.
    domain: str
    name: str
    #: The dtypes, as ``onnx.node_dtypes`` finds them.
    dtypes: Sequence[Sequence[int]]


def definition_symbol(number: int) -> str:
    """Return the name of a definition's function in a library."""
    return f"pk_library_definition_{number}"


def kernel_symbol(number: int) -> str:
    """Return the name of a kernel's function in a library."""
    return f"pk_library_kernel_{number}"


def tables(ops: Sequence[LibraryOp], kernels: Sequence[LibraryKernel]) -> str:
    """Return the source; the numbers in symbols are positions in the arguments."""
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
    places = {kernel.op: kernel.function.place for kernel in kernels}
    yield from _array("OpEntry", "ops", [_op_entry(number, op, places[op.op]) for number, op in enumerate(ops)])
    numbers = {op.op: number for number, op in enumerate(ops)}
    yield f"const int32_t n_kernels = {len(kernels)};"
    entries = [_kernel_entry(number, numbers[kernel.op], kernel) for number, kernel in enumerate(kernels)]
    yield from _array("KernelEntry", "kernels", entries)
    yield "}"


def _array(type_: str, name: str, items: Sequence[str]) -> Iterator[str]:
    yield f"const {type_} {name}[] = {{"
    yield from (f"    {item}," for item in items or ["{}"])
    yield "};"


def _op_entry(number: int, op: LibraryOp, place: str) -> str:
    texts = ", ".join(map(text, (op.domain, op.name, place)))
    return f"{{{definition_symbol(op.definition)}, {op.op.index}, {texts}, {len(op.dtypes)}, dtypes_{number}}}"


def _kernel_entry(number: int, op: int, kernel: LibraryKernel) -> str:
    instance = kernel.instance
    flags = abi.KernelFlag.ELEMENTWISE if kernel.any_rank else abi.KernelFlag(0)
    flags |= abi.KernelFlag.ITERATIONS if kernel.facts.in_pieces else abi.KernelFlag(0)
    parts = [
        *(op, kernel_symbol(number), int(flags), instance.n_inputs, instance.n_outputs, f"tensors_{number}"),
        *(len(kernel.signature.scalars), f"scalars_{number}"),
        *(len(kernel.signature.constants), f"constants_{number}"),
    ]
    return f"{{{', '.join(map(str, parts))}}}"


def _kernel_arrays(number: int, kernel: LibraryKernel) -> Iterator[str]:
    instance = kernel.instance
    tensors = [*instance.inputs[: instance.n_inputs], *instance.outputs[: instance.n_outputs]]
    entries = [
        f"{{{text(t.argument.decode())}, {t.index}, {t.dtype}, {-1 if kernel.any_rank else t.ndim}}}" for t in tensors
    ]
    yield from _array("TensorEntry", f"tensors_{number}", entries)
    yield from _array("int32_t", f"scalars_{number}", [str(position) for _, position in kernel.signature.scalars])
    constants = {name for name, _ in kernel.signature.constants}
    attrs = [attr for attr in instance.attrs[: instance.n_attrs] if attr.name.decode() in constants]
    entries = []
    for at, attr in enumerate(attrs):
        lists = _lists(attr)
        names = {kind: f"constant_{number}_{at}_{kind}" for kind in lists}
        for kind, (type_, items) in lists.items():
            yield from _array(type_, names[kind], items)
        entries.append(_attr(attr, names))
    yield from _array("pk_attr", f"constants_{number}", entries)


def _lists(attr: abi.Attr) -> dict[str, tuple[str, list[str]]]:
    """Return the list that an attribute points to, if it does: the element type and the elements by member."""
    value = abi.decode_attr(attr)
    if attr.type == abi.AttrType.LIST_FLOAT:
        return {"reals": ("double", [float(v).hex() for v in value])}
    if attr.type == abi.AttrType.LIST_STRING:
        return {"texts": ("char* const", [text(v) for v in value])}
    if attr.type == abi.AttrType.LIST_SHAPE:
        value = [n for shape in value for n in (len(shape), *shape)]
    return {"integers": ("int64_t", [str(v) for v in value])} if isinstance(value, (tuple, list)) else {}


def _attr(attr: abi.Attr, names: Mapping[str, str]) -> str:
    string = text(attr.text.decode()) if attr.type == abi.AttrType.STRING else "nullptr"
    arrays = ", ".join(names.get(kind, "nullptr") for kind in ("integers", "reals", "texts"))
    number = int(attr.integer)
    return f"{{{text(attr.name.decode())}, {attr.type}, {attr.count}, {number}, {attr.real!r}, {string}, {arrays}}}"


def text(value: str) -> str:
    """Return a string literal of C and C++."""
    if value.isascii() and value.isprintable():
        return json.dumps(value)
    return '"' + "".join(f"\\{byte:03o}" for byte in value.encode()) + '"'
