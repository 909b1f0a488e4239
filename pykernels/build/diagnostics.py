"""Translate compiler messages into terms of the user's files."""

from __future__ import annotations

import re
from pathlib import Path

_DIAGNOSTIC = r"(?m)^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$"

# A line of a source excerpt, or of the marks under it.
_SHOWN = r"^\s*(\d+ )?\s*\|"


def first_error(output: str, path: Path) -> str:
    """Return the first error in a compiler's `output` as ``file:line: text``, followed by its source excerpt.

    `path` is the user's file, as passed to the compiler. An error in a header is reported for the line that led there.
    """
    found = re.search(_DIAGNOSTIC, output)
    if found is not None and "unterminated argument list" in found["text"]:
        # The compiler reports this at the end of the file; the next error shows where the list begins.
        begins = re.search(_DIAGNOSTIC, output[found.end() :])
        if begins is not None:
            excerpt = _excerpt(output[found.end() + begins.end() :])
            return f"{begins['file']}:{begins['line']}: {found['text']}; a quote or a bracket is missing{excerpt}"
    if found is None:
        return f"{path}: it does not compile:\n{output.strip()}"
    line, text = found["line"], found["text"]
    excerpt = _excerpt(output[found.end() :])
    if Path(found["file"]).resolve() != path.resolve():
        # The lines before the error say which line of the user's file led to it.
        origins = re.findall(rf"{re.escape(str(path))}:(\d+)", output[: found.start()])
        if origins:
            return f"{path}:{origins[-1]}: {text}\n  (in {found['file']}:{line})"
        return f"{found['file']}:{line}: {text}{excerpt}"
    return f"{path}:{line}: {text}{excerpt}"


def _excerpt(rest: str) -> str:
    """Return the source line and the caret under it, as the compiler prints them after an error."""
    lines = rest.strip("\n").split("\n")[:2]
    return "".join(f"\n{line}" for line in lines if re.match(_SHOWN, line))


def without_excerpt(message: str) -> str:
    """Return a message built on `first_error` in one line, without the source excerpt."""
    return " ".join(line.strip() for line in message.split("\n") if not re.match(_SHOWN, line))
