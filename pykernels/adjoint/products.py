"""The derivatives of products and of functions of matrices."""

from __future__ import annotations

import string

from pykernels.adjoint.nodes import Node, Read
from pykernels.adjoint.rules import RULES, Terms, rule
from pykernels.base.errors import KernelError

#: `RULES` with those of this module.
__all__ = ["RULES"]


@rule("einsum", "subscripts", *"abcdefgh")
def _einsum(read: Read, node: Node, g: Node) -> Terms:
    given, _, result = str(node.arguments["subscripts"].values[0]).replace(" ", "").partition("->")
    inputs = given.split(",")
    operands = [node.arguments[name] for name in "abcdefgh"[: len(inputs)]]
    for at, (own, operand) in enumerate(zip(inputs, operands)):
        others = [(each, other) for number, (each, other) in enumerate(zip(inputs, operands)) if number != at]
        unlike, diagonals = _with_unlike_axes(read, own, operand, given)
        terms = [(result, g), *others, *diagonals]
        # An axis that the sum folds alone has the same gradient everywhere.
        known = "".join(each for each, _ in terms)
        kept = "".join(axis for axis in unlike.replace("...", ".") if axis in known)
        index = ["..." if axis == "." else ":" if axis in kept else "None" for axis in unlike.replace("...", ".")]
        names = {f"g{number}": each for number, (_, each) in enumerate(terms)}
        term, axes = g, kept.replace(".", "...")
        if axes != result or len(terms) > 1:
            term = read(f"np.einsum('{','.join(each for each, _ in terms)}->{axes}', {', '.join(names)})", **names)
        if "None" in index:
            term = read(f"term[{', '.join(index)}]", term=term)
        yield operand, term


def _with_unlike_axes(read: Read, axes: str, operand: Node, taken: str) -> tuple[str, list[tuple[str, Node]]]:
    """Return the axes of an operand with another letter for each, and a diagonal for each pair that had one letter."""
    unlike, diagonals = "", []
    free = (letter for letter in string.ascii_letters if letter not in taken)
    for axis in axes:
        if axis != "." and axis in unlike:
            diagonals.append((axis + (other := next(free)), read(f"np.eye(a.shape[{len(unlike)}])", a=operand)))
            axis = other
        unlike += axis
    return unlike, diagonals


@rule("matmul dot", "a", "b")
def _matmul(read: Read, node: Node, g: Node) -> Terms:
    a, b = node.arguments["a"], node.arguments["b"]
    if a.ndims == b.ndims == {1}:
        yield a, read("g * b", g=g, b=b)
        yield b, read("g * a", g=g, a=a)
    elif a.ndims == {2} and b.ndims == {1}:
        yield a, read("g[:, None] * b", g=g, b=b)
        yield b, read("a.T @ g", g=g, a=a)
    elif a.ndims == {1} and b.ndims == {2}:
        yield a, read("b @ g", g=g, b=b)
        yield b, read("a[:, None] * g", g=g, a=a)
    elif a.ndims == b.ndims == {2}:
        yield a, read("g @ b.T", g=g, b=b)
        yield b, read("a.T @ g", g=g, a=a)
    elif b.ndims == {2} and min(a.ndims) > 2 and node.op == "matmul":
        yield a, read("g @ b.T", g=g, b=b)
        yield b, read("a.reshape(-1, a.shape[-1]).T @ g.reshape(-1, g.shape[-1])", g=g, a=a)
    elif b.ndims == {1} and min(a.ndims) > 1:
        yield a, read("g[..., None] * b", g=g, b=b)
        yield b, read("g.reshape(g.size) @ a.reshape(g.size, a.shape[-1])", g=g, a=a)
    elif min(*a.ndims, *b.ndims) > 1 and node.op == "matmul":
        yield a, read("g @ np.swapaxes(b, -1, -2)", g=g, b=b)
        yield b, read("np.swapaxes(a, -1, -2) @ g", g=g, a=a)
    else:
        raise KernelError(f"{node.op} has a derived gradient for vectors beside matrices, and for stacks of matrices")


@rule("outer", "a", "b")
def _outer(read: Read, node: Node, g: Node) -> Terms:
    a, b = node.arguments["a"], node.arguments["b"]
    if a.ndims != {1} or b.ndims != {1}:
        raise KernelError("np.outer has a derived gradient for arrays with one axis")
    yield a, read("g @ b", g=g, b=b)
    yield b, read("a @ g", g=g, a=a)


@rule("inv", "a")
def _inv(read: Read, node: Node, g: Node) -> Terms:
    turned = read("np.swapaxes(y, -1, -2)", y=node)
    yield node.arguments["a"], read("-(turned @ g @ turned)", g=g, turned=turned)


@rule("det", "a")
def _det(read: Read, node: Node, g: Node) -> Terms:
    """Multiply by the inverse, so that a singular matrix is an error."""
    a, each = node.arguments["a"], read("g * y", g=g, y=node)
    if min(a.ndims) > 2:
        each = read("each[..., None, None]", each=each)
    yield a, read("each * np.swapaxes(np.linalg.inv(a), -1, -2)", each=each, a=a)


@rule("solve", "a", "b")
def _solve(read: Read, node: Node, g: Node) -> Terms:
    a, b = node.arguments["a"], node.arguments["b"]
    is_vector = a.ndims == {2} and b.ndims == {1}
    if not is_vector and any(n[:-2] != m[:-2] or len(m) < 2 for n, m in zip(a.shapes, b.shapes)):
        raise KernelError("np.linalg.solve has a derived gradient for a vector, or for as many matrices on both sides")
    turned = "{}.T" if a.ndims == {2} else "np.swapaxes({}, -1, -2)"
    back = read(f"np.linalg.solve({turned.format('a')}, g)", a=a, g=g)
    yield b, back
    if is_vector:
        yield a, read("-(back[:, None] * y)", back=back, y=node)
    else:
        yield a, read(f"-(back @ {turned.format('y')})", back=back, y=node)


@rule("slogdet", "a")
def _slogdet(read: Read, node: Node, g: Node) -> Terms:
    a, each = node.arguments["a"], g
    if min(a.ndims) > 2:
        each = read("g[..., None, None]", g=g)
    yield a, read("each * np.swapaxes(np.linalg.inv(a), -1, -2)", each=each, a=a)


@rule("trace diagonal", "a")
def _diagonal(read: Read, node: Node, g: Node) -> Terms:
    raise KernelError(f"np.{node.op} has a derived gradient for one matrix")


@rule("cholesky", "a")
def _cholesky(read: Read, node: Node, g: Node) -> Terms:
    """Return the gradient of a matrix that is symmetric, which is symmetric, too."""
    inverse = read("np.linalg.inv(y)", y=node)
    half = read("np.tril(np.swapaxes(y, -1, -2) @ g) * (1 - 0.5 * np.eye(y.shape[-1]))", y=node, g=g)
    term = read("np.swapaxes(inverse, -1, -2) @ half @ inverse", inverse=inverse, half=half)
    for name, each in (("inverse", inverse), ("half", half)):
        each.name = each.name or name
    yield node.arguments["a"], read("(term + np.swapaxes(term, -1, -2)) / 2", term=term)


@rule("eigvalsh", "a")
def _eigvalsh(read: Read, node: Node, g: Node) -> Terms:
    a = node.arguments["a"]
    vectors = read("np.linalg.eigh(a)[1]", a=a)
    vectors.name = vectors.name or "vectors"
    yield a, read("v * g[..., None, :] @ np.swapaxes(v, -1, -2)", v=vectors, g=g)


@rule("cross", "a", "b")
def _cross(read: Read, node: Node, g: Node) -> Terms:
    a, b = node.arguments["a"], node.arguments["b"]
    if any(shape[-1] != 3 for each in (a, b) for shape in each.shapes):
        raise KernelError("np.cross has a derived gradient for vectors of three numbers")
    yield a, read("np.cross(b, g)", b=b, g=g)
    yield b, read("np.cross(g, a)", g=g, a=a)
