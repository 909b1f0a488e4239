"""Parts of pages that programs beside this one write."""

from __future__ import annotations

from pathlib import Path

_BEGIN, _END = "<!-- written by {} -->", "<!-- end of what is written -->"


def page(program: str, section: str) -> tuple[Path, str]:
    """Return the page of a program, ``write_<page>.py``, and its text with this section."""
    path = Path(program).with_name(Path(program).stem.removeprefix("write_") + ".md")
    begin = _BEGIN.format(Path(program).name)
    before, _, rest = path.read_text(encoding="utf-8").partition(begin)
    return path, f"{before}{begin}\n\n{section}\n\n{_END}{rest.partition(_END)[2]}"


def write(program: str, section: str) -> None:
    """Write the section into the page of a program."""
    path, text = page(program, section)
    path.write_text(text, encoding="utf-8")
