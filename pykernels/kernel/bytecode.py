"""Python code, instruction by instruction."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator

__all__ = ["instructions"]


def instructions(code: types.CodeType) -> Iterator[tuple[dis.Instruction, int]]:
    """The instructions of a code object, each with its line; not those of the functions within."""
    lines = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        line = lines.get(instruction.offset) or line
        if instruction.opname != "EXTENDED_ARG":
            yield instruction, line
