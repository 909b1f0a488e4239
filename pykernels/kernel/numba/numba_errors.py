"""Shorten numba's errors to the user's line and the reason."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from pykernels.kernel.expression import promotion
from pykernels.kernel.numba import cures
from pykernels.kernel.read.source import KernelFunction

# The beginnings of lines that only numba's developers can use.
_NOISE = ("Failed in", "During:", "File", "Overload", "There are", ">>>", "-", "*", "#", "^")
_REJECTED = "Rejected as the implementation raised a specific error:"
_NO_CALL = "No implementation of function"
# What numba says of a call that does not fit the parameters, or the values, of one implementation.
_VAGUE = re.compile("unexpected keyword|missing a required|too many positional|must be a List")


def reason_of(error: Exception) -> str:
    """Return the innermost reason of an error of numba, in one line, with the type names that users know.

    Examples
    --------
    ``float64 + str``: "there is no add(float64, 'a')". An argument that numba's function does not accept:
    "sum(float64[:], axis='k'): NumPy sum only supports integer axis value or tuple of integers".
    """
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()]
    while _NO_CALL in (line[: len(_NO_CALL)] for line in lines):
        start = next(at for at, line in enumerate(lines) if line.startswith(_NO_CALL))
        call = next((line.removeprefix(">>>").strip() for line in lines[start:] if line.startswith(">>>")), "")
        if _REJECTED not in lines[start:]:
            return _readable(f"there is no {call}")
        lines = lines[lines.index(_REJECTED, start) + 1 :]
        lines[0] = re.sub(r"^\w+: ", "", lines[0])
        if not lines[0].startswith(("Failed in", _NO_CALL)):
            return _readable(f"{call}: {lines[0]}")
    informative = [line for line in lines if line and not line.startswith(_NOISE)]
    return _readable(informative[0].rstrip(":")) if informative else type(error).__name__


def is_vague(reason: str) -> bool:
    """Whether a reason says no more than that a call does not fit, in terms of one of several implementations."""
    return reason.startswith("there is no ") or bool(_VAGUE.search(reason))


def place_of_dict(kernel: KernelFunction) -> str:
    """Return ``file:line`` of the first dictionary that the kernel or one of its helpers makes."""
    functions: list[Any] = [kernel.function, *kernel.helpers]
    for function in functions:
        definition = promotion.definition_of(function)
        for node in ast.walk(definition) if definition else ():
            if isinstance(node, (ast.Dict, ast.DictComp)):
                return f"{function.__code__.co_filename}:{node.lineno}"
    return kernel.where


def line_of(error: Exception, kernel: KernelFunction) -> str:
    """Return ``file:line`` of the line that numba refused, in the kernel or in a helper that it calls."""
    files = {helper.__code__.co_filename for helper in kernel.helpers if hasattr(helper, "__code__")}
    files.add(str(kernel.path))
    # numba reports the innermost location first.
    for file, line in re.findall(r"(?m)^\s*During: .* at (\S.*) \((\d+)\)$", str(error)):
        if file in files:
            return f"{file}:{line}"
    for name, line in re.findall(r'(?:File "|Raised from )([^"]+?)(?:", line | \()(\d+)', str(error)):
        for file in files:
            if Path(file).name == Path(name).name:
                return f"{file}:{line}"
    return kernel.where


def _readable(text: str) -> str:
    text = re.sub(r"\. Raised from (None|\S+ \(\d+\))$", "", text)
    text = re.sub(r"Literal\[str\]\((.*?)\)", r"'\1'", text)
    text = re.sub(r"Literal\[\w+\]\((.*?)\)", r"\1", text)
    text = re.sub(
        r"(?:readonly )?array\((\w+), (\d+)d, \w+\)",
        lambda found: f"{found[1]}[{', '.join(':' * int(found[2]))}]",
        text,
    )
    return cures.in_our_words(re.sub(r"Function\(<(?:built-in )?function (\w+)(?: at 0x\w+)?>\)", r"\1", text))
