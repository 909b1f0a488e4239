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
from pykernels.checking.hosts.judging import judge, way_name


def _main(framework: str, request: Path) -> None:
    with os.fdopen(os.dup(1), "w", buffering=1) as lines:
        os.dup2(2, 1)
        warnings.simplefilter("ignore")
        folder, cases = pickle.loads(request.read_bytes())
        pykernels.load_ops(folder)
        host = importlib.import_module(f"pykernels.checking.hosts.{framework}")
        for number, case in enumerate(cases):
            if not host.takes(case):
                continue
            for name, way in host.ways(case).items():
                shown = way_name(case, name)
                print(json.dumps({"case": number, "way": shown}), file=lines)
                told = judge(case, way)
                if told:
                    print(json.dumps({"case": number, "way": shown, "wrong": told}), file=lines)
                    return
        print(json.dumps({"done": True}), file=lines)


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]))
