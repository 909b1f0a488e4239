"""Derived gradients beside finite differences."""

from __future__ import annotations

import itertools
import linecache
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.special

from pykernels.adjoint.derivation import Call, derive_gradient

RNG = np.random.default_rng(0)
H = 1e-6


def array(*shape: int) -> np.ndarray:
    return RNG.uniform(0.2, 0.9, shape)


def check(
    function: Callable[..., Any],
    inputs: Sequence[str],
    *calls: tuple[Sequence[Any], Mapping[str, Any]],
    outputs: Sequence[str] = ("y", "z"),
) -> str:
    """Compare the derived gradient with finite differences; return its code."""
    outputs = outputs[
        : len(results) if isinstance(results := function(tuple(calls[0][0]), **calls[0][1]), tuple) else 1
    ]
    gradient = derive_gradient(
        function, inputs, outputs, [Call([np.asarray(a) for a in call], kw) for call, kw in calls]
    )
    namespace: dict[str, Any] = {**function.__globals__, "np": np, "math": math, "scipy": scipy}
    exec(gradient.written.source, namespace)
    for arrays, attributes in calls:
        values = dict(zip(inputs, arrays))

        def run(values: Mapping[str, Any] = values, attributes: Mapping[str, Any] = attributes) -> tuple[Any, ...]:
            results = function(tuple(values[name] for name in inputs), **attributes)
            return results if isinstance(results, tuple) else (results,)

        slopes = [RNG.normal(size=np.shape(each)) for each in run()]
        given = {**values, **dict(zip(outputs, run())), **{f"d{name}": s for name, s in zip(outputs, slopes)}}
        found = namespace["backward"](
            tuple(given[name] for name in gradient.written.arguments),
            **{name: attributes[name] for name in gradient.written.attributes},
        )
        for name, each in zip((each[1:] for each in gradient.results), found if isinstance(found, tuple) else (found,)):
            x = values[name]
            assert each.shape == x.shape
            expected = np.empty_like(x)
            for at in np.ndindex(x.shape):
                kept, ends = x[at], []
                for step in (H, -H):
                    x[at] = kept + step
                    ends.append(sum(float((a * b).sum()) for a, b in zip(run(), slopes)))
                x[at] = kept
                expected[at] = (ends[0] - ends[1]) / (2 * H)
            np.testing.assert_allclose(each, expected, rtol=2e-5, atol=1e-7)
    return gradient.written.source


def defined(source: str) -> Any:
    name = f"<kernel {next(_NUMBERS)}>"
    namespace: dict[str, Any] = {"np": np, "math": math, "scipy": scipy}
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), namespace)
    return namespace["forward"]


_NUMBERS = itertools.count()
