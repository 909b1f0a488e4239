"""Register ops with PyTorch without the native registrar: the same operators, run through Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from pykernels.base.dtypes import bfloat16, is_bfloat16
from pykernels.base.errors import LoadError, PykernelsError
from pykernels.base.refusals import RefusedCall
from pykernels.call.arrays import KernelCall
from pykernels.define.instance import new_outputs
from pykernels.frameworks.torch import gradient
from pykernels.frameworks.torch.fake import specs_of
from pykernels.frameworks.torch.layout import HALVES, Call, Layout

_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
_AUTOCAST |= torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)


class Python:
    """Runs ops through Python; it has the methods of `registrar.Registrar`.

    Parameters
    ----------
    load : callable
        Called with the name of an op type when it is first needed; must call `load` for it.
    """

    def __init__(self, load: Callable[[str], None]) -> None:
        self._load = load
        self._loaded: dict[str, tuple[Layout, int]] = {}
        self._names: dict[str, str] = {}
        # By qualified name: the definition with its schema, and the kernels. The kernels stay forever, because users
        # may keep an operator and call it after its definition is gone.
        self._definitions: dict[str, tuple[str, Any]] = {}
        self._kernels: dict[str, Any] = {}

    def load(self, layout: Layout, kernel_id: int) -> None:
        """Set the op of an op type."""
        self._loaded[layout.op.name] = (layout, kernel_id)

    def define(self, layout: Layout, library: str, name: str) -> None:
        """Register an op type with PyTorch as ``library::name``, or register it again with another schema."""
        qualified = f"{library}::{name}"
        schema, old = self._definitions.get(qualified, ("", None))
        if schema == layout.schema:
            return
        if old is not None:
            old._destroy()
        definition = torch.library.Library(library, "FRAGMENT")
        try:
            definition.define(f"{name}{layout.schema}", tags=(torch.Tag.pt2_compliant_tag,))
        except RuntimeError as error:
            raise LoadError(f"an op cannot be entered into PyTorch: {error}") from error
        self._definitions[qualified] = (layout.schema, definition)
        if qualified not in self._kernels:
            self._names.setdefault(layout.op.name, qualified)
            self._kernels[qualified] = self._add_kernels(layout.op.name, library, name)

    def infer_with(self, qualified: str, fake: Callable[..., Any]) -> Any:
        """Make PyTorch call `fake` for tensors without data, as long as the returned object lives."""
        library = torch.library.Library(qualified.partition("::")[0], "FRAGMENT")
        torch.library.register_fake(qualified, fake, lib=library)
        return library

    def unload(self, op_type: str) -> None:
        """Forget an op type, so that it is loaded again when it is next needed."""
        self._loaded.pop(op_type, None)

    def _add_kernels(self, op_type: str, library: str, name: str) -> Any:
        kernels = torch.library.Library(library, "FRAGMENT")

        def run(*args: Any, **kwargs: Any) -> Any:
            layout, kernel_id = self._find(op_type)
            return layout.pack(*_run(layout, kernel_id, _read(layout, args, kwargs)))

        def record(keys: Any, *args: Any, **kwargs: Any) -> Any:
            layout, _ = self._find(op_type)
            operator = torch._library.utils.lookup_op(f"{library}::{name}")

            def redispatch() -> Any:
                with torch._C._AutoDispatchBelowAutograd():
                    return operator.redispatch(keys & torch._C._after_autograd_keyset, *args, **kwargs)

            call = _read(layout, args, kwargs)
            return gradient.recorded(layout, call, f"{library}::{name}", redispatch, self._operator)

        def autocast(*args: Any, **kwargs: Any) -> Any:
            layout, _ = self._find(op_type)
            operator = torch._library.utils.lookup_op(f"{library}::{name}")
            with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST):
                return operator(**_of_one_dtype(layout, dict(zip(layout.names, args)) | kwargs))

        kernels.impl(name, run, "CPU")
        kernels.impl(name, record, "Autograd", with_keyset=True)
        for device in ("CPU", "CUDA"):
            kernels.impl(name, autocast, f"Autocast{device}")
        return kernels

    def _find(self, op_type: str) -> tuple[Layout, int]:
        if op_type not in self._loaded:
            try:
                self._load(op_type)
            except PykernelsError as error:
                raise RuntimeError(str(error)) from error
        return self._loaded[op_type]

    def _operator(self, op_type: str) -> tuple[Any, Layout]:
        """Return the operator of an op type that a gradient names, and the layout of its calls."""
        layout, _ = self._find(op_type)
        return torch._library.utils.lookup_op(self._names[op_type]), layout


def _of_one_dtype(layout: Layout, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call under autocast, with inputs in float32 if their floating-point dtypes differ."""
    if len({tensor.dtype for tensor in layout.read(arguments).tensors if tensor.is_floating_point()}) < 2:
        return arguments

    def single(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return list(map(single, value))
        is_half = isinstance(value, torch.Tensor) and value.dtype in HALVES
        return value.float() if is_half else value

    # Changes to a copy would be lost.
    inputs = {name for name, argument in zip(layout.names, layout.op.inputs) if not argument.mutable}
    return {name: single(value) if name in inputs else value for name, value in arguments.items()}


def _read(layout: Layout, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
    try:
        return layout.read(dict(zip(layout.names, args)) | dict(kwargs))
    except PykernelsError as error:
        raise RuntimeError(str(error)) from error


def _run(layout: Layout, kernel_id: int, call: Call) -> tuple[list[Any], list[int]]:
    op = layout.op
    try:
        inferred = op.infer(specs_of(layout, call), call.attributes, counts=call.counts)
        given = [[tensor.detach() for tensor in group] for group in call.inputs]
        _check_states(layout, given)
        inputs = [[tensor.contiguous() for tensor in group] for group in given]
        arrays = [[_array_of(tensor) for tensor in group] for group in inputs]
        outputs = new_outputs(op, inferred)
        KernelCall(op, kernel_id, arrays, outputs, call.attributes, is_train=call.is_train).run()
    except PykernelsError as error:
        raise RuntimeError(str(error)) from error
    for argument, originals, changed in zip(op.inputs, given, inputs):
        for original, copy in zip(originals, changed):
            if argument.mutable and copy is not original:
                original.copy_(copy)
    return [_tensor_of(array) for group in outputs for array in group], call.counts


def _array_of(tensor: Any) -> np.ndarray:
    """Return the array in the memory of a tensor."""
    if tensor.dtype is torch.bfloat16:
        return _array_of(tensor.view(torch.int16)).view(bfloat16())
    array: np.ndarray = tensor.numpy()
    return array


def _tensor_of(array: np.ndarray) -> Any:
    """Return the tensor in the memory of an array."""
    if is_bfloat16(array.dtype):
        return _tensor_of(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _check_states(layout: Layout, inputs: Sequence[Sequence[Any]]) -> None:
    """Raise if a state shares memory with another input, or its elements with each other."""
    seen: list[tuple[str, np.ndarray]] = []
    for argument, tensors in zip(layout.op.inputs, inputs):
        for tensor in tensors:
            if argument.mutable and torch._debug_has_internal_overlap(tensor) == 1:
                raise RefusedCall(
                    f"op '{layout.op.name}': it changes its input '{argument.name}', whose elements share memory; "
                    "clone() it"
                )
            array = _array_of(tensor)
            for name, other in seen if argument.mutable else ():
                if np.may_share_memory(array, other):
                    raise RefusedCall(
                        f"op '{layout.op.name}': it changes its input '{argument.name}', which shares memory with its "
                        f"input '{name}'; clone() one of them"
                    )
            seen.append((argument.name, array))
