"""``python -m pykernels warmup``: afterwards, nothing is left to build."""

from __future__ import annotations

import re
import subprocess
import uuid
from pathlib import Path

import pytest
from messages import frames
from process import program, python

from pykernels.tools import cli

KERNEL = "twice/twice_py_kernel.py"


@pytest.fixture
def ops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an op `twice` whose kernels nobody has built before."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", "twice"]) == 0
    with (tmp_path / "ops" / KERNEL).open("a") as stream:
        stream.write(f"# {uuid.uuid4()}\n")
    return tmp_path / "ops"


def warmup(ops: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "pykernels", "warmup", "--jobs", "1", *arguments, cwd=ops.parent)


def counts(done: subprocess.CompletedProcess[str]) -> dict[str, list[int]]:
    """Of each row: built, from cache, as Python, failed."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.stdout.splitlines() if line[:1] == "│"]
    return {name: [int(number) for number in numbers] for name, *numbers in rows}


def test_builds_everything_once(ops: Path) -> None:
    first, second = warmup(ops, "twice"), warmup(ops, "twice")
    for done in (first, second):
        # Without a terminal there is no progress bar.
        assert (done.returncode, done.stderr) == (0, "")
        assert list(counts(done)) == [
            "registrar for mxnet",
            "registrar for oneflow",
            "registrar for onnxruntime",
            "twice",
        ]
    # The definition, then a forward pass and a gradient for 1 to 4 axes, some of which share a kernel.
    built, cached, *others = counts(first)["twice"]
    assert (built + cached, others) == (9, [0, 0]) and built >= 2
    registrar = [0, 1, 0, 0]
    assert counts(second) == {
        "registrar for mxnet": registrar,
        "registrar for oneflow": registrar,
        "registrar for onnxruntime": registrar,
        "twice": [0, 9, 0, 0],
    }


@pytest.mark.thorough
def test_what_is_warm_is_not_built_when_it_is_called(ops: Path) -> None:
    done = warmup(ops, "ops", "--dtype", "float32", "float64")
    assert (done.returncode, done.stderr) == (0, "")
    program(
        """
        import pykernels.compat.mxnet
        import mxnet as mx
        import numpy as np
        from pykernels.build import cache

        with cache.recorded() as built:
            pykernels.load_ops()
            for dtype in (np.float32, np.float64):
                x = mx.nd.ones((2, 3), dtype=dtype)
                x.attach_grad()
                with mx.autograd.record():
                    y = mx.nd.Custom(x, op_type="twice")
                y.backward()
                mx.nd.waitall()
                pykernels.list_ops()["twice"].api.twice(np.ones((1, 2, 3), dtype))
        assert built == [], built
        """,
        cwd=ops.parent,
    )


@pytest.mark.thorough
def test_a_kernel_that_runs_as_python_is_reported(ops: Path) -> None:
    text = (ops / KERNEL).read_text()
    (ops / KERNEL).write_text(text.replace("def forward(args", "class Thing:\n    pass\n\n\ndef forward(args", 1))
    source = (ops / KERNEL).read_text()
    (ops / KERNEL).write_text(re.sub(r"(def forward.*\n)", r"\1    Thing()\n", source))
    done = warmup(ops, "twice")
    assert done.returncode == 0
    assert counts(done)["twice"][2] == 4
    assert "pykernels: twice: op 'twice_forward': forward runs as Python, which is slower" in done.stderr
    assert done.stderr.count("runs as Python") == 1


@pytest.mark.thorough
def test_failures_are_reported_and_the_others_are_built(ops: Path) -> None:
    assert cli.main(["new", "broken"]) == 0
    (ops / "broken/broken_cpp_def.cpp").write_text("int x = y;\n")
    done = warmup(ops, "broken", "twice")
    assert done.returncode == 1
    assert counts(done)["broken"] == [0, 0, 0, 1]
    assert counts(done)["twice"][3] == 0
    assert "pykernels: broken: definition: " in done.stderr and "broken_cpp_def.cpp:1" in done.stderr
    assert frames(done.stderr) == []


def test_a_dtype_that_an_op_refuses_fails(ops: Path) -> None:
    done = warmup(ops, "sigmoid", "--dtype", "int32")
    assert done.returncode == 1
    assert "pykernels: sigmoid: int32: op sigmoid_forward: " in done.stderr
    assert "x must be floating point, but is int32" in done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["nothing"],
            "op 'nothing' does not exist (folder nothing does not exist); the ops are batch_norm, box_clip, ",
        ),
        (["./nothing"], "folder nothing does not exist"),
        (["relu", "--dtype", "text"], "argument --dtype: 'text': data type 'text' not understood"),
        (["relu", "--dtype", "datetime64"], "no op can take arrays of dtype datetime64"),
        (["relu", "--shape", "x"], "argument --shape: 'x' is not NAME=VALUE"),
        (
            ["relu", "--shape", "x=a"],
            "argument --shape: 'x=a' is not an input and its shape, such as x=1000,32; write one --shape for each "
            "input: --shape x=1000,32 --shape w=32",
        ),
        (["relu", "--shape", "z=2"], "op relu_forward has no input 'z'; its inputs are x"),
        (
            ["leaky_relu", "--attr", "alphas=2"],
            "op leaky_relu_forward has no attribute 'alphas'; did you mean 'alpha'?",
        ),
    ],
)
def test_wrong_arguments_are_reported(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = python("-m", "pykernels", "warmup", "--jobs", "1", *arguments, cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert frames(done.stderr) == []
