"""Loops with independent iterations, which a host may divide among its threads.

A kernel that takes ``outs`` declares such a loop with ``for i in pykernels.prange(n)`` at the top level of its body.
The compiled loop runs only the iterations that belong to the range of elements that the host requests, so the results
do not depend on how the host divides it. The module does not import numba, since `prange` is part of the package.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pykernels.base.errors import KernelError

#: Names in the rewritten code: the parameter ``(begin, end, total)``, and `part`.
PIECE, PART = "__pykernels_piece__", "__pykernels_part__"


def prange(*limits: int) -> range:
    """Return ``range(stop)`` or ``range(start, stop)``, whose iterations may run in any order and at the same time.

    Use it for the one outermost loop of a kernel that takes ``outs``. Each iteration must write its own elements, and
    must not read what another one writes.

    Parameters
    ----------
    *limits : int
        The limits, as for `range`, but without a step.
    """
    if not 1 <= len(limits) <= 2:
        raise TypeError(f"prange takes stop, or start and stop, but was given {len(limits)} arguments")
    return range(*limits)


def part(n: int, at: int, total: int) -> int:
    """Return the first of `n` iterations that belongs to the elements from `at` of `total` on."""
    if at <= 0:
        return 0
    if at >= total:
        return n
    # Compute ceil(at * n / total) without the product, which may overflow.
    whole, rest = n // total, n % total
    return at * whole + (at * rest + total - 1) // total


def is_declared(definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> bool:
    """Whether a function has a loop with `prange`."""
    return any(_is_prange(node, namespace) for node in ast.walk(definition))


def check(definition: ast.FunctionDef, namespace: Mapping[str, Any], path: str, *, takes_outs: bool) -> None:
    """Refuse a kernel whose iterations cannot be independent, as far as its source shows.

    Raises
    ------
    KernelError
        The message has the line and a correction.
    """

    def refuse(node: ast.AST, why: str) -> None:
        raise KernelError(f"{path}:{getattr(node, 'lineno', definition.lineno)}: {definition.name}: {why}")

    calls = [node for node in ast.walk(definition) if isinstance(node, ast.Call) and _is_prange(node, namespace)]
    loops = [node for node in definition.body if isinstance(node, ast.For) and node.iter in calls]
    for call in calls:
        if all(call is not loop.iter for loop in loops):
            refuse(call, "prange belongs to an outermost loop, 'for i in prange(n)', at the top of the kernel's body")
        if len(call.args) > 2 or call.keywords or not call.args:
            refuse(call, "prange takes stop, or start and stop")
    if len(calls) > 1:
        refuse(calls[1], "a second prange. One loop of a kernel may be a prange; write range for the others")
    (loop,) = loops
    if not takes_outs:
        refuse(loop, "prange needs a kernel that takes 'outs', so that every iteration writes its own results there")
    if not isinstance(loop.target, ast.Name) or loop.orelse:
        refuse(loop, "write 'for i in prange(n)' with one name, and without 'else'")
    for node in _leaving(loop.body):
        refuse(node, "iterations of a prange run in any order, so none can end the loop; write range")
    at = definition.body.index(loop)
    for statement in (*definition.body[:at], *definition.body[at + 1 :]):
        for node in _element_stores(statement):
            refuse(
                node,
                "every piece of a prange runs what stands outside of it, so nothing may be written there; "
                "write it inside the loop",
            )
    _check_names(definition, loop, refuse)


def _check_names(definition: ast.FunctionDef, loop: ast.For, refuse: Any) -> None:
    counter = loop.target.id  # type: ignore[attr-defined]
    within = {node.id for s in loop.body for node in _names(s) if isinstance(node.ctx, ast.Store)}
    at = definition.body.index(loop)
    before = {node.id for s in definition.body[:at] for node in _names(s) if isinstance(node.ctx, ast.Store)}
    before |= {a.arg for a in (*definition.args.args, *definition.args.kwonlyargs)}
    after = {node.id: node for s in definition.body[at + 1 :] for node in _names(s)}
    carried = "is carried from one iteration of the prange to the next, so they are not independent; write range"
    for node in _names(ast.Module(loop.body, [])):
        if isinstance(node.ctx, ast.Store) and node.id in before:
            refuse(node, f"{node.id!r} {carried}")
    for name in sorted((within | {counter}) & set(after)):
        refuse(after[name], f"{name!r} is read after the prange that sets it; its last iteration may be another's")
    known: set[str] = set()
    for node in _evaluated(ast.Module(loop.body, [])):
        if isinstance(node.ctx, ast.Store):
            known.add(node.id)
        elif node.id in within and node.id not in known:
            refuse(node, f"{node.id!r} {carried}")
    own = _depending(loop, counter)
    for store in _element_stores(ast.Module(loop.body, [])):
        array = store.value
        while isinstance(array, ast.Subscript):
            array = array.value
        indexed = {n.id for n in _names(store)} & own
        if isinstance(array, ast.Name) and array.id not in within and not indexed:
            refuse(
                store,
                f"every iteration of the prange writes the same elements of {array.id!r}; index it with {counter!r}, "
                f"make it inside the loop, or write range",
            )


def _depending(loop: ast.For, counter: str) -> set[str]:
    """Return the counter and the names whose values depend on it."""
    own = {counter}
    while True:
        found = set(own)
        for node in ast.walk(ast.Module(loop.body, [])):
            if isinstance(node, (ast.Assign, ast.AugAssign)):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if own & {n.id for n in _names(node.value)}:
                    found |= {n.id for t in targets for n in _names(t) if isinstance(n.ctx, ast.Store)}
            elif isinstance(node, ast.For) and own & {n.id for n in _names(node.iter)}:
                found |= {n.id for n in _names(node.target)}
        if found == own:
            return own
        own = found


def cut(definition: ast.FunctionDef, namespace: Mapping[str, Any], *, in_pieces: bool) -> None:
    """Replace every `prange` with a `range`; if `in_pieces`, with the range of the piece that is passed as well."""

    class Replace(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.expr:
            self.generic_visit(node)
            if not _is_prange(node, namespace):
                return node
            node.func = ast.copy_location(ast.Name("range", ast.Load()), node)
            if in_pieces:
                node.args = _piece(node.args)
            return node

    Replace().visit(definition)
    if in_pieces:
        definition.args.kwonlyargs.append(ast.arg(PIECE))
        definition.args.kw_defaults.append(None)


def _piece(limits: Sequence[ast.expr]) -> list[ast.expr]:
    """Return the limits ``start + part(n, begin, total), start + part(n, end, total)`` for ``start, stop``."""
    begin, end, total = (ast.Subscript(ast.Name(PIECE, ast.Load()), ast.Constant(at), ast.Load()) for at in range(3))
    n: ast.expr = limits[-1] if len(limits) == 1 else ast.BinOp(limits[1], ast.Sub(), limits[0])
    calls = [ast.Call(ast.Name(PART, ast.Load()), [n, at, total], []) for at in (begin, end)]
    return [call if len(limits) == 1 else ast.BinOp(limits[0], ast.Add(), call) for call in calls]


def _is_prange(node: ast.AST, namespace: Mapping[str, Any]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name):
        return namespace.get(node.func.id) is prange
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
        module = namespace.get(node.func.value.id)
        return isinstance(module, types.ModuleType) and getattr(module, node.func.attr, None) is prange
    return False


def _leaving(body: Sequence[ast.stmt], *, nested: bool = False) -> Iterator[ast.AST]:
    """Yield the statements that end the loop around `body`: `return`, and each `break` outside inner loops."""
    for node in body:
        if isinstance(node, ast.Return) or (isinstance(node, ast.Break) and not nested):
            yield node
        inner = nested or isinstance(node, (ast.For, ast.While))
        for field in ("body", "orelse", "finalbody"):
            yield from _leaving(getattr(node, field, []), nested=inner)


def _names(node: ast.AST) -> list[ast.Name]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Name)]


def _evaluated(node: ast.AST) -> Iterator[ast.Name]:
    """Yield the names of a body in the order in which they are read and assigned."""
    if isinstance(node, ast.Name):
        yield node
        return
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Assign):
        children = [node.value, *node.targets]
    elif isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Name):
            yield ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        children = [node.value, node.target]
    elif isinstance(node, ast.For):
        children = [node.iter, node.target, *node.body, *node.orelse]
    for child in children:
        yield from _evaluated(child)


def _element_stores(node: ast.AST) -> list[ast.Subscript]:
    return [n for n in ast.walk(node) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)]
