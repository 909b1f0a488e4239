"""Report errors of users' classes to whoever called the operator."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pykernels.base.errors import KernelError
from pykernels.kernel.read.ownership import is_foreign

__all__ = ["RegisteredClass"]


@dataclass(frozen=True)
class RegisteredClass:
    """A class with the name and the place (``file:line``) of its registration.

    Attributes
    ----------
    is_np : bool
        Whether it is given arrays of ``mx.np``, and runs as under ``mx.npx.set_np``, rather than NDArrays.
    """

    op: str
    cls: type
    where: str
    is_np: bool

    def run(self, owner: object, method: str, *arguments: Any, **keywords: Any) -> Any:
        """Call a method of the class, or of what it has made.

        Raises
        ------
        KernelError
            The method has raised an exception.
        """
        name = f"{type(owner).__name__}.{method}"
        try:
            return getattr(owner, method)(*arguments, **keywords)
        except BaseException as error:
            # Nothing may leave through MXNet's C frames, not even SystemExit.
            raise self.raised(name, error) from None

    def raised(self, what: str, error: BaseException) -> KernelError:
        """The error for an exception that `what` has raised."""
        said = f": {error}" if str(error) else ""
        return KernelError(f"op {self.op!r}: {self._place(error)}: {what} raised {type(error).__name__}{said}")

    def wrong(self, method: Callable[..., Any], text: str) -> KernelError:
        """The error for what a method has returned."""
        return KernelError(f"op {self.op!r}: {self.place_of(method)}: {method.__qualname__} {text}")

    def place_of(self, method: Callable[..., Any]) -> str:
        """Where a method is written, or where the class is registered if it inherits it from MXNet."""
        code = getattr(method, "__code__", None)
        if code is None or is_foreign(code.co_filename):
            return self.where
        return f"{code.co_filename}:{code.co_firstlineno}"

    def _place(self, error: BaseException) -> str:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if not is_foreign(frame.filename)]
        return f"{own[-1].filename}:{own[-1].lineno}" if own else self.where
