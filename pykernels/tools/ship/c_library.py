"""Build a library for C programs, with a header."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pykernels.base import abi, dtypes, paths
from pykernels.base.abi import AttrType
from pykernels.base.attributes import ITEMS
from pykernels.base.errors import BuildError
from pykernels.build.output import replacing
from pykernels.define.declared import Argument, Attribute
from pykernels.tools.ship.assembly import assemble
from pykernels.tools.ship.kernels import Kernels
from pykernels.tools.ship.source import LibraryOp
from pykernels.tools.ship.source import text as literal

#: The prefix of all functions and types.
PREFIX = "pykernels_"

_PART = paths.REGISTRY / "library" / "c_api.cpp"
_ARRAY = """\
#ifndef PYKERNELS_ARRAY
#define PYKERNELS_ARRAY
/* Element types. */
enum {
@dtypes@
};
/* An array: its elements lie one after the other in row-major order, aligned for their type. */
typedef struct pykernels_array {
  void* data;
  int32_t dtype;
  int32_t ndim;
  int64_t shape[@axes@];
} pykernels_array;
#endif
"""
_INTRODUCTION = """\
/* Ops that pykernels has compiled into {library}.
 *
 * Every function returns 0, or 1 after it has written a message into `error`, which has `error_size` bytes and may be
 * NULL. It writes into the data of its outputs, whose types and shapes must be right. If one has no data (NULL), the
 * function only fills in the types and shapes of all outputs. An optional input may be NULL. `attributes` may be NULL
 * if all attributes have defaults. Any number of threads may call the functions.
 */
"""
# The C types of the elements of lists, and of single values, unless they are int64_t or int32_t.
_ELEMENTS = {AttrType.LIST_FLOAT: "double", AttrType.LIST_STRING: "char* const"}
_SINGLES = {
    AttrType.INT64: "int64_t",
    AttrType.FLOAT: "double",
    AttrType.DOUBLE: "double",
    AttrType.STRING: "const char*",
}


@dataclass(frozen=True)
class _Parameter:
    """An argument of an op as parameters of its function."""

    argument: Argument
    name: str
    is_written: bool

    def declaration(self) -> str:
        kind = "pykernels_array*" if self.is_written else "const pykernels_array*"
        return f"{kind} const* {self.name}, int32_t n_{self.name}" if self.argument.repeated else f"{kind} {self.name}"

    def value(self) -> str:
        if self.argument.repeated:
            return f"{{{self.name}, n_{self.name}}}"
        count = f"{self.name} ? 1 : 0" if self.argument.optional else "1"
        return f"{{&{self.name}, {count}}}"


def build_c_library(output: Path, kernels: Kernels) -> list[LibraryOp]:
    """Write a library with a function for each op that has kernels, and a header with the same name beside it.

    The result and the errors are those of `onnx_library.build_onnx_library`.
    """
    if output.suffix == ".h":
        raise BuildError(
            f"{output} is the name of a header; give the name of the library, and the header gets the same name"
        )
    ops: list[LibraryOp] = []
    for number, (module, group) in enumerate(kernels.items()):
        compiled = {kernel.op for kernel in group}
        for op in module.definition.ops.values():
            if op in compiled:
                ops.append(LibraryOp(op, number, "", module.name if op is module.forward else op.name, ()))
    header = output.with_suffix(".h")
    with replacing([output, header]) as temporary:
        temporary[header].write_text(_header(ops, output.name))
        functions = temporary[output].parent / "functions.cpp"
        functions.write_text(_source(ops, header.name))
        assemble(temporary[output], kernels, ops, [_PART, functions], [f"{PREFIX}{op.name}" for op in ops])
    return ops


def _header(ops: Sequence[LibraryOp], library: str) -> str:
    """Return the header of a library."""
    lines = [f"  PYKERNELS_{str(dtype).upper()} = {dtypes.number_of(dtype)}," for dtype in dtypes.known()]
    body = "\n".join(line for op in ops for line in _declarations(op))
    return "\n".join(
        [
            _INTRODUCTION.format(library=library),
            "#pragma once\n#include <stddef.h>\n#include <stdint.h>\n",
            _ARRAY.replace("@dtypes@", "\n".join(lines)).replace("@axes@", str(abi.MAX_NDIM)),
            '#ifdef __cplusplus\nextern "C" {\n#endif\n',
            body,
            "\n#ifdef __cplusplus\n}\n#endif\n",
        ]
    )


def _source(ops: Sequence[LibraryOp], header_name: str) -> str:
    """Return the source of the functions, which includes the header."""
    lines = [
        '#include "library/c_api.h"',
        f'#include "{header_name}"',
        "#pragma GCC visibility push(default)",
        *(line for number, op in enumerate(ops) for line in _definition(number, op)),
    ]
    return "\n".join(lines) + "\n"


def _parameters(op: LibraryOp) -> tuple[list[_Parameter], list[_Parameter]]:
    """Return the parameters for the inputs and for the outputs."""
    taken = {"attributes", "error", "error_size"}
    found: list[_Parameter] = []
    for argument in (*op.op.inputs, *op.op.outputs):
        name = argument.name
        while name in taken:
            name += "_"
        taken.add(name)
        found.append(_Parameter(argument, name, argument.mutable or len(found) >= len(op.op.inputs)))
    return found[: len(op.op.inputs)], found[len(op.op.inputs) :]


def _prototype(op: LibraryOp) -> str:
    parameters = [each.declaration() for group in _parameters(op) for each in group]
    if op.op.attributes:
        parameters.append(f"const {PREFIX}{op.name}_attributes* attributes")
    return f"int32_t {PREFIX}{op.name}({', '.join([*parameters, 'char* error', 'size_t error_size'])})"


def _declarations(op: LibraryOp) -> Iterator[str]:
    yield f"/* {op.op.schema()} */"
    name = f"{PREFIX}{op.name}"
    if op.op.attributes:
        yield f"typedef struct {name}_attributes {{"
        for attribute in op.op.attributes:
            yield from _members(attribute)
        yield f"}} {name}_attributes;"
        yield from _defaults(op, name)
    yield f"{_prototype(op)};\n"


def _members(attribute: Attribute) -> Iterator[str]:
    if attribute.type in ITEMS:
        yield f"  const {_c_type(attribute.type)}* {attribute.name};"
        yield f"  int32_t n_{attribute.name};"
    else:
        yield f"  {_c_type(attribute.type)} {attribute.name};"


def _c_type(type_: AttrType) -> str:
    """Return the C type of a value, or of the elements of a list."""
    return _ELEMENTS.get(type_, "int64_t") if type_ in ITEMS else _SINGLES.get(type_, "int32_t")


def _defaults(op: LibraryOp, name: str) -> Iterator[str]:
    """Yield the defaults, if every attribute has one; each list gets an array of its own."""
    if any(attribute.required for attribute in op.op.attributes):
        return
    values = []
    for attribute in op.op.attributes:
        value = attribute.default
        if attribute.type not in ITEMS:
            values.append(_single(value))
            continue
        array = f"{name}_default_{attribute.name}"
        listed = ", ".join(map(_single, _flat(attribute.type, value))) or "0"
        yield f"static const {_c_type(attribute.type)} {array}[] = {{{listed}}};"
        values += [array, str(len(value))]
    yield f"static const {name}_attributes {name}_defaults = {{{', '.join(values)}}};"


def _flat(type_: AttrType, value: Any) -> Sequence[Any]:
    return [n for shape in value for n in (len(shape), *shape)] if type_ is AttrType.LIST_SHAPE else list(value)


def _single(value: Any) -> str:
    return literal(value) if isinstance(value, str) else str(int(value)) if isinstance(value, bool) else repr(value)


def _definition(number: int, op: LibraryOp) -> Iterator[str]:
    inputs, outputs = _parameters(op)
    yield f"{_prototype(op)} {{"
    if any(attribute.required for attribute in op.op.attributes):
        yield f"  if (!attributes) return pykernels::library::Refuse({literal(op.name)}, error, error_size);"
    elif op.op.attributes:
        yield f"  if (!attributes) attributes = &{PREFIX}{op.name}_defaults;"
    values = ", ".join(_value(attribute) for attribute in op.op.attributes)
    lists = (", ".join(each.value() for each in group) for group in (inputs, outputs))
    yield f"  return pykernels::library::CallOp({number}, {{{next(lists)}}}, {{{next(lists)}}}, {{{values}}}, error,"
    yield "                                     error_size);"
    yield "}"


def _value(attribute: Attribute) -> str:
    """Return the ``pk_attr`` for a member of `attributes`."""
    type_, member = attribute.type, f"attributes->{attribute.name}"
    is_list, kind = type_ in ITEMS, _c_type(type_)
    count = f"attributes->n_{attribute.name}" if is_list else "1"
    # The members of pk_attr that hold a value or point to a list.
    holders = ("integer", "real", "text", "integers", "reals", "texts")
    holder = {"double": "real", "const char*": "text", "char* const": "text"}.get(kind, "integer") + "s" * is_list
    parts = [member if each == holder else "0" if each in holders[:2] else "nullptr" for each in holders]
    return f"{{{', '.join([literal(attribute.name), str(int(type_)), count, *parts])}}}"
