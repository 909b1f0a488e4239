"""Replace the constants of a kernel's file by their values: ``EPS``, ``SIZES["window"]``, ``SETTINGS.eps``, ``np.inf``.

Comprehensions over few known members become lists, and sums of these become sums of their members:
``sum(w[k] * x[k:] for k in range(2))`` becomes ``0 + w[0] * x[0:] + w[1] * x[1:]``. Loops that assign to names, over
few known numbers, and loops over a tuple that is written in place are written out, too, unless loops remain in them:
``for y, w in ((a, 1 - t), (b, t)): ...`` becomes assignments to `y` and `w` before each copy of its body. `enumerate`,
`zip` and `reversed` of these are known as well. Loops with matrix products, which no fused kernel has, are written out
for their numbers only.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

_PLAIN = (bool, int, float, str, type(None))
_NOTHING = object()
# The longest comprehension or loop to write out, and the most nodes of syntax that a loop may become.
_LONGEST, _MOST_NODES = 16, 3000
#: The prefix of names of members of a tuple that a loop runs over.
_MEMBER = "__pykernels_member_"


def fold(definition: ast.FunctionDef, namespace: Mapping[str, Any], values: Mapping[str, Any] = {}) -> ast.FunctionDef:
    """Change `definition`; return it.

    Parameters
    ----------
    namespace : mapping
        The values of the module's names. Those that are numbers, strings, tuples or lists of these, dictionaries or
        dataclasses are constants: like all names of the module, they have the values that they had when the kernel was
        loaded.
    values : mapping
        The values of parameters that are constants, too.
    """
    arguments = (definition.args.args, definition.args.kwonlyargs, definition.args.posonlyargs)
    own = {argument.arg for group in arguments for argument in group}
    own -= values.keys()
    own |= {n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    folded = _Folder(own, {**namespace, **values}, _changed(definition)).visit(ast.Module(definition.body, []))
    definition.body = folded.body
    return definition


class _Folder(ast.NodeTransformer):
    def __init__(self, own: set[str], namespace: Mapping[str, Any], changed: set[str]) -> None:
        self._own = own
        self._namespace = {
            name: value for name, value in namespace.items() if name not in changed or type(value) is not list
        }
        self._counter = itertools.count()

    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        members = self._members(node.iter)
        are_numbers = all(map(_is_number, members))
        inside = [each for statement in node.body for each in ast.walk(statement)]
        if (
            not 0 < len(members) <= _LONGEST
            or len(members) * len(inside) > _MOST_NODES
            or any(isinstance(each, (*_LOOPS, ast.Break, ast.Continue)) for each in inside)
            or not all(_fits(node.target, member) for member in members)
            or (are_numbers and not all(map(_assigns_to_names, node.body)))
            or (are_numbers and _only_repeats_products(node.target, inside))
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

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Write out ``((0, 0),) * 2 + ((1, 1),)``, tuples and lists."""
        self.generic_visit(node)
        left, right = node.left, node.right
        if not isinstance(left, _DISPLAYS) or any(isinstance(each, (ast.Call, ast.Starred)) for each in ast.walk(left)):
            return node
        elements = left.elts
        if isinstance(node.op, ast.Add) and type(left) is type(right):
            elements = [*elements, *getattr(right, "elts", [])]
        elif isinstance(node.op, ast.Mult) and isinstance(right, ast.Constant) and type(right.value) is int:
            elements = elements * min(right.value, _LONGEST + 1)
        else:
            return node
        if len(elements) > _LONGEST:
            return node
        return ast.copy_location(type(left)([copy.deepcopy(each) for each in elements], ast.Load()), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        return self._written_out(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        return self._written_out(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.List):
            return node
        if self._is_builtin(node.func, "tuple"):
            return ast.copy_location(ast.Tuple(node.args[0].elts, ast.Load()), node)
        if not self._is_builtin(node.func, "sum"):
            return node
        total: ast.expr = ast.copy_location(ast.Constant(0), node)
        for element in node.args[0].elts:
            total = ast.copy_location(ast.BinOp(total, ast.Add(), element), node)
        return total

    def _written_out(self, node: ast.ListComp | ast.GeneratorExp) -> ast.expr:
        """Return the list that a comprehension makes, if it is short and its members are known."""
        self.generic_visit(node)
        if any(isinstance(each, (ast.comprehension, ast.Lambda, ast.NamedExpr)) for each in ast.walk(node.elt)):
            return node
        elements = self._elements(node.elt, node.generators) or []
        return ast.copy_location(ast.List(elements, ast.Load()), node) if 0 < len(elements) <= _LONGEST else node

    def _elements(self, element: ast.expr, generators: Sequence[ast.comprehension]) -> list[ast.expr] | None:
        """Return the elements that a comprehension makes; None if they are not known."""
        if not generators:
            return [element]
        first, *others = generators
        members = self._members(first.iter)
        if first.ifs or not members or len(members) > _LONGEST:
            return None
        elements: list[ast.expr] = []
        for member in members:
            named = _named(first.target, member)
            if named is None or (others and any(isinstance(each, ast.Name) for each in named.values())):
                return None  # a name may be another one in what follows
            within, *rest = (_Named(named).visit(copy.deepcopy(each)) for each in (element, *others))
            found = self._elements(within, rest)
            if found is None:
                return None
            elements += found
        return elements

    def _members(self, node: ast.expr) -> list[ast.expr]:
        """Return the members of what a loop runs over: a tuple, `range` and their like; empty if it is not known."""
        if isinstance(node, (ast.Tuple, ast.List)):
            return [] if any(isinstance(each, ast.Starred) for each in node.elts) else node.elts
        if not isinstance(node, ast.Call) or not node.args:
            return []
        if self._is_builtin(node.func, "enumerate"):
            return self._numbered(node)
        if node.keywords:
            return []
        if self._is_builtin(node.func, "range"):
            return [ast.copy_location(ast.Constant(number), node) for number in _range(node.args)]
        members = list(map(self._members, node.args))
        if self._is_builtin(node.func, "zip"):
            return [ast.copy_location(ast.Tuple(list(each), ast.Load()), node) for each in zip(*members)]
        return members[0][::-1] if len(members) == 1 and self._is_builtin(node.func, "reversed") else []

    def _numbered(self, node: ast.Call) -> list[ast.expr]:
        """Return the members of a call of `enumerate`."""
        given, *begins = [*node.args, *(each.value for each in node.keywords if each.arg == "start")]
        first = begins[0] if begins else ast.Constant(0)
        if len(begins) > 1 or not isinstance(first, ast.Constant) or type(first.value) is not int:
            return []
        pairs = ([ast.Constant(first.value + at), member] for at, member in enumerate(self._members(given)))
        return [ast.copy_location(ast.Tuple(pair, ast.Load()), node) for pair in pairs]

    def _is_builtin(self, function: ast.expr, name: str) -> bool:
        """Whether a function is Python's of this name."""
        is_own = name in self._own or name in self._namespace
        return isinstance(function, ast.Name) and function.id == name and not is_own

    def _folded(self, node: ast.expr) -> ast.expr:
        value = self._value(node)
        members = value if type(value) in (tuple, list) else (value,)
        if any(type(member) not in _PLAIN for member in members):
            self.generic_visit(node)
            return node
        if isinstance(value, float):
            return ast.copy_location(ast.Constant(value), node)
        return ast.copy_location(ast.parse(repr(value), mode="eval").body, node) if _is_literal(value) else node

    def _value(self, node: ast.expr) -> Any:
        """Return the value of a constant, or `_NOTHING`."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in self._own:
            return self._namespace.get(node.id, _NOTHING)
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value)
            found = getattr(owner, node.attr, _NOTHING)
            if dataclasses.is_dataclass(owner) and not isinstance(owner, type):
                return found
            return found if isinstance(owner, ModuleType) and type(found) is float else _NOTHING
        if isinstance(node, ast.Subscript):
            owner, at = self._value(node.value), whole_number(node.slice)
            if type(owner) in (tuple, list) and at is not None and -len(owner) <= at < len(owner):
                return owner[at]
            if type(owner) is dict and isinstance(node.slice, ast.Constant):
                return owner.get(node.slice.value, _NOTHING)
        return _NOTHING


def whole_number(node: ast.expr) -> int | None:
    """Return the value of a whole number that is written in place, or None."""
    try:
        value = ast.literal_eval(node)
    except (TypeError, ValueError):
        return None
    return value if type(value) is int else None


def _changed(definition: ast.FunctionDef) -> set[str]:
    """Return the names of what a function may change: it writes to parts, or calls methods."""
    return {
        node.value.id
        for node in ast.walk(definition)
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.value, ast.Name)
        if isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Load)
    }


_LOOPS = (ast.For, ast.While)
_DISPLAYS = (ast.Tuple, ast.List)


def _fits(target: ast.expr, member: ast.expr) -> bool:
    """Whether a target is a name, or a tuple of as many targets as the member has members."""
    if not isinstance(target, ast.Tuple):
        return isinstance(target, ast.Name) and not isinstance(member, ast.Starred)
    if not isinstance(member, (ast.Tuple, ast.List)) or len(member.elts) != len(target.elts):
        return False
    return all(map(_fits, target.elts, member.elts))


def _only_repeats_products(target: ast.expr, inside: Sequence[ast.AST]) -> bool:
    """Whether a loop has matrix products, and does not read its number."""
    reads = any(isinstance(target, ast.Name) and isinstance(n, ast.Name) and n.id == target.id for n in inside)
    return not reads and any(isinstance(each, ast.MatMult) for each in inside)


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


def _named(target: ast.expr, member: ast.expr) -> dict[str, ast.expr] | None:
    """Return the values of a target's names, if these are numbers, strings or names; None if they are not."""
    if isinstance(target, ast.Name):
        is_plain = isinstance(getattr(member, "operand", member), (ast.Constant, ast.Name))
        return {target.id: member} if is_plain else None
    if not _fits(target, member):
        return None
    parts = [_named(*each) for each in zip(target.elts, member.elts)]  # type: ignore[attr-defined]
    known = [part for part in parts if part is not None]
    return {name: value for part in known for name, value in part.items()} if len(known) == len(parts) else None


class _Named(ast.NodeTransformer):
    """Replaces names by values."""

    def __init__(self, values: Mapping[str, ast.expr]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(copy.deepcopy(self._values[node.id]), node) if node.id in self._values else node


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def _range(arguments: Sequence[ast.expr]) -> Sequence[int]:
    """Return the numbers of a `range` with these arguments; none if they are not known."""
    values: list[Any] = [getattr(each, "value", None) if isinstance(each, ast.Constant) else None for each in arguments]
    is_known = len(values) < 4 and all(type(value) is int for value in values) and values[2:] != [0]
    return range(*values) if is_known else ()


def _is_literal(value: Any) -> bool:
    """Whether Python reads a value from its text, which it does not for infinity and NaN."""
    try:
        ast.literal_eval(repr(value))
    except ValueError:
        return False
    return True
