"""``python -m pykernels derive``: what it writes, what it leaves, and how its output is checked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pykernels
from pykernels.tools import cli
from pykernels.tools.derive import is_outdated

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
    assert not is_outdated(text)
    assert not is_outdated(text.replace("    (x,) = args", "    # the input\n    (x,) = args"))
    kernel.write_text(text.replace("np.exp(scale * x)", "np.exp(-scale * x)"))
    assert cli.main(["check", str(op), "--only", "definition"]) == 1
    assert "backward is derived from another forward" in " ".join(capsys.readouterr().out.split())
    assert cli.main(["derive", str(op)]) == 0
    assert "return -(dy * y * scale)" in kernel.read_text()
    assert kernel.read_text().count("Derived from forward") == 1


def test_what_is_written_by_hand_stays(op: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel = op / "bell_py_kernel.py"
    kernel.write_text(f"{FORWARD}\n\n{BACKWARD}")
    before = _texts(op)
    assert cli.main(["derive", str(op)]) == 1
    assert "bell_py_kernel.py:9: backward is written by hand, and stays" in capsys.readouterr().err
    assert _texts(op) == before
    assert cli.main(["derive", str(op), "--diff"]) == 0
    assert "+# Derived from forward" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("return np.exp(scale * x)", "return np.sort(scale * x)", "no derivative is known of"),
        ("forward(args, *", "forward(args, outs, *", "forward writes into `outs`, of which no gradient is derived"),
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
