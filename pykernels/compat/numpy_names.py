"""NumPy with the names that it had up to 1.23, as a module of its own."""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable
from typing import Any

import numpy

from pykernels.base.errors import CallError
from pykernels.base.refusals import MissingName

# What it has depends on its version.
np: Any = numpy


@functools.cache
def old_numpy() -> types.ModuleType:
    """Return a module with all that NumPy has, and with the names that MXNet asks for beside it."""
    module = types.ModuleType("numpy", np.__doc__)
    vars(module).update({**_REMOVED, **vars(np), **_CHANGED, "__getattr__": _find})
    return module


def old_text(value: Any) -> str:
    """Return ``str(value)`` as NumPy 1 writes it: of (np.int64(2), 3), the text ``(2, 3)``."""
    text = str(value)
    if "np." not in text or isinstance(value, str):
        return text
    with np.printoptions(legacy="1.25"):
        return str(value)


def _find(name: str) -> Any:
    """Return what NumPy itself only finds when it is asked for it, such as some of its modules."""
    try:
        return getattr(np, name)
    except AttributeError:
        if name.startswith("__"):
            raise
        raise MissingName(
            f"NumPy {np.__version__} has no np.{name}, and pykernels.compat does not provide it; NumPy 1.23 has it, "
            f"with Python 3.10 or 3.11: pip install numpy==1.23.5"
        ) from None


def _in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    return np.isin(np.ravel(ar1), ar2, assume_unique=assume_unique, invert=invert)


def _msort(a: Any) -> Any:
    return np.sort(a, axis=0)


def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    return np.round(a, decimals=decimals, out=out)


def _sometrue(*args: Any, **kwargs: Any) -> Any:
    return np.any(*args, **kwargs)


def _alltrue(*args: Any, **kwargs: Any) -> Any:
    return np.all(*args, **kwargs)


def _product(*args: Any, **kwargs: Any) -> Any:
    return np.prod(*args, **kwargs)


def _trapz(*args: Any, **kwargs: Any) -> Any:
    return np.trapezoid(*args, **kwargs)


def _financial(name: str) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise CallError(
            f"np.{name}: NumPy has no financial functions since 1.20; pip install numpy-financial, and call "
            f"numpy_financial.{name}"
        )

    return refuse


#: The names that NumPy 2 has for something else, or with a warning.
_CHANGED = {"bool": builtins.bool, "core": np._core if np.__version__ >= "2" else np.core}
#: The names that some version of NumPy has removed.
_REMOVED: dict[str, Any] = {
    "NAN": np.nan,
    "NINF": -np.inf,
    "NZERO": -0.0,
    "NaN": np.nan,
    "Inf": np.inf,
    "PINF": np.inf,
    "PZERO": 0.0,
    "alltrue": _alltrue,
    "compat": types.SimpleNamespace(basestring=str),
    "in1d": _in1d,
    "int": builtins.int,
    "msort": _msort,
    "product": _product,
    "round_": _round,
    "sometrue": _sometrue,
    "trapz": _trapz,
    **{name: _financial(name) for name in ("mirr", "npv", "pmt", "ppmt", "pv", "rate")},
}
