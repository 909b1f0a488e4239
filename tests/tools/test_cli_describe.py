"""The description of an op: schema, shapes, dtypes, gradient, and where it is available."""

from __future__ import annotations

import shutil
from pathlib import Path

import complex_ops
import pytest
from process import CHECKOUT, python

from pykernels.base import paths
from pykernels.tools import cli


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in the checkout, from which paths would be shortened."""
    monkeypatch.chdir(tmp_path)


def described(capsys: pytest.CaptureFixture[str], *ops: str | Path) -> list[str]:
    assert cli.main(["describe", "--quick", *map(str, ops)]) == 0
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_an_op_with_weights_and_states(capsys: pytest.CaptureFixture[str]) -> None:
    message = described(capsys, "batch_norm")
    assert message[0] == f"batch_norm: {paths.OPS / 'batch_norm'}"
    assert message[1].startswith("schema batch_norm_forward(x, gamma, beta, moving_mean!, moving_var!, *, eps: float =")
    assert message[2].startswith("example x float32[2, 8, 2, 2], gamma float32[8], ")
    assert message[2].endswith("-> y float32[2, 8, 2, 2]")
    assert "dtypes float16, float32, float64" in message
    assert "the gradient of gamma is output dgamma" in message
    assert "no gradient: moving_mean, moving_var" in message
    assert any(line.startswith("gradient batch_norm_backward(dy = gradient of y, x = x,") for line in message)
    assert any(line.startswith("computed by ") and "batch_norm_py_kernel.py:" in line for line in message)


def test_an_op_without_gradient_and_one_whose_gradient_depends_on_an_attribute(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "gradient none" in described(capsys, "nms")
    assert any("softmax_cross_entropy_backward" in line for line in described(capsys, "softmax_cross_entropy"))


def test_every_shipped_op_can_be_described(capsys: pytest.CaptureFixture[str]) -> None:
    message = described(capsys, paths.OPS)
    assert {line.split(":")[0] for line in message if str(paths.OPS) in line and "computed" not in line} == {
        folder.name for folder in paths.OPS.iterdir() if folder.is_dir()
    }


@pytest.mark.thorough
def test_where_it_is_available_is_tried(tmp_path: Path) -> None:
    """In this environment: an op, one that computes something else in training, and one that goes wrong everywhere."""
    shutil.copytree(CHECKOUT / "ops/tanh", tmp_path / "bend")
    for file in (tmp_path / "bend").iterdir():
        text = file.read_text().replace("tanh_", "bend_").replace('"tanh"', '"bend"')
        file.write_text(text.replace('\n    .Tangent("y, tx -> ty");', ";"))
        file.rename(file.with_name(file.name.replace("tanh", "bend")))
    kernel = tmp_path / "bend/bend_py_kernel.py"
    kernel.write_text(
        "import numpy as np\n\ndef forward(args):\n    if args[0].size > 1:\n        raise ValueError('too many')\n"
        "    return np.tanh(args[0])\n\n\ndef backward(args):\n    return args[0]\n\n\n"
        "def backward_backward(args):\n    return args[0], args[1]\n"
    )
    done = python("-m", "pykernels", "describe", "relu", "dropout", tmp_path / "bend", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    good, broken = done.stdout.split("bend: ")
    assert good.count("NumPy: yes, with ") == 2 and " no, with " not in good
    assert "raised ValueError: too many" in broken and "yes" not in broken
    # Some framework is not in either of the environments of the tests.
    assert "not installed: pip install 'pykernels[" in good


def test_errors_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["new", "gain", "--path", str(tmp_path)]) == 0
    (tmp_path / "gain/gain_cpp_def.cpp").write_text("int x = y;\n")
    assert cli.main(["describe", "--quick", str(tmp_path)]) == 1
    assert "gain_cpp_def.cpp:1:" in capsys.readouterr().err
    assert cli.main(["describe", "nothing"]) == 1
    assert "op 'nothing' does not exist" in capsys.readouterr().err


def test_an_op_of_complex_numbers_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = described(capsys, complex_ops.write_ops(tmp_path) / "size")
    assert "example x complex64[64] -> y float32[64]" in message
    assert "dtypes complex64, complex128" in message
