"""Write the docstrings of pykernels/base/errors.py into errors.md: python docs/write_errors.py."""

from __future__ import annotations

import inspect

import generated

from pykernels.base import errors


def kinds() -> list[type[errors.PykernelsError] | type[errors.PykernelsWarning]]:
    """All kinds of errors and warnings, ordered by code."""
    return sorted((each for each in vars(errors).values() if hasattr(each, "code")), key=lambda kind: kind.code)


def section() -> str:
    """The generated part of the page."""
    lines = ["| code | class | when |", "|---|---|---|"]
    for kind in kinds():
        summary = inspect.getdoc(kind).split("\n\n")[0]
        parents = [f"`{base.__name__}`" for base in kind.__bases__ if base not in (errors.PykernelsError, Exception)]
        also = f" (a {', '.join(parents)})" if parents else ""
        lines.append(f"| [{kind.code}](#{kind.code.lower()}) | `{kind.__name__}`{also} | {summary} |")
    for kind in kinds():
        _, text, *_ = inspect.getdoc(kind).split("\n\n")
        lines += ["", f"### {kind.code}", "", f"`{kind.__name__}`: {_wrapped(text)}"]
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())


if __name__ == "__main__":
    generated.write(__file__, section())
