"""The ops of a Python definition: the forward op, and those that compute its derivatives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pykernels.base.errors import DefinitionError

#: The variables of a `CustomOpProp` that plan derivatives, each with an example; an op computes each of them.
DERIVATIVES = {
    "backward": "y, dy -> dx",
    "backward_backward": "y, dy, gdx -> gy, gdy",
    "tangent": "y, tx -> ty",
    "backward_tangent": "y, dy, ty, tdy -> tdx",
}


@dataclass(frozen=True)
class Tensor:
    """An input or output of an op of a Python definition."""

    name: str
    #: The input or output of the forward op whose shape and dtype it has.
    like: str
    #: For an op that computes a derivative of another one: what it is there, as in the blobs of a gradient plan (``I``
    #: and ``O`` for its inputs and outputs, ``D`` for their derivatives), and the argument's name there.
    kind: str = ""
    argument: str = ""


@dataclass(frozen=True)
class PropOp:
    """An op of a Python definition."""

    name: str
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]


def derivative(of: PropOp, name: str, planned: str) -> PropOp:
    """Return the op that computes a derivative of another one, as a variable such as ``"x, tx -> ty"`` plans it.

    This raises `DefinitionError` if the variable names what there is not.
    """
    if name.endswith("tangent"):
        prefix, seeds, results = "t", of.inputs, of.outputs
    else:
        prefix, seeds, results = "g", of.outputs, of.inputs
    known = {f"{prefix}{each.name}": Tensor(f"{prefix}{each.name}", each.like, "D", each.name) for each in seeds}
    for kind, tensors in (("O", of.outputs), ("I", of.inputs)):
        known |= {each.name: Tensor(each.name, each.like, kind, each.name) for each in tensors}
    computed = {f"{prefix}{each.name}": Tensor(f"{prefix}{each.name}", each.like, "D", each.name) for each in results}
    return PropOp(
        name,
        [known[each] for each in names_of(name, planned, 0, known)],
        [computed[each] for each in names_of(name, planned, 1, computed)],
    )


def names_of(variable: str, planned: str, side: int, known: Collection[str]) -> list[str]:
    """Return the names on one side of the arrow; raise `DefinitionError` if they are not all known."""
    what = "tangent" if variable.endswith("tangent") else "gradient"
    sides = planned.split("->") if isinstance(planned, str) else []
    if len(sides) != 2:
        raise DefinitionError(f'{variable} = {planned!r}: write "{DERIVATIVES[variable]}", or None for no {what}')
    names = [name.strip() for name in sides[side].split(",")]
    unknown = [name for name in names if name not in known]
    if unknown:
        verb = "gives no" if side else "cannot be computed from"
        raise DefinitionError(f"{variable} = {planned!r}: the {what} {verb} {unknown[0]!r}, only {', '.join(known)}")
    return names
