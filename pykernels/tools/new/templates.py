"""The functions that new ops compute until their authors change them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pykernels.base.abi import AttrType
from pykernels.define.declared import Attribute


@dataclass(frozen=True)
class Kind:
    """A kind of op, with the default names of its inputs and outputs, and the axes of its inputs."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    axes: tuple[str, ...]


#: The kinds of ops.
KINDS = {
    "elementwise": Kind(("x",), ("y",), ("...",)),
    "reduction": Kind(("x",), ("y",), ("..., length",)),
    "loss": Kind(("prediction", "target"), ("loss",), ("..., length",)),
    "matmul": Kind(("x", "weight"), ("y",), ("rows, inputs", "outputs, inputs")),
}
_FILE = """\
import numpy as np

# One function for each op type of the definition. `args` are NumPy arrays, in the order of the definition's
# inputs; return the output, or a tuple of outputs. Attributes come by name.
def {name}({parameters}):
{lines}
"""


def template_text(
    name: str, kind: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Sequence[Attribute]
) -> str:
    """Return the text of a file with a function for an op of a kind."""
    axes = KINDS[kind].axes
    typed = [f'{each}: "[{axes[min(at, len(axes) - 1)]}]"' for at, each in enumerate(inputs)]
    named = ["*", *(each.name for each in attributes)] if attributes else []
    factors = [each.name for each in attributes if each.type not in (AttrType.BOOL, AttrType.STRING)]
    formula = " * ".join([*factors, _value(kind, inputs, is_factor=bool(factors))])
    lines = [f"return {formula}"]
    if len(outputs) > 1:
        results = ["total", *(f"{number} * total" for number in range(2, len(outputs) + 1))]
        lines = [f"total = {formula}", f"return {', '.join(results)}"]
    return _FILE.format(
        name=name, parameters=", ".join([*typed, *named]), lines="\n".join(f"    {line}" for line in lines)
    )


def _value(kind: str, inputs: Sequence[str], *, is_factor: bool) -> str:
    if kind == "matmul":
        x, weight = inputs
        return f"np.dot({x}, {weight}.T)"
    if kind == "loss":
        prediction, target = inputs
        return f"(({prediction} - {target}) ** 2).sum(axis=-1)"
    squares = " + ".join(f"{name} * {name}" for name in inputs)
    if kind == "reduction":
        return f"({squares}).sum(axis=-1)"
    return f"({squares})" if len(inputs) > 1 and is_factor else squares
