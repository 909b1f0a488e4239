"""Mark sums and extrema over loops in LLVM IR, so that LLVM may compute them with several accumulators.

Floating-point addition is not associative, so by default LLVM adds one element after the other, each waiting for the
previous one. A loop that only adds to a number does not ask for that order; NumPy's own sums use another one, too.
Several accumulators come closer to the exact sum than one. A sum that the loop also reads is left unchanged.
"""

from __future__ import annotations

import re
from collections import defaultdict

_DEFINE = re.compile(r"^define .*?^}", re.M | re.S)
_NAME = re.compile(r'%(?:[\w$.-]+|"[^"]*")')
_PHI = re.compile(r"^  (?P<name>%\S+) = phi (?P<type>float|double) (?P<incoming>.*)$", re.M)
_INCOMING = re.compile(r"\[ (\S+), (%[^ ]+) \]")
_SUM = re.compile(
    r"^  (?P<name>%\S+) = (?P<operator>fadd|fsub|fmul) (?:float|double) (?P<a>\S+), (?P<b>[^\s,]+)(?:,.*)?$"
)
_OPERANDS = r"(?P<a>\S+), (?:float |double )?(?P<b>[^\s,]+)(?:,.*)?$"
_COMPARE = re.compile(r"^  (?P<name>%\S+) = fcmp (?P<how>ogt|olt) (?P<type>float|double) " + _OPERANDS)
_SELECT = re.compile(r"^  (?P<name>%\S+) = select i1 (?P<test>\S+), (?P<type>float|double) " + _OPERANDS)
_LABEL = re.compile(r'^([\w$.-]+|"[^"]*"):')
_TARGET = re.compile(r'label (%(?:[\w$.-]+|"[^"]*"))')


def mark(code: str) -> str:
    """Return the text of a module with its reductions marked."""
    return _DEFINE.sub(lambda match: _Function(match.group()).mark(), code)


class _Function:
    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._defined: dict[str, int] = {}
        self._uses: dict[str, list[int]] = defaultdict(list)
        self._block_of: list[str] = []
        self._before: dict[str, set[str]] = defaultdict(set)
        block = self._entry = ""
        for at, line in enumerate(self._lines):
            label = _LABEL.match(line)
            if label:
                block = f"%{label[1]}"
                self._entry = self._entry or block
            self._block_of.append(block)
            for target in _TARGET.findall(line):
                self._before[target].add(block)
            names = _NAME.findall(line.partition(";")[0] if label else line)
            if line.startswith("  %") and " = " in line:
                self._defined[names[0]] = at
                names = names[1:]
            for name in names:
                self._uses[name].append(at)

    def mark(self) -> str:
        """Return the text of the function with its reductions marked."""
        for at, line in enumerate(self._lines):
            phi = _PHI.match(line)
            incoming = _INCOMING.findall(phi["incoming"]) if phi else []
            if phi and len(incoming) == 2:
                for (end, latch), (first, _) in (incoming, incoming[::-1]):
                    loop = self._loop(self._block_of[at], latch)
                    if loop:
                        self._mark_sum(phi["name"], end, loop)
                        self._mark_extremum(phi["name"], end, first, loop)
        return "\n".join(self._lines)

    def _loop(self, header: str, latch: str) -> set[str]:
        """Return the blocks of the loop from `header` to `latch`; empty if they form no loop."""
        loop, waiting = {header}, [latch]
        while waiting:
            block = waiting.pop()
            if block not in loop:
                loop.add(block)
                waiting += self._before[block]
        return set() if self._entry in loop else loop

    def _users(self, name: str, loop: set[str]) -> list[int]:
        """Return the lines in a loop that use a value."""
        return [at for at in self._uses[name] if self._block_of[at] in loop]

    def _mark_sum(self, start: str, end: str, loop: set[str]) -> None:
        """Mark a sum: `start` is the number as an iteration begins, and `end` as it ends."""
        chain: list[int] = []
        current = start
        while current != end:
            users = self._users(current, loop)
            match = _SUM.match(self._lines[users[0]]) if len(users) == 1 else None
            if match is None or (match["a"] == current) == (match["b"] == current):
                return
            if match["operator"] == "fsub" and match["b"] == current:
                return
            chain.append(users[0])
            current = match["name"]
        kinds = {" fmul " in self._lines[at] for at in chain}
        if len(kinds) == 1 and self._users(end, loop) == [self._defined[start]]:
            for at in chain:
                self._lines[at] = re.sub(r" (fadd|fsub|fmul) ", r" \1 reassoc ", self._lines[at])

    def _mark_extremum(self, start: str, end: str, first: str, loop: set[str]) -> None:
        """Mark ``x if x > m else m``, which skips NaN unless it begins with NaN."""
        select = _SELECT.match(self._lines[self._defined.get(end, 0)])
        compare = _COMPARE.match(self._lines[self._defined.get(select["test"], 0)]) if select else None
        if select is None or compare is None or (compare["a"], compare["b"]) != (select["a"], select["b"]):
            return
        own = [self._defined[compare["name"]], self._defined[end]]
        if compare["b"] != start or sorted(self._users(start, loop)) != sorted(own):
            return
        if self._uses[compare["name"]] != own[1:] or self._users(end, loop) != [self._defined[start]]:
            return
        type_, short = select["type"], "f32" if select["type"] == "float" else "f64"
        name = "maximumnum" if compare["how"] == "ogt" else "minimumnum"
        result, test = (f'%"pk.{what}.{end.strip("%").strip(chr(34))}"' for what in ("result", "nan"))
        for at in self._uses[end]:
            if self._block_of[at] not in loop:
                self._lines[at] = _NAME.sub(lambda m: result if m.group() == end else m.group(), self._lines[at])
        self._lines[own[0]] = f"  {test} = fcmp uno {type_} {first}, {first}"
        self._lines[own[1]] = (
            f"  {end} = call {type_} @llvm.{name}.{short}({type_} {select['a']}, {type_} {start})\n"
            f"  {result} = select i1 {test}, {type_} {first}, {type_} {end}"
        )
