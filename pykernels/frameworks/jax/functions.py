"""The functions of `pykernels.jax`: one for each op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from pykernels.base.errors import LoadError
from pykernels.base.refusals import MissingName, WrongType
from pykernels.define.definition import OpDef
from pykernels.frameworks.jax import primitive, table
from pykernels.frameworks.jax.use import use_of


def function(name: str) -> Callable[..., Any]:
    """Return the function of a loaded op, or of one of its op types, such as ``mish_backward``.

    It takes the inputs in the order of the definition, several as a list and None for one that is left out, and the
    attributes as keywords. It returns the outputs, then the new values of the inputs that the op changes; a tuple if
    these are several.

    Raises
    ------
    MissingName
        There is none.
    """
    try:
        module = table.module_of(name)
        op_type = f"{name}_forward" if name == module.name else name
        op = module.definition.ops[op_type]
    except (LoadError, KeyError):
        raise MissingName(
            f"pykernels.jax has no op {name!r}; the loaded ops are: {', '.join(table.names()) or 'none'}. Call "
            f"pykernels.load_ops()"
        ) from None

    def run(*inputs: Any, is_train: bool | None = None, **attributes: Any) -> Any:
        op = table.find(op_type).op
        groups = _groups(op, inputs)
        counts = [0 if each.optional else each.count for each in op.outputs]
        use = use_of(op, groups, op.parse_attributes(attributes), counts, is_train=is_train)
        results = primitive.call(use, [array for group in groups for array in group])
        return results[0] if len(results) == 1 else tuple(results)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"{op.schema()}\n\nDefined in {op.file}:{op.line}."
    return run


def _groups(op: OpDef, inputs: Sequence[Any]) -> list[list[Any]]:
    if len(inputs) > len(op.inputs):
        raise WrongType(f"op '{op.name}' takes {len(op.inputs)} inputs, not {len(inputs)}: {op.schema()}")
    left_out = [None] * (len(op.inputs) - len(inputs))
    groups = []
    for given in (*inputs, *left_out):
        several = given if isinstance(given, (list, tuple)) else [] if given is None else [given]
        groups.append([jnp.asarray(each) for each in several])
    return groups
