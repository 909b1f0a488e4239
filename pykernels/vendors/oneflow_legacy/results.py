"""What jobs return: tensors in tuples, lists and dicts, which become arrays as the job's annotation says."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import oneflow as flow

from pykernels.base.errors import CallError
from pykernels.vendors.oneflow_legacy.typing import Bundle, Callback, ListNumpy, Numpy

__all__ = ["Outputs", "arrange", "check", "convert", "deliver"]

_UNKNOWN = inspect.Signature.empty


class Array(np.ndarray):
    """An array that has the methods of a job's results of old, such as ``job(x).get().numpy()``."""

    def numpy(self) -> np.ndarray:
        """The plain array."""
        return self.view(np.ndarray)

    def numpy_list(self) -> list[np.ndarray]:
        """The plain array, as a list with one for each device."""
        return [self.numpy()]

    ndarray = numpy
    ndarray_list = numpy_list


@dataclass(frozen=True)
class _Place:
    """Where in a result which output goes, as what: `Numpy`, `ListNumpy` or, if that is not known, `Array`."""

    index: int
    kind: type


class Outputs:
    """What a job has been called for: ``get()`` waits for it.

    Parameters
    ----------
    arrangement : Any
        The result, with places in it for tensors.
    tensors : sequence of Tensor
    wait : callable
        Waits until the job is done.
    """

    def __init__(self, arrangement: Any, tensors: Sequence[flow.Tensor], wait: Callable[[], None]) -> None:
        self._arrangement = arrangement
        self._tensors = tensors
        self._wait = wait

    def get(self) -> Any:
        """The results.

        Raises
        ------
        KernelError
            A kernel has failed.
        """
        arrays = [tensor.numpy() for tensor in self._tensors]
        self._wait()
        return _fill(self._arrangement, arrays)

    def async_get(self, callback: Callable[[Any], Any]) -> None:
        """Call a function with the results, when they are there: at once, after having waited for them."""
        callback(self.get())


def deliver(annotation: Any, outputs: Outputs) -> Any:
    """What a call of a job gives: its results, or the means to get them if they have no annotation or `Callback`."""
    if annotation is _UNKNOWN:
        return outputs
    if typing.get_origin(annotation) is Callback:
        return outputs.async_get
    return outputs.get()


def check(annotation: Any) -> None:
    """Check the annotation of a job's result.

    Raises
    ------
    CallError
        It is none.
    """
    if annotation is _UNKNOWN or annotation is None:
        return
    if typing.get_origin(annotation) is Callback:
        (annotation,) = typing.get_args(annotation)
    _check_part(annotation)


def _check_part(annotation: Any) -> None:
    origin, items = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (tuple, list, dict, Bundle) and items and ... not in items:
        for item in items[1:] if origin is dict else items:
            _check_part(item)
    elif annotation not in (Numpy, ListNumpy):
        raise CallError(
            "its result has to be annotated with tp.Numpy, tp.ListNumpy, or a Tuple, List, Dict, tp.Bundle or "
            "tp.Callback of them, as in -> Tuple[tp.Numpy, tp.Numpy], or with nothing, for .get()"
        )


def arrange(annotation: Any, result: Any, tensors: list[flow.Tensor]) -> Any:
    """The result of a job with places for its tensors, which are added to `tensors`.

    Raises
    ------
    CallError
        It is not what the annotation says.
    """
    origin, items = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Callback:
        return arrange(items[0], result, tensors)
    if result is None and annotation in (None, _UNKNOWN):
        return None
    if annotation is _UNKNOWN or origin is Bundle:
        kind = items[0] if items else Array
        return _arrange_as_it_is(kind, result, tensors)
    if origin is tuple:
        if not isinstance(result, (tuple, list)) or len(result) != len(items):
            given = f"{len(result)} results" if isinstance(result, (tuple, list)) else _a(result)
            raise CallError(f"it returned {given} where a tuple of {len(items)} is annotated")
        return tuple([arrange(item, each, tensors) for item, each in zip(items, result)])
    if origin is list:
        if not isinstance(result, (tuple, list)):
            raise CallError(f"it returned {_a(result)} where a list is annotated")
        return [arrange(items[0], each, tensors) for each in result]
    if origin is dict:
        if not isinstance(result, dict):
            raise CallError(f"it returned {_a(result)} where a dict is annotated")
        return {name: arrange(items[1], each, tensors) for name, each in result.items()}
    if annotation is None:
        raise CallError(f"it returned {_a(result)} where None is annotated")
    return _place(annotation, result, tensors)


def _arrange_as_it_is(kind: type, result: Any, tensors: list[flow.Tensor]) -> Any:
    if isinstance(result, (tuple, list)):
        return type(result)([_arrange_as_it_is(kind, each, tensors) for each in result])
    if isinstance(result, dict):
        return {name: _arrange_as_it_is(kind, each, tensors) for name, each in result.items()}
    return _place(kind, result, tensors)


def _place(kind: type, result: Any, tensors: list[flow.Tensor]) -> _Place:
    if not isinstance(result, flow.Tensor):
        where = "where a tensor is annotated" if kind is not Array else "among its results, which must be tensors"
        raise CallError(f"it returned {_a(result)} {where}")
    tensors.append(result)
    return _Place(len(tensors) - 1, kind)


def _a(result: Any) -> str:
    return "None" if result is None else f"a {type(result).__name__}"


def convert(array: np.ndarray, kind: Any) -> Any:
    """An array as `Numpy` or `ListNumpy`, or, without annotation, as `Array`."""
    if kind is ListNumpy:
        return [array]
    return array if kind is Numpy else array.view(Array)


def _fill(arrangement: Any, arrays: Sequence[np.ndarray]) -> Any:
    if isinstance(arrangement, _Place):
        return convert(arrays[arrangement.index], arrangement.kind)
    if isinstance(arrangement, dict):
        return {name: _fill(each, arrays) for name, each in arrangement.items()}
    if isinstance(arrangement, (tuple, list)):
        return type(arrangement)([_fill(each, arrays) for each in arrangement])
    return arrangement
