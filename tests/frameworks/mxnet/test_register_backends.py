"""``pykernels.register`` in the two other ways in which MXNet can run it: its tests, in a process of their own."""

from __future__ import annotations

import re
from pathlib import Path

import process
import pytest

HERE = Path(__file__).parent
FILES = ["test_register.py", "test_register_arrays.py", "test_register_mistakes.py"]


def run_tests(folder: Path, *arguments: str, **environment: str) -> str:
    """Have the tests pass; returns how many did, and how many were skipped."""
    done = process.python(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", process.CHECKOUT),
        *("-c", process.CHECKOUT / "pyproject.toml", *arguments, *(HERE / file for file in FILES)),
        cwd=folder,
        **environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"^(\d+ passed.*) in ", done.stdout, re.MULTILINE)
    assert found, done.stdout
    return found[1]


@pytest.mark.thorough
def test_with_the_engine_that_runs_everything_at_once(tmp_path: Path) -> None:
    assert "skipped" not in run_tests(tmp_path, MXNET_ENGINE_TYPE="NaiveEngine")


@pytest.mark.thorough
def test_on_the_threads_of_custom_operators(tmp_path: Path) -> None:
    """Where the binary of MXNet is not the one that is known."""
    told = run_tests(tmp_path, "-p", "outside_engine", PYTHONPATH=f"{process.CHECKOUT}:{HERE}")
    assert told.endswith(", 1 skipped"), told


@pytest.mark.thorough
@pytest.mark.parametrize("backend", ["threads", "NaiveEngine"])
def test_forks(tmp_path: Path, backend: str) -> None:
    """With calls pending, and calls in the child."""
    process.program(
        f"""
        import os
        import warnings
        warnings.simplefilter("ignore")
        import pykernels.compat.mxnet
        import mxnet as mx
        import outside_engine
        import pykernels
        from pykernels.frameworks.mxnet.registrar import Registrar

        if {backend == "threads"}:
            Registrar.enter_engine = outside_engine.refuse


        class PlusOne(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], mx.nd.array(in_data[0].asnumpy() + 1))


        @pykernels.register("cls_plus_one")
        class PlusOneProp(mx.operator.CustomOpProp):
            def create_operator(self, ctx, in_shapes, in_dtypes):
                return PlusOne()


        children = []
        for _ in range(100):
            y = mx.nd.zeros(8)
            for _ in range(4):
                y = mx.nd.Custom(y, op_type="cls_plus_one")
            children.append(os.fork())
            if children[-1] == 0:
                right = (mx.nd.Custom(y, op_type="cls_plus_one").asnumpy() == 5).all()
                os._exit(0 if right else 1)
            # A few may be running still.
            assert len(children) < 4 or os.waitpid(children.pop(0), 0)[1] == 0
            assert (y.asnumpy() == 4).all()
        assert all(os.waitpid(child, 0)[1] == 0 for child in children)
        """,
        cwd=tmp_path,
        PYTHONPATH=f"{process.CHECKOUT}:{HERE}",
        **({"MXNET_ENGINE_TYPE": backend} if backend == "NaiveEngine" else {}),
    )
