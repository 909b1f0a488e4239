"""Wrong use: a clear exception at the call or where OneFlow is next waited for, and the next call is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import complex_ops
import numpy as np
import oneflow as flow
import pytest
from folders import TIMES, write_op
from messages import code_of
from quick import thorough
from raising_kernels import COMPILED_RAISES, PYTHON_RAISES, returns

import pykernels
from pykernels.base.errors import CallError, KernelError

pytestmark = pytest.mark.usefixtures("shipped")


@pytest.fixture(autouse=True)
def the_next_call_is_right() -> Iterator[None]:
    yield
    x = flow.tensor([-1.0, 2.0], requires_grad=True)
    y = api("relu")(x)
    y.sum().backward()
    np.testing.assert_array_equal(y.numpy(), [0, 2])
    np.testing.assert_array_equal(x.grad.numpy(), [0, 1])


def api(name: str) -> Any:
    return getattr(pykernels.list_ops()[name].api, name)


def build(op_type: str, inputs: dict[str, list[Any]], **attributes: Any) -> Any:
    builder = pykernels.user_op_builder("call").Op(op_type)
    for name, tensors in inputs.items():
        builder = builder.Input(name, tensors)
    for name, value in attributes.items():
        builder = builder.Attr(name, value)
    return builder.Output("y").Build().InferAndTryRun().SoleOutputBlob()


def graph_of(function: Callable[[Any], Any]) -> Any:
    class Graph(flow.nn.Graph):
        def build(self, x: Any) -> Any:
            return function(x)

    return Graph()


#: Calls on a tensor of shape (1, 2).
CALLS: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "too many tensors": (
        lambda x: build("relu_forward", {"x": [x, x]}),
        RuntimeError,
        r"op 'relu_forward' has the inputs x, not \(2\) of them",
    ),
    "too few inputs": (
        lambda x: build("dense_forward", {"data": [x]}),
        RuntimeError,
        r"op 'dense_forward' has the inputs data, weight, not \(1, 0\) of them",
    ),
    "no such input": (lambda x: build("relu_forward", {"z": [x]}), CallError, "has no input 'z'; its inputs are x"),
    "wrong dtype": (
        lambda x: api("sigmoid")(x.to(flow.int32)),
        RuntimeError,
        r"op 'sigmoid_forward' for x: int32 \(1, 2\): .*sigmoid_cpp_def.cpp:\d+: .*floating point",
    ),
    "mixed dtypes": (
        lambda x: api("dense")(x, x.to(flow.float64)),
        RuntimeError,
        "op 'dense_forward' for data: float32 .*weight must have the dtype of data",
    ),
    "wrong rank": (
        lambda x: api("dense")(flow.ones(1, 2, 3), x),
        RuntimeError,
        r"op 'dense_forward' for data: float32 \(1, 2, 3\), .*data must have 2 axes",
    ),
    "wrong shape": (
        lambda x: api("dense")(x, flow.ones(4, 3)),
        RuntimeError,
        "weight must have the shape .outputs, inputs., here .4, 2., but has .4, 3.",
    ),
    "too large a result": (
        lambda x: [api("dense")(flow.ones(n, 0), flow.ones(n, 0)) for n in (2, 2**20)],
        RuntimeError,
        r"op 'dense_forward': .*dense_cpp_def.cpp:\d+ infers \(1048576, 1048576\) for its output 'y': Unable",
    ),
    "unknown op": (lambda x: build("rleu_forward", {"x": [x]}), CallError, "op 'rleu_forward' is not loaded"),
    "unknown attribute": (
        lambda x: build("leaky_relu_forward", {"x": [x]}, alhpa=1),
        CallError,
        "has no attribute 'alhpa'; did you mean 'alpha'",
    ),
    "malformed attribute": (
        lambda x: api("softmax")(x, axis="last"),
        CallError,
        "attribute 'axis' of op softmax_forward is of type int32, which 'last' is not",
    ),
    "attribute out of range": (
        lambda x: api("softmax")(x, axis=5),
        RuntimeError,
        "op 'softmax_forward' for x: .*axis is 5, but x has 2 axes",
    ),
    "not a tensor": (
        lambda x: api("relu")([1.0]),
        CallError,
        "an input is a list, not an array of NumPy or a tensor of .*oneflow.*; np.asarray makes an array",
    ),
    "arrays among tensors": (
        lambda x: api("dense")(x, np.ones((2, 2), "float32")),
        CallError,
        "its inputs belong to different frameworks: numpy, oneflow",
    ),
}


# OneFlow 0.9 calls modules of its own in flow.ones, and warns of them in graphs.
@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:.* is called in a nn.Graph:UserWarning")
@pytest.mark.parametrize("case", CALLS)
@pytest.mark.parametrize("where", ["eager", "graph"])
def test_wrong_calls_fail_at_the_call(case: str, where: str, capfd: pytest.CaptureFixture[str]) -> None:
    call, error, message = CALLS[case]
    with pytest.raises(error, match=message) as raised:
        (call if where == "eager" else graph_of(call))(flow.tensor([[1.0, 2.0]]))
    assert code_of(raised.value) == CallError.code


#: Whatever waits for a result.
WAITS: dict[str, Callable[[Any], Any]] = {
    "numpy": lambda y: y.numpy(),
    "print": str,
    "item": lambda y: y.sum().item(),
    "float": lambda y: float(y.sum()),
    "tolist": lambda y: y.tolist(),
    "bool": lambda y: bool(y.sum() > 0),
    "array": np.asarray,
    "sync": lambda y: flow._oneflow_internal.eager.Sync(),
}


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("wait", ["numpy", *thorough(*(name for name in WAITS if name != "numpy"))])
@pytest.mark.parametrize("kernel", [COMPILED_RAISES, PYTHON_RAISES], ids=["compiled", "python"])
def test_a_kernel_that_raises(load: Callable[..., str], kernel: str, wait: str) -> None:
    name = load(kernel)
    y = api(name)(flow.ones(3))
    with pytest.raises(
        RuntimeError, match=rf"op '{name}_forward'.*{name}_py_kernel.py:\d+.*ValueError: three is too many"
    ) as told:
        WAITS[wait](y)
    assert isinstance(told.value, KernelError) and code_of(told.value) == "PK300"
    assert "called in OneFlow with data: float32 (3,)" in str(told.value)
    # It has been told once; the numbers stay wrong.
    assert np.isnan(y.numpy()).all()
    assert api(name)(flow.ones(2)).tolist() == [1, 1]


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("kernel", [COMPILED_RAISES, PYTHON_RAISES], ids=["compiled", "python"])
def test_a_gradient_that_raises(load: Callable[..., str], kernel: str) -> None:
    name = load(kernel)
    x = flow.ones(2, requires_grad=True)
    api(name)(x).sum().backward()
    with pytest.raises(RuntimeError, match=rf"{name}_py_kernel.py:\d+.*ZeroDivisionError: no gradient of two"):
        x.grad.numpy()
    assert np.isnan(x.grad.numpy()).all()


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize("kernel", [COMPILED_RAISES, PYTHON_RAISES], ids=["compiled", "python"])
def test_a_kernel_that_raises_in_a_graph(load: Callable[..., str], kernel: str) -> None:
    name = load(kernel)
    graph = graph_of(api(name))
    for _ in range(2):
        y = graph(flow.ones(3))
        with pytest.raises(RuntimeError, match=rf"{name}_py_kernel.py:\d+.*ValueError: three is too many"):
            y.numpy()
        assert np.isnan(y.numpy()).all()


# ---- which call it was


def line_of(marker: str) -> str:
    """What errors say of the line of this file that has this comment."""
    lines = Path(__file__).read_text().splitlines()
    return f"{__file__}:{1 + [line.endswith(f'# {marker}') for line in lines].index(True)}, in "


def told_of(wait: Callable[[], Any]) -> str:
    with pytest.raises(KernelError) as told:
        wait()
    return str(told.value)


def test_the_line_of_the_call_is_reported(load: Callable[..., str]) -> None:
    function = api(load(COMPILED_RAISES))
    function(flow.ones(2))
    function(flow.ones(3))  # the call that fails
    for _ in range(100):
        function(flow.ones(2))
    assert line_of("the call that fails") in told_of(flow._oneflow_internal.eager.Sync)


def test_the_line_of_the_call_whose_gradient_fails_is_reported(load: Callable[..., str]) -> None:
    function = api(load(COMPILED_RAISES))
    x = flow.ones(2, requires_grad=True)
    y = function(x)  # the call whose gradient fails
    (y + function(flow.ones(2))).sum().backward()
    text = told_of(x.grad.numpy)
    assert line_of("the call whose gradient fails") in text
    assert "ZeroDivisionError" in text


@pytest.mark.thorough
def test_the_line_in_the_graph_is_reported(load: Callable[..., str]) -> None:
    function = api(load(COMPILED_RAISES))

    class Trained(flow.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.p = flow.nn.Parameter(flow.ones(2))

        def forward(self, x: Any) -> Any:
            y = function(x)  # the call in the graph
            z = function(self.p)  # the call whose gradient is in the graph
            return y.sum() + z.sum()

    class Trainer(flow.nn.Graph):
        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module
            self.add_optimizer(flow.optim.SGD(module.parameters(), lr=0.1))

        def build(self, x: Any) -> Any:
            loss = self.module(x)
            loss.backward()
            return loss

    module = Trained()
    inference = graph_of(module.forward)
    assert line_of("the call in the graph") in told_of(lambda: inference(flow.ones(3)).numpy())
    trainer = Trainer(module)

    def train() -> None:
        trainer(flow.ones(1)).numpy()
        flow._oneflow_internal.eager.Sync()  # OneFlow 0.9 gives a loss before its gradients have been computed

    assert line_of("the call whose gradient is in the graph") in told_of(train)


def test_a_folder_without_a_kernel(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pykernels.load_ops(write_op(tmp_path, "half", "def backward(args):\n    return args[0]"))
    try:
        for call in (api("half"), graph_of(api("half"))):
            with pytest.raises(
                RuntimeError,
                match=r"half_py_kernel.py: the function forward\(args\) is missing, which op 'half_forward'",
            ) as told:
                call(flow.ones(2))
            assert code_of(told.value) == "PK300"
    finally:
        pykernels.unload_ops("half")


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("return x[:1]", "(1,)"),
        ("return x.reshape(1, x.size)", "(1, 4)"),
        ("return x.reshape(2, 2)", "(2, 2)"),
        ("return x.astype(np.int32)", "int32"),
        ("return x, x", "returned 2"),
        ("return None", "None"),
    ],
    ids=["shape", "rank", "same number of elements", "dtype", "count", "none"],
)
@pytest.mark.parametrize("where", ["eager", "graph"])
def test_a_kernel_that_returns_something_else(
    load: Callable[..., str], statement: str, told: str, where: str, capfd: pytest.CaptureFixture[str]
) -> None:
    name = load(returns(statement))
    with pytest.raises(RuntimeError, match=rf"op '{name}_forward'.*{name}_py_kernel.py:\d+: forward") as caught:
        (api(name) if where == "eager" else graph_of(api(name)))(flow.ones(4)).numpy()
    assert told in str(caught.value) and code_of(caught.value) == "PK300"


def test_a_shape_with_the_right_number_of_elements(load: Callable[..., str]) -> None:
    name = load("def forward(args):\n    return args[0].T * 1\n\ndef backward(args):\n    return args[0] * 1")
    y = api(name)(flow.ones(2, 3))
    with pytest.raises(RuntimeError, match=rf"{name}_py_kernel.py:\d+: .*\(3, 2\)"):
        y.numpy()
    assert np.isnan(y.numpy()).all()


def test_many_failures(load: Callable[..., str]) -> None:
    """Of many failures in flight the first is told, and calls beside them are right."""
    name = load(COMPILED_RAISES)
    results = []
    for i in range(50):
        api(name)(flow.ones(3))
        results.append(api(name)(flow.ones(2) * i))
    with pytest.raises(RuntimeError, match=r"three is too many(.|\n)*and 49 more failures since"):
        flow._oneflow_internal.eager.Sync()
    assert [result.tolist() for result in results] == [[i, i] for i in range(50)]


@pytest.mark.thorough
def test_a_definition_that_does_not_compile_fails_at_the_call(tmp_path: Path) -> None:
    folder = write_op(tmp_path, "broken_definition", "def forward(args):\n    return args[0]")
    (folder / "broken_definition_py_def.py").unlink()
    (folder / "broken_definition_cpp_def.cpp").write_text(
        '#include "oneflow/core/framework/framework.h"\nREGISTER_USER_OP("broken_definition_forward").Inptu("x");\n'
    )
    pykernels.load_ops(folder)
    try:
        with pytest.raises(pykernels.DefinitionError, match=r"broken_definition_cpp_def.cpp:2.*Inptu"):
            api("broken_definition")(flow.ones(2))
    finally:
        pykernels.unload_ops("broken_definition")


def test_an_op_without_a_gradient(load: Callable[..., str]) -> None:
    """The call is right, and its gradient is refused, as that of a gradient without one."""
    name = load(TIMES.format(factor=2))
    x = flow.tensor([1.0, 2.0], requires_grad=True)
    y = api(name)(x)
    (first,) = flow.autograd.grad(y.sum(), x, create_graph=True)
    with pytest.raises(
        RuntimeError, match=f"op '{name}_backward' has no gradient: its definition registers none"
    ) as told:
        first.sum().backward()
    assert code_of(told.value) == "PK200"


@pytest.mark.skipif(
    not flow.cuda.is_available(), reason="no CUDA device: OneFlow ends the process when a tensor is to be on one"
)
def test_a_tensor_on_a_device_without_a_kernel() -> None:
    for call in (api("relu"), graph_of(lambda x: api("relu")(x.to("cuda")))):
        with pytest.raises(RuntimeError, match="op 'relu_forward' has no kernel for the device cuda: .* with .cpu()"):
            call(flow.ones(2, device="cuda"))


@pytest.mark.thorough
def test_an_op_that_has_been_declared_constant() -> None:
    boxes = flow.tensor([[0.0, 0, 1, 1], [0, 0, 1, 1]], requires_grad=True)
    indices, count = api("nms")(boxes, flow.tensor([0.5, 0.25]))
    assert not indices.requires_grad
    assert (indices.tolist(), count.tolist()) == ([0, -1], [1])


def test_complex_results_are_refused_by_name(tmp_path: Path) -> None:
    polar = pykernels.load_ops(complex_ops.write_ops(tmp_path) / "polar")["polar"].api.polar
    with pytest.raises(
        RuntimeError, match="op 'polar_forward': 'y' has dtype complex64, but OneFlow has no tensors of"
    ):
        polar(flow.ones(3), flow.ones(3))
    pykernels.unload_ops("polar")
