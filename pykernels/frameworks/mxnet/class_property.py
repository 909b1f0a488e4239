"""A use of a user's operator class: its attributes, names, shapes and types."""

from __future__ import annotations

import ctypes
import difflib
import importlib
import inspect
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.base.errors import CallError, KernelError
from pykernels.frameworks.mxnet.class_errors import RegisteredClass

MAX_DIMS = 32

_STORAGES = {-1: "undefined", 0: "default", 1: "row_sparse", 2: "csr"}
_STORAGE_NUMBERS = {name: number for number, name in _STORAGES.items()}


class ClassProperty:
    """An instance of the class, created for one use of the operator.

    Attributes
    ----------
    arguments, outputs, states : list of str
        The names that it lists.
    dependencies : list of int
        The arrays that its backward pass reads, by MXNet's numbers.
    """

    def __init__(self, registered: RegisteredClass, attributes: Mapping[str, str]) -> None:
        self.registered = registered
        self._prop = _construct(registered, attributes)
        self.arguments = self._names("list_arguments")
        self.outputs = self._names("list_outputs")
        self.states = self._names("list_auxiliary_states")
        self.dependencies = self._dependencies()
        # C arrays that MXNet reads.
        self.lists = [_c_names(names) for names in (self.arguments, self.outputs, self.states)]
        self.c_dependencies = (ctypes.c_int * len(self.dependencies))(*self.dependencies)

    def create_operator(self, context: Any, shapes: list[list[int]], types: list[int]) -> Any:
        """Create the operator object that computes."""
        created = self._run("create_operator", context, shapes, types)
        for method in ("forward", "backward"):
            if not callable(getattr(created, method, None)):
                raise self._wrong("create_operator", f"returned {created!r}, which has no method {method}")
        return created

    def infer_shape(self, given: Sequence[Sequence[int]]) -> list[list[int]]:
        """Infer the shapes of all arrays from those of the arguments; an unknown shape is empty."""
        returned = self._run("infer_shape", [list(shape) for shape in given])
        groups = self._groups("infer_shape", returned, "shapes")
        try:
            shapes = [[operator.index(dim) for dim in shape] for shape in groups]
        except TypeError as error:
            raise self._wrong("infer_shape", f"returned {returned!r}: {error}") from None
        for name, shape in zip([*self.arguments, *self.outputs, *self.states], shapes, strict=True):
            if len(shape) > MAX_DIMS or any(dim < -1 or dim >= 2**31 for dim in shape):
                raise self._wrong("infer_shape", f"returned {returned!r}: {shape} is not a shape for '{name}'")
        for name, known, shape in zip(self.arguments, given, shapes, strict=False):
            if _contradict(known, shape):
                raise self._wrong(
                    "infer_shape", f"wants {tuple(shape)} as the shape of '{name}', which is {tuple(known)}"
                )
        return shapes

    def infer_type(self, given: Sequence[int]) -> list[int]:
        """Infer the types of all arrays, as MXNet's numbers, from those of the arguments; -1 is unknown."""
        ndarray = importlib.import_module("mxnet.ndarray.ndarray")
        numbers = ndarray._DTYPE_NP_TO_MX
        returned = self._run("infer_type", [ndarray._DTYPE_MX_TO_NP.get(number) for number in given])
        types = self._groups("infer_type", returned, "types")
        try:
            return [numbers[each if each is None or each in numbers else np.dtype(each).type] for each in types]
        except (KeyError, TypeError) as error:
            raise self._wrong("infer_type", f"returned {returned!r}: {error} is not a type of MXNet") from None

    def infer_storage_type(self, given: Sequence[int]) -> list[int]:
        """Infer the storage types of all arrays, as MXNet's numbers, from those of the arguments."""
        returned = self._run("infer_storage_type", [_STORAGES[number] for number in given])
        return self._storages("infer_storage_type", returned, self._groups("infer_storage_type", returned, "types"))

    def infer_backward_storage_type(self, given: Sequence[int], tags: Sequence[int]) -> list[int]:
        """Complete the storage types of the arrays of the backward pass."""
        # Gradients of outputs, inputs, outputs, gradients of inputs, states: the order of MXNet and of the method.
        groups = [[_STORAGES[n] for n, tag in zip(given, tags, strict=True) if tag == t] for t in (3, 0, 1, 2, 4)]
        wanted = list(map(len, groups))
        returned = self._run("infer_storage_type_backward", *groups)
        try:
            storages = [each for group in returned for each in group]
            fits = [*map(len, returned), 0][:5] == wanted
        except TypeError:
            fits = False
        if not fits:
            text = f"returned {returned!r}, not lists of {', '.join(map(str, wanted))} storage types"
            raise self._wrong("infer_storage_type_backward", text)
        return self._storages("infer_storage_type_backward", returned, storages)

    def _storages(self, method: str, returned: Any, storages: Sequence[Any]) -> list[int]:
        if not all(each in ("default", "row_sparse", "csr") for each in storages):
            raise self._wrong(method, f"returned {returned!r}; storage types are 'default', 'row_sparse' and 'csr'")
        return [_STORAGE_NUMBERS[each] for each in storages]

    def _groups(self, method: str, returned: Any, what: str) -> list[Any]:
        """Flatten what an inference method returns for arguments, outputs and states (if any)."""
        wanted = [len(self.arguments), len(self.outputs), len(self.states)]
        try:
            groups = [list(group) for group in returned]
            fits = len(groups) in (2, 3) and [*map(len, groups), 0][:3] == wanted
        except TypeError:
            fits = False
        if not fits:
            text = f"returned {returned!r}, not lists of {wanted[0]} {what} for arguments and {wanted[1]} for outputs"
            raise self._wrong(method, text + (f" and {wanted[2]} for auxiliary states" if wanted[2] else ""))
        return [each for group in groups for each in group]

    def _names(self, method: str) -> list[str]:
        names = self._run(method)
        if isinstance(names, str) or not _are_all(names, str):
            raise self._wrong(method, f"returned {names!r}, not a list of names")
        return list(names)

    def _dependencies(self) -> list[int]:
        gradients, outputs = len(self.outputs), len(self.outputs)
        inputs = gradients + len(self.arguments)
        numbers = list(range(inputs + outputs))
        method = "declare_backward_dependency"
        chosen = self._run(method, numbers[:gradients], numbers[gradients:inputs], numbers[inputs:])
        if not _are_all(chosen, int) or not set(chosen) <= set(numbers):
            raise self._wrong(method, f"returned {chosen!r}, not a list of some of the numbers that it was given")
        # MXNet takes the device of the backward pass from the arrays that it reads, so there must be one.
        return list(dict.fromkeys(chosen)) or numbers[:gradients]

    def _run(self, method: str, *arguments: Any) -> Any:
        return self.registered.run(self._prop, method, *arguments)

    def _wrong(self, method: str, text: str) -> KernelError:
        return self.registered.wrong(getattr(type(self._prop), method), text)


def _construct(registered: RegisteredClass, attributes: Mapping[str, str]) -> Any:
    name, cls = registered.op, registered.cls
    try:
        parameters = list(inspect.signature(cls).parameters.values())
    except (TypeError, ValueError):
        parameters = [inspect.Parameter("attributes", inspect.Parameter.VAR_KEYWORD)]
    known = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    needed = [p.name for p in parameters if p.name in known and p.default is p.empty]
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
    whose = f"{cls.__name__}, registered at {registered.where}"
    for attribute in attributes:
        if attribute not in known and not takes_all:
            close = difflib.get_close_matches(attribute, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; it has {', '.join(known) or 'none'}"
            raise CallError(f"op {name!r} ({whose}) has no attribute {attribute!r}{hint}")
    missing = [attribute for attribute in needed if attribute not in attributes]
    if missing:
        raise CallError(f"op {name!r} ({whose}) needs the attribute {missing[0]!r}: give {missing[0]}=VALUE")
    try:
        return cls(**attributes)
    except BaseException as error:
        # No exception may pass through MXNet's C frames.
        given = ", ".join(f"{key}={value!r}" for key, value in attributes.items())
        raise registered.raised(f"{cls.__name__}({given})", error) from None


def _contradict(known: Sequence[int], shape: Sequence[int]) -> bool:
    """Return whether two shapes differ where both are known; a dimension of -1 or 0 is unknown."""
    if not known:
        return False
    return len(known) != len(shape) or any(a != b and a > 0 and b > 0 for a, b in zip(known, shape, strict=True))


def _are_all(items: Any, type_: type) -> bool:
    return isinstance(items, (list, tuple)) and all(isinstance(item, type_) for item in items)


def _c_names(names: Sequence[str]) -> Any:
    return (ctypes.c_char_p * (len(names) + 1))(*(name.encode() for name in names), None)
