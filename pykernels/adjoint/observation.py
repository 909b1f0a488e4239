"""Watch a block run: the variables before each of its assignments, for every sample."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.adjoint.nodes import Graph, Node
from pykernels.adjoint.syntax import Assignment, assignments, base_of, target_of
from pykernels.base.errors import KernelError

Seen = Mapping[Assignment, Sequence[Mapping[str, Any]]]
Refuse = Callable[[ast.AST, str], KernelError]


def observed(graph: Graph, node: Node, refuse: Refuse) -> tuple[Seen, set[str]]:
    """Return what is known of each assignment of a block, and the variables of whose elements one is assigned twice.

    Of an assignment, that is the variables before it: those of the first time and of the last, for every sample.

    Parameters
    ----------
    refuse : callable
        Returns an error for a statement, with a reason.

    Raises
    ------
    KernelError
        The elements that are assigned belong to two arrays.
    """
    assert node.block is not None
    every = list(assignments(node.block.statements))
    found: list[dict[str, Mapping[str, Any]]] = [{} for _ in every]
    overwritten: set[str] = set()
    # Each with its array, so that no other one gets its number.
    marks: dict[int, tuple[Any, np.ndarray]] = {}
    sample = 0

    def watch(number: int, variables: Mapping[str, Any]) -> None:
        kept = dict(variables)
        found[number].setdefault(f"{sample} first", kept)
        found[number][f"{sample} last"] = kept
        target = target_of(every[number])
        if isinstance(target, ast.Subscript):
            name, namespace = base_of(target), {**graph.namespace, **variables}
            other = _owner(target, name, variables, namespace)
            if other:
                raise refuse(every[number], f"{name} is a part of {other}, or the reverse: assign to one of them alone")
            array = variables[name]
            _, mark = marks.setdefault(id(array), (array, np.zeros(np.shape(array), bool)))
            was_assigned = np.any(_marked(target, {**namespace, name: mark}))
            if was_assigned and isinstance(every[number], ast.Assign):
                overwritten.add(name)

    run = node.block.compiled(graph.namespace, watch)
    for sample in range(len(node.values)):
        run(*(operand.values[sample] for operand in node.operands))
        marks.clear()
    return {each: list(states.values()) for each, states in zip(every, found)}, overwritten


def _owner(target: ast.Subscript, name: str, variables: Mapping[str, Any], namespace: Mapping[str, Any]) -> str:
    """Return another variable to which the elements that are assigned belong, too, or ""."""
    part = eval(ast.unparse(target), dict(namespace))
    # An index with arrays makes a copy, and a number is no part of an array.
    owner = part if np.may_share_memory(part, variables[name]) else variables[name]
    arrays = ((other, each) for other, each in variables.items() if other != name and isinstance(each, np.ndarray))
    return next((other for other, each in arrays if np.may_share_memory(each, owner)), "")


def _marked(target: ast.expr, variables: dict[str, Any]) -> np.ndarray:
    """Return what an element or part of a variable is, and set it to True."""
    text = ast.unparse(target)
    before = np.array(eval(text, variables))
    exec(f"{text} = True", variables)
    return before
