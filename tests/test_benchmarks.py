"""The benchmarks run and show what they measure; what they measure is no matter for a test."""

from __future__ import annotations

from pathlib import Path

from process import CHECKOUT, python


def test_mxnet_call(tmp_path: Path) -> None:
    done = python(CHECKOUT / "benchmarks" / "mxnet_call.py", "--calls", "20", "--rounds", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("MXNet built-in", "pykernels", "Python CustomOp", "20,000 more calls of ours"):
        assert shown in done.stdout
