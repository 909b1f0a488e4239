"""Op folders with something wrong in them, and what checks say of them."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from process import python

from pykernels.tools.check import runner
from pykernels.tools.check.findings import FAILED, PASSED, Result
from pykernels.tools.check.forms import Arguments

#: ``scale * x``, without anything wrong.
KERNEL = """
    import numpy as np


    def forward(args, *, scale):
        (x,) = args
        return scale * x


    def backward(args, *, scale):
        dy, x, y = args
        return scale * dy
"""
DEFINITION = """
    import numpy as np

    import pykernels


    class Planted(pykernels.CustomOpProp):
        def __init__(self, scale: float = 2.0):
            super().__init__()

        def list_arguments(self):
            return ["x"]

        def list_outputs(self):
            return ["y"]

        def infer_shape(self, in_shape):
            return in_shape, in_shape, []

        def infer_type(self, in_type):
            if np.dtype(in_type[0]).kind != "f":
                raise ValueError(f"x must be floating point, not {in_type[0]}")
            return in_type, in_type, []
"""

#: The kernel, writing to its output, whose shape it does not determine.
WRITES = KERNEL.replace("forward(args, *, scale)", "forward(args, outs, *, scale)").replace(
    "return scale * x", "outs[0][...] = scale * x"
)
#: Two inputs of one axis, one behind the other.
JOIN = """
    import numpy as np


    def forward(args, *, scale):
        x, w = args
        return scale * np.concatenate((x, w))


    def backward(args, *, scale):
        dy, x, w, y = args
        return scale * dy[: x.size], scale * dy[x.size :]
"""
JOIN_DEFINITION = (
    DEFINITION.replace('return ["x"]', 'return ["x", "w"]')
    .replace("return in_shape, in_shape, []", "(n,), (m,) = in_shape\n            return in_shape, [[n + m]], []")
    .replace("return in_type, in_type, []", "return in_type, in_type[:1], []")
)
JOIN_API = """
    import numpy as np


    def sample_inputs(elements, dtype):
        return {"x": np.linspace(0.5, 2, elements, dtype=dtype), "w": np.linspace(2, 0.5, 3, dtype=dtype)}
"""


def plant(parent: Path, *, kernel: str = KERNEL, definition: str = DEFINITION, api: str = "") -> Path:
    """An op ``planted`` of one input ``x``, one output ``y`` and one attribute ``scale``, unless these say other."""
    folder = parent / "planted"
    folder.mkdir()
    for part, text in (("py_kernel", kernel), ("py_def", definition), ("py_api", api)):
        (folder / f"planted_{part}.py").write_text(textwrap.dedent(text))
    return folder


def instead(old: str, new: str, text: str = KERNEL) -> str:
    """`text` with one line of it changed."""
    assert text.count(old) == 1
    return text.replace(old, new)


def outcomes(
    folder: Path, *checks: str, calls: Sequence[Mapping[str, Any]] | None = None, is_apart: bool = False
) -> dict[str, Result]:
    """What these checks find, by their names; in a process of their own, as users run them, if `is_apart`."""
    chosen = runner.choose(checks)
    if is_apart:
        return {r.check: r for r in runner.run_checks(folder, chosen, calls, limit=240)}
    messages: list[dict[str, Any]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # otherwise errors, also those of kernels
        runner._main((folder, chosen, calls, Arguments()), messages.append)
    return {message["check"]: Result(**message) for message in messages if "check" in message}


def failure(folder: Path, check: str, **options: Any) -> Result:
    """What a check finds, which must be something."""
    (result,) = outcomes(folder, check, **options).values()
    assert result.outcome == FAILED, result
    return result


def assert_shown_again(result: Result, cwd: Path) -> None:
    """The program that is printed shows the same."""
    assert result.script, result
    again = python("-c", result.script, cwd=cwd)
    assert again.returncode == 1, again.stderr
    assert f"AssertionError: {result.op}, {result.check}: " in again.stderr
    assert result.message.partition(": ")[0] in again.stderr


def assert_passes(folder: Path, *checks: str, **options: Any) -> None:
    for result in outcomes(folder, *checks, **options).values():
        assert result.outcome == PASSED, result
