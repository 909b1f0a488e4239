"""New ops of every kind: what is written works as it is, and what cannot be is refused before anything is written."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from process import python

import pykernels
from pykernels.call.steps import forward_step, gradient_steps
from pykernels.tools import cli
from pykernels.tools.check import CHECKS

KINDS = {
    "elementwise": (),
    "reduction": ("--inputs", "x,w", "--outputs", "y,z", "--attr", "alpha"),
    "loss": ("--inputs", "guess,truth", "--attr", "weight:float=0.5", "--attr", "power:int32=2"),
    "matmul": ("--attr", "alpha:double=-2", "--attr", 'mode:string=a"b', "--attr", "on:bool=true"),
    "elementwise_of_three": ("--like", "elementwise", "--inputs", "a,b,c", "--outputs", "y,z", "--attr", "n:int"),
}


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a new op of each kind."""
    folder = tmp_path_factory.mktemp("new") / "ops"
    for name, options in KINDS.items():
        kind = () if "--like" in options else ("--like", name)
        assert cli.main(["new", f"my_{name}", "--path", str(folder), *kind, *options]) == 0
    return folder


@pytest.mark.thorough
def test_new_ops_pass_all_checks(ops: Path) -> None:
    # Beside other tests, times say little.
    checks = [name for name in CHECKS if name != "speed"]
    checked = python("-m", "pykernels", "check", *(ops / f"my_{name}" for name in KINDS), "--only", *checks, cwd=ops)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.thorough
def test_new_ops_pass_their_own_tests(ops: Path) -> None:
    files = [ops / "test_my_reduction.py", ops / "test_my_matmul.py"]
    tested = python("-m", "pytest", "-q", "-p", "no:cacheprovider", *files, cwd=ops)
    assert "4 passed" in tested.stdout, tested.stdout


@pytest.mark.thorough
def test_a_new_op_passes_its_own_tests_with_another_function(tmp_path: Path) -> None:
    assert cli.main(["new", "cube", "--path", str(tmp_path)]) == 0
    kernel = tmp_path / "cube" / "cube_py_kernel.py"
    kernel.write_text(kernel.read_text().replace("scale * x * x", "scale * x**3"))
    assert cli.main(["derive", str(tmp_path / "cube")]) == 0
    assert "x * x" not in (tmp_path / "cube" / "cube_py_api.py").read_text()
    tested = python("-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path, cwd=tmp_path)
    assert "2 passed" in tested.stdout, tested.stdout


@pytest.mark.thorough
def test_a_new_op_that_is_broken_fails_its_own_tests(tmp_path: Path) -> None:
    assert cli.main(["new", "broken", "--path", str(tmp_path)]) == 0
    kernel = tmp_path / "broken" / "broken_py_kernel.py"
    before, backward, after = kernel.read_text().partition("def backward")
    kernel.write_text(before + backward + after.replace("return ", "return 2 * "))
    tested = python("-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path, cwd=tmp_path)
    assert "1 failed, 1 passed" in tested.stdout, tested.stdout
    assert "AssertionError: broken, gradient: broken_forward: the gradient of x" in tested.stdout
    assert "testing.py" not in [Path(file).name for file in re.findall(r"^(\S+\.py):\d+: ", tested.stdout, re.M)]


@pytest.mark.thorough
@pytest.mark.parametrize("name", KINDS)
def test_gradients_are_the_slopes_of_the_values(ops: Path, name: str) -> None:
    from pykernels.load.samples import sample

    op = pykernels.OpModule(f"my_{name}", ops / f"my_{name}").py_api().cpp_def().py_kernel()
    attributes = {"alpha": 0.5} if name == "reduction" else {}
    given = sample(op, 16, np.dtype(np.float64), attributes=attributes)
    forward = forward_step(op, given)
    (backward,) = gradient_steps(op, forward)
    forward.call.run()
    backward.call.run()
    n_inputs = len(given.inputs)
    upwards = [group[0] for group in backward.inputs[n_inputs:]]

    def value() -> float:
        forward.call.run()
        return float(sum((up * out[0]).sum() for up, out in zip(upwards, forward.outputs)))

    for (array,), (gradient,) in zip(forward.inputs, backward.outputs):
        slopes = np.empty_like(gradient)
        for at in np.ndindex(array.shape):
            kept = array[at]
            array[at] = kept + 1e-5
            above = value()
            array[at] = kept - 1e-5
            slopes[at] = (above - value()) / 2e-5
            array[at] = kept
        np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-7)


@pytest.mark.thorough
def test_what_the_new_definition_refuses(ops: Path) -> None:
    loaded = pykernels.load_ops(ops)
    x = np.ones((2, 3))
    try:
        for call, message in (
            (
                lambda: loaded["my_elementwise"].api.my_elementwise(np.arange(3)),
                "x must be floating point, but is int64",
            ),
            (lambda: loaded["my_loss"].api.my_loss(x, x[:1]), "truth must have the shape of guess"),
            (lambda: loaded["my_loss"].api.my_loss(x, x.astype("f4")), "truth must have the dtype of guess"),
            (lambda: loaded["my_matmul"].api.my_matmul(x, x.T), "weight must have the shape (outputs, inputs), here"),
            (
                lambda: loaded["my_reduction"].api.my_reduction(x[0, 0], x[0, 0], 1.0),
                "x must have 1 axis or more (..., length)",
            ),
        ):
            with pytest.raises(pykernels.CallError) as raised:
                call()
            assert message in str(raised.value)
    finally:
        pykernels.unload_ops(*loaded)


FUNCTIONS = """
import numpy as np

SCALE = 0.5


def _half(x):
    return SCALE * x


def soft(x, beta=1.0):
    \"\"\"A smooth function.\"\"\"
    return _half(x) * np.tanh(np.log1p(np.exp(beta * x)))


def rms(x, w: "[n]", eps: float = 1e-6):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * w


def attend(q, k, v):
    s = q @ np.swapaxes(k, -1, -2)
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def lookup(w, rows):
    return w[rows]


def total(x, axis=-1):
    return x.sum(axis=axis)


def twice(x, times=2, axis=-1):
    return np.concatenate([x] * times, axis=axis)


def window(x, size=3):
    return np.stack([x[..., at : x.shape[-1] - size + 1 + at] for at in range(size)]).sum(axis=0)


def smooth(x, window=3):
    return np.lib.stride_tricks.sliding_window_view(x, window, axis=-1).mean(axis=-1)


def gap(x):
    return np.max(x, axis=-1, keepdims=True) - x


def loop(x):
    for _ in range(len(x)):
        x = x * x
    return x


def untyped(x, *, alpha):
    return alpha * x


def reserved(x: "[in]"):
    return x


def multiple(x: "[n, 2 * h]"):
    return x.reshape(len(x), -1, 2).max(axis=-1)


def behind(x: "[n, ...]"):
    return x


def rotated(z: "complex[...]", angle=0.5):
    return z * np.exp(1j * angle)


def spectrum(x):
    return x * (1 + 2j)


def wide(x):
    return x / np.arange(1, x.shape[-1] + 1)


def thirds(x: "[n, k]"):
    return x.reshape(len(x), -1, 3).max(axis=-1)
"""


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("soft", ['.Input("x", "floating[...]")', '.Attr<double>("beta", 1.0)', '.Backward("x, dy -> dx")']),
        ("rms", ['.Input("x", "floating[..., n]")', '.Input("w", "floating[n]")', '.Backward("x, w, dy -> dx, dw")']),
        ("attend", ['.Input("k", "floating[..., p, m]")', '.Output("y", "floating[..., n, r]")', '.Split("r")']),
        ("gap", ['.Input("x", "floating[..., n]")', '.Require("n > 0")']),  # its gradient needs an axis
        ("smooth", ['.Output("y", "floating[..., n - window + 1]")', '.Require("n >= window")']),
        ("lookup", ['.Input("w", "floating[n, m]")', '.Input("rows", "integer[...]")', '"floating[..., m]"']),
    ],
)
def test_an_op_from_a_function(name: str, lines: list[str], tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    assert cli.main(["new", name, "--from", str(tmp_path / "functions.py"), "--path", str(tmp_path)]) == 0
    definition = (tmp_path / name / f"{name}_cpp_def.cpp").read_text()
    assert [line for line in lines if line not in definition] == []
    kernel = (tmp_path / name / f"{name}_py_kernel.py").read_text()
    assert ("SCALE = 0.5" in kernel) == (name == "soft") and "untyped" not in kernel
    # Gradients are tested with their derivation.
    checks = ["definition", "gradient"] if name == "soft" else ["definition"]
    assert cli.main(["check", str(tmp_path / name), "--only", *checks]) == 0


IN_PYTHON = {
    "soft": """\
    arguments = ["x"]
    outputs = ["y"]
    dtypes = "floating"
    backward = "x, dy -> dx"
    split_for_each_axis = True
    beta: float = 1.0
""",
    "attend": """\
    def infer_shape(self, in_shape):
        *lead, n, m = in_shape[0]
        *_, p, _ = in_shape[1]
        *_, _, r = in_shape[2]
        if not (p > 0):
            raise ValueError(f"it requires p > 0, but the inputs have the shapes {in_shape}")
        return [[*lead, n, m], [*lead, p, m], [*lead, p, r]], [[*lead, n, r]], []
""",
    "lookup": """\
    dtypes = {"w": "floating", "rows": "integer", "y": "floating"}
    backward = "w, rows, dy -> dw"
""",
    "total": """\
    def infer_shape(self, in_shape):
        shape = in_shape[0]
        n, axis = shape[self.axis], self.axis % len(shape)
        return [shape], [[*shape[:axis], *shape[axis + 1 :]]], []
""",
    "twice": """\
        return [shape], [[*shape[:axis], self.times * n, *shape[axis + 1 :]]], []
""",
}


@pytest.mark.parametrize("name", IN_PYTHON)
def test_a_definition_in_python(name: str, tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    gradient = ["--no-grad"] if name == "twice" else []
    new = ["new", name, "--from", str(tmp_path / "functions.py"), "--python-def", "--path", str(tmp_path), *gradient]
    assert cli.main(new) == 0
    definition = (tmp_path / name / f"{name}_py_def.py").read_text()
    assert definition.endswith(IN_PYTHON[name]) or f"{IN_PYTHON[name]}\n" in definition
    assert cli.main(["check", str(tmp_path / name), "--only", "definition", "dtypes"]) == 0


def test_lengths_of_samples_are_multiples_of_what_a_function_divides_by(tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    assert cli.main(["new", "thirds", "--from", str(tmp_path / "functions.py"), "--path", str(tmp_path)]) == 0
    api = (tmp_path / "thirds/thirds_py_api.py").read_text()
    assert "side = 24 * max(1, int(elements ** (1 / 2)) // 24)" in api
    assert "n, k = side, side + 24" in api
    assert cli.main(["check", str(tmp_path / "thirds"), "--only", "definition", "gradient"]) == 0


def test_the_plan_of_a_definition_in_python_is_derived_anew(tmp_path: Path) -> None:
    assert cli.main(["new", "cube", "--python-def", "--path", str(tmp_path)]) == 0
    kernel, definition = (tmp_path / "cube" / f"cube_py_{part}.py" for part in ("kernel", "def"))
    kernel.write_text(kernel.read_text().replace("scale * x * x", "scale * x"))
    assert cli.main(["derive", str(tmp_path / "cube")]) == 0
    assert 'backward = "dy -> dx"' in definition.read_text()
    assert cli.main(["check", str(tmp_path / "cube"), "--only", "definition", "gradient"]) == 0


def test_the_kernel_is_the_function_with_all_that_it_needs(tmp_path: Path) -> None:
    (tmp_path / "triple.py").write_text(
        '''
import numpy as np

# A factor.
THREE = 3.0
UNUSED = 4.0


# Tripled.
def forward(args, *, power: int):
    """Three times a power."""
    (x,) = args
    # By hand.
    return _three() * x**power


def _three():
    return THREE


def backward(args, *, power):
    x, dy = args
    return _three() * power * x ** (power - 1) * dy
'''
    )
    assert cli.main(["new", "triple", "--from", str(tmp_path / "triple.py"), "--path", str(tmp_path)]) == 0
    assert (
        (tmp_path / "triple/triple_py_kernel.py").read_text()
        == """\
# A factor.
THREE = 3.0


# Tripled.
def forward(args, *, power):
    (x,) = args
    # By hand.
    return _three() * x**power


def _three():
    return THREE


def backward(args, *, power):
    x, dy = args
    return _three() * power * x ** (power - 1) * dy
"""
    )
    definition = (tmp_path / "triple/triple_cpp_def.cpp").read_text()
    assert '.Attr<int64_t>("power")' in definition and '.Backward("x, dy -> dx")' in definition
    assert "Three times a power." in (tmp_path / "triple/triple_py_api.py").read_text()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("loop", "as it was before: assign the result to another variable or array. Write a function backward(args)"),
        ("untyped", "what type has the attribute alpha? Write alpha: float, or --attr alpha:float"),
        ("reserved", "reserved: 'in' in [in] is neither the name of an axis nor a formula of names"),
        (
            "multiple",
            "no axis or attribute is called h. Name this axis h instead of 2 * h: what it must be a multiple of",
        ),
        ("behind", "'floating[n, ...]', the type of x: '...' stands before other axes"),
        ("wide", "y is float64 where the inputs are float32; convert it: .astype(x.dtype)"),
        (
            "rotated",
            "rotated: z is complex, and ops are made of functions of real numbers alone; write this one by hand",
        ),
        ("spectrum", "that it takes (with x of shape (): TypeError: it returns complex128, not real numbers)"),
        ("missing", "has no function 'missing' or 'forward', and more than one other"),
    ],
)
def test_what_a_function_does_not_say_is_asked_for(
    name: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    assert cli.main(["new", name, "--from", str(tmp_path / "functions.py"), "--path", str(tmp_path / "ops")]) == 1
    assert message in capsys.readouterr().err
    assert not (tmp_path / "ops").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--like", "loss", "--inputs", "x"], "--inputs x: an op like loss has 2 inputs, not 1"),
        (["--like", "matmul", "--outputs", "y,z"], "--outputs y,z: an op like matmul has 1 outputs, not 2"),
        (["--inputs", "x,x"], "'x' names two things"),
        (["--inputs", "x,dx"], "'dx' names two things"),
        (["--inputs", "args"], "'args' cannot name an input, output or attribute: the written files use this name"),
        (["--inputs", "lambda"], "'lambda' cannot name an input, output or attribute: it is not a Python identifier"),
        (["--inputs", "x,"], "'' cannot name an input"),
        (["--python-def", "--attr", "outputs"], "'outputs' cannot name an attribute: the class of a Python definition"),
        (["--attr", "a b"], "'a b' is not an attribute; write it as alpha:float=0.01"),
        (["--attr", "a:complex"], "attribute type 'complex' is not one of those of new ops: float, double"),
        (["--attr", "a:int=0.5"], "'a:int=0.5': the default is not of type int64: it is not an integer"),
        (["--attr", "a:float=nan"], "the default must be finite"),
    ],
)
def test_what_cannot_be_is_refused(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["new", "fine", "--path", str(tmp_path), *options]) == 1
    output = capsys.readouterr()
    assert output.out == "" and message in output.err
    assert list(tmp_path.iterdir()) == []
