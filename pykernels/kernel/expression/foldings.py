"""The table of the reductions that kernels may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Folding:
    """A reduction."""

    #: The operation that folds the elements.
    operation: str
    #: Whether its second parameter is a dtype.
    has_dtype: bool = False
    #: Its further keywords beside ``keepdims``.
    options: tuple[str, ...] = ()


#: The reductions, by the names of NumPy's functions and arrays' methods.
REDUCTIONS: Mapping[str, Folding] = {
    "sum": Folding("add", has_dtype=True),
    "mean": Folding("add", has_dtype=True),
    "var": Folding("add", has_dtype=True, options=("ddof",)),
    "std": Folding("add", has_dtype=True, options=("ddof",)),
    "prod": Folding("multiply", has_dtype=True),
    "max": Folding("maximum", options=("initial",)),
    "min": Folding("minimum", options=("initial",)),
    "any": Folding("maximum"),
    "all": Folding("minimum"),
}

#: The reductions by universal functions.
UFUNC_REDUCTIONS: Mapping[str, str] = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_or": "any",
    "logical_and": "all",
}
