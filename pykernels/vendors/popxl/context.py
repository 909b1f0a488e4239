"""Context of the ops that are being made: the graph, names and order that `with` statements choose."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, overload

from pykernels.base.errors import CallError
from pykernels.base.refusals import RefusedCall, WrongType

if TYPE_CHECKING:
    from pykernels.vendors.popxl.graph import Graph
    from pykernels.vendors.popxl.ir import Ir
    from pykernels.vendors.popxl.op import Op

__all__ = [
    "Context",
    "Settings",
    "debug_context_frame_offset",
    "gcg",
    "get_current_context",
    "get_current_graph",
    "get_ir",
    "get_main_graph",
    "gir",
    "gmg",
    "in_sequence",
    "io_tiles",
    "ipu",
    "name_scope",
    "op_debug_context",
]

F = TypeVar("F", bound=Callable[..., Any])


class Settings(NamedTuple):
    """What an op gets from the context: its name, with the scopes that it is in."""

    name: str


class Context(threading.local):
    """The state of one thread."""

    def __init__(self) -> None:
        self._graphs: list[Graph] = []
        self._scopes: list[str] = []
        self._ops: list[str] = []
        self._hooks: dict[int, Callable[[Op], Any]] = {}
        self._handles = 0
        #: Ops run in the order in which they were made, whatever this says.
        self.in_sequence: bool | None = None

    @property
    def graph(self) -> Graph:
        """The graph that ops go into.

        Raises
        ------
        RuntimeError
            None has been chosen.
        """
        if not self._graphs:
            what = f"popxl.ops.{self._ops[0]}" if self._ops else "popxl"
            raise RefusedCall(
                f"{what}: no graph has been chosen. Call it inside of `with ir.main_graph:`, `with graph:`, or a "
                "function that ir.create_graph() calls"
            )
        return self._graphs[-1]

    @property
    def main_graph(self) -> Graph:
        """The main graph of the IR that the chosen graph is of."""
        return self.graph.ir.main_graph

    @property
    def ir(self) -> Ir:
        """The IR that the chosen graph is of."""
        return self.graph.ir

    @property
    def name_scopes(self) -> list[str]:
        """The names of all scopes, outer ones first."""
        return list(self._scopes)

    @property
    def op_name(self) -> str:
        """The function of the user's that is making an op, for messages."""
        return self._ops[0] if self._ops else "popxl"

    def push_graph(self, graph: Graph) -> None:
        """Choose a graph.

        Raises
        ------
        RuntimeError
            It is of another IR than the one that is chosen.
        """
        if self._graphs and self._graphs[0].ir is not graph.ir:
            raise RefusedCall(
                f"`with` of {graph!r} is inside of `with` of {self._graphs[-1]!r}, which is of another popxl.Ir"
            )
        self._graphs.append(graph)

    def pop_graph(self) -> Graph:
        """Go back to the graph that was chosen before."""
        return self._graphs.pop()

    def register_op_created_hook(self, fn: Callable[[Op], Any]) -> int:
        """Have `fn` called with every op that is made; returns what removes it."""
        self._handles += 1
        self._hooks[self._handles] = fn
        return self._handles

    def remove_op_created_hook(self, handle: int) -> None:
        """Undo `register_op_created_hook`."""
        if handle not in self._hooks:
            raise CallError(f"popxl: there is no op-created hook {handle}")
        del self._hooks[handle]

    def _get_op_settings(self, name: str) -> Settings:
        return Settings("/".join((*self._scopes, name)))

    def _op_created(self, op: Op) -> None:
        for fn in list(self._hooks.values()):
            fn(op)


_context = Context()


def get_current_context() -> Context:
    """The context of this thread."""
    return _context


def get_current_graph() -> Graph:
    """The graph that ops go into; RuntimeError where none has been chosen."""
    return _context.graph


def get_main_graph() -> Graph:
    """The main graph of the chosen graph's IR; RuntimeError where none has been chosen."""
    return _context.main_graph


def get_ir() -> Ir:
    """The chosen graph's IR; RuntimeError where none has been chosen."""
    return _context.ir


gcg, gmg, gir = get_current_graph, get_main_graph, get_ir


@contextlib.contextmanager
def in_sequence(mode: bool | Literal["pass"] = True) -> Iterator[bool | None]:
    """Have ops run in the order in which they are made, as they always do here.

    Parameters
    ----------
    mode : bool or "pass"
        Checked, and otherwise without effect.
    """
    if not (isinstance(mode, bool) or mode == "pass"):
        raise WrongType(f"popxl.in_sequence: mode is {mode!r}; it must be True, False or 'pass'")
    before = _context.in_sequence
    _context.in_sequence = None if mode == "pass" else bool(mode)
    try:
        yield _context.in_sequence
    finally:
        _context.in_sequence = before


@contextlib.contextmanager
def name_scope(name: str) -> Iterator[list[str]]:
    """Put `name` before the names of tensors and ops that are made inside."""
    if not isinstance(name, str):
        raise WrongType(f"popxl.name_scope: name is {name!r}; it must be a string")
    _context._scopes.append(name)
    try:
        yield _context.name_scopes
    finally:
        _context._scopes.pop()


@contextlib.contextmanager
def ipu(ipu: int) -> Iterator[int]:
    """Choose an IPU, of which there is none: without effect."""
    yield ipu


@contextlib.contextmanager
def io_tiles() -> Iterator[None]:
    """Choose the tiles for input and output, of which there are none: without effect."""
    yield


@contextlib.contextmanager
def debug_context_frame_offset(i: int) -> Iterator[int]:
    """Say how many frames of Python's are above the user's; without effect."""
    yield i


@overload
def op_debug_context(name: str) -> Callable[[F], F]: ...


@overload
def op_debug_context(name: F) -> F: ...


def op_debug_context(name: Any) -> Any:
    """Decorate a function that makes ops: errors of its ops have its name, or `name`."""
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
