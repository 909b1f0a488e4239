"""Kernels and classes that fork: on a thread that a fork would wait for, so they get an error instead."""

from __future__ import annotations

import re
from pathlib import Path

import process
import pytest
from folders import write_op
from test_fork import PRELUDE

# What a kernel does for each number that it is given. Those below 20 fork.
ACTIONS = {
    1: ("os.fork()", "os.fork in a kernel"),
    2: ("os.forkpty()", "os.forkpty in a kernel"),
    3: ("pty.fork()", "os.forkpty in a kernel"),
    4: ("os.spawnv(os.P_WAIT, '/bin/true', ['true'])", "os.fork in a kernel"),
    5: ("multiprocessing.get_context('fork').Process(target=print).start()", "os.fork in a kernel"),
    6: ("ProcessPoolExecutor(1, multiprocessing.get_context('fork')).submit(print)", "os.fork in a kernel"),
    7: ("subprocess.run(['true'], preexec_fn=print)", "subprocess.Popen with preexec_fn in a kernel"),
    8: ("subprocess.run(['true'], user=os.getuid())", "subprocess.Popen with user in a kernel"),
    9: ("subprocess.run(['true'], group=os.getgid())", "subprocess.Popen with group in a kernel"),
    10: ("subprocess.run(['true'], extra_groups=[])", "subprocess.Popen with extra_groups in a kernel"),
    20: ("subprocess.run(['true'], check=True)", None),
    21: ("assert subprocess.check_output('echo a', shell=True, cwd='/') == b'a\\n'", None),
    22: ("subprocess.run(['true'], check=True, start_new_session=True, pass_fds=(1,))", None),
    23: ("assert os.system('true') == 0", None),
    24: ("assert os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)[1] == 0", None),
}
IMPORTS = """
import multiprocessing
import os
import pty
import subprocess
from concurrent.futures import ProcessPoolExecutor
"""
KERNEL = IMPORTS + "\n\ndef forward(args):\n    (x,) = args\n    {}['a'] = 1  # not for numba\n"
for number, (statement, _) in ACTIONS.items():
    KERNEL += f"    if x[0] == {number}:\n        {statement}\n"
KERNEL += "    return x * 2\n\n\ndef backward(args):\n    return args[0]\n"

CALL = f"""
warnings.simplefilter("ignore", pykernels.PykernelsWarning)
for action in {list(ACTIONS)}:
    try:
        print(action, mx.nd.Custom(mx.nd.full(1, action), op_type=NAME).asnumpy())
    except mx.MXNetError as error:
        print(error)
    assert mx.nd.Custom(mx.nd.zeros(1), op_type=NAME).asscalar() == 0
child = os.fork()
if child == 0:
    os._exit(int(mx.nd.Custom(mx.nd.full(1, 50), op_type=NAME).asscalar() != 100))
assert os.waitpid(child, 0)[1] == 0
"""


def check(output: str, file: str, text: str, method: str) -> None:
    """That `output` has, in the order of ACTIONS, results and errors that name the line of the file `text`."""
    lines = [line for line in output.splitlines() if not line.startswith(("KernelError", "Traceback", " "))]
    assert len(lines) == len(ACTIONS), output
    for (action, (statement, refusal)), said in zip(ACTIONS.items(), lines):
        if refusal is None:
            assert said == f"{action} [{2 * action}.]"
            continue
        line = 1 + next(at for at, each in enumerate(text.splitlines()) if each.strip() == statement)
        assert re.search(rf"{re.escape(file)}:{line}: {method} raised KernelError: {refusal}: a fork waits", said), said


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["", "threads"])
def test_kernels(tmp_path: Path, engine: str) -> None:
    """In MXNet's engine, and on the threads of its custom operators."""
    folder = write_op(tmp_path, "forking", KERNEL)
    threads = """
from pykernels.frameworks.mxnet import registrar


def refuse(*_):
    raise pykernels.LoadError("not this time")


registrar.Registrar.enter_engine = refuse
"""
    text = PRELUDE + (threads if engine else "") + f"NAME = 'forking'\npykernels.load_ops({str(folder)!r})\n" + CALL
    check(process.program(text, cwd=tmp_path).stdout, "forking_py_kernel.py", KERNEL, "forward")


@pytest.mark.thorough
def test_classes(tmp_path: Path) -> None:
    text = (
        KERNEL[len(IMPORTS) :]
        .partition("    return x")[0]
        .replace("(args)", "(self, is_train, req, in_data, out_data, aux)")
    )
    forward = text.replace("(x,) = args", "x = in_data[0].asnumpy()").strip().replace("\n", "\n    ")
    program = (
        PRELUDE
        + IMPORTS
        + f"""

class Forking(mx.operator.CustomOp):
    {forward}
        self.assign(out_data[0], req[0], in_data[0] * 2)


@pykernels.register("forking")
class ForkingProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Forking()


NAME = "forking"
"""
        + CALL
    )
    (tmp_path / "program.py").write_text(program)
    done = process.python(tmp_path / "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    check(done.stdout, "program.py", program, "Forking.forward")


@pytest.mark.thorough
def test_on_arrays_of_numpy(tmp_path: Path) -> None:
    """As everywhere, although nothing would wait."""
    folder = write_op(tmp_path, "forking", KERNEL)
    done = process.program(
        PRELUDE
        + f"""
warnings.simplefilter("ignore", pykernels.PykernelsWarning)
pykernels.load_ops({str(folder)!r})
forking = pykernels.list_ops()["forking"].api.forking
try:
    forking(np.ones(1))
except pykernels.KernelError as error:
    print(error)
assert forking(np.zeros(1)) == 0
child = os.fork()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
""",
        cwd=tmp_path,
    )
    assert "raised KernelError: os.fork in a kernel" in done.stdout


@pytest.mark.thorough
def test_other_threads_may_fork_and_children_may(tmp_path: Path) -> None:
    """While a kernel runs, and where the number of its thread belongs to another one."""
    process.program(
        PRELUDE
        + """
import threading

running, over = threading.Event(), threading.Event()


def kernel():
    with pykernels.fork.forbidden():
        with pykernels.fork.forbidden():
            pass
        running.set()
        over.wait(60)
        try:
            os.fork()
        except pykernels.KernelError:
            refused.append(True)
    child = os.fork()
    os._exit(0) if child == 0 else os.waitpid(child, 0)


refused = []
thread = threading.Thread(target=kernel)
thread.start()
running.wait(60)
child = os.fork()
if child == 0:
    os._exit(len(pykernels.fork.threads_in_kernels))
assert os.waitpid(child, 0)[1] == 0
over.set()
thread.join(60)
assert refused == [True]
""",
        cwd=tmp_path,
    )


@pytest.mark.thorough
def test_no_audit_hook_without_python_kernels(tmp_path: Path) -> None:
    """It stays for good, and is asked about everything that the interpreter does."""
    done = process.program(
        """
import sys

sys.addaudithook(lambda event, _: event == "sys.addaudithook" and print("added"))
"""
        + PRELUDE
        + """
pykernels.load_ops()
assert mx.nd.Custom(mx.nd.ones(2), op_type="relu").asnumpy().all()
with pykernels.fork.synchronized():
    print("compiled")
with pykernels.fork.forbidden(), pykernels.fork.forbidden():
    print("python")
""",
        cwd=tmp_path,
    )
    assert done.stdout.split() == ["compiled", "added", "python"]
