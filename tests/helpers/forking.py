"""Forks at random moments while another thread loads, builds, calls and reloads ops."""

from __future__ import annotations

from pathlib import Path

import process

PROGRAM = """
import faulthandler, os, pathlib, random, sys, threading, time, traceback, warnings

warnings.simplefilter("ignore")
sys.path.insert(0, HELPERS)
import numpy as np
import pykernels
from folders import write_op

LOOP = "def forward(args):\\n    y = args[0].copy()\\n    for i in range(y.size):\\n        y[i] *= {factor}\\n"
LOOP += "    return y\\n"
PLAIN = "def forward(args):\\n    return args[0] * {factor}\\n"
BACKWARD = "\\n\\ndef backward(args):\\n    return args[0]\\n"


def kernel(i, factor):
    # numba compiles every fourth, at length.
    return (PLAIN if i % 4 else LOOP).format(factor=factor) + BACKWARD


def write(i, factor):
    return write_op(pathlib.Path("ops"), f"op{i}", kernel(i, factor))


def edit(folder, i, factor):
    pathlib.Path("edited.py").write_text(kernel(i, factor))
    os.replace("edited.py", folder / f"op{i}_py_kernel.py")  # at once, for children who read it


SETUP

os.mkdir("ops")
pykernels.load_ops(write(1, 5))
call("op1")
random.seed(SEED)
for i in range(2, 2 + OPS):
    folder = write(i, i)

    def work():
        try:
            pykernels.load_ops(folder)
            assert call(f"op{i}") == i
            edit(folder, i, 1000 + i)
            pykernels.reload()
            assert call(f"op{i}") == 1000 + i
        except BaseException:
            traceback.print_exc()
            os._exit(2)

    thread = threading.Thread(target=work)
    thread.start()
    children = []
    while thread.is_alive():
        time.sleep(random.random() * 0.03)
        if len(children) == 4:  # no more, or they leave the thread no time
            assert os.waitpid(children.pop(0), 0)[1] == 0
        children.append(os.fork())
        if children[-1] == 0:
            faulthandler.dump_traceback_later(60, exit=True)  # of a child that stands still
            try:
                assert call("op1") == 5
                pykernels.load_ops(folder)
                assert call(f"op{i}") in (i, 1000 + i)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(3)
    thread.join()
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
"""


def check(tmp_path: Path, setup: str, ops: int, seed: int = 1) -> None:
    """Fork while `ops` ops are built, one after the other; `setup` defines ``call(op)``, for the first element."""
    text = PROGRAM.replace("SETUP", setup).replace("SEED", str(seed)).replace("OPS", str(ops))
    process.program(text.replace("HELPERS", repr(str(process.HELPERS))), cwd=tmp_path)
