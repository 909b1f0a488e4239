"""Track the context of new ops: the graph, name scopes and order that `with` statements choose."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, Literal, Protocol, TypeVar, overload

from pykernels.base.refusals import RefusedCall, WrongType

F = TypeVar("F", bound=Callable[..., Any])


class AnyGraph(Protocol):
    """The part of `Graph` that contexts, tensors and streams use, whose modules that of `Graph` imports."""

    ir: Any
    name: str
    _scope: str


class Context(threading.local):
    """The context of one thread: its stacks of graphs, name scopes and ops."""

    def __init__(self) -> None:
        self._graphs: list[AnyGraph] = []
        self._scopes: list[str] = []
        self._ops: list[str] = []

    @property
    def graph(self) -> Any:
        """The current `Graph`, to which new ops are appended; RuntimeError if no graph has been chosen."""
        if not self._graphs:
            what = f"popxl.ops.{self._ops[0]}" if self._ops else "popxl"
            raise RefusedCall(
                f"{what}: no graph has been chosen. Call it inside of `with ir.main_graph:`, `with graph:`, or a "
                "function that ir.create_graph() calls"
            )
        return self._graphs[-1]

    @property
    def op_name(self) -> str:
        """The name of the op function that the user called, for error messages."""
        return self._ops[0] if self._ops else "popxl"

    def _get_op_settings(self, name: str) -> str:
        """Return what the context sets for an op: its name, prefixed with the enclosing name scopes."""
        return "/".join((*self._scopes, name))

    def _op_created(self, op: Any) -> None:
        """Call the current graph's hooks, as the Python functions for C++ ops do."""
        self.graph.call_hooks(op)


_context = Context()


def get_current_context() -> Context:
    """Return the context of the current thread."""
    return _context


def get_current_graph() -> Any:
    """Return the graph to which new ops are appended; raise RuntimeError if no graph has been chosen."""
    return _context.graph


def get_main_graph() -> Any:
    """Return the main graph of the current graph's IR; raise RuntimeError if no graph has been chosen."""
    return _context.graph.ir.main_graph


def get_ir() -> Any:
    """Return the IR of the current graph; raise RuntimeError if no graph has been chosen."""
    return _context.graph.ir


gcg, gmg, gir = get_current_graph, get_main_graph, get_ir


@contextlib.contextmanager
def in_sequence(mode: bool | Literal["pass"] = True) -> Iterator[bool | None]:
    """Run ops in the order in which they are created, which is always the case here.

    Parameters
    ----------
    mode : bool or "pass"
        Validated, but without further effect.
    """
    if not (isinstance(mode, bool) or mode == "pass"):
        raise WrongType(f"popxl.in_sequence: mode is {mode!r}; it must be True, False or 'pass'")
    yield None if mode == "pass" else bool(mode)


@contextlib.contextmanager
def name_scope(name: str) -> Iterator[list[str]]:
    """Prefix the names of the tensors and ops that are created inside with `name`."""
    if not isinstance(name, str):
        raise WrongType(f"popxl.name_scope: name is {name!r}; it must be a string")
    _context._scopes.append(name)
    try:
        yield list(_context._scopes)
    finally:
        _context._scopes.pop()


@contextlib.contextmanager
def ipu(ipu: int) -> Iterator[int]:
    """Select an IPU, without effect: graphs run on the CPU."""
    yield ipu


@contextlib.contextmanager
def io_tiles() -> Iterator[None]:
    """Select the IO tiles, without effect: graphs run on the CPU."""
    yield


@overload
def op_debug_context(name: str) -> Callable[[F], F]: ...


@overload
def op_debug_context(name: F) -> F: ...


def op_debug_context(name: Any) -> Any:
    """Decorate a function that creates ops, so that their error messages begin with its name, or with `name`."""
    if callable(name):
        return op_debug_context(name.__name__)(name)

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            _context._ops.append(name)
            try:
                return function(*args, **kwargs)
            finally:
                _context._ops.pop()

        return wrapper  # type: ignore[return-value]

    return decorate


def named_op(name: str, doc: str, function: F) -> F:
    """Return a function that creates ops as one with this name and docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return op_debug_context(function)
