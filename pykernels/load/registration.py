"""Register operators written as classes for MXNet: ``pykernels.register``."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import TypeVar

from pykernels.base.errors import LoadError
from pykernels.base.refusals import WrongType

Class = TypeVar("Class", bound=type)


def register(reg_name: str) -> Callable[[Class], Class]:
    """Register an ``mx.operator.CustomOpProp`` class as a custom operator, like ``mx.operator.register``.

    MXNet uses the class as usual, on its threads for custom operators and with NDArrays. In addition, errors reach the
    caller as ``mx.MXNetError`` with their text and place, and pending calls do not block a fork.

    Parameters
    ----------
    reg_name : str
        The ``op_type`` for calls. It replaces a class or op folder with the same name; op folders that are loaded later
        do not replace it.

    Returns
    -------
    callable
        A decorator, which returns the class unchanged.

    Raises
    ------
    LoadError
        mxnet is not imported, or MXNet refuses the name.
    CallError
        The name is not a string or is empty.
    DefinitionError
        The decorated object is not such a class.
    BuildError, CacheError
        The registrar for MXNet is not built yet, and cannot be.

    Examples
    --------
    >>> @pykernels.register("sigmoid")
    ... class SigmoidProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Sigmoid()
    """
    if not isinstance(reg_name, str) or not reg_name:
        raise WrongType(
            f"pykernels.register takes the name of an operator, as in @pykernels.register('sigmoid'), not {reg_name!r}"
        )
    caller = sys._getframe(1)
    where = f"{caller.f_code.co_filename}:{caller.f_lineno}"

    def enter(cls: Class) -> Class:
        if "mxnet" not in sys.modules:
            raise LoadError(f"cannot register {reg_name!r}: mxnet is not imported, and the class belongs to it")
        importlib.import_module("pykernels.frameworks.mxnet.classes").register(reg_name, cls, where)
        return cls

    return enter
