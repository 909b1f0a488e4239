"""The derivatives of products and of functions of matrices."""

from __future__ import annotations

from pykernels.adjoint.nodes import Node, Read
from pykernels.adjoint.rules import RULES, Terms, rule
from pykernels.base.errors import KernelError

#: `RULES` with those of this module.
__all__ = ["RULES"]


@rule("einsum", "subscripts", "a", "b")
def _einsum(read: Read, node: Node, g: Node) -> Terms:
    subscripts = node.arguments["subscripts"].values[0]
    given, _, result = str(subscripts).replace(" ", "").partition("->")
    inputs = given.split(",")
    operands = [node.arguments[name] for name in "ab"[: len(inputs)]]
    for at, (own, operand) in enumerate(zip(inputs, operands)):
        others = [each for number, each in enumerate(inputs) if number != at]
        axes = own.replace("...", "")  # the axes that it stands for may be broadcast
        if "->" not in str(subscripts) or len(set(axes)) < len(axes) or not set(own) <= set(result + "".join(others)):
            raise KernelError(
                f"np.einsum({subscripts!r}) has no derived gradient: write '->', and no axis that "
                "occurs once or twice in one operand alone"
            )
        text = f"np.einsum('{','.join([result, *others])}->{own}', g{', other' if others else ''})"
        names = {"other": operands[1 - at]} if others else {}
        yield operand, read(text, g=g, **names)


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
