"""The fenced code blocks of a Markdown page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"(?:^<!-- file: (?P<file>\S+) -->\n)?^```(?P<language>\w+|\{[\w-]+\}[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """A code block; `file` is where its text belongs, if it is not to be run (``<!-- file: ops/a/a.py -->``)."""

    language: str
    file: str | None
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order, without the directives of Sphinx."""
    text = page.read_text(encoding="utf-8")
    found = [
        Block(match["language"], match["file"], match["text"], text.count("\n", 0, match.start()) + 1)
        for match in _BLOCK.finditer(text)
    ]
    assert 2 * len(found) == len(re.findall(r"^```", text, re.M)), f"{page}: a code block without a language"
    return [block for block in found if not block.language.startswith("{")]
