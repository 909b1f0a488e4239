"""Functions of API files, which call prepared ops, on OneFlow's tensors."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import oneflow as flow
import pytest
from folders import write_op

import pykernels


@pytest.fixture
def leaky_relu(shipped: None) -> Any:
    """The API function, which has met no values yet."""
    pykernels.unload_ops("leaky_relu")
    return pykernels.load_ops(pykernels.base.paths.OPS / "leaky_relu")["leaky_relu"].api.leaky_relu


def test_gradients_modules_and_graphs(leaky_relu: Any) -> None:
    class Graph(flow.nn.Graph):  # type: ignore[misc]
        def build(self, x: Any) -> Any:
            return leaky_relu(x, 0.25)

    x = flow.tensor([-2.0, 4.0], requires_grad=True)
    leaky_relu(x, 0.25).sum().backward()
    assert x.grad.tolist() == [0.25, 1]
    assert Graph()(x).tolist() == [-0.5, 4]
    with flow.no_grad():
        assert not leaky_relu(flow.nn.Parameter(x.detach()), 0.25).requires_grad


def test_the_wrong_arguments_are_reported_as_python_reports_them(leaky_relu: Any) -> None:
    x = flow.ones(2)
    for call, told in (
        (lambda: leaky_relu(), "missing 1 required positional argument: 'x'"),
        (lambda: leaky_relu(x, 1.0, 2.0), "takes from 1 to 2 positional arguments but 3 were given"),
        (lambda: leaky_relu(x, x=x), "multiple values for argument 'x'"),
        (lambda: leaky_relu(x, slope=1.0), "op leaky_relu_forward has no attribute 'slope'; it has: alpha"),
    ):
        with pytest.raises(TypeError, match=told):
            call()
    with pytest.raises(pykernels.CallError, match="'alpha' of op leaky_relu_forward"):
        leaky_relu(x, "steep")
    with pytest.raises(RuntimeError, match="x must be floating point, but is int32"):
        leaky_relu(flow.ones(2, dtype=flow.int32))


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
        with pytest.raises(pykernels.CallError, match="op 'edited_forward' is not loaded"):
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
