"""Track the context of new ops: the graph, name scopes and order that `with` statements choose."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, overload

from pykernels.base.errors import CallError
from pykernels.base.refusals import RefusedCall, WrongType

F = TypeVar("F", bound=Callable[..., Any])


class AnyGraph(Protocol):
    """The part of `Graph` that contexts, tensors and streams use, whose modules that of `Graph` imports."""

    ir: Any
    name: str
    _scope: str


class Settings(NamedTuple):
    """What the context sets for an op: its name, prefixed with the enclosing name scopes."""

    name: str


class Context(threading.local):
    """The context of one thread: its stacks of graphs, name scopes and ops, and its hooks."""

    def __init__(self) -> None:
        self._graphs: list[AnyGraph] = []
        self._scopes: list[str] = []
        self._ops: list[str] = []
        self._hooks: dict[int, Callable[[Any], Any]] = {}
        self._handles = 0

    @property
    def graph(self) -> Any:
        """The current `Graph`, to which new ops are appended.

        Raises
        ------
        RuntimeError
            No graph has been chosen.
        """
        if not self._graphs:
            what = f"popxl.ops.{self._ops[0]}" if self._ops else "popxl"
            raise RefusedCall(
                f"{what}: no graph has been chosen. Call it inside of `with ir.main_graph:`, `with graph:`, or a "
                "function that ir.create_graph() calls"
            )
        return self._graphs[-1]

    @property
    def name_scopes(self) -> list[str]:
        """The names of the enclosing scopes, outermost first."""
        return list(self._scopes)

    @property
    def op_name(self) -> str:
        """The name of the op function that the user called, for error messages."""
        return self._ops[0] if self._ops else "popxl"

    def push_graph(self, graph: AnyGraph) -> None:
        """Make a graph the current one.

        Raises
        ------
        RuntimeError
            The graph belongs to another IR than the current graph.
        """
        if self._graphs and self._graphs[0].ir is not graph.ir:
            raise RefusedCall(
                f"`with` of {graph!r} is inside of `with` of {self._graphs[-1]!r}, which is of another popxl.Ir"
            )
        self._graphs.append(graph)

    def pop_graph(self) -> AnyGraph:
        """Restore the previous graph and return the one that was current."""
        return self._graphs.pop()

    def register_op_created_hook(self, fn: Callable[[Any], Any]) -> int:
        """Call `fn` with every op created from now on; return a handle that removes the hook."""
        self._handles += 1
        self._hooks[self._handles] = fn
        return self._handles

    def remove_op_created_hook(self, handle: int) -> None:
        """Remove the hook that `register_op_created_hook` returned this handle for."""
        if handle not in self._hooks:
            raise CallError(f"popxl: the op-created hook {handle} does not exist")
        del self._hooks[handle]

    def _get_op_settings(self, name: str) -> Settings:
        return Settings("/".join((*self._scopes, name)))

    def _op_created(self, op: Any) -> None:
        for fn in list(self._hooks.values()):
            fn(op)


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
        yield _context.name_scopes
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
