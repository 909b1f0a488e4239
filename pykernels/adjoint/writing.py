"""Write a graph as the source of a kernel function."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pykernels.adjoint.blocks import Block
from pykernels.adjoint.nodes import BLOCK, LEAVES, LEFT, LIKE, Node, filled, is_list, makes_array, makes_zeros
from pykernels.adjoint.scattering import begun
from pykernels.adjoint.shapes import Shapes, needs_only_the_shape
from pykernels.adjoint.syntax import loaded, needed, new_name, renamed, stored, with_unpacking, without_dead

# Parts of an expression that is longer get names of their own, unless they are shorter than this themselves.
_LONG, _WORTH_A_NAME = 88, 12
_STATEMENTS = frozenset({"scatter", "scatter_more"})
# Python 3.10 writes ``(a, b) = c``.
_UNPACKING = re.compile(r"^( *)\(([\w, ]+)\) =")
# The operations that read no more than the shape and dtype of their first operand.
_SHAPED = frozenset({"scatter", *LIKE})
# Names for what the kernel does not name, by operation.
_NAMES = {
    "sum": "total",
    "mean": "mean",
    "exp": "e",
    "max": "top",
    "sqrt": "root",
    "scatter": "gradient",
    "compare": "condition",
    "divide": "ratio",
    "multiply": "product",
    "matmul": "product",
}


@dataclass(frozen=True)
class Written:
    """The source of a function, its name, and the names of the arguments and attributes that it uses."""

    name: str
    source: str
    arguments: tuple[str, ...]
    attributes: tuple[str, ...]


def write(
    name: str,
    results: Mapping[str, Node],
    leaves: Sequence[Node],
    given: Mapping[Node, Node],
    *,
    takes_tuple: bool,
) -> Written:
    """Return the source of a function that computes `results`, which have names.

    Parameters
    ----------
    leaves : sequence of Node
        What the function may use, in this order: arguments and attributes.
    given : mapping of Node to Node
        Nodes whose values are among the arguments, so that they need not be computed: the outputs of the forward pass.
    takes_tuple : bool
        Whether the function takes one tuple ``args``, as kernels do, or each argument by itself.
    """
    return _Writer(leaves, given, set()).function(name, results, takes_tuple=takes_tuple)


def write_expressions(
    results: Sequence[Node], leaves: Sequence[Node], given: Mapping[Node, Node], taken: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return statements, and the expressions of `results` that follow them.

    Parameters
    ----------
    leaves, given
        As for `write`.
    taken : collection of str
        Names that the statements must not assign.
    """
    writer = _Writer(leaves, given, taken)
    return writer.steps(results, writer.needed(results)), list(map(writer.text, results))


class _Writer:
    def __init__(self, leaves: Sequence[Node], given: Mapping[Node, Node], taken: Collection[str]) -> None:
        self._leaves = leaves
        self._given = {node: leaf for node, leaf in given.items() if node.op not in LEAVES}
        self._names: dict[Node, str] = {}
        # Nothing while it is found out what is computed anyway.
        self._shapes: Shapes | None = None
        # The statements of each block that compute what is needed.
        self._statements: dict[Node, list[ast.stmt]] = {}
        self._taken = {leaf.name for leaf in leaves} | {"args", "np", "outs"} | set(taken)

    def function(self, name: str, results: Mapping[str, Node], *, takes_tuple: bool) -> Written:
        returned = [self._stands_for(result) for result in results.values()]
        needed = self.needed(returned)
        lines = self.steps(returned, needed, list(results))
        used = {leaf.name for leaf in self._leaves if leaf in needed}
        inputs = dict.fromkeys(leaf.name for leaf in self._leaves if leaf.op == "input")
        arguments = tuple(name for name in inputs if name in used)
        attributes = tuple(leaf.name for leaf in self._leaves if leaf.op == "attribute" and leaf.name in used)
        keywords = f", *, {', '.join(attributes)}" if attributes else ""
        if takes_tuple:
            unpacked = f"({arguments[0]},)" if len(arguments) == 1 else ", ".join(arguments)
            lines.insert(0, f"{unpacked} = args")
        head = f"def {name}({'args' if takes_tuple else ', '.join(arguments)}{keywords}):"
        lines.append(f"return {', '.join(map(self.text, returned))}")
        return Written(name, "\n    ".join([head, *lines]) + "\n", arguments, attributes)

    def steps(self, results: Sequence[Node], needed: Sequence[Node], names: Sequence[str] = ()) -> list[str]:
        """Return statements before the results, which may have names."""
        returned = [self._stands_for(result) for result in results]
        left = [node for node in needed if node.op == LEFT]
        owned = _only_changed(needed)
        zeros = _only_zeros(needed)
        uses = Counter(operand for node in needed for operand in self._operands(node))
        uses.update(returned)
        wanted = {begun(node): name for node, name in zip(returned, names)}
        lines: list[str] = []
        for node in needed:
            if self._is_short(node) or (node in owned and node.op not in _STATEMENTS) or node in zeros:
                continue
            if node.op == BLOCK:
                lines += self._block(node, [each for each in left if node in each.operands], wanted, owned)
                continue
            for part in self._parts_to_name(node):
                lines += self._assigned(part, wanted.get(part, part.name))
            is_result = node in wanted and len(returned) > 1
            is_part = uses[node] > 1 or node.op in _STATEMENTS
            if is_result or is_part or (node.name and node not in wanted):
                lines += self._assigned(node, wanted.get(node, node.name))
        return lines

    def needed(self, results: Sequence[Node]) -> list[Node]:
        """Return the nodes that the function computes or uses, each after its operands."""
        while True:
            self._shapes = None
            self._shapes = Shapes(self._leaves, set(self._reached(results)))
            found = self._reached(results)
            left: dict[Node, set[str]] = {node: set() for node in found if node.op == BLOCK}
            for node in found:
                if node.op == LEFT:
                    left[node.operands[0]].add(node.variable)
            statements = {node: _computing(node.block, names) for node, names in left.items() if node.block}
            if self._texts(statements) == self._texts(self._statements):
                return found
            self._statements = statements

    @staticmethod
    def _texts(statements: Mapping[Node, list[ast.stmt]]) -> dict[Node, list[str]]:
        return {node: list(map(ast.dump, each)) for node, each in statements.items()}

    def _reached(self, results: Sequence[Node]) -> list[Node]:
        seen: set[Node] = set()
        found: list[Node] = []

        def visit(node: Node) -> None:
            node = self._stands_for(node)
            if node not in seen:
                seen.add(node)
                for operand in self._operands(node):
                    visit(operand)
                found.append(node)

        for result in results:
            visit(result)
        return found

    def _stands_for(self, node: Node) -> Node:
        return self._given.get(node, node)

    def _operands(self, node: Node) -> list[Node]:
        operands = list(node.operands)
        if needs_only_the_shape(node):
            operands[:1] = [self._shapes.like(operands[0])] if self._shapes else []
        if node.block and node in self._statements:
            used = stored(self._statements[node]) | loaded(self._statements[node])
            operands = [operand for name, operand in zip(node.block.reads, operands) if name in used]
        return [self._stands_for(operand) for operand in operands]

    def _is_short(self, node: Node) -> bool:
        return (
            node.op in LEAVES or node.op in ("tuple", LEFT) or (needs_only_the_shape(node) and node.op not in _SHAPED)
        )

    def _parts_to_name(self, node: Node) -> Iterator[Node]:
        """Yield parts of a long expression, the longest first, until it is short enough; each has a name afterwards."""
        while len(self.text(node)) > _LONG:
            part = max(self._parts(node), key=lambda part: len(self.text(part)), default=None)
            if part is None or len(self.text(part)) < _WORTH_A_NAME:
                break
            yield part

    def _parts(self, node: Node) -> Iterator[Node]:
        """Yield the operands that have no names, also those in tuples."""
        for operand in self._operands(node):
            if operand in self._names:
                continue
            if self._is_short(operand):
                yield from self._parts(operand)
            else:
                yield operand

    def _assigned(self, node: Node, wanted: str) -> Iterator[str]:
        if node.op in _STATEMENTS:
            yield from self._scattered(node, wanted)
            return
        text = self.text(node)
        self._names[node] = name = self._new_name(node, wanted)
        yield f"{name} = {text}"

    def _scattered(self, node: Node, wanted: str) -> Iterator[str]:
        assert isinstance(node.form, ast.Call)
        given = self._operands(node)
        operands = [self._tree(operand) for operand in given]
        name, is_first = self._names.get(node.operands[0], ""), node.op == "scatter"
        if is_first:
            name = self._new_name(node, wanted)
            zeros = ast.unparse(operands[0])
            is_zeros = makes_zeros(given[0].form) and given[0] not in self._names
            yield f"{name} = {zeros if is_zeros else f'np.zeros_like({zeros})'}"
        self._names[node] = name
        index = filled(node.form.args[1], operands)
        assert isinstance(index, ast.Subscript)
        values, target = ast.unparse(operands[-1]), ast.unparse(ast.Subscript(ast.Name(name), index.slice))
        if any(is_list(operand) for operand in node.operands[1:-1]):
            yield f"np.add.at({name}, {_written(index)}, {values})"
        else:
            yield f"{target} {'' if is_first else '+'}= {values}"

    def _block(
        self, node: Node, left: Sequence[Node], wanted: Mapping[Node, str], owned: Collection[Node]
    ) -> Iterator[str]:
        """Write the statements of a block. They get copies of the arrays that they change, but for those in `owned`."""
        block = node.block
        assert block is not None
        shown = {**block.shown, **{each.variable: wanted[each] for each in left if each in wanted}}
        names: dict[str, ast.expr] = {}
        statements = self._statements[node]
        used = stored(statements) | loaded(statements)
        reads = [name for name in block.reads if name in used]
        for name, operand in zip(reads, self._operands(node)):
            if name in block.leaves and name in stored(statements) | block.changed:
                if operand in self._names and operand in owned:
                    names[name] = ast.Name(self._names[operand], ast.Load())
                    continue
                own = self._new_name(operand, shown.get(name, name))
                is_shared = name in block.changed and (operand in self._names or not _is_new(operand))
                # A number of its own, too, where an argument is an array without axes.
                copy = "" if not is_shared else ".copy()" if operand.ndims != {0} else "[()]" * (operand.op == "input")
                yield f"{own} = {self.text(operand)}{copy}"
                names[name] = ast.Name(own, ast.Load())
                continue
            if operand not in self._names and operand.op not in LEAVES:
                yield from self._assigned(operand, operand.name)
            names[name] = self._tree(operand)
        taken = set(self._taken)
        for name in sorted(stored(statements) - names.keys()):
            names[name] = ast.Name(self._new_name(node, shown.get(name, name)), ast.Load())
        self._taken = taken | {ast.unparse(names[each.variable]) for each in left}  # the others are not read later
        self._names.update((each, ast.unparse(names[each.variable])) for each in left)
        for statement in with_unpacking(statements):
            text = ast.unparse(ast.fix_missing_locations(renamed(statement, names)))
            yield from (_UNPACKING.sub(r"\1\2 =", line) for line in text.splitlines())

    def _new_name(self, node: Node, wanted: str) -> str:
        name = new_name(wanted or _NAMES.get(node.op, "term"), self._taken)
        self._taken.add(name)
        return name

    def _tree(self, node: Node) -> ast.expr:
        if node in self._names:
            return ast.Name(self._names[node], ast.Load())
        return filled(node.form, [self._tree(operand) for operand in self._operands(node)])

    def text(self, node: Node) -> str:
        """Return the expression of a node, after the statements."""
        node = self._stands_for(node)
        return ast.unparse(ast.fix_missing_locations(self._tree(node)))


def _computing(block: Block, names: set[str]) -> list[ast.stmt]:
    """Return the statements of a block that compute some of the variables that it leaves."""
    statements = without_dead(block.statements, names)
    return needed(statements, names, set(block.reads) - stored(statements))


def _is_new(node: Node) -> bool:
    """Whether an expression makes an array to which nothing else refers."""
    return node.op in _STATEMENTS or makes_array(node.form)


def _only_changed(nodes: Sequence[Node]) -> set[Node]:
    """Return the nodes that make arrays for blocks to change, and that nothing else uses."""
    found = {operand for node in nodes if node.op == BLOCK for operand in node.operands if _is_new(operand)}
    for node in nodes:
        kept = node.block.changed if node.block else ()
        names = node.block.reads if node.block else [""] * len(node.operands)
        found -= {operand for name, operand in zip(names, node.operands) if name not in kept}
    return found


def _only_zeros(nodes: Sequence[Node]) -> set[Node]:
    """Return the nodes that make arrays of zeros for others to be added to, and that nothing else uses."""
    found = {node for node in nodes if makes_zeros(node.form)}
    for node in nodes:
        found -= set(node.operands[1:] if node.op == "scatter" else node.operands)
    return found


def _written(index: ast.Subscript) -> str:
    """Return an index as the argument of a function."""

    class Slices(ast.NodeTransformer):
        def visit_Slice(self, node: ast.Slice) -> ast.expr:
            bounds = [node.lower, node.upper, *([node.step] if node.step else [])]
            if node.lower is None and node.step is None:
                bounds = [node.upper]
            return ast.Call(ast.Name("slice"), [bound or ast.Constant(None) for bound in bounds], [])

    return ast.unparse(ast.fix_missing_locations(Slices().visit(index.slice)))
