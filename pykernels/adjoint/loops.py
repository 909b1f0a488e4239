"""The gradient of a block: the adjoint of each assignment, in reverse order.

The adjoint of ``y[i] = f(x[i], t)`` adds to ``dx[i]`` and ``dt`` what ``dy[i]`` contributes. Loops run backwards where
their turns depend on each other. Variables of a turn are computed again; arrays have the values that the block leaves,
so that a loop must not overwrite what its gradient needs. `verify` compares each adjoint with finite differences.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from pykernels.adjoint.blocks import Block
from pykernels.adjoint.elements import BEFORE, ReaderOfElements
from pykernels.adjoint.expressions import read
from pykernels.adjoint.extremes import running_extremes
from pykernels.adjoint.histories import CALL, IN_TURN, NeedsHistory, begins_in, may_keep
from pykernels.adjoint.nodes import BLOCK, Graph, Node, in_order, is_floating
from pykernels.adjoint.observation import observed
from pykernels.adjoint.reading import Reader
from pykernels.adjoint.syntax import (
    Assignment,
    assigned,
    assignments,
    at_place,
    base_of,
    begun_in,
    loaded,
    loops_of,
    needed,
    parts_of,
    shifted,
    stored,
    target_of,
    value_of,
    with_shape_of,
)
from pykernels.adjoint.terms import (
    GRADIENT,
    adding,
    assigning,
    gradient_of,
    is_gradient,
    may_be_a_view,
    without_last_zeros,
    without_zeros,
)
from pykernels.adjoint.verification import verify
from pykernels.adjoint.writing import write_expressions
from pykernels.base.errors import KernelError

Gradients = Callable[[Graph, Sequence[Node], Sequence[Node], Sequence[Node]], Sequence["Node | None"]]


def terms_of_block(
    graph: Graph, node: Node, slopes: Mapping[str, Node], gradients_of: Gradients
) -> Iterator[tuple[Node, Node]]:
    """Yield pairs: an operand of a block, and its gradient.

    Parameters
    ----------
    slopes : mapping of str to Node
        The gradients of variables that the block leaves.
    """
    assert node.block is not None
    adjoint = _Adjoint(graph, node, slopes, gradients_of)
    block, operands = adjoint.block()
    try:
        left = graph.block(block, operands)
        verify(graph, node, block, operands, slopes)
    except KernelError as error:
        raise adjoint.needs_names(error) from None
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:  # of the statements, for the samples
        why = f"from here on, no gradient is derived, since it raises {type(error).__name__}: {error}; write it by hand"
        raise KernelError(why) from None
    for name, operand in zip(node.block.reads, node.operands):
        gradient = f"{name}{GRADIENT}"
        if operand.active and gradient in left:
            yield operand, left[gradient]
        elif operand.active and name in slopes:
            yield operand, slopes[name]


class _Adjoint:
    def __init__(self, graph: Graph, node: Node, slopes: Mapping[str, Node], gradients_of: Gradients) -> None:
        assert node.block is not None
        self._graph, self._node, self._of, self._slopes = graph, node, node.block, slopes
        self._gradients_of = gradients_of
        self._reader = Reader(graph, node.block.function)
        # The variables before each assignment, and those of whose elements one is assigned twice.
        seen, self._overwritten = observed(graph, node, self._refuse)
        self._seen = dict(seen)
        self._extremes = {
            each: extreme
            for each, extreme in running_extremes(node.block.statements).items()
            if self._is_number(extreme.assignment)
        }
        self._taken = {*loaded(node.block.statements), *stored(node.block.statements)}
        self._top = set(self._of.reads) | set(self._of.leaves)
        self._active = self._find_active()

    def block(self) -> tuple[Block, list[Node]]:
        """Return the adjoint block, and its operands."""
        body = without_zeros(self._backwards(self._of.statements, set(), self._top))
        kept = {name for name, each in zip(self._of.reads, self._node.operands) if each.active}
        body = without_last_zeros(body, self._gradients(assigned(self._of.statements) - kept))
        self._make_arrays_of_zeros(body)
        for name in self._slopes:
            body = with_shape_of(body, name, f"{name}{GRADIENT}")
        used = stored(body) | loaded(body)
        inputs: dict[str, Node] = {}
        values = {**dict(zip(self._of.reads, self._node.operands)), **self._graph.left(self._node)}
        inputs.update((name, values[name]) for name in values if name in used)
        for name in dict.fromkeys((*self._of.reads, *self._of.leaves)):
            gradient = f"{name}{GRADIENT}"
            if gradient in used and name in self._slopes:
                inputs[gradient] = self._slopes[name]
            elif gradient in used:
                inputs[gradient] = self._zeros(values[name])
        leaves = tuple(name for name in inputs if is_gradient(name) and name in stored(body))
        shown = {name: f"d{name.removesuffix(GRADIENT)}" for name in used if is_gradient(name)}
        return Block(tuple(body), tuple(inputs), leaves, self._of.function, shown), list(inputs.values())

    @staticmethod
    def _gradients(names: Iterable[str]) -> set[str]:
        return {f"{name}{GRADIENT}" for name in names}

    def _make_arrays_of_zeros(self, statements: Sequence[ast.stmt]) -> None:
        """Let the gradients of arrays begin again as arrays."""
        states = [state for states in self._seen.values() for state in states]
        arrays = self._gradients(name for state in states for name in state if np.ndim(state[name]))
        for each in assignments(statements):
            if isinstance(each, ast.Assign) and ast.unparse(each.value) == "0.0":
                name = ast.unparse(each.targets[0])
                each.value = _expression(f"np.zeros_like({name})") if name in arrays else each.value

    def needs_names(self, error: KernelError) -> KernelError:
        """Return the error of an adjoint that reads overwritten values; it asks for names for those of each turn."""
        names = filter(self._is_reassigned, sorted(assigned(self._of.statements)))
        wanted = {(self._of.function, IN_TURN, name): None for name in names}
        return NeedsHistory(f"{self._node.place}: {error.args[0]}", wanted) if wanted else error

    def _zeros(self, node: Node) -> Node:
        """Return zeros of the shape of a node."""
        if not np.ndim(node.values[0]):
            return read(self._graph, "0.0")
        return self._graph.node("zeros_like", ast.parse("np.zeros_like(_0)", mode="eval").body, [node])

    # ---- what is known of each assignment

    def _read(self, assignment: Assignment, active: Iterable[str]) -> tuple[Graph, Node, dict[str, Node]]:
        """Return the graph of an assignment, the node of its value, and those of the variables and elements in it."""
        states = self._seen[assignment]
        if not states:
            raise self._refuse(
                assignment, "no sample reaches this line, so that it has no derived gradient; write np.where"
            )
        graph = Graph(self._graph.namespace, len(states))
        own = ast.unparse(target_of(assignment))
        reader = ReaderOfElements(graph, self._of.function, states, frozenset(active), own)
        value = reader.expression(value_of(assignment))
        return graph, value, reader.leaves

    def _find_active(self) -> set[str]:
        """Return the variables that depend on the active operands."""
        active = {name for name, operand in zip(self._of.reads, self._node.operands) if operand.active}
        before: set[str] = set()
        while before != active:
            before = set(active)
            for each in assignments(self._of.statements):
                if loaded([value_of(each)]) & active and self._read(each, active)[1].active:
                    active.add(base_of(target_of(each)))
        return active

    # ---- statements

    def _scope(
        self, statements: Sequence[ast.stmt], outside: set[str], around: set[str], own: set[str]
    ) -> list[ast.stmt]:
        """Return the adjoint of a turn of a loop, or of a branch in it: what it computes again, and the rest.

        `own` are the variables that begin here, `around` others of the same turn, and `outside` those of all turns.
        """
        back: list[ast.stmt] = []
        for statement in reversed(statements):  # a variable that begins here and that nothing reads has no gradient
            target = base_of(target_of(statement)) if isinstance(statement, (ast.Assign, ast.AugAssign)) else ""
            if target not in own or f"{target}{GRADIENT}" in stored(back):
                back += self._statement(statement, outside, around | own)
        begun = [self._begun(name, back) for name in sorted(own & self._active)]
        back = without_last_zeros([*filter(None, begun), *back], self._gradients(own))
        return [*needed(statements, loaded(back) & own, outside | around), *back]

    def _backwards(self, statements: Sequence[ast.stmt], outside: set[str], own: set[str]) -> list[ast.stmt]:
        return [each for statement in reversed(statements) for each in self._statement(statement, outside, own)]

    def _begun(self, name: str, back: list[ast.stmt]) -> ast.stmt | None:
        """Return the statement that gives the gradient of a variable its first value; None if `back` does."""
        gradient = f"{name}{GRADIENT}"
        first = next((each for each in back if gradient in loaded([each]) | stored([each])), None)
        if first is None:
            return None
        is_array = any(np.ndim(state[name]) for states in self._seen.values() for state in states if name in state)
        is_whole = isinstance(first, ast.AugAssign) and isinstance(first.target, ast.Name)
        if isinstance(first, ast.AugAssign) and is_whole and not (is_array and may_be_a_view(first.value)):
            value = ast.UnaryOp(ast.USub(), first.value) if isinstance(first.op, ast.Sub) else first.value
            back[back.index(first)] = ast.Assign([first.target], value)
            return None
        return ast.parse(f"{gradient} = {f'np.zeros_like({name})' if is_array else '0.0'}").body[0]

    def _statement(self, statement: ast.stmt, outside: set[str], own: set[str]) -> list[ast.stmt]:
        if statement in self._extremes:
            return self._extreme(statement, outside)
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            return self._assignment(statement, outside)
        if isinstance(statement, ast.If):
            return self._if(statement, outside, own)
        assert isinstance(statement, ast.For)
        if loaded([statement.iter]) & self._active and base_of(statement.iter):
            raise self._refuse(statement, "a loop over an array has no derived gradient; loop over a range")
        outside = outside | own
        of_turn = stored([ast.Assign([statement.target], ast.Constant(0))]) | begun_in(statement.body)
        body = self._scope(statement.body, outside, set(), of_turn - outside)
        if not any(map(is_gradient, stored(body))):
            return []
        self._check_values(statement, body, outside)
        return [ast.For(statement.target, self._range(statement, outside), body, [])]

    def _if(self, statement: ast.If, outside: set[str], own: set[str]) -> list[ast.stmt]:
        branches = [
            self._scope(branch, outside, own, begun_in(branch) - outside - own)
            for branch in (statement.body, statement.orelse)
        ]
        if not any(is_gradient(name) for branch in branches for name in stored(branch)):
            return []
        targets = {ast.unparse(target_of(each)) for each in assignments([statement])}
        read = {text for part in parts_of([statement.test]) for text in (ast.unparse(part), base_of(part))}
        for name in sorted(targets & read):
            why = "it assigns to what its condition reads, so that it has no derived gradient"
            raise self._needs_history(statement, name, outside, why)
        if not any(map(is_gradient, stored(branches[0]))):
            return [ast.If(ast.UnaryOp(ast.Not(), statement.test), branches[1], [])]
        return [ast.If(statement.test, *branches)]

    def _assignment(self, assignment: Assignment, outside: set[str]) -> list[ast.stmt]:
        target = target_of(assignment)
        if base_of(target) not in self._active:
            return []
        graph, value, leaves = self._read(assignment, self._active)
        if any(node.op == BLOCK for node in in_order([value])):
            error = self._refuse(assignment, "a call has loops or assigns to elements: assign its result to a variable")
            raise NeedsHistory(error.args[0], {(self._of.function, assignment.lineno, CALL): None})
        own, slope = ast.unparse(target), ast.unparse(gradient_of(target))
        terms: dict[str, Node] = {}
        seed = graph.leaf("input", slope.removesuffix("[...]"), list(map(np.ones_like, value.values)))
        if value.active:
            found = self._gradients_of(graph, [*leaves.values()], [value], [seed])
            terms = {text: gradient for text, gradient in zip(leaves, found) if gradient is not None}
        result = graph.leaf("input", own, value.values)
        known = [seed, *(leaf for text, leaf in leaves.items() if text != own)]  # the first stand for shapes
        steps, texts = write_expressions(list(terms.values()), known, {value: result}, self._taken)
        written = dict(zip(terms, texts))
        again = written.pop(own, "0.0" if self._is_replaced(assignment, outside) else slope)
        made = [each for step in steps for each in ast.parse(step).body]
        self._taken |= stored(made)
        made += [adding(gradient_of(_expression(text)), _expression(term)) for text, term in written.items()]
        if again != slope:
            made.append(assigning(gradient_of(target), _expression(again)))
        if BEFORE in loaded(made):
            why = f"its gradient needs {own} as it was before: assign the result to another variable or array"
            raise self._needs_history(assignment, own, outside, why)
        return made

    def _extreme(self, statement: ast.stmt, outside: set[str]) -> list[ast.stmt]:
        """Return the adjoint of ``top = max(top, x[i])``: the number that the loop has left comes from a last turn."""
        extreme = self._extremes[statement]
        made = at_place(ast.Assign([extreme.target], extreme.value), statement)
        self._seen[made] = self._seen[extreme.assignment]
        back = self._assignment(made, outside)
        test = ast.Compare(extreme.value, [ast.Eq()], [_expression(ast.unparse(extreme.target))])
        return [ast.If(test, back, [])] if back else []

    def _is_number(self, assignment: Assignment) -> bool:
        code = ast.unparse(target_of(assignment))
        return not any(np.ndim(eval(code, {**self._graph.namespace, **state})) for state in self._seen[assignment])

    def _is_replaced(self, assignment: Assignment, outside: set[str]) -> bool:
        """Whether an assignment may replace what has a gradient."""
        target, name = target_of(assignment), base_of(target_of(assignment))
        if isinstance(target, ast.Name):
            first = next(each for each in assignments(self._of.statements) if base_of(target_of(each)) == name)
            return first is not assignment or name in outside or name in self._of.reads
        given = dict(zip(self._of.reads, self._node.operands)).get(name)
        return name in self._overwritten or (given is not None and given.active) or not self._is_affine(target)

    def _is_affine(self, target: ast.Subscript) -> bool:
        """Whether an element is chosen by variables of loops, and not by what the block computes."""
        indices: list[ast.AST] = []
        tree: ast.expr = target
        while isinstance(tree, ast.Subscript):
            indices.append(tree.slice)
            tree = tree.value
        nodes = [node for each in indices for node in ast.walk(each)]
        shaped = [node.value for node in nodes if isinstance(node, ast.Attribute) and node.attr in ("shape", "size")]
        calls = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func) == "len"]
        shaped += [argument for node in calls for argument in node.args]
        names = {node.id for node in nodes if isinstance(node, ast.Name) and node not in shaped}
        states = itertools.chain.from_iterable(self._seen.values())
        is_computed = bool(names & assigned(self._of.statements))
        return not is_computed and all(np.ndim(state.get(name, 0)) == 0 for state in states for name in names)

    # ---- loops

    def _range(self, loop: ast.For, outside: set[str]) -> ast.expr:
        """Return what the adjoint of a loop goes through: the same backwards if turns depend on each other."""
        call = loop.iter
        is_range = isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in ("range", "prange")
        if is_range:
            assert isinstance(call, ast.Call)
            call = ast.Call(ast.Name("range", ast.Load()), call.args, [])
        if not self._is_ordered(loop, outside):
            return call
        step = 1
        if isinstance(call, ast.Call) and len(call.args) == 3:
            step = {"1": 1, "-1": -1}.get(ast.unparse(call.args[2]), 0)
        if not is_range or not step:
            raise self._refuse(loop, "its turns depend on each other: loop over a range with a step of 1 or -1")
        assert isinstance(call, ast.Call)
        begin, end = call.args[:2] if len(call.args) > 1 else (ast.Constant(0), call.args[0])
        back = [shifted(end, -step), shifted(begin, -step), ast.Constant(-step)]
        if step == -1:
            back = back[1:2] if ast.unparse(back[0]) == "0" else back[:2]
        return ast.Call(call.func, back, [])

    def _is_ordered(self, loop: ast.For, outside: set[str]) -> bool:
        """Whether a turn reads what others have assigned."""
        for each in assignments(loop.body):
            own, name = target_of(each), base_of(target_of(each))
            is_last = name in outside & self._active and not isinstance(each, ast.AugAssign)
            if is_last and (isinstance(own, ast.Name) or self._is_replaced(each, outside)):
                return True
            for part in parts_of([value_of(each)]):
                is_carried = base_of(part) in assigned(loop.body) & outside & self._active
                if is_carried and ast.unparse(part) != ast.unparse(own):
                    return True
        return False

    def _check_values(self, loop: ast.For, body: Sequence[ast.stmt], outside: set[str]) -> None:
        """Raise `KernelError` if the adjoint of a loop reads a variable which has another value in every turn."""
        extreme = {each.assignment for each in self._extremes.values()}
        changes = [each for each in assignments(loop.body) if each not in extreme]
        carried = {base_of(target_of(each)) for each in changes if isinstance(target_of(each), ast.Name)}
        for name in sorted(carried & outside & loaded(body)):
            why = f"its gradient needs the value that {name} has in each turn: keep the values in an array"
            raise self._needs_history(loop, name, outside, why)

    def _needs_history(self, place: ast.stmt, name: str, outside: set[str], why: str) -> KernelError:
        """Return an error, which asks for the values that a variable has in each turn if a loop can keep them."""
        error, function = self._refuse(place, why), self._of.function
        loops = [each for each in loops_of(self._of.statements) if any(place is node for node in ast.walk(each))]
        values = [state[name] for states in self._seen.values() for state in states if name in state]
        value = next((each for each in values if is_floating(each)), values[0] if values else None)
        is_begun = bool(loops) and begins_in(loops[-1].body, name, again=False)
        if self._is_reassigned(name) or (name in outside and is_begun):
            return NeedsHistory(error.args[0], {(function, IN_TURN, name): None})
        if name in outside and loops and may_keep(loops[-1], name, value):
            return NeedsHistory(error.args[0], {(function, loops[-1].lineno, name): value})
        return error

    def _is_reassigned(self, name: str) -> bool:
        """Whether a turn, or a branch, gives a variable several values one after the other."""
        nodes = [node for each in self._of.statements for node in ast.walk(each) if isinstance(node, (ast.For, ast.If))]
        branches = [self._of.statements, *(branch for node in nodes for branch in (node.body, node.orelse))]
        return any(begins_in(branch, name) for branch in branches)

    def _refuse(self, tree: ast.AST, why: str) -> KernelError:
        return self._reader.refuse(tree, why)


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
