"""NumPy in terms of `jax.numpy`: arrays that change, as NumPy's do, and its functions."""

from __future__ import annotations

import functools
import operator
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

# What returns a view of its first array in NumPy, or the array itself.
_VIEWS = {
    *("T", "array_split", "asanyarray", "asarray", "ascontiguousarray", "atleast_1d", "atleast_2d", "atleast_3d"),
    *("broadcast_to", "diag", "diagonal", "dsplit", "einsum", "expand_dims", "flip", "fliplr", "flipud", "hsplit"),
    *("imag", "mT", "matrix_transpose", "moveaxis", "permute_dims", "ravel", "real", "reshape", "rollaxis", "rot90"),
    *("split", "squeeze", "swapaxes", "transpose", "unstack", "view", "vsplit"),
}


class _Memory:
    """What an array and its views share: the value, and the arrays themselves."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.arrays: list[weakref.ref[Array]] = []


class Array:
    """An array of a kernel: it holds the value that the last statement has computed.

    JAX's arrays never change, and a kernel's ``y += 1`` changes all names and views of an array. So a part is read from
    the whole and written to it, and another view is refused once the elements of its array change.

    Parameters
    ----------
    value : jax.Array
    source : Array, optional
        The array that this one is a view of.
    """

    # NumPy's arrays leave operators to this class.
    __array_ufunc__ = None

    def __init__(self, value: Any, source: Array | None = None) -> None:
        self._is_view = source is not None
        self._join(_Memory(value) if source is None else source.memory, value)

    def _join(self, memory: _Memory, value: Any) -> None:
        self._own, self._value, self._seen = memory, value, memory.value
        memory.arrays.append(weakref.ref(self))

    @property
    def memory(self) -> _Memory:
        """What this shares with its views."""
        return self._own

    @property
    def value(self) -> Any:
        """The array of JAX's."""
        if self._seen is not self._own.value:
            raise TypeError("it reads a view of an array that has changed since")
        return self._value

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.value, name)
        return _translated(found, name, self) if callable(found) else _wrapped(found, self if name in _VIEWS else None)

    def __getitem__(self, key: Any) -> Any:
        key = plain(key)
        parts = key if isinstance(key, tuple) else (key,)
        if not all(part is None or part is ... or isinstance(part, (int, np.integer, slice)) for part in parts):
            # NumPy refuses an index out of bounds. By default, JAX takes the last element instead.
            return Array(self.value.at[key].get(mode="fill"))
        part = self.value[key]
        return Number(part) if part.ndim == 0 and ... not in parts else _Part(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        changed = self._changed(key, value)
        if self._is_view:
            others = (each() for each in self._own.arrays)
            if any(other is not None and other is not self for other in others):
                raise TypeError("it writes into a view of an array")
            self._is_view = False
            self._join(_Memory(changed), changed)
        self._value = self._seen = self._own.value = changed

    def _changed(self, key: Any, value: Any) -> Any:
        old, key = self.value, plain(key)
        new = jnp.asarray(plain(value)).astype(old.dtype)
        if new.ndim == 0 and getattr(key, "dtype", None) == np.dtype(bool):
            # JAX has no indices whose number depends on elements.
            return jnp.where(jnp.expand_dims(key, range(key.ndim, old.ndim)), new, old)
        return old.at[key].set(new)

    def set(self, value: Any) -> Array:
        """Become this value."""
        self[...] = value
        return self

    def sort(self, *args: Any, **keywords: Any) -> None:
        """Sort the elements in place."""
        self.set(self.value.sort(*args, **keywords))

    def __jax_array__(self) -> Any:
        return self.value

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self.value)))


class Number(Array):
    """A number of NumPy's, which never changes: ``n += 1`` names another one."""

    def set(self, value: Any) -> Array:
        """Return this value."""
        return Number(value)


class _Part(Array):
    """A part of an array, by an index that makes a view."""

    def __init__(self, whole: Array, key: Any) -> None:
        self._whole, self._key = whole, key

    @property
    def memory(self) -> _Memory:
        """What this shares with the whole."""
        return self._whole.memory

    @property
    def value(self) -> Any:
        """The array of JAX's."""
        return self._whole.value[self._key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._whole[self._key] = self._changed(key, value)


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and_", "or_", "xor")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_UNARY = {"neg": operator.neg, "pos": operator.pos, "abs": operator.abs, "invert": operator.invert}
_CONVERSIONS = {"bool": bool, "int": int, "float": float, "complex": complex, "index": operator.index, "len": len}


def _make_operators() -> None:
    for name in (*_BINARY, *_COMPARISONS):
        function, short = getattr(operator, name), name.rstrip("_")
        setattr(Array, f"__{short}__", lambda self, other, f=function: _wrapped(f(self.value, plain(other))))
        if name in _BINARY:
            setattr(Array, f"__r{short}__", lambda self, other, f=function: _wrapped(f(plain(other), self.value)))
            setattr(Array, f"__i{short}__", lambda self, other, f=function: self.set(f(self.value, plain(other))))
    for name, function in _UNARY.items():
        setattr(Array, f"__{name}__", lambda self, f=function: _wrapped(f(self.value)))
    for name, conversion in _CONVERSIONS.items():
        setattr(Array, f"__{name}__", lambda self, f=conversion: f(self.value))


_make_operators()


class Functions:
    """What a kernel finds under the name ``np``: `jax.numpy`, and what computes nothing from NumPy."""

    errstate = np.errstate

    def __init__(self, module: types.ModuleType = jnp) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if isinstance(value, types.ModuleType):
            return Functions(value)
        return value if isinstance(value, type) or not callable(value) else _translated(value, name)


def plain(value: Any) -> Any:
    """Return arrays of JAX's in place of ours, also in lists and tuples."""
    return jax.tree.map(lambda each: each.value if isinstance(each, Array) else each, value)


def _wrapped(value: Any, source: Array | None = None) -> Any:
    """Return ours in place of JAX's arrays, which share the memory of `source` if that is given."""

    def wrapped(each: Any) -> Any:
        if not isinstance(each, jax.Array):
            return each
        return Number(each) if each.ndim == 0 and source is None else Array(each, source)

    return jax.tree.map(wrapped, value)


def _translated(function: Callable[..., Any], name: str, owner: Array | None = None) -> Callable[..., Any]:
    """Return a function of `jax.numpy`, or a method of an array, for our arrays."""

    @functools.wraps(function)
    def called(*args: Any, out: Any = None, **keywords: Any) -> Any:
        result = function(*plain(args), **plain(keywords))
        if out is not None:
            (out,) = out if isinstance(out, tuple) else (out,)
            out[...] = result
            return out
        arrays = [each for each in (owner, *args) if isinstance(each, Array)]
        return _wrapped(result, arrays[0] if name in _VIEWS and len(arrays) == 1 else None)

    return called
