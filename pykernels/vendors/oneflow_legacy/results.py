"""Convert the results of jobs: tensors in tuples, lists and dicts become arrays, as the job's annotation says."""

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

_UNKNOWN = inspect.Signature.empty


class Array(np.ndarray):
    """An array with the methods of old job results, for calls such as ``job(x).get().numpy()``."""

    def numpy(self) -> np.ndarray:
        """Return a plain array."""
        return self.view(np.ndarray)

    def numpy_list(self) -> list[np.ndarray]:
        """Return a list with one plain array for each device, of which there is one."""
        return [self.numpy()]

    ndarray = numpy
    ndarray_list = numpy_list


@dataclass(frozen=True)
class _Place:
    """A place in a result: the index of its output, and the kind: `Numpy`, `ListNumpy` or, by default, `Array`."""

    index: int
    kind: type


class Outputs:
    """The outputs of a run of a job, for which ``get()`` waits by calling `wait`.

    The `arrangement` is the structure of the result, with places for the `tensors`.
    """

    def __init__(self, arrangement: Any, tensors: Sequence[flow.Tensor], wait: Callable[[], None]) -> None:
        self._arrangement = arrangement
        self._tensors = tensors
        self._wait = wait

    def get(self) -> Any:
        """Wait for the run and return the results; raise KernelError if a kernel has failed."""
        arrays = [tensor.numpy() for tensor in self._tensors]
        self._wait()
        return _map(lambda place: place and convert(arrays[place.index], place.kind), self._arrangement)

    def async_get(self, callback: Callable[[Any], Any]) -> None:
        """Wait for the results and call a function with them."""
        callback(self.get())


def deliver(annotation: Any, outputs: Outputs) -> Any:
    """Return what a call of a job returns: the results, or the means to get them if the annotation says so."""
    if annotation is _UNKNOWN:
        return outputs
    if typing.get_origin(annotation) is Callback:
        return outputs.async_get
    return outputs.get()


def check(annotation: Any) -> None:
    """Raise CallError unless jobs support this annotation of a result."""
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
    """Return the result of a job with its tensors replaced by places; append the tensors to `tensors`.

    Raise CallError if the result does not match the annotation.
    """
    origin, items = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Callback:
        return arrange(items[0], result, tensors)
    if result is None and annotation in (None, _UNKNOWN):
        return None
    if annotation is _UNKNOWN or origin is Bundle:
        kind = items[0] if items else Array
        return _map(lambda each: _place(kind, each, tensors), result)
    if origin is tuple:
        if not isinstance(result, (tuple, list)) or len(result) != len(items):
            given = f"{len(result)} results" if isinstance(result, (tuple, list)) else _type(result)
            raise CallError(f"it returned {given} where a tuple of {len(items)} is annotated")
        return tuple([arrange(item, each, tensors) for item, each in zip(items, result)])
    if origin is list:
        if not isinstance(result, (tuple, list)):
            raise CallError(f"it returned {_type(result)} where a list is annotated")
        return [arrange(items[0], each, tensors) for each in result]
    if origin is dict:
        if not isinstance(result, dict):
            raise CallError(f"it returned {_type(result)} where a dict is annotated")
        return {name: arrange(items[1], each, tensors) for name, each in result.items()}
    if annotation is None:
        raise CallError(f"it returned {_type(result)} where None is annotated")
    return _place(annotation, result, tensors)


def _map(function: Callable[[Any], Any], structure: Any) -> Any:
    """Return a structure of tuples, lists and dicts with `function` applied to what they hold."""
    if isinstance(structure, (tuple, list)):
        return type(structure)([_map(function, each) for each in structure])
    if isinstance(structure, dict):
        return {name: _map(function, each) for name, each in structure.items()}
    return function(structure)


def _place(kind: type, result: Any, tensors: list[flow.Tensor]) -> _Place:
    if not isinstance(result, flow.Tensor):
        where = "where a tensor is annotated" if kind is not Array else "among its results, which must be tensors"
        raise CallError(f"it returned {_type(result)} {where}")
    tensors.append(result)
    return _Place(len(tensors) - 1, kind)


def _type(result: Any) -> str:
    return "None" if result is None else type(result).__name__


def convert(array: np.ndarray, kind: Any) -> Any:
    """Return an array in the form of `Numpy` or `ListNumpy` or, without an annotation, as an `Array`."""
    if kind is ListNumpy:
        return [array]
    return array if kind is Numpy else array.view(Array)
