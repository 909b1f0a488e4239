"""Check the index of ``x.flat[i]``, which may be negative; numba itself does not check it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from numba import types as nb
from numba.core import cgutils
from numba.core.imputils import Registry
from numba.np import arrayobj

registry = Registry("pykernels flat")


def _checked(access: Callable[..., Any]) -> Callable[..., Any]:
    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        flat, index, *rest = signature.args
        place = context.cast(builder, arguments[1], index, nb.intp)
        size = arrayobj.iternext_numpy_getitem_flat(context, builder, nb.intp(flat), arguments[:1])
        place = builder.select(builder.icmp_signed("<", place, place.type(0)), builder.add(place, size), place)
        with cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", place, size)):
            context.call_conv.return_user_exc(builder, IndexError, ("index is out of bounds",))
        values = [arguments[0], place, *arguments[2:]]
        if rest:
            values[2] = context.cast(builder, values[2], *rest, flat.array_type.dtype)
        return access(context, builder, signature.return_type(flat, nb.intp, *rest), values)

    return emit


registry.lower(operator.getitem, nb.NumpyFlatType, nb.Integer)(_checked(arrayobj.iternext_numpy_getitem))
registry.lower(operator.setitem, nb.NumpyFlatType, nb.Integer, nb.Any)(_checked(arrayobj.iternext_numpy_getitem_any))
