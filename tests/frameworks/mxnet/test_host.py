"""The registrar with a definition and kernels in plain C: what it asks for, what it runs, what it refuses."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
import pytest


def test_ops_are_loaded_when_they_are_first_used(native: Any) -> None:
    native.forget("pair")
    for _ in range(3):
        native.nd("pair", mx.nd.ones(2), mx.nd.ones(2))
    assert native.loaded == [f"{native.prefix}_pair"]


def test_a_kernel_is_asked_for_once_for_each_signature(native: Any) -> None:
    native.forget("scale")
    for alpha in (1.0, 2.0, 3.0):
        for length in (1, 5):
            for dtype in ("float32", "float64"):
                result = native.nd("scale", mx.nd.ones(length, dtype=dtype), alpha=alpha)
                np.testing.assert_array_equal(result.asnumpy(), np.full(length, alpha, dtype))
    # The attribute is a number that the kernel takes at run time; only the dtype tells them apart.
    assert [(op, tensors) for op, tensors, _ in native.resolved] == [
        ("scale_forward", ((2, 1), (2, 1))),
        ("scale_forward", ((3, 1), (3, 1))),
    ]


def test_replacing_an_op_leaves_its_graphs_alone(native: Any) -> None:
    x = mx.sym.var("x")
    executor = native.sym("scale", x).bind(mx.cpu(), {"x": mx.nd.array([1.0])})
    native.forget("scale")
    assert executor.forward()[0].asscalar() == 2.0
    assert native.resolved == []
    assert native.nd("scale", mx.nd.array([1.0])).asscalar() == 2.0
    assert native.resolved != []


def test_an_unknown_op_names_itself(native: Any) -> None:
    native.registrar.register(f"{native.prefix}_nothing")
    with pytest.raises(mx.MXNetError, match=f"there is no op '{native.prefix}_nothing'"):
        native.nd("nothing", mx.nd.ones(1))


def test_several_outputs_and_a_plan_with_several_bindings(native: Any) -> None:
    a, b = mx.nd.array([1.0, 2.0]), mx.nd.array([3.0, 5.0])
    a.attach_grad()
    b.attach_grad()
    with mx.autograd.record():
        total, product = native.nd("pair", a, b)
        loss = total + 10 * product
    loss.backward()
    np.testing.assert_array_equal(total.asnumpy(), [4, 7])
    np.testing.assert_array_equal(product.asnumpy(), [3, 10])
    np.testing.assert_array_equal(a.grad.asnumpy(), [31, 51])
    np.testing.assert_array_equal(b.grad.asnumpy(), [11, 21])


def test_no_request_no_work(native: Any) -> None:
    """An input that wants no gradient gets none, and what was there stays."""
    executor = native.sym("pair", mx.sym.var("a"), mx.sym.var("b")).bind(
        mx.cpu(),
        {"a": mx.nd.array([1.0]), "b": mx.nd.array([3.0])},
        args_grad={"a": mx.nd.array([100.0]), "b": mx.nd.array([7.0])},
        grad_req={"a": "add", "b": "null"},
    )
    executor.forward(is_train=True)
    executor.backward([mx.nd.array([1.0]), mx.nd.array([1.0])])
    assert executor.grad_dict["a"].asscalar() == 104.0
    assert executor.arg_dict["b"].asscalar() == 3.0


def test_results_may_go_into_an_input(native: Any) -> None:
    x = mx.nd.array([1.0, 2.0, 3.0])
    # Writing straight into its input, the kernel would read the new first element at the end.
    native.nd("picky", x, mx.nd.zeros(3, dtype="int32"), out=x)
    np.testing.assert_array_equal(x.asnumpy(), [2, 3, 1])


def test_ops_without_gradient(native: Any) -> None:
    x = mx.nd.array([1.0])
    x.attach_grad()
    with mx.autograd.record():
        y = native.nd("constant", x)
    assert y.asscalar() == 7.0, "the kernel is told that this is a training pass"
    y.backward()
    assert x.grad.asscalar() == 0.0
    with mx.autograd.record():
        z = native.nd("picky", x, mx.nd.zeros(1, dtype="int32"))
    z.backward()
    with pytest.raises(mx.MXNetError, match="_picky' has no gradient: its definition registers none"):
        x.grad.asnumpy()
    assert native.nd("constant", x).asscalar() == 3.0


def test_a_plan_with_an_unknown_op_fails_at_the_call(native: Any) -> None:
    x = mx.nd.array([1.0])
    assert native.nd("bad_plan", x).asscalar() == 1.0
    x.attach_grad()
    message = "_bad_plan': it uses op type 'nowhere_backward', which no loaded folder"
    with mx.autograd.record(), pytest.raises(mx.MXNetError, match=message):
        native.nd("bad_plan", x)


def test_a_failing_kernel_poisons_its_outputs_and_nothing_else(native: Any) -> None:
    y = native.nd("scale", mx.nd.ones(3), alpha=-1)
    with pytest.raises(mx.MXNetError, match="scale_forward failed with status 1"):
        y.wait_to_read()
    if native.prefix == "engine":
        with pytest.raises(mx.MXNetError, match="scale_forward failed with status 1"):
            y.asnumpy()
    else:
        assert np.isnan(y.asnumpy()).all()
    assert native.nd("scale", mx.nd.ones(1), alpha=4).asscalar() == 4.0


def test_definitions_may_look_at_dtypes_while_only_shapes_are_known(native: Any) -> None:
    index = mx.nd.zeros(2, dtype="int32")
    np.testing.assert_array_equal(native.nd("picky", mx.nd.array([5.0, 6.0]), index).asnumpy(), [6, 5])
    message = r"_picky' for x: float32 \(2,\), index: float32 \(2,\): definition.c: index must be int32"
    with pytest.raises(mx.MXNetError, match=message):
        native.nd("picky", mx.nd.ones(2), mx.nd.ones(2))


def test_optional_and_repeated_inputs(native: Any) -> None:
    np.testing.assert_array_equal(native.nd("join", mx.nd.ones(2)).asnumpy(), [1, 1])
    for counts, wanted in (((3, 0), [[1, 4], [1, 4], [1, 4]]), ((2, 1), [[1, 4], [1, 4], [0, 0]])):
        inputs = [mx.nd.ones(2) for _ in range(3)]
        for each in inputs:
            each.attach_grad()
        with mx.autograd.record():
            y = native.nd("join", *inputs, num_args=counts)
        y.backward(mx.nd.array([1.0, 4.0]))
        np.testing.assert_array_equal(y.asnumpy(), [3, 3])
        for each, gradient in zip(inputs, wanted):
            np.testing.assert_array_equal(each.grad.asnumpy(), gradient)


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (0, r"_join' has the inputs x \(1 or more\), bias \(optional\), not 0 of them"),
        (3, r"_join': 3 inputs can be read in several ways, .*; say how many of each, as in \(1, 1\)"),
        ((2, 2), r"_join' has the inputs x \(1 or more\), bias \(optional\), not \(2, 2\) of them"),
        ((3,), r"not \(3\) of them"),
        ("two", r"'num_args' must be a number of arrays such as 3, or one for each argument .*, got 'two'"),
        ("(1, -1)", r"got '\(1, -1\)'"),
    ],
)
def test_numbers_of_inputs_that_cannot_be(native: Any, count: Any, message: str) -> None:
    with pytest.raises(mx.MXNetError, match=message):
        native.nd("join", *[mx.nd.ones(2)] * 3, num_args=count)


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        ("float16", 9),
        ("float32", 2),
        ("float64", 3),
        ("int8", 4),
        ("int32", 5),
        ("int64", 6),
        ("uint8", 7),
        ("bool", 12),
    ],
)
def test_every_dtype_comes_through(native: Any, dtype: str, number: int) -> None:
    """To the kernels, that is: what they are asked for says as which dtype an array arrived."""
    native.forget("bad_plan")
    try:
        native.nd("bad_plan", mx.nd.zeros(1, dtype=dtype))
    except mx.MXNetError as error:
        assert "there is no kernel for bad_plan_forward" in str(error)
    assert native.resolved == [("bad_plan_forward", ((number, 1), (number, 1)), {})]


@pytest.mark.parametrize(
    ("dtype", "there", "added"),
    [
        ("float16", [1.0, 1024.0, -2.0, 60000.0, 6e-8, 3.0], [2.0, 0.5, 2.0, 60000.0, 6e-8, float("nan")]),
        ("float32", [1.0, -2.0], [0.5, 2.0]),
        ("float64", [1.0, 1e300], [1e-9, 1e300]),
        ("int8", [100, -1], [100, 2]),
        ("int32", [2**31 - 1, 5], [1, 6]),
        ("int64", [2**63 - 1, 5], [1, 6]),
        ("uint8", [200, 1], [100, 2]),
        ("bool", [True, True, False, False], [True, False, True, False]),
    ],
)
def test_gradients_are_added_in_every_dtype(native: Any, dtype: str, there: list[Any], added: list[Any]) -> None:
    before, more = np.array(there, dtype), np.array(added, dtype)
    x, gradient = mx.nd.zeros(before.shape, dtype=dtype), mx.nd.array(before, dtype=dtype)
    executor = native.sym("join", mx.sym.var("x")).bind(mx.cpu(), [x], [gradient], "add")
    executor.forward(is_train=True)
    executor.backward([mx.nd.array(more, dtype=dtype)])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(gradient.asnumpy(), before + more)


def test_no_array_is_kept(native: Any) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def work() -> None:
        x = mx.nd.ones(500_000)
        x.attach_grad()
        for _ in range(100):
            with mx.autograd.record():
                y = native.nd("scale", x)
            y.backward()
            mx.nd.waitall()

    work()
    before = resident()
    work()
    # Every array left behind would be 2 MB.
    assert resident() - before < 40e6


def test_threads_share_ops(native: Any) -> None:
    wrong: list[Any] = []

    def work(seed: int) -> None:
        for i in range(50):
            value = float(seed * 100 + i)
            got = native.nd("scale", mx.nd.array([value] * 8), alpha=(i % 3) + 1).asnumpy()
            if not (got == value * ((i % 3) + 1)).all():
                wrong.append((value, got))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
