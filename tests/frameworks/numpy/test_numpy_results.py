"""``out=`` and ``where=`` of calls on NumPy's arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from folders import write_op

import pykernels
from pykernels.base import paths
from pykernels.base.errors import CallError
from pykernels.frameworks.numpy import native

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def ops() -> Iterator[dict[str, pykernels.OpModule]]:
    loaded = pykernels.load_ops(paths.OPS)
    yield loaded
    pykernels.unload_ops(*loaded)


@pytest.fixture(params=["native", "without a compiler"])
def call(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, ops: Any) -> Callable[..., Any]:
    """A function that calls an op, natively or as where there is no compiler."""
    if request.param != "native":
        monkeypatch.setattr(native, "make_call", lambda: None)
    folder = "tanh"
    pykernels.load_ops(paths.OPS / folder)  # drops the calls that other tests have prepared
    return ops[folder].api.tanh


@pytest.mark.parametrize("dtype", [np.float32, np.float64, ">f4"])
def test_out_of_any_layout(call: Callable[..., Any], dtype: Any) -> None:
    for _ in range(3):
        for shape in [(), (0,), (5,), (4, 6), (2, 3, 4)]:
            x = RNG.normal(size=shape).astype(dtype)
            wanted = np.tanh(x.astype(np.float64))
            bytes_ = np.zeros(x.nbytes + 1, np.uint8)
            transposed = np.zeros(shape[::-1], dtype).T
            wide = np.zeros((*shape, 3), dtype)
            for out in (
                np.zeros(shape, dtype),
                np.zeros(shape, np.dtype(dtype).newbyteorder()),
                transposed,
                wide[..., 1],
                wide[..., ::2][..., 1],
                bytes_[1:].view(dtype).reshape(shape),
                np.zeros(shape, dtype).view(np.recarray),
            ):
                assert call(x, out=out) is out
                np.testing.assert_allclose(np.asarray(out, np.float64), wanted, rtol=1e-6)
                assert call(x, out=(out,), where=True) is out
            assert not wide[..., 0].any()
            np.testing.assert_allclose(call(x, out=(None,)), wanted, rtol=1e-6)
            np.testing.assert_allclose(call(x, out=None), wanted, rtol=1e-6)


def test_out_may_overlap_the_input(call: Callable[..., Any]) -> None:
    for _ in range(3):
        for read, written in [(np.s_[:90], np.s_[:90]), (np.s_[:90], np.s_[7:97]), (np.s_[7:97], np.s_[:90])]:
            x = RNG.normal(size=100)
            wanted = np.tanh(x[read])
            call(x[read], out=x[written])
            np.testing.assert_allclose(x[written], wanted, rtol=1e-6)
        x = RNG.normal(size=(8, 8))
        wanted = np.tanh(x)
        call(x, out=x.T)
        np.testing.assert_allclose(x.T, wanted, rtol=1e-6)


def test_where_leaves_the_other_elements(call: Callable[..., Any]) -> None:
    x = RNG.normal(size=(4, 6))
    for _ in range(3):
        for mask in (x > 0, x[0] > 0, [[True], [False], [True], [True]], False):
            for out in (np.full((4, 6), 7.0), np.full((6, 4), 7.0).T, np.full((4, 6), 7.0, ">f8")):
                wanted = np.tanh(x, out=out.copy(), where=np.asarray(mask))
                assert call(x, out=out, where=mask) is out
                np.testing.assert_allclose(out, wanted, rtol=1e-6)
            chosen = np.broadcast_to(mask, x.shape)
            np.testing.assert_allclose(call(x, where=mask)[chosen], np.tanh(x)[chosen], rtol=1e-6)
        same = x.copy()
        call(same, out=same, where=x > 0)
        np.testing.assert_allclose(same, np.where(x > 0, np.tanh(x), x), rtol=1e-6)


def test_out_and_where_that_do_not_fit(call: Callable[..., Any]) -> None:
    x = np.ones(3)
    read_only = np.ones(3)
    read_only.flags.writeable = False
    mismatches: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"out": [1.0]}, TypeError, "out for its output 'y' is a list, not an array of NumPy"),
        ({"out": np.ones(4)}, CallError, r"out for its output 'y' has the shape \(4,\), and the result has \(3,\)"),
        ({"out": np.ones(3, "f4")}, TypeError, "'y' has dtype float32, and the result has float64"),
        ({"out": read_only}, CallError, "out for its output 'y' is read-only"),
        ({"out": (x, x)}, CallError, "out has 2 arrays, and the call has 1 results"),
        ({"where": np.ones(3)}, TypeError, "where has dtype float64, not bool"),
        ({"where": np.ones(2, bool)}, CallError, r"where has the shape \(2,\), which does not broadcast to .* \(3,\)"),
        ({"where": np.ones((1, 3), bool)}, CallError, r"where has the shape \(1, 3\), which does not broadcast to"),
    ]
    for _ in range(2):
        for keywords, kind, message in mismatches:
            with pytest.raises(kind, match=message):
                call(x, **keywords)


def test_several_outputs_states_and_kernels_that_are_not_elementwise(ops: dict[str, pykernels.OpModule]) -> None:
    x, y, mask = np.ones((2, 3), "f4"), np.zeros((2, 3), "f4"), np.zeros((2, 3), "f4")
    dropout = ops["dropout"].api.dropout
    for _ in range(2):
        found = dropout(x, out=(y, mask))
        assert found[0] is y and found[1] is mask
        assert y.all() and mask.all()
        y[...] = mask[...] = 0
        found = dropout(x, out=(None, mask))
        assert found[0] is not y and found[1] is mask and mask.all() and not y.any()
        dropout(x, out=(y, y))
        assert y.all()
    softmax = ops["softmax"].api.softmax
    wanted = softmax(x)
    assert softmax(x, out=x) is x
    np.testing.assert_array_equal(x, wanted)
    with pytest.raises(CallError, match="softmax_forward: where= is for elementwise kernels; this one is of the form"):
        softmax(x, where=x > 0)


def test_attributes_of_these_names_and_reordered_inputs(tmp_path: Path) -> None:
    definition = """
        import pykernels


        class Less(pykernels.CustomOpProp):
            arguments = ["a", "b"]
            outputs = ["y"]
            backward = None
            where: bool
    """
    kernel = "def forward(args, *, where):\n    a, b = args\n    return a - b if where else b - a\n"
    pykernels.load_ops(write_op(tmp_path, "less", kernel, definition))
    less = pykernels.user_op_builder("less").Op("less").Output("y").Function("b", "a")
    a, b, y = np.full(2, 5.0), np.ones(2), np.zeros(2)
    for where, wanted in [(True, 4), (False, -4)] * 2:
        assert less(b, a, where=where, out=y) is y
        np.testing.assert_array_equal(y, wanted)
    pykernels.unload_ops("less")


def test_tensors_of_a_framework_are_refused(ops: dict[str, pykernels.OpModule]) -> None:
    mx = pytest.importorskip("mxnet")
    x = mx.nd.ones(2)
    with pytest.raises(CallError, match="out= and where= are for NumPy's arrays, and an input is a tensor of mxnet"):
        ops["tanh"].api.tanh(x, out=x)
    np.testing.assert_allclose(ops["tanh"].api.tanh(x, out=None, where=True).asnumpy(), np.tanh(1), rtol=1e-6)
