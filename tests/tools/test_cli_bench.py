"""``python -m pykernels bench`` and ``explain`` show what there is; how fast it is, is no matter for a test."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from messages import frames
from process import python

from pykernels.tools import cli


def bench(tmp_path: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "pykernels", "bench", *arguments, cwd=tmp_path, **environment)


def new_op(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, first_line: str = "") -> Path:
    """A new op whose forward pass begins with a line of its own."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", name]) == 0
    kernel = tmp_path / f"ops/{name}/{name}_py_kernel.py"
    if first_line:
        text = re.sub(r"(def forward.*\n)", rf"\1    {first_line}\n", kernel.read_text())
        kernel.write_text(f"import os\nimport time\n\n\n{text}")
    return kernel


@pytest.mark.thorough
def test_json_has_every_kernel_at_every_size_beside_all_others(tmp_path: Path) -> None:
    done = bench(tmp_path, "sigmoid", "nms", "--sizes", "1e3", "4", "--rounds", "1", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert set(result["machine"]) == {"processor", "system", "python", "numpy", "pykernels"}
    rows = result["rows"]
    assert [(row["op"], row["function"], row["elements"]) for row in rows] == [
        ("sigmoid", "forward", 4),
        ("sigmoid", "backward", 4),
        ("sigmoid", "forward", 1000),
        ("sigmoid", "backward", 1000),
        ("nms", "forward", 4),
        ("nms", "forward", 1000),
    ]
    assert [row["nbytes"] for row in rows[:4]] == [32, 48, 8000, 12000]
    for row in rows:
        own = ["MXNet", "OneFlow"] if row["op"] == "sigmoid" else []
        if own and row["function"] == "forward":
            own.append("ONNX Runtime")
        assert list(row["seconds"]) == ["kernel", "copy", *own, "NumPy"]
        assert all(0 < seconds < 10 for seconds in row["seconds"].values())
        assert row["dtype"] == "float32"


@pytest.mark.thorough
def test_table_of_an_op_with_shapes_and_attributes(tmp_path: Path) -> None:
    done = bench(
        tmp_path,
        *("leaky_relu", "--shape", "x=3,5", "--attr", "alpha=0.5", "--dtype", "float64", "--rounds", "1"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    header = next(line for line in done.stdout.splitlines() if line.startswith("┃"))
    assert [cell.strip() for cell in header.split("┃")[1:-1]] == [
        *("kernel", "elements", "time", "GB/s", "÷ copy", "÷ MXNet", "÷ OneFlow", "÷ ONNX Runtime", "÷ NumPy")
    ]
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.stdout.splitlines() if line[:1] == "│"]
    assert [row[:2] for row in rows] == [["leaky_relu forward", "15"], ["leaky_relu backward", "15"]]
    assert all(re.fullmatch(r"[\d.]+ (ns|us|ms)", row[2]) for row in rows)


@pytest.mark.thorough
def test_an_op_of_the_user_is_measured_on_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = 'assert {os.environ[f"{name}_NUM_THREADS"] for name in ("OMP", "OPENBLAS", "MKL")} == {"1"}'
    new_op(tmp_path, monkeypatch, "twice", check)
    done = bench(tmp_path, "ops/twice", "--sizes", "4", "--rounds", "1", "--json", OMP_NUM_THREADS="2")
    assert done.returncode == 0, done.stderr
    # It asks Python for something, so it runs as Python, which is reported.
    assert "forward runs as Python, which is slower and holds the GIL" in done.stderr
    assert [list(row["seconds"]) for row in json.loads(done.stdout)["rows"]] == [["kernel", "copy", "NumPy"]] * 2


@pytest.mark.thorough
def test_what_goes_wrong_with_an_op_ends_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_op(tmp_path, monkeypatch, "dies", "os.kill(os.getpid(), 9)")
    new_op(tmp_path, monkeypatch, "raises", 'raise ValueError("no such thing")')
    new_op(tmp_path, monkeypatch, "works", 'print("said by a kernel") if time.time() < 0 else None')
    done = bench(tmp_path, "dies", "raises", "works", "--sizes", "4", "--rounds", "1", "--json")
    assert done.returncode == 1
    assert {row["op"] for row in json.loads(done.stdout)["rows"]} == {"works"}
    assert "dies: before the first measurement, the measuring process was ended by SIGKILL" in done.stderr
    assert "raises_py_kernel.py:8: forward raised ValueError: no such thing" in done.stderr
    assert frames(done.stderr) == []


@pytest.mark.thorough
def test_a_kernel_that_takes_for_ever_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_op(tmp_path, monkeypatch, "slow", "time.sleep(1000)")
    done = bench(tmp_path, "slow", "--sizes", "4", "--rounds", "1", "--limit", "2")
    assert done.returncode == 1
    assert "slow: before the first measurement, one kernel took more than 2 s; choose smaller --sizes" in done.stderr


@pytest.mark.thorough
def test_a_framework_that_cannot_take_the_arguments_is_left_out(tmp_path: Path) -> None:
    done = bench(tmp_path, "relu", "--shape", "x=0,3", "--rounds", "1", "--json")
    assert done.returncode == 0
    assert done.stderr.startswith("pykernels: MXNet's own relu is left out: MXNetError: Operator ")
    assert done.stderr.count("\n") == 1
    assert all("MXNet" not in row["seconds"] for row in json.loads(done.stdout)["rows"])


@pytest.mark.thorough
def test_a_framework_that_has_no_such_op_for_a_dtype_is_left_out(tmp_path: Path) -> None:
    done = bench(tmp_path, "relu", "--sizes", "4", "1e3", "--dtype", "float16", "--rounds", "1", "--json")
    assert done.returncode == 0
    assert done.stderr.startswith("pykernels: OneFlow's own relu is left out: ")
    assert done.stderr.count("\n") == 1, "reported once, not for each size"
    assert all("OneFlow" not in row["seconds"] for row in json.loads(done.stdout)["rows"])


@pytest.mark.thorough
def test_whole_numbers_have_no_gradient_in_frameworks(tmp_path: Path) -> None:
    done = bench(tmp_path, "tensor_negate", "--sizes", "4", "--dtype", "int32", "--rounds", "1", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    forward, backward = (list(row["seconds"]) for row in json.loads(done.stdout)["rows"])
    assert forward == ["kernel", "copy", "MXNet", "OneFlow", "ONNX Runtime", "NumPy"]
    assert backward == ["kernel", "copy", "NumPy"]


@pytest.mark.thorough
def test_loops_of_python_are_left_out_where_they_take_too_long(tmp_path: Path) -> None:
    done = bench(tmp_path, "focal_loss", "--sizes", "4", "3e6", "--rounds", "1", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [(row["elements"], "NumPy" in row["seconds"]) for row in rows] == [
        *((4, True), (4, True), (3_000_000, False), (3_000_000, False))
    ]


def test_picture(tmp_path: Path) -> None:
    done = bench(tmp_path, "relu", "--sizes", "4", "100", "--rounds", "1", "--plot", "relu.png")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "relu.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["relu", "--plot", "nowhere/a.png"], "pykernels: the plot nowhere/a.png cannot be written: "),
        (["relu", "--plot", "a.text"], "pykernels: the plot a.text cannot be written: Format 'text' is not supp"),
        (["relu", "--sizes", "0"], "argument --sizes: '0' is not a positive integer"),
        (["relu", "--sizes", "many"], "argument --sizes: 'many' is not a positive integer"),
        (["sigmoid", "--dtype", "int32"], "pykernels: sigmoid: "),
        (["nothing"], "pykernels: op 'nothing' does not exist"),
    ],
)
def test_wrong_arguments_are_reported(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = bench(tmp_path, *arguments)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert done.stdout == ""


def explain(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "pykernels", "explain", *arguments, cwd=tmp_path)


def sections(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, str]]:
    """The lines about each kernel, by name."""
    found: dict[str, dict[str, str]] = {}
    for line in done.stdout.splitlines():
        if line.startswith("    "):
            found[title][line[4:20].strip()] = line[20:]  # noqa: F821
        else:
            title, _, signature = line.partition(": ")
            found[title] = {"signature": signature}
    return found


def test_explain_shows_the_form_of_each_kernel(tmp_path: Path) -> None:
    done = explain(tmp_path, "sigmoid", "dense", "--dtype", "float64")
    assert (done.returncode, done.stderr) == (0, "")
    errors = sections(done)
    assert list(errors) == ["sigmoid forward", "sigmoid backward", "dense forward", "dense backward"]
    forward = errors["sigmoid forward"]
    assert forward["signature"] == "(float64[:]) -> (float64[:])"
    assert forward["written in"].endswith("ops/sigmoid/sigmoid_py_kernel.py:4")
    assert forward["form"] == "elementwise: one pass over the elements, without temporary arrays"
    assert "because" not in forward
    assert errors["dense forward"]["form"].startswith("whole-array: compiled by numba")
    assert re.search(r"dense_py_kernel.py:\d+: ", errors["dense forward"]["because"])
    assert errors["dense forward"]["matrix products"] == "by BLAS"


@pytest.mark.thorough
def test_explain_shows_why_a_kernel_runs_as_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_op(tmp_path, monkeypatch, "twice", "time.sleep(0)")
    done = explain(tmp_path, "ops/twice", "--shape", "x=2,3")
    assert (done.returncode, done.stderr) == (0, "")
    errors = sections(done)
    assert errors["twice forward"]["form"] == "Python: not compiled: it is slow and holds the GIL"
    assert errors["twice forward"]["written in"] == "ops/twice/twice_py_kernel.py:7"
    assert "time" in errors["twice forward"]["because"]
    assert errors["twice backward"]["form"].startswith("elementwise")
    assert errors["twice backward"]["signature"].startswith("(float32[:, :], float32[:, :]")


@pytest.mark.thorough
def test_explain_shows_that_fast_math_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = new_op(tmp_path, monkeypatch, "twice")
    assert "fast math" not in sections(explain(tmp_path, "twice"))["twice forward"]
    kernel.write_text(f"FAST_MATH = True\n\n\n{kernel.read_text()}")
    errors = sections(explain(tmp_path, "twice"))
    assert errors["twice forward"]["fast math"].startswith("requested: ")
    assert errors["twice backward"]["fast math"].startswith("requested: ")


@pytest.mark.thorough
def test_explain_reports_what_is_broken_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = new_op(tmp_path, monkeypatch, "broken")
    kernel.write_text("def forward(args):\n    return nothing\n")
    done = explain(tmp_path, "broken", "relu")
    assert done.returncode == 1
    assert "pykernels: broken: " in done.stderr
    assert list(sections(done)) == ["relu forward", "relu backward"]


def test_explain_wants_an_op(tmp_path: Path) -> None:
    done = explain(tmp_path)
    assert done.returncode == 2
    assert "the following arguments are required: OP" in done.stderr
