"""Compile ranges whose stop lies far before their start as empty.

numba subtracts one from the other. At the limits of their dtype the difference overflows, and numba's loop counts up.
"""

from __future__ import annotations

from typing import Any

from numba import types as nb
from numba.core import cgutils
from numba.core.imputils import Registry

registry = Registry("pykernels ranges")


def _range(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    state = cgutils.create_struct_proxy(signature.return_type)(context, builder)
    start, stop, step = (*arguments, arguments[0].type(1))[:3]
    is_signed = signature.args[0].signed
    compare = builder.icmp_signed if is_signed else builder.icmp_unsigned
    is_down = builder.icmp_signed("<", step, step.type(0)) if is_signed else cgutils.false_bit
    is_empty = builder.select(is_down, compare(">=", stop, start), compare("<=", stop, start))
    state.start, state.stop, state.step = start, builder.select(is_empty, start, stop), step
    return state._getvalue()


for _type in (nb.int32, nb.int64, nb.uint64):
    registry.lower(range, _type, _type)(_range)
    registry.lower(range, _type, _type, _type)(_range)
