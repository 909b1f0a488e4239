"""``oneflow.typing``: what the parameters and results of jobs are annotated with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import oneflow as flow

from pykernels.base.errors import CallError
from pykernels.vendors.oneflow_legacy.missing import missing

__all__ = ["Bundle", "Callback", "ListNumpy", "Numpy"]

T = TypeVar("T")


@dataclass(frozen=True)
class Placeholder:
    """What a parameter of a job takes.

    Attributes
    ----------
    shape : tuple of int
    dtype : np.dtype
    listed : bool
        It takes a list of one array, of at most this shape, rather than an array of this shape.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    listed: bool

    def convert(self, value: Any, name: str) -> np.ndarray:
        """A copy of the array that is given for the argument `name`, in the dtype of the placeholder.

        Raises
        ------
        CallError
            It is no array, of another shape, of another kind of dtype, or has values that this dtype cannot hold.
        """
        if self.listed:
            value = self._sole(value, name)
        if not isinstance(value, np.ndarray):
            raise CallError(
                f"argument '{name}' must be a NumPy array, not a {type(value).__name__}: numpy.asarray(...)"
            )
        self._check_shape(value.shape, name)
        # For integers it is their values that count, see below.
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
                f"argument '{name}' has shape {shape}, but its placeholder takes any up to {self.shape}, not empty"
            )


class Numpy:
    """An array: annotates a result; `Placeholder` annotates a parameter."""

    @staticmethod
    def Placeholder(shape: Sequence[int], dtype: flow.dtype = flow.float32, batch_axis: int | None = 0) -> Placeholder:
        """A parameter that takes an array of this shape, whose dtype is converted to this one.

        `batch_axis` is ignored.

        Raises
        ------
        CallError
            The shape or the dtype is none that OneFlow's jobs take.
        """
        return make_placeholder(shape, dtype, listed=False)


class ListNumpy:
    """A list with one array for each device, of which there is one."""

    @staticmethod
    def Placeholder(shape: Sequence[int], dtype: flow.dtype = flow.float32, batch_axis: int | None = 0) -> Placeholder:
        """A parameter that takes a list of one array, no axis of which is longer than in this shape.

        `batch_axis` is ignored.

        Raises
        ------
        CallError
            The shape or the dtype is none that OneFlow's jobs take.
        """
        return make_placeholder(shape, dtype, listed=True)


class Callback(Generic[T]):
    """Annotates a result: a call of the job returns a function, which takes a function to be called with a `T`."""


class Bundle(Generic[T]):
    """Annotates a result of any structure of tuples, lists and dicts, whose tensors become `T`."""


def make_placeholder(shape: Sequence[int], dtype: flow.dtype, *, listed: bool) -> Placeholder:
    # OneFlow ends the process at a graph whose inputs are empty.
    if not (isinstance(shape, (tuple, list)) and all(isinstance(n, (int, np.integer)) and n > 0 for n in shape)):
        raise CallError(f"a placeholder's shape must be a tuple of integers from 1 on, not {shape!r}")
    if not isinstance(dtype, flow.dtype):
        raise CallError(f"a placeholder's dtype must be one of OneFlow's, such as flow.float32, not {dtype!r}")
    try:
        converted = np.dtype(flow.convert_oneflow_dtype_to_numpy_dtype(dtype))
    except (NotImplementedError, KeyError, TypeError):
        raise CallError(f"a placeholder's dtype must be one that NumPy has, which {dtype} is not") from None
    return Placeholder(tuple(map(int, shape)), converted, listed)


__getattr__ = missing("oneflow.typing", __all__)
