"""Large elementwise kernels are cut over MXNet's own threads for loops."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest
from process import CHECKOUT, HELPERS, python

PROGRAM = """
    import os
    import threading
    import warnings
    from pathlib import Path

    warnings.simplefilter("ignore")
    import pykernels.compat.mxnet
    import mxnet as mx
    import numpy as np
    import pykernels
    from native_ops import Native

    native = Native(Path.cwd(), "threads")
    native.registrar.enter_engine()
    pykernels.load_ops()
    numbers = np.random.default_rng(0).normal(size=1_000_003).astype("float32")
    x = mx.nd.array(numbers)


    def pieces(n):
        begins = native.nd("pieces", mx.nd.zeros(n), alpha=1).asnumpy()
        assert begins[0] == 0 and (begins % 1024 == 0).all()
        return len(np.unique(begins))


    def is_right():
        # In one piece on NumPy arrays.
        expected = pykernels.list_ops()["tanh"].api.tanh(numbers)
        return mx.nd.Custom(x, op_type="tanh").asnumpy().tobytes() == expected.tobytes()
"""


def run(folder: Path, program: str, **environment: str) -> str:
    done = python(
        *("-c", textwrap.dedent(PROGRAM) + textwrap.dedent(program)),
        cwd=folder,
        PYTHONPATH=os.pathsep.join(map(str, [CHECKOUT, HELPERS, Path(__file__).parent])),
        **environment,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["ThreadedEnginePerDevice", "NaiveEngine"])
def test_as_many_pieces_as_mxnet_has_threads(tmp_path: Path, engine: str) -> None:
    program = "print(pieces(10), pieces(131_071), pieces(131_072), pieces(1_000_003), is_right())"
    environment = {"MXNET_ENGINE_TYPE": engine, "OMP_WAIT_POLICY": "passive"}
    assert run(tmp_path, program, OMP_NUM_THREADS="3", **environment) == "1 1 2 3 True"
    assert run(tmp_path, program, OMP_NUM_THREADS="1", **environment) == "1 1 1 1 True"


@pytest.mark.thorough
def test_a_piece_that_fails(tmp_path: Path) -> None:
    program = """
        y = native.nd("pieces", mx.nd.zeros(1_000_003), alpha=-1)
        try:
            y.asnumpy()
        except mx.MXNetError as error:
            print(str(error).splitlines()[0])
        print(pieces(1_000_003))
    """
    assert run(tmp_path, program, OMP_NUM_THREADS="2") == "MXNetError: pieces_forward failed with status 1 [PK300]\n2"


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["ThreadedEnginePerDevice", "NaiveEngine"])
def test_a_forked_child_and_several_callers(tmp_path: Path, engine: str) -> None:
    program = """
        assert is_right()
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(0 if is_right() and pieces(1_000_003) == 1 else 1)
            assert os.waitpid(child, 0)[1] == 0
        right = []
        callers = [threading.Thread(target=lambda: right.append(is_right())) for _ in range(8)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        print(right.count(True))
    """
    assert run(tmp_path, program, OMP_NUM_THREADS="2", MXNET_ENGINE_TYPE=engine) == "8"
