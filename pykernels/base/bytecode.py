"""Python code, instruction by instruction."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator

__all__ = ["codes", "instructions", "names"]


def instructions(code: types.CodeType) -> Iterator[tuple[dis.Instruction, int]]:
    """The instructions of a code object, each with its line; not those of the functions within."""
    lines = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = lines.get(instruction.offset) or line
        if instruction.opname != "EXTENDED_ARG":
            yield instruction, line


def names(code: types.CodeType) -> Iterator[str]:
    """The names of globals and attributes in a code object, and in those of the functions within."""
    for each in codes(code):
        yield from each.co_names


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code, and those of the functions and classes in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)
