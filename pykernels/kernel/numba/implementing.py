"""Compile a NumPy function by a function of ours, chosen for the types of its arguments.

::

    @implements(np.flipud)
    def flipud(m):
        if not is_array(m):
            return None
        return lambda m: m[::-1]

The decorated function has NumPy's parameters. It gets values that are known while compiling, such as ``axis=-1``,
``dtype=np.float32``, ``None`` or ``(0, 1)``, as themselves, and everything else as numba's type. It returns the
implementation, a function of those parameters that it needs at run time; or None, if another implementation, numba's
or Python's, is to compute the call.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
from numba import types as nb
from numba.core import errors
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_getattr_generic, overload, overload_method
from numba.np.numpy_support import as_dtype

from pykernels.kernel.numba.hooks import Unspecialized
from pykernels.kernel.numba.target import compile_function, kernel_target

#: Compiles functions whose indices are right by construction.
compiled = compile_function(error_model="numpy", boundscheck=False)

#: The functions and methods with implementations of ours, and the parameters that these have.
implemented: dict[Any, Collection[str]] = {}


class Unimplemented(Exception):
    """A call is ours alone to compile, and we do not."""


_Typing = Callable[..., "Callable[..., Any] | None"]
# Whether attributes of the op are passed at run time, and could be compiled in.
_may_specialize = contextvars.ContextVar("_may_specialize", default=False)


def implements(
    *functions: Callable[..., Any], method: str = "", is_alone: bool = False
) -> Callable[[_Typing], _Typing]:
    """Let kernels compile NumPy functions, and a method of arrays, by what the decorated function returns.

    Parameters
    ----------
    is_alone : bool
        Whether numba's own implementation must not compute the calls that this one refuses.
    """

    def register(typing: _Typing) -> _Typing:
        signature = inspect.signature(typing)

        def typed(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError:
                return None
            bound.apply_defaults()
            for name, value in bound.arguments.items():
                is_several = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
                bound.arguments[name] = tuple(map(known, _separate(value))) if is_several else known(value)
            try:
                implementation = typing(*bound.args, **bound.kwargs)
            except errors.TypingError as error:
                if is_alone:
                    raise Unimplemented(str(error)) from error
                raise
            if is_alone and not implementation:
                raise Unimplemented("it is not compiled for these arguments")
            return _with_parameters(implementation, signature) if implementation else None

        typed.__name__ = functions[0].__name__ if functions else method  # numba's errors name it
        typed.__signature__ = signature  # type: ignore[attr-defined]
        options = {"target": kernel_target.name, "strict": False, "prefer_literal": True}
        for function in functions:
            overload(function, **options)(typed)
        implemented.update(dict.fromkeys(functions, signature.parameters))
        if method:
            implemented[getattr(np.ndarray, method, None)] = signature.parameters
            overload_method(nb.Array, method, **options)(typed)
        return typing

    return register


#: Decorated functions of methods of universal functions, by the method's name.
_ufunc_methods: dict[str, _Typing] = {}


def implements_of_ufuncs(method: str) -> Callable[[_Typing], _Typing]:
    """Let kernels compile a method of universal functions; the decorated function gets the function first."""

    def register(typing: _Typing) -> _Typing:
        _ufunc_methods[method] = typing
        return typing

    return register


@functools.cache
def _method_of(ufunc: np.ufunc, method: str) -> Callable[..., Any]:
    """Return a function that stands for the method of one universal function in what numba compiles."""

    def function() -> None:
        pass

    function.__name__ = f"{ufunc.__name__}.{method}"
    implements(function)(functools.partial(_ufunc_methods[method], ufunc))
    return function


@infer_getattr
class _UfuncMethods(AttributeTemplate):  # type: ignore[misc]
    key = nb.Function

    def generic_resolve(self, function: nb.Function, name: str) -> Any:
        if name not in _ufunc_methods or not isinstance(function.typing_key, np.ufunc):
            return None
        method = _method_of(function.typing_key, name)
        self.context.refresh()
        return self.context.resolve_value_type(method)


@lower_getattr_generic(nb.Function)
def _emit_method(context: Any, builder: Any, type_: Any, value: Any, name: str) -> Any:
    return context.get_dummy_value()


def _with_parameters(implementation: Callable[..., Any], signature: inspect.Signature) -> Callable[..., Any]:
    """Return the implementation with all parameters of a signature, most of which it ignores."""
    parameters = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    defaults = {f"default_{each.name}": each.default for each in parameters if each.default is not each.empty}
    declared = ", ".join(
        f"{'*' * (each.kind is each.VAR_POSITIONAL)}{each.name}"
        + ("" if each.default is each.empty else f"=default_{each.name}")
        for each in parameters
    )
    passed = ", ".join(inspect.signature(implementation).parameters)
    namespace: dict[str, Any] = {"implementation": compiled(implementation), **defaults}
    exec(f"def call({declared}):\n    return implementation({passed})", namespace)
    call: Callable[..., Any] = namespace["call"]
    return call


def _separate(arguments: Sequence[Any]) -> Iterator[Any]:
    """Yield arguments, also those that numba has put into one tuple before it looks up a method's function."""
    for argument in arguments:
        yield from argument if isinstance(argument, (nb.StarArgTuple, nb.StarArgUniTuple)) else (argument,)


def known(value: Any) -> Any:
    """Return the value of an argument, if numba knows it while compiling, and its type otherwise."""
    if isinstance(value, nb.Omitted):
        return value.value
    if isinstance(value, (nb.NoneType, type(None))):
        return None
    if isinstance(value, nb.Literal):
        return value.literal_value
    if isinstance(value, (nb.NumberClass, nb.DType)):
        return as_dtype(value.dtype)
    if isinstance(value, nb.Function) and value.typing_key in (bool, int, float, complex):
        return np.dtype(value.typing_key)
    if isinstance(value, nb.BaseTuple):
        members = tuple(map(known, value))
        return value if any(isinstance(member, nb.Type) for member in members) else members
    return value


def require_known(value: Any, what: str) -> None:
    """Raise unless a value is known while compiling.

    Raises
    ------
    Unspecialized
        The kernel may be compiled again with the values of its attributes, and one of them may be the value.
    TypingError
        The value is known at run time only. numba's error, with the reason.
    """
    if isinstance(value, nb.Type):
        if may_specialize():
            raise Unspecialized
        raise errors.TypingError(f"{what} depends on values that are known at run time only")


def may_specialize() -> bool:
    """Whether attributes of the op are passed at run time, and could be compiled in."""
    return _may_specialize.get()


@contextlib.contextmanager
def specializable(may_specialize: bool) -> Iterator[None]:
    """Have `require_known` raise `Unspecialized` for a kernel that may be specialized."""
    token = _may_specialize.set(may_specialize)
    try:
        yield
    finally:
        _may_specialize.reset(token)


def is_array(type_: Any) -> bool:
    """Whether a type is that of an array of real numbers or booleans."""
    return isinstance(type_, nb.Array) and isinstance(type_.dtype, (nb.Boolean, nb.Integer, nb.Float))


def is_integer(value: Any) -> bool:
    """Whether a value is a known whole number, or the type of one."""
    return isinstance(value, (int, np.integer, nb.Integer)) and not isinstance(value, bool)
