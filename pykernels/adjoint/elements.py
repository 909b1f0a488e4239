"""Read the value of an assignment within a block, in terms of variables and their elements."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from pykernels.adjoint.nodes import Graph, Node, is_floating
from pykernels.adjoint.reading import Reader
from pykernels.adjoint.syntax import base_of

#: The name of what an assignment replaces.
BEFORE = "_before"


class ReaderOfElements(Reader):
    """Reads an expression of which each variable, and each element or part of a variable, is an input."""

    def __init__(
        self, graph: Graph, function: Any, states: Sequence[Mapping[str, Any]], active: frozenset[str], own: str
    ) -> None:
        super().__init__(graph, function)
        self._states, self._active, self._own = states, active, own
        self.leaves: dict[str, Node] = {}
        for name in (each for each in states[0] if all(each in state for state in states)):
            self.names[name] = self._leaf(ast.Name(name, ast.Load()), name)

    def expression(self, tree: ast.expr) -> Node:
        """Return the node of an expression."""
        name = base_of(tree)
        if name in self.names:
            return self._leaf(tree, name)
        return super().expression(tree)

    def _leaf(self, tree: ast.expr, name: str) -> Node:
        text = ast.unparse(tree)
        if text not in self.leaves:
            code = compile(text, "<derivation>", "eval")
            values = [eval(code, {**self._graph.namespace, **state}) for state in self._states]
            active = name in self._active and any(map(is_floating, values))
            if name in self._active:
                self.require_real(tree, values)
            name = BEFORE if text == self._own else text
            self.leaves[text] = self._graph.leaf("input", name, values, active=active)
        return self.leaves[text]
