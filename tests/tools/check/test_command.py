"""``python -m pykernels check`` and `pykernels.testing.opcheck`: what they print, return and raise."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from planted import DEFINITION, KERNEL, instead, plant
from process import program, python
from textbook import Op

import pykernels
from pykernels.base.errors import CallError, LoadError
from pykernels.testing import opcheck

WRONG = instead("return scale * dy", "return dy")


def test_the_results_of_a_right_op_are_a_table(tmp_path: Path) -> None:
    plant(tmp_path)
    done = python(
        "-W", "error", "-m", "pykernels", "check", "planted", "--only", "gradient", "definition", cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("│")]
    assert [(row[1], row[3]) for row in rows] == [("definition", "passed"), ("gradient", "passed")]
    assert all(float(row[5]) >= 0 for row in rows)
    assert done.stdout.startswith("planted")


@pytest.mark.thorough
def test_the_results_of_a_wrong_op_have_a_program_that_reproduces_it(tmp_path: Path) -> None:
    plant(tmp_path, kernel=WRONG)
    done = python("-m", "pykernels", "check", "planted", "--only", "gradient", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    _, _, text = done.stdout.partition("To reproduce it, run this:\n\n")
    assert "opcheck('planted', [{\n    'x': np.array(" in text
    again = python("-c", text, cwd=tmp_path)
    assert again.returncode == 1
    assert re.search(r"AssertionError: planted, gradient: planted_forward: the gradient of x(\[0\])? is ", again.stderr)


@pytest.mark.thorough
def test_calls_of_python_fail_where_machine_code_is_required(tmp_path: Path) -> None:
    plant(tmp_path, kernel=instead("return scale * x", "return np.fft.fft(x).real.astype(x.dtype)"))
    arguments = ("-m", "pykernels", "check", "planted", "--only", "definition", "compiled", "--require-compiled")
    done = python(*arguments, "--json", cwd=tmp_path)
    definition, compiled = json.loads(done.stdout)
    assert (done.returncode, definition["outcome"], compiled["outcome"]) == (1, "passed", "failed")
    assert "planted_py_kernel.py:7: np.fft.fft: it is not compiled" in compiled["message"]
    shown = python("-m", "pykernels", "explain", "planted", cwd=tmp_path).stdout
    assert "    calls Python    planted/planted_py_kernel.py:7: np.fft.fft: it is not compiled; " in shown


@pytest.mark.thorough
def test_json_is_for_programs(tmp_path: Path) -> None:
    plant(tmp_path, kernel=WRONG)
    done = python("-m", "pykernels", "check", "planted", "--only", "shapes", "gradient", "--json", cwd=tmp_path)
    assert done.returncode == 1
    shapes, gradient = json.loads(done.stdout)
    assert (shapes["op"], shapes["check"], shapes["outcome"]) == ("planted", "shapes", "passed")
    assert (gradient["check"], gradient["outcome"]) == ("gradient", "failed")
    assert "finite differences" in gradient["message"]
    assert gradient["inputs"].startswith("x = ") and gradient["seconds"] > 0


def test_a_syntax_error_fails_only_its_own_op(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    plant(tmp_path / "other").rename(tmp_path / "planted")
    broken = plant(tmp_path / "other", kernel=KERNEL + "\n    def f(:\n")
    done = python("-m", "pykernels", "check", "planted", broken, "--only", "definition", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    right, wrong = json.loads(done.stdout)
    assert (right["outcome"], wrong["outcome"]) == ("passed", "failed")
    assert f"{broken / 'planted_py_kernel.py'}:14: syntax error: " in wrong["message"]


def test_what_there_is_not(tmp_path: Path) -> None:
    plant(tmp_path)
    done = python("-m", "pykernels", "check", "planted", "--only", "everything", cwd=tmp_path)
    assert done.returncode == 1
    assert "check 'everything' does not exist; the checks are definition, dtypes, " in done.stderr
    with pytest.raises(CallError, match="check 'everything' does not exist"):
        opcheck(tmp_path / "planted", checks=["everything"])
    with pytest.raises(LoadError, match="op 'nothing' does not exist"):
        opcheck("nothing")


def test_without_hypothesis_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "hypothesis.py").write_text("raise ImportError('not here')")
    plant(tmp_path)
    done = python("-m", "pykernels", "check", "planted", "--only", "compiled", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "hypothesis, which is not installed: python -m pip install 'pykernels[check]'" in done.stderr


def test_opcheck_takes_the_names_of_loaded_ops_and_calls(tmp_path: Path) -> None:
    pykernels.load_ops(plant(tmp_path, kernel=WRONG))
    try:
        calls = [{"x": np.array([[1.0, -2.0]], np.float32), "scale": 1.0}]
        opcheck("planted", calls, checks=["shapes", "gradient"])
        opcheck(pykernels.list_ops()["planted"], calls, checks=["gradient"])
        with pytest.raises(AssertionError, match=r"planted, gradient: planted_forward: the gradient of x\[0, 0\] is"):
            opcheck("planted", [{**calls[0], "scale": 2.0}], checks=["gradient"])
        with pytest.raises(AssertionError, match="op planted_forward has no attribute 'size'"):
            opcheck("planted", [{"x": np.ones(2), "size": 1.0}], checks=["shapes"])
    finally:
        pykernels.unload_ops()


def test_calls_that_are_given_are_the_only_ones(tmp_path: Path) -> None:
    """What is made up may be nothing that the op takes."""
    refuse = "return in_shape, in_shape, []"
    definition = instead(refuse, f"assert in_shape == [[7, 3]]\n            {refuse}", DEFINITION)
    folder = plant(tmp_path, definition=definition)
    values = np.linspace(-1, 1, 21, dtype=np.float32).reshape(7, 3)
    opcheck(folder, [{"x": values}], checks=["definition", "compiled", "gradient", "bounds", "threads", "speed"])
    with pytest.raises(AssertionError, match=r"planted, definition: op planted_forward: .*sample_inputs"):
        opcheck(folder, checks=["definition"])


@pytest.mark.thorough
def test_a_check_that_lacks_an_argument_is_skipped_and_runs_with_it(tmp_path: Path) -> None:
    refuse = "return in_shape, in_shape, []"
    definition = instead("scale: float = 2.0", "scale: float", DEFINITION)
    definition = instead("super().__init__()", "super().__init__()\n            self.scale = scale", definition)
    definition = instead(refuse, f"assert self.scale == 3 and len(in_shape[0]) == 2\n            {refuse}", definition)
    plant(tmp_path, definition=definition)
    command = ("-m", "pykernels", "check", "planted", "--only", "definition", "shapes", "frameworks", "--json")
    done = python(*command, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for result in json.loads(done.stdout):
        assert result["outcome"] == "skipped"
        assert "--attr scale=VALUE" in result["message"] and "--shape x=1000,32" in result["message"]
        assert "\n" not in result["message"]
    done = python(*command[:-2], "speed", "--json", "--attr", "scale=3", "--shape", "x=3,4", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [result["outcome"] for result in json.loads(done.stdout)] == ["passed"] * 3, done.stdout


@pytest.mark.thorough
def test_attributes_without_default_are_made_up(tmp_path: Path) -> None:
    plant(tmp_path, definition=instead("scale: float = 2.0", "scale: float", DEFINITION))
    opcheck(tmp_path / "planted", checks=["definition", "compiled", "gradient"])


def test_a_crash_and_a_hang_are_findings_and_the_other_checks_go_on(tmp_path: Path) -> None:
    kernel = instead("import numpy as np", "import os, signal, time\n    import numpy as np")
    kernel = instead("return scale * x", "return _odd(x) * x", kernel)
    kernel += """
    def _odd(x):
        if x.size == 7:
            os.kill(os.getpid(), signal.SIGSEGV)
        return 2.0
    """
    plant(tmp_path, kernel=kernel)
    program(
        """
        import numpy as np
        from pathlib import Path
        from pykernels.tools.check import runner

        found = list(runner.run_checks(Path("planted").absolute(), ["shapes", "compiled"], [{"x": np.ones(7)}]))
        assert [(each.check, each.outcome) for each in found] == [("shapes", "failed"), ("compiled", "failed")], found
        assert all(each.message.startswith("the process that checks was ended by SIGSEGV") for each in found), found
        """,
        cwd=tmp_path,
    )


def test_numbers_that_overflow_as_in_newer_numpy_are_no_difference(tmp_path: Path) -> None:
    """Before NumPy 2, the plain run computes elements and Python's numbers in float64."""
    loop = "y = np.empty_like(x)\nfor i in range(x.size):\n    y[i] = -0.5 * (2.0 * x[i])\ny"
    folder = Op(loop, shape="assert len(x) == 1\nreturn in_shape, in_shape, []").write(tmp_path, "halved")
    opcheck(folder, [{"x": np.array([1.0, 3e38], np.float32)}], checks=["compiled"])
