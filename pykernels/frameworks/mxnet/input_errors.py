"""MXNet's errors about the inputs of a call, with the op and its inputs named.

libmxnet counts the inputs before it asks an op about them, and says that "Operator Custom expects 2"; of a name that is
misspelt it does not say which one is nearly right. So MXNet's functions for custom operators are wrapped: what they
raise gets a line more, where it is about one of our ops.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from pykernels.base.errors import CallError

__all__ = ["explain", "leave"]

# Wherever MXNet has put a function.
_MODULES = (
    "mxnet.ndarray",
    "mxnet.ndarray.op",
    "mxnet.ndarray.numpy._internal",
    "mxnet.symbol",
    "mxnet.symbol.op",
    "mxnet.symbol.numpy._internal",
)
_ABOUT_INPUTS = re.compile(
    r"Operator Custom expects \d+ inputs, but got (?P<given>\d+)"
    r"|Incorrect number of arguments, requires \d+, provided (?P<provided>\d+)"
    r"|ComposeKeyword argument name (?P<name>\w+) not found"
)

_op_types: set[str] = set()
# The functions of MXNet's, by what takes their place.
_originals: dict[Any, Any] = {}


def explain(*op_types: str) -> None:
    """Name these op types and their inputs in MXNet's errors."""
    if not _op_types:
        _replace(_wrapped)
    _op_types.update(op_types)


def leave(*op_types: str) -> None:
    """Leave the errors of these op types as MXNet has them; after the last one, its functions, too."""
    _op_types.difference_update(op_types)
    if not _op_types:
        _replace(_original)


def _replace(change: Callable[[Any], Any]) -> None:
    for name in _MODULES:
        module: Any = importlib.import_module(name)
        module.Custom = change(module.Custom)


@functools.cache  # a function that two modules have stays one
def _wrapped(function: Any) -> Any:
    error_class = importlib.import_module("mxnet.base").MXNetError

    @functools.wraps(function)
    def custom(*inputs: Any, **keywords: Any) -> Any:
        try:
            return function(*inputs, **keywords)
        except error_class as error:
            text = _explanation(str(error), keywords)
            if text is None:
                raise
            raise type(error)(str(CallError(f"{text}\n{error}"))) from error

    _originals[custom] = function
    return custom


def _original(function: Any) -> Any:
    return _originals.get(function, function)


def _explanation(error: str, keywords: Mapping[str, Any]) -> str | None:
    """What to say before an error of a call with these keywords; None if it is not about the inputs of our ops."""
    op_type = keywords.get("op_type")
    if "Cannot find custom operator" in error:
        close = difflib.get_close_matches(str(op_type), _op_types, n=1)
        return f"there is no op {op_type!r}; did you mean {close[0]!r}?" if close else None
    found = _ABOUT_INPUTS.search(error)
    if found is None or op_type not in _op_types:
        return None
    inputs = _inputs(keywords)
    if inputs is None:
        return None
    takes = f"{len(inputs)} input{'s' * (len(inputs) != 1)} ({', '.join(inputs)})" if inputs else "no inputs"
    text = f"op {op_type!r} takes {takes}"
    if found["name"]:
        return f"{text}, and none that is called {found['name']!r}"
    given = int(found["given"] or found["provided"])
    more = _inputs({**keywords, "num_args": given})
    hint = f"; with num_args={given} it takes {', '.join(more)}" if more and len(more) == given else ""
    return f"{text}, got {given}{hint}"


def _inputs(keywords: Mapping[str, Any]) -> list[str] | None:
    """The names of an op's inputs for the attributes among some keywords, as MXNet has them from the op."""
    mx = importlib.import_module("mxnet")
    attributes = {
        key: value
        for key, value in keywords.items()
        if key not in ("name", "out", "attr") and not isinstance(value, (mx.sym.Symbol, mx.nd.NDArray))
    }
    try:
        with mx.name.NameManager():
            # A graph without inputs is given them, under names that begin with its own.
            graph = _original(mx.sym.Custom)(name="op", **attributes)
    except mx.MXNetError:
        return None
    return [name.removeprefix("op_") for name in graph.list_inputs()]
