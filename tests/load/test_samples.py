"""Arguments to try ops with, and the steps of a pass: for shipped ops, for a user's, and the errors otherwise."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pykernels.base import paths
from pykernels.base.errors import CallError
from pykernels.call.steps import forward_step, gradient_steps
from pykernels.load.module import OpModule
from pykernels.load.samples import draw, sample
from pykernels.tools import cli

FLOAT = np.dtype(np.float32)


def module_of(folder: Path) -> OpModule:
    return OpModule(folder.name, folder).py_api().cpp_def().py_kernel()


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., OpModule]:
    """Makes an op `twice` that works, with an addition to its API file."""
    monkeypatch.chdir(tmp_path)

    def make(api: str = "") -> OpModule:
        assert cli.main(["new", "twice"]) == 0
        folder = tmp_path / "ops/twice"
        with (folder / "twice_py_api.py").open("a") as stream:
            stream.write(f"\n\nimport numpy as np\n{api}")
        return module_of(folder)

    return make


@pytest.mark.parametrize("elements", [1, 4, 1000, 10_000])
@pytest.mark.parametrize("folder", sorted(paths.OPS.iterdir()), ids=lambda folder: folder.name)
def test_every_shipped_op_has_arguments_of_any_size(folder: Path, elements: int) -> None:
    given = sample(module_of(folder), elements, FLOAT)
    largest = max(array.size for group in given.inputs for array in group)
    # Boxes have four numbers, and regions of interest are 16 boxes.
    assert elements / 2 <= largest <= max(elements, 80)
    assert given.inputs[-1][0].dtype == FLOAT or folder.name == "softmax_cross_entropy"


@pytest.mark.parametrize("ndim", [1, 2, 3, 4])
def test_inputs_of_one_shape_are_the_default(make: Callable[..., OpModule], ndim: int) -> None:
    module = make()
    ((x,),) = sample(module, 1000, FLOAT, ndim=ndim).inputs
    assert (x.ndim, x.dtype) == (ndim, FLOAT)
    assert 500 < x.size <= 1000
    assert sample(module, 1000, FLOAT).inputs[0][0].shape == (1000,)


def test_shapes_and_attributes_can_be_given() -> None:
    module = module_of(paths.OPS / "dense")
    given = sample(module, 7, FLOAT, shapes={"data": (5, 3), "weight": (2, 3)}, attributes={"bias": "0.5"})
    assert [group[0].shape for group in given.inputs] == [(5, 3), (2, 3)]
    assert given.attributes == {"bias": 0.5}
    (step,) = gradient_steps(module, forward_step(module, given))
    assert [group[0].shape for group in step.outputs] == [(5, 3), (2, 3)]


def test_a_definition_that_infers_its_inputs_fills_in_shapes() -> None:
    module = module_of(paths.OPS / "batch_norm")
    given = sample(module, 7, FLOAT, shapes={"x": (5, 3, 2)})
    assert [group[0].shape for group in given.inputs] == [(5, 3, 2), (3,), (3,), (3,), (3,)]


def test_the_arguments_of_the_op_itself_come_first(make: Callable[..., OpModule]) -> None:
    module = make(
        'def sample_inputs(elements, dtype):\n    return {"x": np.ones((elements, 1), dtype), "scale": 3.0}\n'
    )
    given = sample(module, 7, FLOAT)
    assert given.inputs[0][0].shape == (7, 1)
    assert given.attributes == {"scale": 3.0}
    assert sample(module, 7, FLOAT, attributes={"scale": "4"}).attributes == {"scale": 4.0}


@pytest.mark.parametrize(
    ("api", "message"),
    [
        ("return 1 / 0", r"twice_py_api.py: sample_inputs raised ZeroDivisionError: division by zero"),
        ("return None", r"twice_py_api.py: sample_inputs raised TypeError: 'NoneType' object is not iterable"),
        (
            "return {}",
            r"sample_inputs returned arguments that the definition refuses: input 'x' of op twice_forward takes 1",
        ),
        (
            'return {"x": np.ones(2), "z": 1}',
            r"sample_inputs returned .* that the definition refuses: op twice_forward has no attr",
        ),
    ],
)
def test_wrong_arguments_of_the_op_itself_are_reported(make: Callable[..., OpModule], api: str, message: str) -> None:
    module = make(f"def sample_inputs(elements, dtype):\n    {api}\n")
    with pytest.raises(CallError, match=message):
        sample(module, 7, FLOAT)


@pytest.mark.thorough
def test_an_op_that_takes_no_inputs_of_one_shape_says_what_to_do(make: Callable[..., OpModule]) -> None:
    module = make()
    path = module.path / "twice_cpp_def.cpp"
    assert '.Split("...")' in path.read_text()
    path.write_text(path.read_text().replace('.Split("...")', '.Require("x.ndim > 9")'))
    with pytest.raises(CallError, match="op twice_forward: ") as error:
        sample(module_of(module.path), 7, FLOAT)
    assert str(error.value).endswith(
        "Name the shapes of the inputs (--shape x=1000,32) and the values of attributes (--attr scale=VALUE), or add a "
        "function sample_inputs(elements, dtype) to twice_py_api.py [PK400]"
    )


@pytest.mark.parametrize("dtype", ["float16", "float64", "complex64", "int8", "uint16", "bool"])
def test_numbers_of_any_dtype(dtype: str) -> None:
    values = draw((100,), np.dtype(dtype))
    assert (values.dtype, values.shape) == (dtype, (100,))
    assert np.all(np.abs(values.astype("complex64")) >= 0.04) and np.all(np.abs(values.astype("complex64")) <= 3)


def test_steps_are_the_op_and_its_gradient() -> None:
    module = module_of(paths.OPS / "sigmoid")
    forward = forward_step(module, sample(module, 100, FLOAT))
    (backward,) = gradient_steps(module, forward)
    forward.call.run()
    backward.call.run()
    (x,), (y,) = forward.inputs[0], forward.outputs[0]
    np.testing.assert_allclose(y, 1 / (1 + np.exp(-x)), rtol=1e-5)
    seen, dy = (group[0] for group in backward.inputs)
    assert seen is y
    np.testing.assert_allclose(backward.outputs[0][0], dy * y * (1 - y), rtol=1e-5, atol=1e-7)
    assert (forward.name, forward.nbytes, forward.elements) == ("forward", 800, 100)
    assert (backward.name, backward.nbytes) == ("backward", 1200)
    np.testing.assert_allclose(forward.call.plain()(), y, rtol=1e-5)


def test_an_op_without_gradient_has_one_step() -> None:
    module = module_of(paths.OPS / "nms")
    assert gradient_steps(module, forward_step(module, sample(module, 100, FLOAT))) == []


def test_steps_are_of_training() -> None:
    module = module_of(paths.OPS / "dropout")
    forward = forward_step(module, sample(module, 1000, FLOAT))
    forward.call.run()
    assert 0 < np.count_nonzero(forward.outputs[0][0]) < 1000
