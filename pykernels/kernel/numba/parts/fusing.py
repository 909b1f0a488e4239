"""Fuse the straight-line code of kernels that numba compiles.

`outlining` makes functions of such code. When numba has found the types of a function's arguments, the evaluator of
fused kernels takes as many of its statements as it can. They become a fused kernel, which the object file of the kernel
contains. The statement that it refuses is numba's, and the rest is a function again.
"""

from __future__ import annotations

import ast
import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numba import types as nb
from numba.extending import overload
from numba.np.numpy_support import as_dtype

from pykernels.kernel.expression import promotion
from pykernels.kernel.expression.array_nodes import Reduction, View, operands_of
from pykernels.kernel.expression.axes import Axes, Axis
from pykernels.kernel.expression.evaluation import Evaluation
from pykernels.kernel.expression.fused import Fused, axes_of
from pykernels.kernel.expression.nodes import Input, Keyword, Node, NotExpressible, Operation, dtype_of, in_order
from pykernels.kernel.numba.implementing import is_array, known
from pykernels.kernel.numba.parts.calling import Part
from pykernels.kernel.numba.rewriting import outlining
from pykernels.kernel.numba.rewriting.outlining import Lines
from pykernels.kernel.numba.target import kernel_target
from pykernels.kernel.plan.planning import Planner
from pykernels.kernel.read.signature import Signature, TensorType

# Fewer operations are left to numba, which compiles them as fast.
_FEWEST = 3
# The most refused statements after which functions of functions follow: numba types each within the one before, by some
# 30 of Python's 1,000 nested calls.
_MOST_NESTED = 10


@dataclass
class Parts:
    """What the functions of one kernel share.

    Attributes
    ----------
    helpers : sequence of callable
        The user's functions that it may call.
    values : mapping
        The values of parameters that are compiled in.
    rewrite : callable
        Returns a function rewritten for numba, from the function, the names of Python numbers, the values of
        parameters, and the functions that it calls.
    names : dict
        The functions that take the place of straight-line code, by their names.
    """

    helpers: Sequence[Callable[..., Any]]
    values: Mapping[str, Any]
    rewrite: Callable[..., Any]
    names: dict[str, Any] = field(default_factory=dict)
    _function: Any = None

    def outlined(self, function: Any, numbers: Sequence[str]) -> Any:
        """Return a function in which calls of further functions replace straight-line code.

        Parameters
        ----------
        numbers : sequence of str
            The parameters that are Python numbers.
        """
        definition = promotion.definition_of(function)
        if definition is None or function.__closure__:
            return function
        self._function = function
        weak = promotion.find_numbers(definition, numbers)
        made = outlining.outline(definition, weak, functools.partial(self.define, weak), _FEWEST)
        return self._made(made) if self.names else function

    def _made(self, definition: ast.FunctionDef) -> Any:
        function = self._function
        made = promotion.function_of(definition, function.__globals__, function.__code__.co_filename)
        made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        return made

    def define(self, weak: frozenset[str], lines: Lines, nested: int = 0) -> str:
        """Define a function for lines, which so many others contain; return its name."""
        name = f"__pykernels_lines_{len(self.names)}__"
        result = ast.Return(ast.Tuple([ast.Name(each, ast.Load()) for each in lines.given], ast.Load()))
        function = self.names[name] = self.function(name, lines.taken, [*lines.statements, result])
        choose = functools.cache(functools.partial(self._choose, lines, weak, nested, function))
        overload(function, target=kernel_target.name, strict=False, prefer_literal=True)(lambda *types: choose(types))
        return name

    def function(self, name: str, taken: Sequence[str], body: list[ast.stmt]) -> Any:
        """Return a function of a kernel."""
        parameters = ast.arguments([], [ast.arg(each) for each in taken], None, [], [], None, [])
        definition = ast.copy_location(ast.FunctionDef(name, parameters, body, [], None), body[-1])
        return promotion.function_of(definition, self._function.__globals__, self._function.__code__.co_filename)

    def _choose(self, lines: Lines, weak: frozenset[str], nested: int, function: Any, types: tuple[Any, ...]) -> Any:
        """Return the implementation of lines for these types."""
        given_types = dict(zip(lines.taken, types))
        found = fuse(lines, weak, function, self.helpers, {**given_types, **_of(given_types, self.values)})
        rest = lines.statements[found.count if found else 0 :]
        body: list[ast.stmt] = []
        if found:
            name = f"__pykernels_part_{len(self.names)}__"
            self.names[name] = found.caller()
            body += [*outlining.call_of(name, found.taken, found.given, weak), *found.numbers]
        if nested == _MOST_NESTED or outlining.count_operations(rest[1:]) < _FEWEST:
            body += rest
        else:
            body.append(rest[0])
            available = {*lines.taken, *_stored(body)}
            given = tuple(sorted(_stored(rest[1:]) & set(lines.given)))
            left = Lines(rest[1:], tuple(sorted(outlining.reads(rest[1:]) & available)), given)
            body += outlining.call_of(self.define(weak, left, nested + 1), left.taken, given, weak)
        body.append(ast.Return(ast.Tuple([ast.Name(each, ast.Load()) for each in lines.given], ast.Load())))
        body = [ast.copy_location(each, lines.statements[0]) if not hasattr(each, "lineno") else each for each in body]
        return self.rewrite(self.function(function.__name__, lines.taken, body), tuple(weak), self.values, self.names)


def _of(names: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _stored(statements: Sequence[ast.stmt]) -> set[str]:
    return {name for statement in statements for name in outlining.stored(statement)}


def fuse(
    lines: Lines,
    weak: frozenset[str],
    function: Any,
    helpers: Sequence[Any],
    types: Mapping[str, Any],
    fewest: int = _FEWEST,
) -> Part | None:
    """Return as many of the first statements as can be a fused kernel, or None.

    Parameters
    ----------
    weak : frozenset of str
        The names of Python numbers.
    function : callable
        The function that has the lines, for its globals.
    helpers : sequence of callable
        The user's functions that it may call.
    types : mapping
        The types of names, or their values.
    fewest : int
        The number of operations on arrays that is worth a kernel.
    """
    count = len(lines.statements)
    while count > 0:
        part = _Prefix(lines, count, weak, function, helpers, types).part(fewest)
        if isinstance(part, Part):
            return part
        count = part
    return None


class _Prefix:
    """The first statements of some lines, to be evaluated for arguments of these types."""

    def __init__(
        self,
        lines: Lines,
        count: int,
        weak: frozenset[str],
        function: Any,
        helpers: Sequence[Any],
        types: Mapping[str, Any],
    ) -> None:
        self._lines = lines
        self._count = count
        self._statements = lines.statements[:count]
        self._function = function
        self._helpers = helpers
        self._weak = weak
        self._arrays: dict[str, TensorType] = {}
        self._scalars: dict[str, nb.Type] = {}
        self._constants: dict[str, Any] = {}
        read = outlining.reads(self._statements)
        for name, type_ in types.items():
            if name in read:
                self._add(name, known(type_))
        self.signature = Signature(
            tuple(self._arrays.values()),
            (),
            tuple((name, at) for at, name in enumerate(self._scalars)),
            frozenset(name for name, type_ in self._scalars.items() if isinstance(type_, nb.Float)),
            frozenset(name for name, type_ in self._scalars.items() if isinstance(type_, nb.Boolean)),
        )

    def _add(self, name: str, value: Any) -> None:
        if not isinstance(value, nb.Type):
            self._constants[name] = value
        elif is_array(value):
            self._arrays[name] = TensorType(as_dtype(value.dtype), value.ndim)
        elif isinstance(value, (nb.Integer, nb.Float, nb.Boolean)):
            if name in self._weak:
                self._scalars[name] = value
            else:
                self._arrays[name] = TensorType(as_dtype(value), 0)

    def part(self, fewest: int) -> Part | int:
        """Return the fused kernel of at least so many operations, or how many statements to try instead."""
        try:
            evaluation, axes, done = self._evaluate(self.signature)
        except NotExpressible:
            return 0
        if done < self._count:
            return done
        numbers, given = self._results()
        made = {name: _computed(evaluation.names[name], axes) for name in given}
        bad = [name for name, node in made.items() if node is None]
        nodes = [node.order for node in made.values() if node]
        if bad or len(set(nodes)) < len(nodes):
            places = [at for at, each in enumerate(self._statements) if outlining.stored(each) & set(bad or given)]
            return min(places)
        outputs = [evaluation.names[name] for name in given]
        computed = [node for node in in_order(outputs, operands_of) if _computed(node, axes) is node]
        # A reduction also saves the array of what it reduces.
        if not given or sum(1 + isinstance(node, Reduction) for node in computed) < fewest:
            return 0
        try:
            shapes = [self._shape(axes.shape_of(output)) for output in outputs]
            results = tuple(TensorType(dtype_of(each), len(axes.shape_of(each))) for each in outputs)
            fused = self._fused(replace(self.signature, outputs=results), given)
        except NotExpressible:
            return self._count // 2
        taken = (*self._arrays, *self._scalars)
        return Part(self._count, numbers, taken, given, self._arrays, shapes, results, fused)

    def _results(self) -> tuple[list[ast.stmt], tuple[str, ...]]:
        """Return the statements of numbers that others need, and the names of arrays that others need."""
        needed = outlining.reads(self._lines.statements[self._count :]) | set(self._lines.given)
        numbers: list[ast.stmt] = []
        for statement in reversed(self._statements):
            stored = outlining.stored(statement)
            if stored <= self._weak and stored & needed:
                numbers.insert(0, statement)
                needed |= outlining.reads([statement])
        given = (_stored(self._statements) & needed) - self._weak
        return numbers, tuple(sorted(given))

    def _evaluate(self, signature: Signature) -> tuple[Evaluation, Axes, int]:
        """Evaluate the statements until one is refused; return the evaluation, the shapes, and how many it took."""
        axes, shapes = axes_of(signature)
        values: dict[str, Any] = dict(self._constants)
        for at, (name, tensor) in enumerate(self._arrays.items()):
            values[name] = Input(np.ones(1, tensor.dtype), position=at)
            axes.note(values[name], shapes[at])
        for slot, (name, _) in enumerate(signature.scalars):
            values[name] = Keyword(signature.example(name), slot=slot, name=name)
        evaluation = Evaluation(self._function, self._helpers, axes, itertools.count(1))
        evaluation.begin(values)
        for done, statement in enumerate(self._statements):
            try:
                evaluation.execute(statement)
            except NotExpressible:
                return evaluation, axes, done
        return evaluation, axes, len(self._statements)

    def _fused(self, signature: Signature, given: Sequence[str]) -> Fused:
        """Return what the statements compute, for arrays of any rank if possible."""
        for each in (signature.without_ranks(), signature):
            evaluation, axes, done = self._evaluate(each)
            try:
                if done < self._count:
                    raise NotExpressible("it is refused for arrays of any rank")
                outputs = tuple(evaluation.names[name] for name in given)
                fused = Fused(outputs, axes, axes_of(each)[1], each)
                Planner(fused).plan()
                return fused
            except NotExpressible:
                if each is signature:
                    raise
        raise AssertionError

    def _shape(self, shape: Sequence[Axis]) -> str:
        """Return the Python code of a shape."""
        lengths = [f"{name}.shape[{axis}]" for name, tensor in self._arrays.items() for axis in range(tensor.ndim)]
        code = []
        for axis in shape:
            if any(position >= len(lengths) for position in axis):
                raise NotExpressible("a length that is computed")
            terms = [lengths[position] for position in sorted(axis)]
            code.append(functools.reduce(lambda one, other: f"common({one}, {other})", terms) if terms else "1")
        return f"({''.join(f'{each}, ' for each in code)})"


def _computed(value: Any, axes: Axes) -> Node | None:
    """Return the new array that is a value, or whose elements it has; None for others, such as a view of an input."""
    while type(value) is View:
        value = value.operand
    return value if isinstance(value, (Operation, Reduction)) and axes.has(value) else None
