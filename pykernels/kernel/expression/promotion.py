"""Rewrite a kernel so that numba promotes Python numbers as NumPy does (NEP 50): ``1 + x`` has the dtype of ``x``.

Where a Python number meets an array in arithmetic, a comparison or an elementwise function of NumPy, the rewritten code
first converts the number to the other operand's dtype: ``1 + x`` becomes ``marker(operator.add, 0b01, 1, 1, x)``, in
which operand 0 is a Python number that takes the dtype of operand 1. The syntax shows which expressions are Python
numbers: literals, attributes of the op, ``len(x)``, ``x.shape[0]``, loop counters, and what is computed from these.
"""

from __future__ import annotations

import ast
import copy
import functools
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from pykernels.base.python_files import SOURCE
from pykernels.kernel.expression.operations import OF_SEVERAL, OPERATIONS, RAISING_MATH, Properties, Raises
from pykernels.kernel.read import constants, statements

#: Names in the rewritten code. The marker: ``(function, mask, like, *operands)``.
MARKER = "__pykernels_weak__"
#: ``(function, *operands)``, where all operands are Python numbers, and where none is.
PYTHON, NUMPY = "__pykernels_python__", "__pykernels_numpy__"
#: ``(number, array)`` gives the number in the array's dtype.
LIKE = "__pykernels_like__"
#: ``(value, target)`` gives the value, or a copy of it if it shares memory with the target.
APART = "__pykernels_apart__"
#: The prefix of the names of a loop's limits and counter, which are Python numbers.
LIMIT = "__pykernels_limit_"
#: The prefix of the names of constants, which are Python numbers.
NUMBER = "__pykernels_number_"
#: The attribute of a function that is made from a definition, rather than from a file.
DEFINITION = "__pykernels_definition__"
#: The prefix of the names of values that a loop uses, before a number and the name in the kernel.
COPY = "__pykernels_copy_"


def rewrite(
    function: Callable[..., Any],
    weak_names: Sequence[str],
    marker: Callable[..., Any],
    *,
    prepare: Callable[[ast.FunctionDef], ast.FunctionDef] | None = None,
    names: Mapping[str, Callable[..., Any]] | None = None,
) -> Callable[..., Any]:
    """Return a copy of a plain function in which numba, too, treats Python numbers as weak.

    Parameters
    ----------
    weak_names : sequence of str
        Parameters that hold Python numbers.
    marker : callable
        The function that the rewritten code calls, see `MARKER`.
    prepare : callable, optional
        Changes the definition first.
    names : mapping of str to callable, optional
        The functions that the changed definition calls.

    Returns
    -------
    callable
        The rewritten function, whose keyword-only parameters become positional; it keeps the body of `function` if the
        source cannot be found.
    """
    definition = definition_of(function)
    namespace = dict(function.__globals__)
    if definition is None or function.__closure__:
        return _positional(function, function.__code__, function.__globals__)
    numbers = find_numbers(definition, weak_names)
    if prepare:
        definition = prepare(definition)
    tree = ast.fix_missing_locations(_Rewriter(numbers).visit(definition))
    namespace |= {**(names or {}), **_FUNCTIONS, MARKER: marker}
    code = compile(ast.Module([tree], []), function.__code__.co_filename, "exec", dont_inherit=True)
    body = next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == function.__name__)
    return _positional(function, body, namespace)


def _positional(function: Callable[..., Any], code: types.CodeType, namespace: dict[str, Any]) -> Callable[..., Any]:
    # numba does not support keyword-only parameters. They follow the positional ones in the code object, so changing
    # the counts suffices.
    code = code.replace(co_argcount=code.co_argcount + code.co_kwonlyargcount, co_kwonlyargcount=0)
    made = types.FunctionType(code, namespace, function.__name__, function.__defaults__, function.__closure__)
    made.__module__ = function.__module__
    return made


@functools.lru_cache(maxsize=256)
def _tree(path: str, source: bytes) -> ast.Module:
    return ast.parse(source, path)


def definition_of(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """Return the definition of a top-level function of a file, without decorators and annotations.

    The values of constants stand in place of their names.
    """
    if hasattr(function, DEFINITION):
        return cast(ast.FunctionDef, copy.deepcopy(getattr(function, DEFINITION)))
    path, first = function.__code__.co_filename, function.__code__.co_firstlineno
    try:
        # The file may have been edited since. Compile what was loaded.
        tree = _tree(path, function.__globals__.get(SOURCE) or Path(path).read_bytes())
    except (OSError, SyntaxError):
        return None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            start = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if start == first:
                found = copy.deepcopy(node)
                found.decorator_list, found.returns = [], None
                for argument in [*found.args.args, *found.args.kwonlyargs]:
                    argument.annotation = None
                return constants.fold(statements.simplify(found, function.__globals__), function.__globals__)
    return None


def function_of(definition: ast.FunctionDef, namespace: dict[str, Any], path: str) -> types.FunctionType:
    """Return the function of a definition, which `definition_of` returns for it."""
    code = compile(ast.fix_missing_locations(ast.Module([definition], [])), path, "exec", dont_inherit=True)
    body = next(c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == definition.name)
    made = types.FunctionType(body, namespace, definition.name)
    setattr(made, DEFINITION, definition)
    return made


def with_definition(function: types.FunctionType, definition: ast.FunctionDef) -> types.FunctionType:
    """Return a function with a changed definition in place of its own."""
    made = function_of(definition, function.__globals__, function.__code__.co_filename)
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    made.__module__ = function.__module__
    return made


# ---- which expressions are Python numbers


def find_numbers(definition: ast.FunctionDef, given: Iterable[str]) -> frozenset[str]:
    """Return the names that only ever hold Python numbers: the greatest set consistent with every assignment."""
    parameters = [*definition.args.args, *definition.args.kwonlyargs]
    bindings: dict[str, list[_Bound]] = {parameter.arg: [parameter.arg in given] for parameter in parameters}
    for node in ast.walk(definition):
        for name, bound in _bindings(node):
            bindings.setdefault(name, []).append(bound)
    weak = frozenset(bindings)
    while True:
        kept = frozenset(
            name
            for name in weak
            if all(bound if isinstance(bound, bool) else is_weak(bound, weak) for bound in bindings[name])
        )
        if kept == weak:
            return weak
        weak = kept


# What a name is bound to: an expression, or whether it is a Python number.
_Bound: TypeAlias = "ast.expr | bool"


def _bindings(node: ast.AST) -> list[tuple[str, _Bound]]:
    """Return the names that a statement binds."""
    if isinstance(node, ast.Assign):
        return [pair for target in node.targets for pair in _bind(target, node.value)]
    if isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
        return _bind(node.target, node.value)
    if isinstance(node, (ast.For, ast.comprehension)):
        return _bind_member(node.target, node.iter)
    return []


def _bind_member(target: ast.expr, iterated: ast.expr) -> list[tuple[str, _Bound]]:
    """Return the names that a loop binds to a member of what it runs over."""
    called = _name(iterated.func) if isinstance(iterated, ast.Call) else ""
    arguments = iterated.args if isinstance(iterated, ast.Call) else []
    parts = target.elts if isinstance(target, ast.Tuple) else []
    if called == "reversed" and len(arguments) == 1:
        return _bind_member(target, arguments[0])
    if called == "enumerate" and arguments and len(parts) == 2:
        return [*((name, True) for name in names_in(parts[0])), *_bind_member(parts[1], arguments[0])]
    if called == "zip" and len(arguments) == len(parts):
        return [pair for each in zip(parts, arguments) for pair in _bind_member(*each)]
    return [(name, called in ("range", "prange", "ndindex")) for name in names_in(target)]


def _bind(target: ast.expr, value: ast.expr) -> list[tuple[str, _Bound]]:
    if isinstance(target, ast.Name):
        return [(target.id, value)]
    if isinstance(target, (ast.Tuple, ast.List)):
        if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
            return [pair for t, v in zip(target.elts, value.elts) for pair in _bind(t, v)]
        return [(n, _is_shape(value)) for n in names_in(target)]
    return []


def names_in(tree: ast.AST) -> list[str]:
    """Return the names in an expression."""
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]


def _name(function: ast.expr) -> str:
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def _is_shape(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def is_weak(node: ast.expr, weak: frozenset[str]) -> bool:
    """Whether an expression is a Python number."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    if isinstance(node, ast.Name):
        name = node.id.removeprefix(COPY).partition("_")[2] if node.id.startswith(COPY) else node.id
        return name in weak or name.startswith((LIMIT, NUMBER))
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.op, ast.Not) and is_weak(node.operand, weak)
    if isinstance(node, ast.BinOp):
        return is_weak(node.left, weak) and is_weak(node.right, weak)
    if isinstance(node, ast.IfExp):
        return is_weak(node.body, weak) and is_weak(node.orelse, weak)
    if isinstance(node, ast.Attribute):
        return node.attr in ("size", "ndim") or _is_math(node)
    if isinstance(node, ast.Subscript):
        return _is_shape(node.value)
    if isinstance(node, ast.Call):
        if _name(node.func) == APART:
            return is_weak(node.args[0], weak)
        if isinstance(node.func, ast.Name) and node.func.id in _NUMBERS_OF_NUMBERS:
            return all(is_weak(argument, weak) for argument in node.args)
        return _name(node.func) in ("len", "int", "float") or _is_math(node.func)
    return False


def _may_have_effects(node: ast.expr) -> bool:
    return any(isinstance(each, (ast.Call, ast.NamedExpr)) for each in ast.walk(node))


def _is_math(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "math"


# Python functions that return Python numbers for Python numbers.
_NUMBERS_OF_NUMBERS = {"abs", "max", "min", "pow", "round"}

# ---- making them so

_OPERATORS: Mapping[type[ast.AST], Properties] = {row.python[0]: row for row in OPERATIONS.values() if row.python}
# Operations and functions of Python numbers that may raise.
_RAISING_BUILTINS = {"int", "round", "divmod", "pow"}
_FUNCTIONS = {
    f"__pykernels_{function.__name__}__": function for row in OPERATIONS.values() for function in row.operators
}


def _function(function: Callable[..., Any]) -> ast.Name:
    """Return the node for a function of `operator` in the rewritten code."""
    return ast.Name(f"__pykernels_{function.__name__}__", ast.Load())


class _Rewriter(ast.NodeTransformer):
    """Replace each operation on a Python number and another value with a call of the marker."""

    def __init__(self, weak: frozenset[str]) -> None:
        self._weak = weak

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self._operation(node, node.op, [node.left, node.right])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        is_kept = isinstance(node.op, ast.Not) or isinstance(node.operand, ast.Constant)
        if is_kept or is_weak(node.operand, self._weak):
            return self._unchanged(node)
        return self._called(NUMPY, node, _function(*_OPERATORS[type(node.op)].operators), [node.operand])

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        return self._operation(node, node.ops[0], [node.left, *node.comparators])

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """``x *= 2`` becomes ``x = marker(operator.imul, ..., x, 2)``, which still changes an array in place."""
        row = _OPERATORS.get(type(node.op))
        target = node.target
        if row is None or not isinstance(target, ast.Name):
            return self._of_elements(node)
        if target.id in self._weak:
            return node
        function = _function(row.operators[-1])
        operands: list[ast.expr] = [ast.copy_location(ast.Name(target.id, ast.Load()), target), node.value]
        if is_weak(node.value, self._weak):
            value = self._meeting(node.value, function, operands, 0)
        else:
            value = self._called(NUMPY, node.value, function, operands)
        return ast.copy_location(ast.Assign([target], value), node)

    def _of_elements(self, node: ast.AugAssign) -> ast.stmt:
        """``y[i] *= 2`` becomes ``y[i] *= like(2, y)``."""
        target, is_number = node.target, is_weak(node.value, self._weak)
        # The target is evaluated twice.
        is_simple = isinstance(target, ast.Subscript) and not _may_have_effects(target.value)
        self.generic_visit(node)
        # `y[i] **= 2` keeps its literal, see `_operation`.
        if isinstance(target, ast.Subscript) and is_simple and is_number and not isinstance(node.op, ast.Pow):
            call = ast.Call(ast.Name(LIKE, ast.Load()), [node.value, target.value], [])
            node.value = ast.copy_location(call, node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name):
            may_raise = node.func.id in _RAISING_BUILTINS
        else:
            may_raise = _is_math(node.func) and _name(node.func) in RAISING_MATH
        are_numbers = all(is_weak(each, self._weak) for each in node.args)
        if node.args and not node.keywords and _name(node.func) == "int" and not are_numbers:
            return self._called(NUMPY, node, node.func, node.args)
        if may_raise and node.args and not node.keywords and are_numbers:
            return self._called(PYTHON, node, node.func, node.args)
        begin = OF_SEVERAL.get(_name(node.func)) if isinstance(node.func, ast.Attribute) else None
        if begin is None or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            return self._unchanged(node)
        if _name(node.func) == "fmod" and not any(is_weak(argument, self._weak) for argument in node.args):
            return self._called(NUMPY, node, node.func, node.args)
        return self._meeting(node, node.func, node.args, begin)

    def _operation(self, node: ast.expr, symbol: ast.AST, operands: list[ast.expr]) -> ast.expr:
        row = _OPERATORS.get(type(symbol))
        # `x ** 2` keeps its literal, which numba turns into a product.
        is_integer = isinstance(operands[1], ast.Constant) and isinstance(operands[1].value, int)
        if row is None or (row.name == "power" and is_integer) or len(operands) != 2:
            return self._unchanged(node)
        function = _function(row.operators[0])
        if row.raises not in (None, Raises.OVERFLOW) and all(is_weak(operand, self._weak) for operand in operands):
            is_known = isinstance(operands[1], ast.Constant) and operands[1].value != 0
            return self._unchanged(node) if is_known else self._called(PYTHON, node, function, operands)
        if isinstance(symbol, ast.operator) and not any(is_weak(operand, self._weak) for operand in operands):
            return self._called(NUMPY, node, function, operands)
        return self._meeting(node, function, operands, 0)

    def _meeting(self, node: ast.expr, function: ast.expr, operands: list[ast.expr], begin: int) -> ast.expr:
        numbers = [at >= begin and is_weak(operand, self._weak) for at, operand in enumerate(operands)]
        others = [at for at, is_number in enumerate(numbers) if at >= begin and not is_number]
        if not any(numbers) or not others:
            return self._unchanged(node)
        mask = sum(1 << at for at, is_number in enumerate(numbers) if is_number)
        roles = [ast.Constant(mask), ast.Constant(others[0])]
        arguments = [function, *roles, *(self.visit(operand) for operand in operands)]
        return ast.copy_location(ast.Call(ast.Name(MARKER, ast.Load()), arguments, []), node)

    def _called(self, marker: str, node: ast.expr, function: ast.expr, operands: list[ast.expr]) -> ast.expr:
        arguments = [function, *(self.visit(operand) for operand in operands)]
        return ast.copy_location(ast.Call(ast.Name(marker, ast.Load()), arguments, []), node)

    def _unchanged(self, node: ast.expr) -> ast.expr:
        return cast(ast.expr, self.generic_visit(node))
