"""Add the names of the op and its inputs to MXNet's errors about the inputs of a call.

libmxnet counts the inputs before it calls the op, and reports only that "Operator Custom expects 2"; for a misspelt
name it suggests no similar one. MXNet's functions for custom operators are therefore wrapped: errors about our ops get
an additional line.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import re
from collections.abc import Callable, Mapping
from typing import Any

from pykernels.base.errors import CallError

# The modules in which MXNet has put the function.
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
# MXNet's functions, by their replacements.
_originals: dict[Any, Any] = {}


def explain(*op_types: str) -> None:
    """Explain MXNet's errors about the inputs of these op types."""
    if not _op_types:
        _replace(_wrapped)
    _op_types.update(op_types)


def leave(*op_types: str) -> None:
    """Stop explaining errors of these op types; after the last one, restore MXNet's functions."""
    _op_types.difference_update(op_types)
    if not _op_types:
        _replace(_original)


def _replace(change: Callable[[Any], Any]) -> None:
    for name in _MODULES:
        module: Any = importlib.import_module(name)
        module.Custom = change(module.Custom)


@functools.cache  # a function that two modules share remains one function
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
    """Return the explanation of an error of a call with these keywords; None if it is not about inputs of our ops."""
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
        return f"{text}, but none called {found['name']!r}"
    given = int(found["given"] or found["provided"])
    more = _inputs({**keywords, "num_args": given})
    hint = f"; with num_args={given} it takes {', '.join(more)}" if more and len(more) == given else ""
    return f"{text}, got {given}{hint}"


def _inputs(keywords: Mapping[str, Any]) -> list[str] | None:
    """Return the names of an op's inputs, as MXNet gets them from the op, for the attributes among some keywords."""
    mx = importlib.import_module("mxnet")
    attributes = {
        key: value
        for key, value in keywords.items()
        if key not in ("name", "out", "attr") and not isinstance(value, (mx.sym.Symbol, mx.nd.NDArray))
    }
    try:
        with mx.name.NameManager():
            # MXNet creates missing inputs of a graph, with names that begin with its own.
            graph = _original(mx.sym.Custom)(name="op", **attributes)
    except mx.MXNetError:
        return None
    return [name.removeprefix("op_") for name in graph.list_inputs()]
