"""The benchmarks of calls in PyTorch run and show what they measure; what they measure is no matter for a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from process import CHECKOUT, python


@pytest.mark.thorough
def test_torch_call(tmp_path: Path) -> None:
    options = ("--rounds", "1", "--threads", "1", "--sizes", "4", "1e4")
    done = python(CHECKOUT / "benchmarks" / "torch_call.py", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("torch.sigmoid", "pykernels", "forward + backward", "10,000", "<= 2"):
        assert shown in done.stdout
    for peer in ("NumPy custom_op", "torch custom_op"):
        assert re.search(rf"{peer} ÷ ours \d+\.\d \(÷ torch.sigmoid \d+\.\d\) >= 5: (yes|no)", done.stdout)


@pytest.mark.thorough
def test_fuse(tmp_path: Path) -> None:
    done = python(CHECKOUT / "benchmarks" / "fuse.py", "torch", "--rounds", "1", "--sizes", "1e4", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in ("fused ÷ call", "mish", "hard_swish", "forward + backward", "10,000"):
        assert shown in done.stdout
