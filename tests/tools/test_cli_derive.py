"""``python -m pykernels derive``: what it writes, what it leaves, and how its output is checked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pykernels
from pykernels.base.paths import OPS
from pykernels.load.folders import PY_KERNEL
from pykernels.load.module import open_folder
from pykernels.tools import cli
from pykernels.tools.derive import TARGETS, derive_op, outdated

FORWARD = "import numpy as np\n\n\ndef forward(args, *, scale):\n    (x,) = args\n    return np.exp(scale * x)\n"
BACKWARD = "def backward(args, *, scale):\n    y, dy = args\n    return dy * y * scale\n"


@pytest.fixture
def op(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """An op without a gradient in its kernel file."""
    assert cli.main(["new", "bell", "--path", str(tmp_path)]) == 0
    (tmp_path / "bell" / "bell_py_kernel.py").write_text(FORWARD)
    capsys.readouterr()
    return tmp_path / "bell"


def _texts(op: Path) -> tuple[str, str]:
    return (op / "bell_py_kernel.py").read_text(), (op / "bell_cpp_def.cpp").read_text()


def test_the_gradient_is_written_once(op: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = _texts(op)
    assert cli.main(["derive", str(op), "--diff"]) == 0
    printed = capsys.readouterr().out
    assert "+def backward(args, *, scale):" in printed
    assert '-    .Backward("x, dy -> dx");\n+    .Backward("y, dy -> dx");' in printed
    assert _texts(op) == before
    assert cli.main(["derive", str(op)]) == 0
    kernel, definition = _texts(op)
    assert kernel.startswith(FORWARD)
    assert kernel.endswith(BACKWARD)
    assert definition == before[1].replace('"x, dy', '"y, dy')
    assert capsys.readouterr().out.count("wrote ") == 2
    assert cli.main(["derive", str(op)]) == 0
    assert capsys.readouterr().out == "bell: the gradient is up to date\n"
    loaded = pykernels.load_ops(op.parent)["bell"]
    try:
        np.testing.assert_allclose(loaded.api.bell(np.ones(3), scale=2.0), np.exp([2.0] * 3))
    finally:
        pykernels.unload_ops("bell")


def test_a_gradient_of_an_earlier_forward_is_found_and_written_anew(
    op: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("hypothesis")
    assert cli.main(["derive", str(op)]) == 0
    kernel = op / "bell_py_kernel.py"
    text = kernel.read_text()
    assert outdated(text) == []
    assert outdated(text.replace("    (x,) = args", "    # the input\n    (x,) = args")) == []
    kernel.write_text(text.replace("np.exp(scale * x)", "np.exp(-scale * x)"))
    assert cli.main(["check", str(op), "--only", "definition"]) == 1
    assert "backward is derived from another forward" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["derive", str(op)]) == 0
    assert "return -(dy * y * scale)" in kernel.read_text()
    assert kernel.read_text().count("Derived from forward") == 1


def test_the_marks_of_shipped_ops_hold_on_every_python() -> None:
    kernels = [path.read_text() for path in OPS.glob("*/*_py_kernel.py")]
    assert sum("# Derived from" in kernel for kernel in kernels) > 5
    assert [outdated(kernel) for kernel in kernels] == [[]] * len(kernels)


@pytest.mark.parametrize("name", [path.parent.name for path in OPS.glob("*/*_py_kernel.py")])
def test_shipped_derivatives_are_what_is_derived(name: str) -> None:
    module = open_folder(OPS / name)
    kernel = module.files[PY_KERNEL].read_text()
    for (second, forward_mode), target in TARGETS.items():
        if f'{target.options}" (' in kernel.partition(f"\ndef {target.name}(")[0].splitlines()[-1]:
            changes = derive_op(module, second=second, forward_mode=forward_mode)
            assert [change.after for change in changes] == [change.before for change in changes]


def test_every_process_derives_the_same(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(OPS / "batch_norm", tmp_path / "batch_norm"))
    kernel, definition = folder / "batch_norm_py_kernel.py", folder / "batch_norm_py_def.py"
    kernel.write_text(kernel.read_text().replace("def backward_backward(", "def _by_hand("))
    definition.write_text(re.sub("    backward_backward = .*", "", definition.read_text()))
    command = [sys.executable, "-m", "pykernels", "derive", str(folder), "--second", "--diff"]
    printed = [
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True).stdout
        for seed in "12"
    ]
    assert printed[0] == printed[1] and b"+def backward_backward(" in printed[0]


def test_second_derivatives(op: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("hypothesis")
    kernel, definition = op / "bell_py_kernel.py", op / "bell_cpp_def.cpp"
    assert cli.main(["derive", str(op)]) == 0
    assert cli.main(["derive", str(op), "--second"]) == 0
    assert kernel.read_text().endswith(
        "    product = gdx * scale\n    gy = product * dy\n    gdy = product * y\n    return gy, gdy\n"
    )
    assert '.Backward("y, dy -> dx")\n    .Backward("y, dy, gdx -> gy, gdy")' in definition.read_text()
    assert outdated(kernel.read_text()) == []
    assert cli.main(["check", str(op), "--only", "definition", "gradient"]) == 0
    changed = kernel.read_text().replace("dy * y * scale", "dy * y * (scale * 1.0)")
    assert [target.name for target in outdated(changed)] == ["backward_backward"]
    kernel.write_text(changed)
    assert cli.main(["check", str(op), "--only", "definition"]) == 1
    assert "backward_backward is derived from another backward" in " ".join(capsys.readouterr().out.split())
    # The first gradient is derived anew, as it was, and the second one stays.
    assert cli.main(["derive", str(op)]) == 0
    assert outdated(kernel.read_text()) == [] and definition.read_text().count(".Backward(") == 2


def test_plans_that_do_not_fit_a_new_gradient_are_left_out(op: Path) -> None:
    kernel, definition = op / "bell_py_kernel.py", op / "bell_cpp_def.cpp"
    for each in ([], ["--forward-mode"], ["--second"]):
        assert cli.main(["derive", str(op), *each]) == 0
    kernel.write_text(kernel.read_text().replace("np.exp(scale * x)", "np.sin(scale * x)"))
    assert cli.main(["derive", str(op)]) == 0
    assert '.Backward("x, dy -> dx")\n    .Tangent("y, tx -> ty");' in definition.read_text()
    for each in (["--forward-mode"], ["--second"]):
        assert cli.main(["derive", str(op), *each]) == 0
    assert '.Backward("x, dy, gdx -> gx, gdy")\n    .Tangent("x, tx -> ty");' in definition.read_text()


def test_forward_mode(op: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("hypothesis")
    kernel, definition = op / "bell_py_kernel.py", op / "bell_cpp_def.cpp"
    assert cli.main(["derive", str(op), "--forward-mode"]) == 1
    assert "the function backward(args) is missing; derive it first" in capsys.readouterr().err
    assert cli.main(["derive", str(op)]) == 0
    assert cli.main(["derive", str(op), "--second", "--forward-mode"]) == 1
    assert "the function backward_backward(args) is missing; derive --second it first" in capsys.readouterr().err
    assert cli.main(["derive", str(op), "--second"]) == 0
    assert cli.main(["derive", str(op), "--second", "--forward-mode"]) == 1
    assert "the first Tangent is that of the op itself: run derive --forward-mode before" in capsys.readouterr().err
    assert cli.main(["derive", str(op), "--forward-mode"]) == 0
    assert kernel.read_text().endswith("    y, tx = args\n    return tx * scale * y\n")
    assert cli.main(["derive", str(op), "--second", "--forward-mode"]) == 0
    assert '    .Tangent("y, tx -> ty")\n    .Tangent("y, dy, ty, tdy -> tdx");' in definition.read_text()
    assert cli.main(["check", str(op), "--only", "definition", "second-derivative", "forward-mode"]) == 0
    # The gradient is derived anew in its place, and so is what follows from it.
    before = kernel.read_text()
    kernel.write_text(before.replace("np.exp(scale * x)", "np.exp(2 * scale * x)"))
    assert cli.main(["derive", str(op)]) == 0
    assert [target.name for target in outdated(kernel.read_text())] == [
        "backward_backward",
        "tangent",
        "backward_tangent",
    ]
    functions = [line.partition("(")[0] for line in kernel.read_text().splitlines() if line.startswith("def ")]
    assert functions == [line.partition("(")[0] for line in before.splitlines() if line.startswith("def ")]


def test_all_derivatives_of_an_op_that_is_defined_in_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("hypothesis")
    assert cli.main(["new", "bell", "--python-def", "--path", str(tmp_path)]) == 0
    op = tmp_path / "bell"
    kernel, definition = op / "bell_py_kernel.py", op / "bell_py_def.py"
    kernel.write_text(FORWARD)
    options: list[list[str]] = [[], ["--second"], ["--forward-mode"], ["--second", "--forward-mode"]]
    for each in options:
        assert cli.main(["derive", str(op), *each]) == 0
    planned = """\
    backward = "y, dy -> dx"
    backward_backward = "y, dy, gdx -> gy, gdy"
    tangent = "y, tx -> ty"
    backward_tangent = "y, dy, ty, tdy -> tdx"
"""
    text = definition.read_text()
    assert planned in text
    assert cli.main(["check", str(op), "--only", "definition", "gradient", "second-derivative", "forward-mode"]) == 0
    # A gradient that is computed from other tensors makes those of its derivatives unknown.
    before = kernel.read_text()
    kernel.write_text(before.replace("np.exp(scale * x)", "np.sin(scale * x)"))
    assert cli.main(["derive", str(op)]) == 0
    assert 'backward = "x, dy -> dx"\n    tangent' in definition.read_text()
    kernel.write_text(before)
    for each in options:
        assert cli.main(["derive", str(op), *each]) == 0
    assert outdated(kernel.read_text()) == []
    assert sorted(definition.read_text().splitlines()) == sorted(text.splitlines())
    method = "    def declare_backward_dependency(self, g, i, o):\n        return [o[0], g[0]]\n"
    definition.write_text(text.replace(planned, method))
    capsys.readouterr()
    assert cli.main(["derive", str(op), "--forward-mode"]) == 1
    assert 'bell_py_def.py: write tangent = "y, tx -> ty" in its class, which is what the tangent takes' in (
        capsys.readouterr().err
    )


def test_what_is_not_linear_in_the_gradient_has_no_tangent(op: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = op / "bell_py_kernel.py"
    kernel.write_text(f"{FORWARD}\n\n{BACKWARD.replace('dy * y', 'dy * dy * y')}")
    assert cli.main(["derive", str(op), "--forward-mode"]) == 1
    assert "bell_py_kernel.py:9: backward is not linear in dy, as a gradient is" in capsys.readouterr().err


def test_gradients_hold_for_every_number_of_axes(tmp_path: Path) -> None:
    """Also if the API file gives arguments with one."""
    function = 'def shifted(x, w: "[n]"):\n    return x + w\n'
    (tmp_path / "shifted.py").write_text(function)
    assert cli.main(["new", "shifted", "--from", str(tmp_path / "shifted.py"), "--path", str(tmp_path)]) == 0
    kernel = tmp_path / "shifted/shifted_py_kernel.py"
    text = kernel.read_text()
    assert "def sample_inputs" in (tmp_path / "shifted/shifted_py_api.py").read_text()
    kernel.write_text(text.replace("return x + w", "return w + x"))
    assert cli.main(["derive", str(tmp_path / "shifted")]) == 0
    assert "dw = np.sum(dy, axis=tuple(range(x.ndim - 1)))" in text
    assert "dw = np.sum(dy, axis=tuple(range(x.ndim - 1)))" in kernel.read_text()


def test_gradients_hold_for_unequal_lengths(tmp_path: Path) -> None:
    """Also if those of the arguments in the API file are equal."""
    lines = ["    y = np.zeros_like(x)", "    for t in range(1, len(x)):", "        y[t] = x[t] + w @ y[t - 1]"]
    function = ["import numpy as np", 'def recurrence(x: "[steps, n]", w: "[n, n]"):', *lines, "    return y", ""]
    (tmp_path / "recurrence.py").write_text("\n".join(function))
    assert cli.main(["new", "recurrence", "--from", str(tmp_path / "recurrence.py"), "--path", str(tmp_path)]) == 0
    kernel, api = (tmp_path / f"recurrence/recurrence_py_{each}.py" for each in ("kernel", "api"))
    unequal = "steps, n = side, side + 1"
    assert unequal in api.read_text()
    api.write_text(api.read_text().replace(unequal, "steps = n = side"))
    kernel.write_text(kernel.read_text().replace("x[t] + w", "2 * x[t] + w"))
    assert cli.main(["derive", str(tmp_path / "recurrence")]) == 0
    assert "dw = np.zeros_like(w)" in kernel.read_text()


STATES = """\
import pykernels

class Bell(pykernels.CustomOpProp):
    arguments, outputs, auxiliary_states = ["x"], ["y"], ["mean"]
    backward = "x, dy -> dx"
    momentum: float = 0.9

    def infer_shape(self, shapes):
        return shapes[:1], shapes[:1], [shapes[0][-1:]]
"""
NORM = """\
import numpy as np


def forward(args, *, momentum, is_train):
    x, mean = args
    current = x.reshape(-1, x.shape[-1]).mean(axis=0) if is_train else mean.copy()
    for c in range(len(mean)):
        if is_train:
            mean[c] = momentum * mean[c] + (1 - momentum) * current[c]
    return x * (x - current)
"""


def test_auxiliary_states_are_what_the_forward_pass_leaves(op: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (op / "bell_cpp_def.cpp").unlink()
    (op / "bell_py_def.py").write_text(STATES)
    kernel = op / "bell_py_kernel.py"
    kernel.write_text(NORM)
    assert cli.main(["derive", str(op)]) == 0
    assert "    x, mean, dy = args\n" in kernel.read_text()
    assert cli.main(["check", str(op), "--only", "gradient"]) == 0
    kernel.write_text(NORM.replace("x * (x - current)", "x * mean"))
    assert cli.main(["derive", str(op)]) == 1
    message = "bell_py_kernel.py:7: mean changes here, and the gradient needs it as it was before"
    assert message in capsys.readouterr().err


def test_what_is_written_by_hand_stays(op: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = op / "bell_py_kernel.py"
    kernel.write_text(f"{FORWARD}\n\n{BACKWARD}")
    before = _texts(op)
    assert cli.main(["derive", str(op)]) == 1
    assert "bell_py_kernel.py:9: backward is written by hand, and stays" in capsys.readouterr().err
    assert _texts(op) == before
    assert cli.main(["derive", str(op), "--diff"]) == 0
    assert "+# Derived from forward" in capsys.readouterr().out


def test_what_would_be_derived_has_the_gradients_that_are_written_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["derive", "roi_align", "--diff"]) == 0
    printed = capsys.readouterr().out
    assert "+    return ddata\n" in printed
    assert "drois" not in printed


def test_ops_of_complex_numbers_are_refused(op: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = _texts(op)
    for word in ("complex", "inexact"):
        (op / "bell_cpp_def.cpp").write_text(before[1].replace("floating", word))
        assert cli.main(["derive", str(op)]) == 1
        message = "bell_cpp_def.cpp: the op takes complex numbers, and gradients are derived for real numbers alone"
        assert message in capsys.readouterr().err
    assert _texts(op)[0] == before[0]


def test_the_gradient_of_loops_that_write_into_outs(op: Path) -> None:
    pytest.importorskip("hypothesis")
    kernel = op / "bell_py_kernel.py"
    kernel.write_text(
        """\
import numpy as np


def forward(args, outs, *, scale):
    (x,), (y,) = args, outs
    flat, results = x.reshape(x.size), y.reshape(x.size)
    for i in range(x.size):
        results[i] = np.tanh(scale * flat[i] + results[i - 1]) if i > 0 else 2 * flat[i]
"""
    )
    assert cli.main(["derive", str(op)]) == 0
    assert "for i in range(x.size - 1, -1, -1):" in kernel.read_text()
    assert cli.main(["check", str(op), "--only", "definition", "gradient"]) == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("return np.exp(scale * x)", "return np.quantile(scale * x, 0.5) * x", "np.quantile has no derived gradient"),
        ("(x,) = args", "(x,) = args\n    helper(x)", "a call whose result is not used has no derived gradient"),
        ("def forward", "def other", "the function forward(args) is missing"),
    ],
)
def test_kernels_without_a_derived_gradient_are_refused(
    op: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str
) -> None:
    kernel = op / "bell_py_kernel.py"
    kernel.write_text(FORWARD.replace(old, new))
    assert cli.main(["derive", str(op)]) == 1
    assert message in capsys.readouterr().err


def test_a_definition_that_plans_its_gradient_in_functions_stays(op: Path, capsys: pytest.CaptureFixture[str]) -> None:
    definition = op / "bell_cpp_def.cpp"
    plain = ".SetLogicalTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)"
    text = definition.read_text().replace('"x", "floating[...]"', '"x"').replace('"y", "floating[...]"', '"y"')
    definition.write_text(text.replace('.Split("...")', plain).replace('    .Backward("x, dy -> dx")', ""))
    assert cli.main(["derive", str(op)]) == 1
    assert "only a definition with tensor types is written; let this one plan the gradient y, dy -> dx" in (
        capsys.readouterr().err
    )


def test_a_name_that_is_a_folder_here_as_well_changes_no_op(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(OPS / "tanh", "tanh")
    for found in ("tanh", "./tanh"):
        assert cli.main(["derive", found, "--diff"]) == (1 if found == "tanh" else 0)
    assert f"'tanh' is the op in {OPS / 'tanh'} and a folder here: write ./tanh, or the path" in capsys.readouterr().err
