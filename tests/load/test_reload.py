"""Ops that are watched: an edit takes effect by itself, in every framework; a broken one leaves the op as it was."""

from __future__ import annotations

import importlib.util
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from process import program

import pykernels
from pykernels.load import watching
from pykernels.tools.new.sketch import sketch
from pykernels.tools.new.writing import write_op

X = np.array([1.0, 2.0, 3.0], np.float32)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """An op ``gain``, which is watched."""
    write_op(sketch("gain"), tmp_path)
    pykernels.load_ops(tmp_path, watch=True)
    yield tmp_path / "gain"
    pykernels.unload_ops()


def soon(is_so: Callable[[], bool]) -> bool:
    """Whether it comes true within some seconds."""
    end = time.monotonic() + 20
    while not is_so() and time.monotonic() < end:
        time.sleep(0.05)
    return is_so()


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def gain() -> list[float]:
    return list(pykernels.list_ops()["gain"].api.gain(X))


def test_an_edited_kernel_takes_effect(folder: Path) -> None:
    assert gain() == [1, 4, 9]
    edit(folder / "gain_py_kernel.py", "return scale * x * x", "return scale * x + 10")
    assert soon(lambda: gain() == [11, 12, 13])


@pytest.mark.thorough
def test_an_edited_definition_takes_effect(folder: Path) -> None:
    assert "scale: double = 1.0" in pykernels.list_ops()["gain"].forward.schema()
    edit(folder / "gain_cpp_def.cpp", '.Attr<double>("scale", 1.0)', '.Attr<double>("scale", 3.0)')
    assert soon(lambda: "scale: double = 3.0" in pykernels.list_ops()["gain"].forward.schema())


@pytest.mark.thorough
def test_what_cannot_be_loaded_is_reported_once_and_leaves_the_op(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    kernel = folder / "gain_py_kernel.py"
    good = kernel.read_text()
    assert gain() == [1, 4, 9]
    kernel.write_text("def forward(args:\n")
    message = ""

    def is_reported() -> bool:
        nonlocal message
        message += capfd.readouterr().err
        return "stays as it was" in message

    assert soon(is_reported)
    assert f"pykernels: {kernel}:1: syntax error: " in message and message.rstrip().endswith(
        "op 'gain' stays as it was"
    )
    assert gain() == [1, 4, 9]
    time.sleep(4 * watching.INTERVAL)
    assert capfd.readouterr().err == ""
    kernel.write_text(good.replace("return scale * x * x", "return scale * x"))
    assert soon(lambda: gain() == [1, 2, 3])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("file", "old", "new", "reason"),
    [
        ("gain_py_kernel.py", "*, scale", "*, scala", "gain_py_kernel.py:3: forward takes the attribute 'scala'"),
        ("gain_cpp_def.cpp", '.Input("x"', '.Inputs("x"', "gain_cpp_def.cpp:6: "),
        ("gain_py_api.py", "import pykernels", "import pykernel", "gain_py_api.py:1: ModuleNotFoundError: "),
    ],
)
def test_a_mistake_is_refused_and_leaves_an_op_in_use(
    tmp_path: Path, file: str, old: str, new: str, reason: str
) -> None:
    write_op(sketch("gain"), tmp_path)
    pykernels.load_ops(tmp_path)
    assert gain() == [1, 4, 9]
    edit(tmp_path / "gain" / file, old, new)
    with pytest.raises(pykernels.PykernelsError, match=re.escape(reason)):
        pykernels.reload("gain")
    assert gain() == [1, 4, 9]
    edit(tmp_path / "gain" / file, new, old)
    edit(tmp_path / "gain/gain_py_kernel.py", "return scale * x * x", "return scale * x")
    # An op type stands for its op.
    assert list(pykernels.reload("gain_backward")) == ["gain"]
    assert gain() == [1, 2, 3]
    pykernels.unload_ops("gain_forward")
    assert not pykernels.list_ops()


def test_the_thread_ends_with_the_ops(folder: Path) -> None:
    thread = watching._thread
    assert thread is not None and thread.is_alive()
    pykernels.unload_ops()
    thread.join(10)
    assert not thread.is_alive()


def test_nothing_is_watched_unless_asked(tmp_path: Path) -> None:
    program(
        """
        import threading
        import pykernels

        pykernels.load_ops()
        assert [thread.name for thread in threading.enumerate()] == ["MainThread"]
        """,
        cwd=tmp_path,
    )


@pytest.mark.thorough
@pytest.mark.parametrize("framework", ["mxnet", "oneflow", "torch", "jax"])
def test_frameworks_see_an_edited_definition(framework: str, tmp_path: Path) -> None:
    spec = importlib.util.find_spec(framework)
    # A folder of tests is found, too, but has no origin.
    if spec is None or spec.origin is None:
        pytest.skip(f"{framework} is in another environment")
    write_op(sketch("gain"), tmp_path / "ops")
    done = program(
        f"""
        import sys, time
        import numpy as np
        import pykernels.compat.mxnet
        import {framework} as framework
        from pathlib import Path
        from pykernels.tools.new.definition import definition_text
        from pykernels.define.declared import Attribute
        from pykernels.tools.new.sketch import sketch
        from pykernels.base.abi import AttrType

        module = pykernels.load_ops(watch=True)["gain"]
        make = {{"mxnet": "nd.array", "jax": "numpy.asarray"}}.get("{framework}", "tensor")
        x = eval(f"framework.{{make}}")(np.full(3, 2, np.float32))
        assert module.api.gain(x).sum() == 12
        other = sketch("gain", attributes=[Attribute("scale", AttrType.DOUBLE, 5.0)])
        Path("ops/gain/gain_cpp_def.cpp").write_text(definition_text(other))
        Path("ops/gain/gain_py_api.py").write_text(Path("ops/gain/gain_py_api.py").read_text().replace("1.0", "5.0"))
        end = time.monotonic() + 60
        while pykernels.list_ops()["gain"].api.gain(x).sum() != 60:
            assert time.monotonic() < end
            time.sleep(0.1)
        print("seen")
        """,
        cwd=tmp_path,
    )
    assert done.stdout.endswith("seen\n")
