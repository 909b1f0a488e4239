"""``pykernels.register``: operators written as classes for MXNet."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import TypeVar

from pykernels.base.errors import LoadError
from pykernels.base.refusals import WrongType

__all__ = ["register"]

Class = TypeVar("Class", bound=type)


def register(reg_name: str) -> Callable[[Class], Class]:
    """Register an ``mx.operator.CustomOpProp`` class as a custom operator; in place of ``mx.operator.register``.

    The class is used as MXNet itself uses it, on MXNet's threads for custom operators and with NDArrays. Its errors
    reach the caller as ``mx.MXNetError`` with their text and place, and pending calls do not block a fork.

    Parameters
    ----------
    reg_name : str
        The ``op_type`` under which it is called. A class or op folder that has it already is replaced; op folders that
        are loaded later leave it alone.

    Returns
    -------
    callable
        A decorator, which returns the class as it is.

    Raises
    ------
    LoadError
        mxnet is not imported, or MXNet refuses the name.
    CallError
        The name is none.
    DefinitionError
        What is decorated is no such class.
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
