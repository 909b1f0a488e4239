"""Report errors of users' operator classes to the caller of the operator."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pykernels.base.errors import KernelError
from pykernels.kernel.read.ownership import is_foreign


@dataclass(frozen=True)
class RegisteredClass:
    """A class with the name and the place (``file:line``) of its registration."""

    op: str
    cls: type
    where: str
    #: Whether it receives ``mx.np`` arrays and runs as under ``mx.npx.set_np``, instead of receiving NDArrays.
    is_np: bool

    def run(self, owner: object, method: str, *arguments: Any, **keywords: Any) -> Any:
        """Call a method of the class or of an object that it has created.

        Raises
        ------
        KernelError
            The method raises an exception.
        """
        name = f"{type(owner).__name__}.{method}"
        try:
            return getattr(owner, method)(*arguments, **keywords)
        except BaseException as error:
            # No exception may pass through MXNet's C frames, not even SystemExit.
            raise self.raised(name, error) from None

    def raised(self, what: str, error: BaseException) -> KernelError:
        """Return the error for an exception that `what` has raised."""
        message = f": {error}" if str(error) else ""
        return KernelError(f"op {self.op!r}: {self._place(error)}: {what} raised {type(error).__name__}{message}")

    def wrong(self, method: Callable[..., Any], text: str) -> KernelError:
        """Return the error for a method that returns something invalid."""
        return KernelError(f"op {self.op!r}: {self.place_of(method)}: {method.__qualname__} {text}")

    def place_of(self, method: Callable[..., Any]) -> str:
        """Return the place of a method, or that of the class's registration if the method is inherited from MXNet."""
        code = getattr(method, "__code__", None)
        if code is None or is_foreign(code.co_filename):
            return self.where
        return f"{code.co_filename}:{code.co_firstlineno}"

    def _place(self, error: BaseException) -> str:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if not is_foreign(frame.filename)]
        return f"{own[-1].filename}:{own[-1].lineno}" if own else self.where
