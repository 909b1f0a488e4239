"""Loop and whole-array kernels written by chance, run between guard pages beside their plain NumPy run.

``python tests/helpers/campaign.py --minutes 60`` goes on for an hour. It prints whatever crashes, writes beside its
arrays, or gives other values or errors than NumPy, with the number that makes the same kernel again: ``--first``.
``--under torch`` and ``--under onnxruntime`` call the kernels as ops there.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from campaign_author import Author
from campaign_hosts import HOSTS, Call, write
from compiled import build

from pykernels.base.errors import PykernelsError
from pykernels.kernel.facts import LOOPS, WHOLE_ARRAY
from pykernels.kernel.read.source import KernelFunction, KernelSource
from pykernels.tools.check.bounds import GuardedArray

__all__ = ["Finding", "findings"]


@dataclass
class Finding:
    """What is wrong with a kernel: its form, empty if it was refused, and on how many inputs it was compared."""

    form: str = ""
    compared: int = 0
    wrong: list[str] = field(default_factory=list)


def findings(seeds: Iterable[int], folder: Path, n_inputs: int, host: str = "pykernels") -> dict[int, Finding]:
    """What is wrong with the kernels of seeds on some inputs each.

    They run in a child process, which may crash; then those after the one that crashed are missing.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w", buffering=1) as told:
            for seed in seeds:
                print("seed", seed, file=told)
                try:
                    _try(seed, folder / str(seed), n_inputs, host, told)
                except BaseException:
                    print("wrong", repr(traceback.format_exc()), file=told)
                signal.alarm(0)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        said = lines.read().splitlines()
    _, status = os.waitpid(child, 0)
    found: dict[int, Finding] = {}
    for line in said:
        what, _, text = line.partition(" ")
        if what == "seed":
            last = found[int(text)] = Finding()
        elif what == "form":
            last.form = text
        elif what == "done":
            last.compared += 1
        elif what == "wrong":
            last.wrong.append(text)
    if os.WIFSIGNALED(status):
        last.wrong.append(f"ended by {signal.Signals(os.WTERMSIG(status)).name} after {said[-1]}")
    return found


def _try(seed: int, parent: Path, n_inputs: int, host: str, told: Any) -> None:
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    author = Author(seed)
    folder = write(parent, author.write())
    kernel = KernelSource(folder / f"{folder.name}_py_kernel.py").functions["forward"]
    call = None
    for number in range(n_inputs):
        inputs = author.inputs()
        print("input", number, file=told)
        signal.alarm(60 if call else 300)  # what is built for the first call takes long on a busy machine
        if call is None:
            try:
                built = build(kernel, inputs, inputs[-1:])
            except PykernelsError:
                return
            print("form", built.facts.form, file=told)
            if built.facts.form not in (LOOPS, WHOLE_ARRAY):
                return
            call = HOSTS[host](folder, built)
        wrong = _compare(kernel, call, inputs, at_end=bool(number % 2))
        signal.alarm(0)
        print("done", number, file=told)
        if wrong:
            shown = ", ".join(f"{name}={each.tolist()}" for name, each in zip("xwaz", inputs))
            types = f"{author.dtype}, {author.index_dtype}"
            print("wrong", f"input {number}: {wrong} ({types}: {shown}; y: {inputs[-1].size})", file=told)


def _compare(kernel: KernelFunction, call: Call, inputs: list[np.ndarray], *, at_end: bool) -> str:
    """What differs between the compiled and the plain run; empty if nothing does."""
    guarded = [GuardedArray(array, at_end=at_end) for array in inputs]
    given = [each.array for each in guarded]
    made, error = call(given)
    if not all(each.is_intact() for each in guarded):
        return "it has written beside its arrays"
    if not all(before.tobytes() == after.tobytes() for before, after in zip(inputs[:-1], given)):
        return "it has changed an input"
    expected = inputs[-1].copy()
    frozen = [array.copy() for array in inputs]
    for each in frozen:
        each.flags.writeable = False
    try:
        kernel.function(tuple(frozen), (expected,))
    except Exception as raised:
        return "" if error else f"NumPy raises {type(raised).__name__}: {raised}"
    # A whole number of Python's has 64 bits in compiled code, or raises.
    is_wide = any(each.dtype == np.uint64 and (each > np.iinfo(np.int64).max).any() for each in inputs)
    if error and is_wide and "64 bits" in error:
        return ""
    if error:
        return f"it fails: {error.strip().splitlines()[-1][:200]}"
    same = made == expected
    if made.dtype.kind == "f":
        same |= np.isclose(made, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
    return "" if same.all() else f"it gives {made.tolist()}, NumPy {expected.tolist()}"


def _seeds(first: int, minutes: float, count: int) -> Iterator[int]:
    end = time.monotonic() + 60 * minutes
    seed = first
    while (time.monotonic() < end) if minutes else (seed < first + count):
        yield seed
        seed += 1


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the number of the first kernel")
    parser.add_argument("--kernels", type=int, default=100, help="how many kernels")
    parser.add_argument("--inputs", type=int, default=20, help="how many inputs for each")
    parser.add_argument("--minutes", type=float, default=0, help="go on for so long, instead")
    parser.add_argument("--under", choices=HOSTS, default="pykernels", help="what calls the kernels")
    parser.add_argument("--show", action="store_true", help="print each kernel that is wrong")
    given = parser.parse_args()
    forms: Counter[str] = Counter()
    pairs, n_wrong = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in _seeds(given.first, given.minutes, given.kernels):
            found = findings([seed], Path(folder), given.inputs, given.under)[seed]
            forms[found.form or "refused"] += 1
            pairs += found.compared
            n_wrong += bool(found.wrong)
            if found.wrong:
                print(f"{seed}: {len(found.wrong)} of {found.compared}: {found.wrong[0][:1500]}")
                if given.show:
                    print(Author(seed).write())
    print(f"{pairs} pairs of a kernel and inputs, {sum(forms.values())} kernels: {dict(forms)}, NumPy {np.__version__}")
    print(f"{n_wrong} wrong")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(_main())
