"""Run an operator created by a user's class on MXNet arrays."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from pykernels.base import fork
from pykernels.base.errors import CallError, KernelError
from pykernels.frameworks.mxnet.class_property import ClassProperty

_REQUESTS = ("null", "write", "inplace", "add")
# The names that CustomOp uses, indexed by MXNet's tag.
_NAMES = ("in_data", "out_data", "in_grad", "out_grad", "aux")
_OUTPUT, _INPUT_GRADIENT, _STATE = 1, 2, 4


class ClassOperator:
    """A ``CustomOp`` at one place in a graph."""

    def __init__(self, prop: ClassProperty, made: Any, context: Any) -> None:
        self._registered = prop.registered
        self._op = made
        self._context = context
        self._semantics = _numpy_semantics if prop.registered.is_np else contextlib.nullcontext
        forward = type(made).forward
        where = self._registered.place_of(forward)
        self.unassigned = (
            f"op {self._registered.op!r}: {where}: {type(made).__name__}.forward assigned nothing to ".encode()
        )

    def run(
        self,
        is_backward: bool,
        handles: Sequence[int],
        tags: Sequence[int],
        requests: Any,
        is_train: bool,
        taken: Any,
    ) -> None:
        """Run a pass; `taken` counts the handles that the caller no longer has to free."""
        arrays: list[list[Any]] = [[] for _ in _NAMES]
        for count, (handle, tag) in enumerate(zip(handles, tags, strict=True), 1):
            name = f"{_NAMES[tag]}[{len(arrays[tag])}]"
            result_tags = (_INPUT_GRADIENT, _STATE) if is_backward else (_OUTPUT, _STATE)
            arrays[tag].append(self._wrap(handle, name, tag in result_tags))
            taken[0] = count
        groups = dict(zip(_NAMES, arrays, strict=True))
        results = groups["in_grad" if is_backward else "out_data"]
        texts = [_REQUESTS[requests[i]] for i in range(len(results))]
        with self._context, fork.forbidden(), self._semantics():
            if is_backward:
                self._run_backward(req=texts, **groups)
            else:
                del groups["in_grad"], groups["out_grad"]
                self._registered.run(self._op, "forward", is_train=is_train, req=texts, **groups)

    def _run_backward(self, **keywords: Any) -> None:
        try:
            self._registered.run(self._op, "backward", **keywords)
        except KernelError as error:
            # MXNet's own functions reject a placeholder without calling its methods.
            if NotKept.__name__ not in str(error):
                raise
            absent = [str(array) for group in _NAMES for array in keywords[group] if isinstance(array, NotKept)]
            raise KernelError(f"{error}. declare_backward_dependency leaves out {', '.join(absent)}") from None

    def _wrap(self, handle: int, name: str, writable: bool) -> Any:
        base, make_array = _mxnet(self._registered.is_np)
        owned = base.NDArrayHandle(handle)
        storage = ctypes.c_int()
        base.check_call(base._LIB.MXNDArrayGetStorageType(owned, ctypes.byref(storage)))
        if storage.value < 0:
            base.check_call(base._LIB.MXNDArrayFree(owned))
            return NotKept(name)
        return make_array(owned, writable=writable, stype=storage.value)


@functools.cache
def _mxnet(is_np: bool) -> tuple[Any, Any]:
    """Return MXNet's base module, and the function that makes an array of a handle."""
    if is_np:
        make_array = importlib.import_module("mxnet.numpy.multiarray")._np_ndarray_cls
    else:
        make_array = importlib.import_module("mxnet.ndarray.sparse")._ndarray_cls
    return importlib.import_module("mxnet.base"), make_array


@contextlib.contextmanager
def _numpy_semantics() -> Iterator[None]:
    """Do what ``mx.npx.set_np`` does, which affects only the calling thread."""
    util = importlib.import_module("mxnet.util")
    with util.np_shape(True), util.np_array(True):
        yield


class NotKept:
    """A placeholder for an array that MXNet has not kept for the backward pass: reading it would crash the process."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __str__(self) -> str:
        return self._name

    def _refuse(self, *_: Any) -> NoReturn:
        raise CallError(
            f"{self._name} is not available in backward: declare_backward_dependency does not return its number"
        )

    def __getattr__(self, attribute: str) -> Any:
        self._refuse()

    __array__ = __bool__ = __float__ = __getitem__ = __iter__ = __len__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = _refuse
