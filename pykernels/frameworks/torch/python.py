"""Ops of PyTorch without the native registrar: the same operators, carried out in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from pykernels.base.errors import LoadError, PykernelsError
from pykernels.base.refusals import RefusedCall
from pykernels.call.arrays import KernelCall
from pykernels.define.instance import new_outputs
from pykernels.frameworks.torch import gradient
from pykernels.frameworks.torch.fake import specs_of
from pykernels.frameworks.torch.layout import Call, Layout

__all__ = ["Python"]


class Python:
    """Carries ops out in Python; with the same methods as `registrar.Registrar`.

    Parameters
    ----------
    load : callable
        Called with the name of an op type when it is first wanted; has to `load` it.
    """

    def __init__(self, load: Callable[[str], None]) -> None:
        self._load = load
        self._loaded: dict[str, tuple[Layout, int]] = {}
        self._names: dict[str, str] = {}
        # By qualified name: the definition with its schema, and the kernels, which stay for good, because users may
        # hold on to an operator and call it when its definition is gone.
        self._definitions: dict[str, tuple[str, Any]] = {}
        self._kernels: dict[str, Any] = {}

    def load(self, layout: Layout, number: int) -> None:
        """Make an op the one of its type."""
        self._loaded[layout.op.name] = (layout, number)

    def define(self, layout: Layout, library: str, name: str) -> None:
        """Have PyTorch know an op type as ``library::name``, or by another schema than it did."""
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
        """Have PyTorch call `fake` with tensors that have no data, as long as what is returned lives."""
        library = torch.library.Library(qualified.partition("::")[0], "FRAGMENT")
        torch.library.register_fake(qualified, fake, lib=library)
        return library

    def unload(self, op_type: str) -> None:
        """Forget an op type, so that it is loaded again when it is next wanted."""
        self._loaded.pop(op_type, None)

    def _add_kernels(self, op_type: str, library: str, name: str) -> Any:
        kernels = torch.library.Library(library, "FRAGMENT")

        def run(*args: Any, **kwargs: Any) -> Any:
            layout, number = self._find(op_type)
            return layout.pack(*_run(layout, number, _read(layout, args, kwargs)))

        def record(keys: Any, *args: Any, **kwargs: Any) -> Any:
            layout, _ = self._find(op_type)
            operator = torch._library.utils.lookup_op(f"{library}::{name}")

            def redispatch() -> Any:
                with torch._C._AutoDispatchBelowAutograd():
                    return operator.redispatch(keys & torch._C._after_autograd_keyset, *args, **kwargs)

            call = _read(layout, args, kwargs)
            return gradient.recorded(layout, call, f"{library}::{name}", redispatch, self._operator)

        kernels.impl(name, run, "CPU")
        kernels.impl(name, record, "Autograd", with_keyset=True)
        torch.library.register_autocast(f"{library}::{name}", "cpu", torch.float32, lib=kernels)
        return kernels

    def _find(self, op_type: str) -> tuple[Layout, int]:
        if op_type not in self._loaded:
            try:
                self._load(op_type)
            except PykernelsError as error:
                raise RuntimeError(str(error)) from error
        return self._loaded[op_type]

    def _operator(self, op_type: str) -> tuple[Any, Layout]:
        """The operator of an op type that a gradient names, and how it is called."""
        layout, _ = self._find(op_type)
        return torch._library.utils.lookup_op(self._names[op_type]), layout


def _read(layout: Layout, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Call:
    try:
        return layout.read(dict(zip(layout.names, args)) | dict(kwargs))
    except PykernelsError as error:
        raise RuntimeError(str(error)) from error


def _run(layout: Layout, number: int, call: Call) -> tuple[list[Any], list[int]]:
    op = layout.op
    try:
        inferred = op.infer(specs_of(layout, call), call.attributes, counts=call.counts)
        given = [[tensor.detach() for tensor in group] for group in call.inputs]
        _check_states(layout, given)
        inputs = [[tensor.contiguous() for tensor in group] for group in given]
        outputs = [[torch.from_numpy(array) for array in group] for group in new_outputs(op, inferred)]
        arrays = [[[tensor.numpy() for tensor in group] for group in groups] for groups in (inputs, outputs)]
        KernelCall(op, number, arrays[0], arrays[1], call.attributes, is_train=call.is_train).run()
    except PykernelsError as error:
        raise RuntimeError(str(error)) from error
    for argument, originals, changed in zip(op.inputs, given, inputs):
        for original, copy in zip(originals, changed):
            if argument.mutable and copy is not original:
                original.copy_(copy)
    return [tensor for group in outputs for tensor in group], call.counts


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
            array = tensor.numpy()
            for name, other in seen if argument.mutable else ():
                if np.may_share_memory(array, other):
                    raise RefusedCall(
                        f"op '{layout.op.name}': it changes its input '{argument.name}', which shares memory with its "
                        f"input '{name}'; clone() one of them"
                    )
            seen.append((argument.name, array))
