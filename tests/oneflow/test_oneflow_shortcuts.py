"""Functions of API files that only call an op: their Python code is left out, and everything is as if it were not."""

from __future__ import annotations

import sys
import threading
import types
from pathlib import Path
from typing import Any

import numpy as np
import oneflow as flow
import pytest
from folders import write_op

import pykernels
from pykernels.call.builder import UserOpBuilder
from pykernels.frameworks.oneflow.shortcuts import read_recipe

FUNCTIONS = """
import pykernels
import pykernels as flow
from pykernels import user_op_builder

_described = pykernels.user_op_builder("s").Op("leaky_relu_forward").Attr("alpha", 0.5).Output("y").Function("x")
SLOPE = 0.5


def chain(x, alpha=0.01):
    "With a docstring."
    return (
        pykernels.user_op_builder("s").Op("leaky_relu_forward").Input("x", [x]).Output("y").Attr("alpha", alpha)
        .Build().InferAndTryRun().SoleOutputBlob()
    )

def constant(x):
    y = flow.user_op_builder(op_name="s").Op("leaky_relu_forward").Input("x", (x,)).Output("y", 1)
    y = y.Attr("alpha", 0.5, "AttrTypeFloat").Build()
    return y.InferAndTryRun().SoleOutputBlob()

def described(x):
    return _described(x)

def two(p, x):
    op = user_op_builder("s").Op("dropout_forward").Input("x", [x]).Output("y").Output("mask").Attr("p", p).Build()
    return op.InferAndTryRun().RemoteBlobList()

def branch(x, alpha=0.5):
    return chain(x) if alpha else x

def computed(x, alpha):
    return chain(x, alpha + 1)

def of_global(x):
    return (
        pykernels.user_op_builder("s").Op("leaky_relu_forward").Input("x", [x]).Output("y").Attr("alpha", SLOPE)
        .Build().InferAndTryRun().SoleOutputBlob()
    )

def not_run(x):
    return pykernels.user_op_builder("s").Op("leaky_relu_forward").Input("x", [x]).Output("y").Build()

def of_several(*x):
    return _described(*x)

def loads(x):
    pykernels.load_ops()
    return _described(x)

def printed(x):
    print(x)
    return _described(x)
"""


def functions() -> types.SimpleNamespace:
    space: dict[str, Any] = {}
    exec(compile(FUNCTIONS, "functions_py_api.py", "exec"), space)
    return types.SimpleNamespace(**space)


@pytest.mark.parametrize(
    ("name", "tensors", "given", "constants", "is_list"),
    [
        ("chain", (0,), {"alpha": 1}, {}, False),
        ("constant", (0,), {}, {"alpha": 0.5}, False),
        ("described", (0,), {}, {"alpha": 0.5}, False),
        ("two", (1,), {"p": 0}, {}, True),
    ],
)
def test_what_a_function_calls_is_read_from_its_code(
    name: str, tensors: tuple[int, ...], given: dict[str, int], constants: dict[str, Any], is_list: bool
) -> None:
    recipe = read_recipe(getattr(functions(), name))
    assert recipe is not None
    assert (recipe.tensors, recipe.given, recipe.constants, recipe.is_list) == (tensors, given, constants, is_list)
    assert recipe.op_type == ("dropout_forward" if is_list else "leaky_relu_forward")


@pytest.mark.parametrize("name", ["branch", "computed", "of_global", "not_run", "of_several", "loads", "printed"])
def test_functions_that_do_more_are_left_alone(name: str) -> None:
    assert read_recipe(getattr(functions(), name)) is None


@pytest.fixture
def leaky_relu(shipped: None) -> Any:
    """The API function, which has met no values yet."""
    pykernels.unload_ops("leaky_relu")
    return pykernels.load_ops(pykernels.base.paths.OPS / "leaky_relu")["leaky_relu"].api.leaky_relu


def without_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on API files that describe a call fail."""

    def refuse(self: UserOpBuilder, name: str) -> UserOpBuilder:
        raise AssertionError("the API file was run")

    monkeypatch.setattr(UserOpBuilder, "Op", refuse)


def test_values_that_were_met_before_take_no_python_code(leaky_relu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = flow.tensor([-2.0, 4.0])
    for alpha in (0.25, 0.01, 0.0):
        for _ in range(3):
            leaky_relu(x, alpha)
    without_python(monkeypatch)
    assert leaky_relu(x, 0.25).tolist() == leaky_relu(alpha=0.25, x=x).tolist() == [-0.5, 4]
    np.testing.assert_allclose(leaky_relu(x).tolist(), [-0.02, 4])
    for other in (0.75, 0, False, -0.0, np.float64(0.25), [0.25]):
        with pytest.raises(AssertionError, match="the API file was run"):
            leaky_relu(x, other)
    with pytest.raises(AssertionError, match="the API file was run"):
        leaky_relu(x.numpy(), 0.25)


def test_gradients_modules_and_graphs(leaky_relu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Graph(flow.nn.Graph):  # type: ignore[misc]
        def build(self, x: Any) -> Any:
            return leaky_relu(x, 0.25)

    x = flow.tensor([-2.0, 4.0], requires_grad=True)
    for _ in range(3):
        leaky_relu(x, 0.25)
    without_python(monkeypatch)
    leaky_relu(x, 0.25).sum().backward()
    assert x.grad.tolist() == [0.25, 1]
    assert Graph()(x).tolist() == [-0.5, 4]
    with flow.no_grad():
        assert not leaky_relu(flow.nn.Parameter(x.detach()), 0.25).requires_grad


def test_the_wrong_arguments_are_told_as_python_tells_them(leaky_relu: Any) -> None:
    x = flow.ones(2)
    for _ in range(3):
        leaky_relu(x)
    for call, told in (
        (lambda: leaky_relu(), "missing 1 required positional argument: 'x'"),
        (lambda: leaky_relu(x, 1.0, 2.0), "takes from 1 to 2 positional arguments but 3 were given"),
        (lambda: leaky_relu(x, x=x), "multiple values for argument 'x'"),
        (lambda: leaky_relu(x, slope=1.0), "unexpected keyword argument 'slope'"),
    ):
        with pytest.raises(TypeError, match=told):
            call()
    with pytest.raises(pykernels.CallError, match="'alpha' of op leaky_relu_forward"):
        leaky_relu(x, "steep")
    with pytest.raises(RuntimeError, match="x must be floating point, but is int32"):
        leaky_relu(flow.ones(2, dtype=flow.int32))


def test_the_function_stays_what_it_was(leaky_relu: Any) -> None:
    x = flow.tensor([-2.0])
    for _ in range(3):
        leaky_relu(x)
    assert isinstance(leaky_relu, types.FunctionType) and leaky_relu.__doc__.startswith("Leaky rectified linear unit")
    seen = []
    sys.setprofile(lambda frame, event, _: seen.append((event, frame.f_code.co_name)))
    try:
        leaky_relu(x)
    finally:
        sys.setprofile(None)
    assert ("call", "leaky_relu") in seen
    before = leaky_relu.__defaults__
    try:
        leaky_relu.__defaults__ = (0.5,)
        assert leaky_relu(x).tolist() == [-1]
    finally:
        leaky_relu.__defaults__ = before
    np.testing.assert_allclose(leaky_relu(x).tolist(), [-0.02])


@pytest.mark.thorough
def test_several_outputs_and_modes_of_training(shipped: None) -> None:
    dropout = pykernels.list_ops()["dropout"].api.dropout
    x = flow.ones(64)
    for _ in range(4):
        assert [y.tolist() for y in dropout(x, 0.5, 1)] == [x.tolist(), x.tolist()]
    assert dropout(x.requires_grad_(), 0.5, 1)[0].tolist() != x.tolist()


def test_the_ops_that_are_loaded_change(tmp_path: Path) -> None:
    api = "import pykernels\n\ndef edited(x):\n    return _call(x)\n\n" + (
        '_call = pykernels.user_op_builder("e").Op("edited_forward").Output("output").Function("data")\n'
    )
    x = flow.ones(2)
    functions = []
    for factor in (2, 3):
        kernel = f"def forward(args):\n    return args[0] * {factor}\n\ndef backward(args):\n    return args[0]\n"
        folder = write_op(tmp_path, "edited", kernel)
        (folder / "edited_py_api.py").write_text(api)
        pykernels.load_ops(folder)
        functions.append(pykernels.list_ops()["edited"].api.edited)
        for _ in range(4):
            assert [function(x).tolist() for function in functions] == [[factor, factor]] * len(functions)
    pykernels.unload_ops("edited")
    for function in functions:
        with pytest.raises(pykernels.CallError, match="there is no op 'edited_forward'"):
            function(x)


def test_threads_that_use_other_values(leaky_relu: Any) -> None:
    wrong = []

    def use(alpha: float) -> None:
        x = flow.tensor([-1.0])
        for _ in range(200):
            if leaky_relu(x, alpha).item() != -alpha:
                wrong.append(alpha)

    threads = [threading.Thread(target=use, args=(i / 4,)) for i in range(1, 25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong
