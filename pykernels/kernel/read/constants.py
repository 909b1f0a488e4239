"""Replace the constants of a kernel's file by their values: ``EPS``, ``SIZES["window"]``, ``SETTINGS.eps``.

Comprehensions over few known numbers become lists, and sums of these become sums of their members:
``sum(w[k] * x[k:] for k in range(2))`` becomes ``0 + w[0] * x[0:] + w[1] * x[1:]``. Loops that assign to
names, over few known numbers, and loops over a tuple that is written in place are written out, too, unless loops remain
in them: ``for y, w in ((a, 1 - t), (b, t)): ...`` becomes assignments to `y` and `w` before each copy of its body.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_PLAIN = (bool, int, float, str, type(None))
_NOTHING = object()
# The longest comprehension or loop to write out, and the most nodes of syntax that a loop may become.
_LONGEST, _MOST_NODES = 16, 3000
#: The prefix of names of members of a tuple that a loop runs over.
_MEMBER = "__pykernels_member_"


def fold(definition: ast.FunctionDef, namespace: Mapping[str, Any]) -> ast.FunctionDef:
    """Change `definition`; return it.

    Parameters
    ----------
    namespace : mapping
        The values of the module's names. Those that are numbers, strings, tuples of these, dictionaries or dataclasses
        are constants: like all names of the module, they have the values that they had when the kernel was loaded.
    """
    arguments = (definition.args.args, definition.args.kwonlyargs, definition.args.posonlyargs)
    own = {argument.arg for group in arguments for argument in group}
    own |= {n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    folded = _Folder(own, namespace).visit(ast.Module(definition.body, []))
    definition.body = folded.body
    return definition


class _Folder(ast.NodeTransformer):
    def __init__(self, own: set[str], namespace: Mapping[str, Any]) -> None:
        self._own = own
        self._namespace = namespace
        self._counter = itertools.count()

    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        numbers = _numbers(node.iter)
        if numbers is not None:
            members: list[ast.expr] = [ast.copy_location(ast.Constant(number), node.iter) for number in numbers]
        else:
            members = node.iter.elts if isinstance(node.iter, (ast.Tuple, ast.List)) else []
        inside = [each for statement in node.body for each in ast.walk(statement)]
        if (
            not 0 < len(members) <= _LONGEST
            or len(members) * len(inside) > _MOST_NODES
            or any(isinstance(each, (*_LOOPS, ast.Break, ast.Continue)) for each in inside)
            or not all(_fits(node.target, member) for member in members)
            or (numbers is not None and not all(map(_assigns_to_names, node.body)))
        ):
            return node
        # All members have their values before the first iteration.
        before: list[ast.stmt] = []
        values = [self._kept(node.target, member, before) for member in members]
        iterations = [[*_assigned(node.target, value), *copy.deepcopy(node.body)] for value in values]
        return [*before, *itertools.chain(*iterations), *node.orelse]

    def _kept(self, target: ast.expr, member: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """Return what stands for a member: itself if it is a number, else names that `before` assigns."""
        if isinstance(target, ast.Tuple):
            elements = zip(target.elts, getattr(member, "elts", []))
            return ast.copy_location(ast.Tuple([self._kept(*each, before) for each in elements], ast.Load()), member)
        if isinstance(member, ast.Constant):
            return member
        name = f"{_MEMBER}{next(self._counter)}"
        before.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], member), member))
        return ast.copy_location(ast.Name(name, ast.Load()), member)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._folded(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._folded(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self._folded(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._written_out(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self._written_out(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        is_sum = (
            isinstance(node.func, ast.Name) and node.func.id == "sum" and not {"sum"} & (self._own | {*self._namespace})
        )
        if not is_sum or len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.List):
            return node
        total: ast.expr = ast.copy_location(ast.Constant(0), node)
        for element in node.args[0].elts:
            total = ast.copy_location(ast.BinOp(total, ast.Add(), element), node)
        return total

    def _written_out(self, node: ast.ListComp | ast.GeneratorExp) -> ast.expr:
        """Return the list that a comprehension makes, if it is short and its numbers are known."""
        self.generic_visit(node)
        first = node.generators[0]
        numbers = _numbers(first.iter)
        binds = any(isinstance(each, (ast.comprehension, ast.Lambda, ast.NamedExpr)) for each in ast.walk(node.elt))
        is_simple = len(node.generators) == 1 and not first.ifs and isinstance(first.target, ast.Name) and not binds
        if not is_simple or numbers is None or not 0 < len(numbers) <= _LONGEST:
            return node
        assert isinstance(first.target, ast.Name)
        elements = [_Number(first.target.id, number).visit(copy.deepcopy(node.elt)) for number in numbers]
        return ast.copy_location(ast.List(elements, ast.Load()), node)

    def _folded(self, node: ast.expr) -> ast.expr:
        value = self._value(node)
        members = value if type(value) is tuple else (value,)
        if any(type(member) not in _PLAIN for member in members):
            self.generic_visit(node)
            return node
        return ast.copy_location(ast.parse(repr(value), mode="eval").body, node) if _is_literal(value) else node

    def _value(self, node: ast.expr) -> Any:
        """Return the value of a constant, or `_NOTHING`."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in self._own:
            return self._namespace.get(node.id, _NOTHING)
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value)
            is_record = dataclasses.is_dataclass(owner) and not isinstance(owner, type)
            return getattr(owner, node.attr, _NOTHING) if is_record else _NOTHING
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            owner = self._value(node.value)
            return owner.get(node.slice.value, _NOTHING) if type(owner) is dict else _NOTHING
        return _NOTHING


_LOOPS = (ast.For, ast.While)


def _fits(target: ast.expr, member: ast.expr) -> bool:
    """Whether a target is a name, or a tuple of as many targets as the member has members."""
    if not isinstance(target, ast.Tuple):
        return isinstance(target, ast.Name) and not isinstance(member, ast.Starred)
    if not isinstance(member, (ast.Tuple, ast.List)) or len(member.elts) != len(target.elts):
        return False
    return all(map(_fits, target.elts, member.elts))


def _assigns_to_names(statement: ast.stmt) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    parts = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return all(isinstance(part, ast.Name) for part in parts)


def _assigned(target: ast.expr, value: ast.expr) -> Iterator[ast.stmt]:
    """Yield the statements that assign a value to a target, name by name."""
    if isinstance(target, ast.Tuple):
        for each in zip(target.elts, getattr(value, "elts", [])):
            yield from _assigned(*each)
    else:
        yield ast.copy_location(ast.Assign([copy.deepcopy(target)], copy.deepcopy(value)), value)


class _Number(ast.NodeTransformer):
    """Replaces a name by a number."""

    def __init__(self, name: str, number: int | float) -> None:
        self._name = name
        self._number = number

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Constant(self._number), node) if node.id == self._name else node


def _numbers(node: ast.expr) -> Sequence[Any] | None:
    """Return the numbers of ``range(...)`` or of a tuple or list, if they are all known and not negative."""
    is_range = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
    elements = node.args if isinstance(node, ast.Call) else getattr(node, "elts", [None])
    values: list[Any] = [each.value if isinstance(each, ast.Constant) else None for each in elements]
    if not all(type(value) in ((int,) if is_range else (int, float)) for value in values):
        return None
    if isinstance(node, ast.Call):
        return range(*values) if is_range and 0 < len(values) < 4 and values[2:] != [0] else None
    return values


def _is_literal(value: Any) -> bool:
    """Whether Python reads a value from its text, which it does not for infinity and NaN."""
    try:
        ast.literal_eval(repr(value))
    except ValueError:
        return False
    return True
