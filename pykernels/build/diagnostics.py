"""Translate the messages of compilers into terms of the user's files."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["first_error", "without_excerpt"]

_DIAGNOSTIC = r"(?m)^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$"

# A line of the source, or what marks something in it.
_SHOWN = r"^\s*(\d+ )?\s*\|"


def first_error(output: str, path: Path) -> str:
    """The compiler's first error as ``file:line: text`` and the lines that show it.

    Parameters
    ----------
    output : str
        What the compiler printed.
    path : Path
        The user's file, as the compiler was given it. An error in a header is told as one of the line that led there.
    """
    found = re.search(_DIAGNOSTIC, output)
    if found is not None and "unterminated argument list" in found["text"]:
        # It is told of the end of the file; the next error shows where the list begins.
        begins = re.search(_DIAGNOSTIC, output[found.end() :])
        if begins is not None:
            shown = _excerpt(output[found.end() + begins.end() :])
            return f"{begins['file']}:{begins['line']}: {found['text']}; a quote or a bracket is missing{shown}"
    if found is None:
        return f"{path}: it does not compile:\n{output.strip()}"
    line, text = found["line"], found["text"]
    shown = _excerpt(output[found.end() :])
    if Path(found["file"]).resolve() != path.resolve():
        # The lines before it say which line of the user's file led there.
        through = re.findall(rf"{re.escape(str(path))}:(\d+)", output[: found.start()])
        if through:
            return f"{path}:{through[-1]}: {text}\n  (in {found['file']}:{line})"
        return f"{found['file']}:{line}: {text}{shown}"
    return f"{path}:{line}: {text}{shown}"


def _excerpt(rest: str) -> str:
    """The source line and the caret under it, as the compiler prints them after an error."""
    lines = rest.strip("\n").split("\n")[:2]
    return "".join(f"\n{line}" for line in lines if re.match(_SHOWN, line))


def without_excerpt(message: str) -> str:
    """What `first_error` gives, and what is made of it, in one line."""
    return " ".join(line.strip() for line in message.split("\n") if not re.match(_SHOWN, line))
