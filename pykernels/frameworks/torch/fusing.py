"""Let PyTorch's compiler see through ops that are loaded with ``fuse=True``: it traces their NumPy code.

As for `torch.library.triton_op`, an op is replaced while the compiler makes the graph functional. That is below
autograd, so the same rule serves gradients, and it sees the sizes that the compiler computes with.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch._subclasses.functional_tensor import FunctionalTensor, FunctionalTensorMode

from pykernels.base.errors import KernelError, PykernelsError
from pykernels.base.version import __version__
from pykernels.frameworks import substitution
from pykernels.frameworks.torch.fake import fake_outputs
from pykernels.frameworks.torch.layout import HALVES, Layout
from pykernels.kernel.read.source import KernelFunction
from pykernels.load.module import OpModule

#: The classes for which operators have the rules of `rule_of` and `marking_rule`.
MODE, MARKING_MODE = FunctionalTensorMode, FakeTensorMode
# What begins our part of the tag with which PyTorch marks the programs that it keeps on disk.
_TAG = " pykernels:"


def rule_of(current: Callable[[], tuple[OpModule, Layout]]) -> Callable[..., Any]:
    """Return the rule of an op, as for `torch.library.register_torch_dispatch`.

    Parameters
    ----------
    current : callable
        Returns the folder of the op and the layout of its calls, or raises `LoadError` if it is not loaded now.
    """

    def rule(mode: Any, operator: Any, types: Iterable[type], args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        try:
            module, layout = current() if _is_compiling(types) else (None, None)
        except PykernelsError:
            module = layout = None
        if module is not None and layout is not None and module.fuse:
            kernel = module.kernel(layout.op.name)
            try:
                with mode:
                    return traced(layout, kernel, args, kwargs or {})
            except KernelError as error:
                substitution.report(kernel, layout.op.name, "PyTorch's compiler", error)
        return mode.__torch_dispatch__(operator, types, args, kwargs or {})

    return rule


def _is_compiling(types: Iterable[type]) -> bool:
    """Return whether a call is compiled, and neither exported nor distributed over devices."""
    # PyTorch's own option for operators that the compiler sees through, which its exporter sets.
    is_exported = not torch._functorch.config.decompose_custom_triton_ops
    return not is_exported and all(issubclass(each, (FunctionalTensor, FakeTensor)) for each in types)


def traced(layout: Layout, kernel: KernelFunction, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return what a call returns, computed by PyTorch's operators.

    Raises
    ------
    KernelError
        The kernel cannot be traced, or its results do not have the shapes of the definition.
    RuntimeError
        The definition refuses the call, or the kernel writes to an input.
    """
    import torch._numpy as tnp  # PyTorch imports it where it is needed, too

    op, call = layout.op, layout.read({**dict(zip(layout.names, args)), **kwargs})
    try:
        expected = fake_outputs(layout, call)
    except PykernelsError as error:
        raise RuntimeError(str(error)) from error
    inputs = [[_wide(tensor, argument.mutable) for tensor in group] for argument, group in zip(op.inputs, call.inputs)]
    empty = iter(expected)
    outs = [[_wide(next(empty), False) for _ in range(count)] for count in call.counts]
    unchanged = [
        (argument, tensor, _value(tensor))
        for argument, group in zip(op.inputs, inputs)
        for tensor in (() if argument.mutable else group)
    ]
    args, results = ([[tnp.ndarray(tensor) for tensor in group] for group in groups] for groups in (inputs, outs))
    shapes = [each.shape for each in expected]
    tensors = substitution.run(
        kernel, op, _NUMPY, args, results, call.attributes, is_train=call.is_train, shapes=shapes
    )
    for argument, tensor, value in unchanged:
        if _value(tensor) is not value:
            refusal = substitution.writes_to_input(kernel, op, argument)
            raise RuntimeError(str(refusal))
    for argument, originals, changed in zip(op.inputs, call.inputs, inputs):
        for original, copy in zip(originals, changed if argument.mutable else ()):
            original.copy_(copy)
    return layout.pack(_own(tensors, expected, call.tensors), call.counts)


def _wide(tensor: Any, is_changed: bool) -> Any:
    """Return a tensor in the dtype that kernels compute in; a copy if a kernel changes it, which may stop midway."""
    wide = tensor.float() if tensor.dtype in HALVES else tensor
    return wide.clone() if is_changed and wide is tensor else wide


def _value(tensor: Any) -> Any:
    """Return the object that holds the elements of a tensor in a functional graph; another one after a change."""
    return tensor.from_functional() if isinstance(tensor, FunctionalTensor) else tensor


def _own(results: Sequence[Any], expected: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """Return results with the dtypes that the definition infers, contiguous, and in memory of their own."""
    taken = {tensor.untyped_storage()._cdata for tensor in inputs}
    own = []
    for result, like in zip(results, expected):
        tensor = result.to(like.dtype).contiguous()
        if tensor.untyped_storage()._cdata in taken:
            tensor = tensor.clone()
        taken.add(tensor.untyped_storage()._cdata)
        own.append(tensor)
    return own


class _Functions:
    """What a kernel finds under the name ``np``: PyTorch's NumPy, and what computes nothing from NumPy."""

    errstate = np.errstate

    def __getattr__(self, name: str) -> Any:
        return getattr(torch._numpy, name)


def _constant(value: Any) -> Any:
    """Return an array or number of NumPy's in terms of PyTorch's NumPy."""
    dtype = torch.from_numpy(np.empty(0, value.dtype)).dtype
    tensor = torch.tensor(value.tolist(), dtype=dtype) if value.ndim else torch.full((), value.item(), dtype=dtype)
    return torch._numpy.ndarray(tensor)


_NUMPY = substitution.Numpy(
    "PyTorch", _Functions(), array=lambda value: torch.as_tensor(getattr(value, "tensor", value)), constant=_constant
)


# ---- programs on disk


def marking_rule(modules: Callable[[], Iterable[OpModule]]) -> Callable[..., Any]:
    """Return a rule for tensors without data, with which a compiler first calls every op of a program.

    PyTorch finds the programs that it keeps on disk by the names of their ops. The rule keeps those apart that contain
    other kernels.

    Parameters
    ----------
    modules : callable
        Returns the loaded ops.
    """

    def rule(mode: Any, operator: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        import torch.compiler.config as config  # PyTorch imports it where it is needed, too

        own, _, old = config.cache_key_tag.partition(_TAG)
        new = _digest(tuple(sorted((each for each in modules() if each.fuse), key=lambda each: each.name)))
        if new != old:
            config.cache_key_tag = f"{own}{_TAG}{new}" if new else own
        return mode.__torch_dispatch__(operator, types, args, kwargs or {})

    return rule


@functools.lru_cache(maxsize=8)
def _digest(fused: tuple[OpModule, ...]) -> str:
    """Return what differs for other kernels; empty if there is none."""
    digest = hashlib.sha256(__version__.encode())
    for module in fused:
        try:
            functions = module.source.functions.values()
        except PykernelsError:
            continue  # the op cannot be used
        for part in itertools.chain(*(function.fingerprint for function in functions)):
            digest.update(part if isinstance(part, bytes) else part.encode())
    return digest.hexdigest() if fused else ""
