"""The process that calls an op in one framework: reads a folder and cases from a file, and writes what is wrong.

``python -m pykernels.checking.hosts FRAMEWORK FILE``. A line of JSON tells each way that is tried, before it is; the
last has what is wrong with it, if anything is.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import sys
import warnings
from pathlib import Path

import pykernels
from pykernels.checking.comparison import difference
from pykernels.checking.hosts.case import Case, Outcome


def _main(framework: str, request: Path) -> None:
    with os.fdopen(os.dup(1), "w", buffering=1) as lines:
        os.dup2(2, 1)
        warnings.simplefilter("ignore")
        folder, cases = pickle.loads(request.read_bytes())
        pykernels.load_ops(folder)
        host = importlib.import_module(f"pykernels.checking.hosts.{framework}")
        for number, case in enumerate(cases):
            for name, way in host.ways(case).items():
                print(json.dumps({"case": number, "way": name}), file=lines)
                try:
                    told = _compare(case, way())
                except Exception as error:
                    told = f"{type(error).__name__}: {error}"
                if told:
                    print(json.dumps({"case": number, "way": name, "wrong": told}), file=lines)
                    return
        print(json.dumps({"done": True}), file=lines)


def _compare(case: Case, found: Outcome) -> str | None:
    expected = case.expected[found.is_train]
    names = [f"{name}[{i}]" if count > 1 else name for name, count in case.counts.items() for i in range(count)]
    if len(found.outputs) != len(expected.outputs):
        return f"it gives {len(found.outputs)} outputs instead of {len(expected.outputs)}"
    for name, one, other in zip(names, found.outputs, expected.outputs):
        told = difference(name, one, other)
        if told:
            return told
    for place, gradient in found.gradients.items():
        wanted = expected.gradients[place]
        told = difference(f"the gradient of {place[0]}", gradient, wanted, allowed=found.tolerance)
        if told:
            return told
    return None


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]))
