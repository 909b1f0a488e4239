"""Define ``oneflow.typing``: the annotations for the parameters and results of jobs."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
import oneflow as flow

from pykernels.base.errors import CallError
from pykernels.vendors.providing import missing

__all__ = ["Bundle", "Callback", "ListNumpy", "Numpy"]

T = TypeVar("T")


@dataclass(frozen=True)
class Placeholder:
    """The annotation of a job's parameter: the arrays that it accepts."""

    shape: tuple[int, ...]
    dtype: np.dtype
    #: Whether the parameter takes a list of one array of at most this shape, instead of an array of this shape.
    listed: bool

    def __call__(self) -> NoReturn:
        """Raise CallError. The module `typing` takes nothing into a tuple that cannot be called."""
        raise CallError("a placeholder is an annotation, as in x: tp.Numpy.Placeholder((5,)), and is not called")

    def convert(self, value: Any, name: str) -> np.ndarray:
        """Return a copy of the array passed as the argument `name`, converted to the dtype of the placeholder.

        Raise CallError if the value is not an array, has another shape or another kind of dtype, or has elements that
        the dtype of the placeholder cannot represent.
        """
        if self.listed:
            value = self._sole(value, name)
        if not isinstance(value, np.ndarray):
            raise CallError(
                f"argument '{name}' must be a NumPy array, not a {type(value).__name__}: numpy.asarray(...)"
            )
        self._check_shape(value.shape, name)
        # Integers are converted if their values fit, see below.
        if not np.can_cast(value.dtype, self.dtype, "same_kind") and not {value.dtype.kind, self.dtype.kind} <= {*"iu"}:
            raise CallError(
                f"argument '{name}' has dtype {value.dtype}, which is not converted to the placeholder's {self.dtype}; "
                f"use .astype(numpy.{self.dtype.name}) if that is what you want"
            )
        converted = value.astype(self.dtype, order="C")
        whole = self.dtype.kind in "iu"
        if np.any(converted != value if whole else np.isfinite(value) & ~np.isfinite(converted)):
            raise CallError(
                f"argument '{name}' ({value.dtype}) has values that the placeholder's {self.dtype} cannot hold"
            )
        return converted

    def _sole(self, value: Any, name: str) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) != 1:
            given = f"one of {len(value)}" if isinstance(value, (list, tuple)) else f"a {type(value).__name__}"
            raise CallError(f"argument '{name}' must be a list of one array, for the one device, not {given}")
        return value[0]

    def _check_shape(self, shape: tuple[int, ...], name: str) -> None:
        if not self.listed and shape != self.shape:
            raise CallError(f"argument '{name}' has shape {shape}, but its placeholder has {self.shape}")
        if self.listed and not (
            len(shape) == len(self.shape) and all(0 < size <= most for size, most in zip(shape, self.shape))
        ):
            raise CallError(
                f"argument '{name}' has shape {shape}, but its placeholder takes non-empty ones up to {self.shape}"
            )


def placeholders(annotation: Any) -> Iterator[Placeholder]:
    """Yield the placeholders of a parameter's annotation, which is one or a tuple; raise CallError for others."""
    if isinstance(annotation, Placeholder):
        yield annotation
    elif typing.get_origin(annotation) is tuple:
        for item in typing.get_args(annotation):
            yield from placeholders(item)
    else:
        raise CallError(f"{annotation!r} is no placeholder")


def convert(annotation: Any, value: Any, name: str) -> Iterator[np.ndarray]:
    """Yield the arrays of an argument, as its placeholders convert them; raises what they raise."""
    if isinstance(annotation, Placeholder):
        yield annotation.convert(value, name)
        return
    items = typing.get_args(annotation)
    if not isinstance(value, (tuple, list)) or len(value) != len(items):
        given = f"one of {len(value)}" if isinstance(value, (tuple, list)) else f"a {type(value).__name__}"
        raise CallError(f"argument '{name}' must be a tuple of {len(items)} arrays, not {given}")
    for at, (item, each) in enumerate(zip(items, value)):
        yield from convert(item, each, f"{name}[{at}]")


def arranged(annotation: Any, values: Iterator[T]) -> Any:
    """Return the next of the values, or a tuple of several, as an annotation has placeholders."""
    if isinstance(annotation, Placeholder):
        return next(values)
    return tuple([arranged(item, values) for item in typing.get_args(annotation)])


class Numpy:
    """The annotation of a result that is an array; `Placeholder` returns the annotation of a parameter."""

    @classmethod
    def Placeholder(
        cls, shape: Sequence[int], dtype: flow.dtype = flow.float32, batch_axis: int | None = 0
    ) -> Placeholder:
        """Return the annotation of a parameter that takes an array of this shape and converts it to this dtype.

        That of `ListNumpy` takes a list of one array of at most this shape along each axis. `batch_axis` is ignored.

        Raises
        ------
        CallError
            OneFlow's jobs do not support the shape or the dtype.
        """
        # OneFlow terminates the process for a graph with empty inputs.
        if not (isinstance(shape, (tuple, list)) and all(isinstance(n, (int, np.integer)) and n > 0 for n in shape)):
            raise CallError(f"a placeholder's shape must be a tuple of integers from 1 on, not {shape!r}")
        if not isinstance(dtype, flow.dtype):
            raise CallError(f"a placeholder's dtype must be one of OneFlow's, such as flow.float32, not {dtype!r}")
        try:
            converted = np.dtype(flow.convert_oneflow_dtype_to_numpy_dtype(dtype))
        except (NotImplementedError, KeyError, TypeError):
            raise CallError(f"a placeholder's dtype must be one that NumPy has, which {dtype} is not") from None
        return Placeholder(tuple(map(int, shape)), converted, cls is ListNumpy)


class ListNumpy(Numpy):
    """The annotation of a result that is a list with one array for each device, of which there is one."""


class Callback(Generic[T]):
    """The annotation of a result: the job returns a function that takes a callback and calls it with a `T`."""


class Bundle(Generic[T]):
    """The annotation of a result that is any structure of tuples, lists and dicts, whose tensors become `T`."""


__getattr__ = missing("oneflow.typing", __all__, __name__)
