"""Members of dictionaries that attributes select, in kernels of every form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from compiled import build, kernel_of, run

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def built_and_run(folder: Path, body: str, form: str) -> None:
    """Check a kernel of `x` and the attributes `kind` and `n`."""
    lines = "".join(f"    {line}\n" for line in ("(x,) = args", *body.splitlines()))
    text = f"SCALES = {{'relu': 0.5, 'tanh': 2}}\n\n\ndef forward(args, *, kind, n):\n{lines}"
    kernel, given = kernel_of(folder, text), {"kind": "tanh", "n": 2}
    wanted = kernel.function((X,), **given)
    made = np.full_like(wanted, 7)
    built = build(kernel, [X], [made], constants=given)
    assert built.facts.form == form, built.facts.reason
    assert run(built, [X], [made]) is None
    np.testing.assert_allclose(made, wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("body", "form"),
    [
        ("t = {'relu': 1, 'tanh': 3}\nreturn x * {1: 0.5, 2: 1.5}[n] - t[kind] + t.get('none', 7)", "elementwise"),
        ("return {'relu': np.maximum(x, 0), 'tanh': np.tanh(x)}[kind] * SCALES[kind]", "elementwise"),
        ("f = {'relu': np.abs, 'tanh': np.tanh}.get(kind, np.exp)\nreturn np.sort(f(x)) * SCALES[kind]", "whole-array"),
    ],
)
def test_values(tmp_path: Path, body: str, form: str) -> None:
    built_and_run(tmp_path, body, form)


def test_keys_that_are_written_need_no_attributes(tmp_path: Path) -> None:
    lines = ["(x,) = args", "c = {'gain': 2.0, 'bias': 3}", "return np.sort(x * c['gain']) + c['bias']"]
    text = "\n    ".join(["def forward(args):", *lines])
    kernel, made = kernel_of(tmp_path, text), np.empty_like(X)
    built = build(kernel, [X], [made])
    assert built.facts.form == "whole-array", built.facts.reason
    assert run(built, [X], [made]) is None
    np.testing.assert_array_equal(made, np.sort(X * np.float32(2)) + 3)


@pytest.mark.parametrize(
    "body", ["t = {'tanh': 1.0}\nt['tanh'] = 3.0\nreturn x * t[kind]", "return x * {kind: 1.0}['tanh']"]
)
@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
def test_a_dictionary_that_is_not_constant_is_pythons(tmp_path: Path, body: str) -> None:
    built_and_run(tmp_path, body, "Python")
