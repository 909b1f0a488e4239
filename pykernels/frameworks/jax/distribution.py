"""How an op may be distributed over devices, as its definition's SBP signatures say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pykernels.define.instance import places
from pykernels.frameworks.jax.use import Use

#: For each input, or each result, the axis along which it is split; None for a copy of the whole.
Axes = tuple["int | None", ...]


def splits(use: Use, arrays: Sequence[Any]) -> list[tuple[Axes, Axes]]:
    """Return the ways to split the inputs so that the parts of the results are the results for the parts.

    There are none for an op that changes inputs: each part would change its own copy.
    """
    if use.states:
        return []
    op, found = use.op, []
    sides = places(op.inputs, use.input_counts), places(op.outputs, use.output_counts)
    for signature in op.list_sbp(use.specs(arrays), use.infer(arrays), use.values):
        kinds = {each.kind for each in signature.values()}
        is_complete = all(place in signature for side in sides for place in side)
        # A term of a sum ("P") is not a part of the result.
        if is_complete and "S" in kinds and kinds <= {"S", "B"}:
            inputs, outputs = [
                tuple(signature[place].axis if signature[place].kind == "S" else None for place in side)
                for side in sides
            ]
            found.append((inputs, outputs))
    return found
