"""Iterate over the instructions, names and nested code of Python code objects."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator


def instructions(code: types.CodeType) -> Iterator[tuple[dis.Instruction, int]]:
    """Yield the instructions of a code object with their lines, without those of nested functions."""
    lines = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = lines.get(instruction.offset) or line
        if instruction.opname != "EXTENDED_ARG":
            yield instruction, line


def names(code: types.CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes in a code object and its nested functions."""
    for each in codes(code):
        yield from each.co_names


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and those of the functions and classes in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)
