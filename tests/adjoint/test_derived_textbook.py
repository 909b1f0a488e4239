"""Functions of textbooks and papers become ops, whose derived gradients are finite differences."""

from __future__ import annotations

import importlib.util
import inspect
import re
from typing import Any

import numpy as np
import pytest
from process import CHECKOUT

from pykernels.tools.new.sketch import sketch_function

H = 1e-6
PATH = CHECKOUT / "benchmarks" / "textbook.py"


def _read() -> Any:
    # Other tests have a module of this name.
    spec = importlib.util.spec_from_file_location("functions_of_textbooks", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TEXTBOOK = _read()
LENGTH = re.compile(r"\d{4,}|[2-9]\d\d")


def test_there_are_thirty() -> None:
    assert len(TEXTBOOK.SAMPLES) >= 30


@pytest.mark.parametrize("name", TEXTBOOK.SAMPLES)
def test_a_derived_gradient_is_a_finite_difference(name: str) -> None:
    made, function, rng = sketch_function(name, PATH), getattr(TEXTBOOK, name), np.random.default_rng(0)
    texts = (LENGTH.sub(lambda found: str(int(found[0]) // 16), each) for each in TEXTBOOK.SAMPLES[name])
    drawn = [TEXTBOOK.draw(text, rng) for text in texts]
    inputs = [array.astype(np.float64) if array.dtype.kind == "f" else array for array in drawn]
    (output,) = (each.name for each in made.outputs)
    tensors = dict(zip((each.name for each in made.inputs), inputs))
    ways = {each: rng.normal(size=array.shape) for each, array in tensors.items() if array.dtype.kind == "f"}
    y = np.asarray(function(*inputs))
    slope = rng.normal(size=y.shape)
    needed, computed = ([each.strip() for each in part.split(",")] for part in made.gradient.split("->"))
    kernel: dict[str, Any] = {}
    exec(made.kernel, kernel)
    keywords = inspect.signature(kernel["backward"]).parameters
    found = kernel["backward"](
        tuple({**tensors, output: y, f"d{output}": slope}[each] for each in needed),
        **{each.name: each.default for each in made.attributes if each.name in keywords},
    )
    assert [each.removeprefix("d") for each in computed] == list(ways)
    total = sum(np.sum(g * way) for g, way in zip(found if isinstance(found, tuple) else (found,), ways.values()))
    ends = [function(*(a + sign * H * ways[n] if n in ways else a for n, a in tensors.items())) for sign in (1, -1)]
    np.testing.assert_allclose(total, np.sum((ends[0] - ends[1]) * slope) / (2 * H), rtol=1e-5, atol=1e-6)
