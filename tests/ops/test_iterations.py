"""Ops whose iterations are independent are shared out among MXNet's threads, and the results do not show it."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest
from process import CHECKOUT, HELPERS, python

PROGRAM = """
    import sys
    import warnings

    warnings.simplefilter("ignore")
    import mxnet as mx
    import numpy as np
    import pykernels

    pykernels.load_ops()
    rng = np.random.default_rng(0)
    x, weight = (mx.nd.array(rng.standard_normal((n, 301)), dtype="float32") for n in (1001, 1))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="softmax")
        z = mx.nd.Custom(y, weight[0], weight[0], op_type="layer_norm")
        kept, _ = mx.nd.Custom(z, p=0.5, seed=3, op_type="dropout")
    kept.backward(x)
    for result in (y, z, kept, x.grad):
        sys.stdout.write(result.asnumpy().tobytes().hex())
"""


@pytest.mark.thorough
def test_any_number_of_threads_gives_the_same(tmp_path: Path) -> None:
    results = []
    for threads in ("1", "2", "5"):
        environment = {"OMP_NUM_THREADS": threads, "OMP_WAIT_POLICY": "passive"}
        paths = os.pathsep.join(map(str, [CHECKOUT, HELPERS]))
        done = python("-c", textwrap.dedent(PROGRAM), cwd=tmp_path, PYTHONPATH=paths, **environment)
        assert done.returncode == 0, done.stderr
        results.append(done.stdout)
    assert len(results[0]) == 4 * 8 * 1001 * 301
    assert results[1] == results[0]
    assert results[2] == results[0]
