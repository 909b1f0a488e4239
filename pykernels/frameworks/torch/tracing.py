"""Run kernels on devices for which none is compiled, by tracing their NumPy code into PyTorch's operators.

PyTorch's compiler reads the function of a kernel with its own implementation of NumPy, and fuses it into code for the
device: https://docs.pytorch.org/docs/stable/torch.compiler_api.html, `torch.compiler.wrap_numpy`.
"""

from __future__ import annotations

import functools
import inspect
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from pykernels.base.errors import KernelError, PykernelsError
from pykernels.base.refusals import RefusedCall
from pykernels.define.declared import Argument
from pykernels.define.definition import OpDef
from pykernels.define.instance import TensorSpec
from pykernels.frameworks.loops import refuse_loops
from pykernels.frameworks.torch.fake import specs_of
from pykernels.frameworks.torch.layout import HALVES, IS_TRAIN, Call, Layout, torch_dtype
from pykernels.kernel.read.source import KernelFunction

#: The dispatch keys of devices for which no kernel is compiled.
DEVICES = ("CUDA", "XPU", "MPS", "HPU", "XLA", "PrivateUse1")
# The most combinations of shapes and attributes that a kernel remembers.
_MOST = 4096


@functools.lru_cache(maxsize=1024)
def tracer_of(kernel: KernelFunction) -> Tracer:
    """Return the tracer of a kernel."""
    return Tracer(kernel)


class Tracer:
    """Runs one kernel through PyTorch's compiler.

    Parameters
    ----------
    kernel : KernelFunction
    backend : str
        The compiler's backend, as for `torch.compile`.
    """

    def __init__(self, kernel: KernelFunction, backend: str = "inductor") -> None:
        self._kernel = kernel
        self._backend = backend
        self._prepared: dict[Any, _Prepared] = {}
        self._compiled: dict[Any, Callable[..., Any]] = {}

    def run(self, layout: Layout, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return what a call returns, on the device of its tensors.

        Raises
        ------
        CallError
            The definition refuses the call.
        RefusedCall
            The tensors lie on several devices.
        KernelError
            The kernel cannot be traced, or its results do not have the shapes of the definition.
        """
        key = (*map(_type_of, args), *((name, _type_of(value)) for name, value in kwargs.items()))
        prepared = self._prepared.get(key)
        is_new = prepared is None
        if prepared is None:
            call = layout.read(dict(zip(layout.names, args)) | dict(kwargs))
            prepared = self._prepare(layout, call)
        tensors = list(_tensors_in((*args, *kwargs.values())))
        given = list(map(_plain, tensors))
        try:
            with torch.no_grad():
                results = prepared.run(given)
                for at in prepared.halves:
                    tensors[at].copy_(given[at])
        except Exception as error:
            raise _refusal(self._kernel, error) from error
        if is_new:
            self._check(layout, prepared, results)
            if len(self._prepared) >= _MOST:
                self._prepared.clear()
            self._prepared[key] = prepared
        return layout.pack(
            [_cast(result, dtype) for result, (_, dtype) in zip(results, prepared.types)], prepared.counts
        )

    def _prepare(self, layout: Layout, call: Call) -> _Prepared:
        _require_one_device(layout, call)
        groups = layout.op.infer(specs_of(layout, call), call.attributes, counts=call.counts)
        types = [(_shape(spec), _dtype(spec)) for group in groups for spec in group]
        keywords = {
            name: call.is_train if name == IS_TRAIN else call.attributes[name] for name in self._kernel.keywords
        }
        inputs = [_grouping(a, len(group)) for a, group in zip(layout.op.inputs, call.inputs)]
        outputs = [_grouping(a, count) for a, count in zip(layout.op.outputs, call.counts)]
        # The compiler keeps few versions of a function, so each number of axes and dtype has a function of its own.
        tensors = [(tensor.ndim, tensor.dtype, tensor.device) for tensor in call.tensors]
        key = (repr(keywords), *inputs, "", *outputs, *tensors)
        if key not in self._compiled:
            refuse_loops(self._kernel)
            self._compiled[key] = self._compile(keywords, inputs, outputs, len(call.tensors))
        device = call.tensors[0].device if call.tensors else torch.device("cpu")
        changed = [a.mutable for a, group in zip(layout.op.inputs, call.inputs) for _ in group]
        halves = [at for at, tensor in enumerate(call.tensors) if changed[at] and tensor.dtype in HALVES]
        return _Prepared(self._compiled[key], types, call.counts, device, self._kernel.takes_outs, halves)

    def _compile(
        self, keywords: dict[str, Any], inputs: Sequence[int | None], outputs: Sequence[int | None], n_inputs: int
    ) -> Callable[..., Any]:
        function, takes_outs = self._kernel.function, self._kernel.takes_outs

        def traced(*tensors: Any) -> Any:
            arrays = [tensor.numpy() for tensor in tensors]
            args = _grouped(inputs, arrays[:n_inputs])
            if takes_outs:
                function(args, _grouped(outputs, arrays[n_inputs:]), **keywords)
                return ()
            results = function(args, **keywords)
            if results is None and not outputs:
                return ()
            return tuple([torch.as_tensor(each) for each in (results if isinstance(results, tuple) else (results,))])

        # PyTorch keeps what it compiles with the code object.
        traced.__code__ = traced.__code__.replace(co_name=self._kernel.name)
        compiled: Callable[..., Any] = torch.compile(traced, fullgraph=True, backend=_backend(self._backend))
        return compiled

    def _check(self, layout: Layout, prepared: _Prepared, results: Sequence[Any]) -> None:
        names = [a.name for a, count in zip(layout.op.outputs, prepared.counts) for _ in range(count)]
        if len(results) != len(names):
            raise KernelError(
                f"{self._kernel.where}: {self._kernel.name} returns {len(results)} arrays, not {len(names)}"
            )
        for name, result, (shape, _) in zip(names, results, prepared.types):
            if tuple(result.shape) != shape:
                raise KernelError(
                    f"{self._kernel.where}: {self._kernel.name} returns {tuple(result.shape)} for '{name}', but the "
                    f"definition infers {shape}"
                )


def _backend(name: str) -> Callable[..., Any]:
    """Return a backend of PyTorch's compiler that knows the exponent of ``x**3``.

    PyTorch's NumPy makes tensors of numbers, and then the compiler calls a function for any exponent, which takes
    longer than the rest of a formula.
    """
    backend = torch._dynamo.lookup_backend(name)

    def compile_graph(traced: torch.fx.GraphModule, examples: Sequence[Any]) -> Any:
        for node in traced.graph.nodes:
            if getattr(node.target, "op", None) is not operator.pow or not isinstance(node.args[1], (int, float)):
                continue
            if node.args[0].meta["example_value"].is_floating_point():
                node.target = torch.pow
        traced.recompile()
        return backend(traced, examples)

    return compile_graph


@dataclass(frozen=True)
class _Prepared:
    """What calls with tensors of the same shapes and dtypes share."""

    compiled: Callable[..., Any]
    #: The shape and dtype of each output.
    types: Sequence[tuple[tuple[int, ...], Any]]
    #: The number of tensors of each output.
    counts: Sequence[int]
    device: Any
    takes_outs: bool
    #: The positions of inputs that the kernel changes, in a copy of another dtype.
    halves: Sequence[int]

    def run(self, given: Sequence[Any]) -> Sequence[Any]:
        """Return the outputs, before they are cast to their dtypes."""
        if not self.takes_outs:
            results: Sequence[Any] = self.compiled(*given)
            return results
        outs = [torch.empty(shape, dtype=_computed_in(dtype), device=self.device) for shape, dtype in self.types]
        self.compiled(*given, *outs)
        return outs


def _type_of(value: Any) -> Any:
    """Return what decides how a call with a value is prepared."""
    if isinstance(value, torch.Tensor):
        return value.shape, value.dtype, value.device
    return tuple(map(_type_of, value)) if isinstance(value, (list, tuple)) else (type(value), value)


def _tensors_in(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors_in(value)


def _grouping(argument: Argument, count: int) -> int | None:
    """Return how a kernel takes an argument: -1 alone, None if it is left out, otherwise a tuple of so many."""
    return count if argument.repeated else None if argument.optional and not count else -1


def _grouped(groups: Sequence[int | None], arrays: Sequence[Any]) -> tuple[Any, ...]:
    rest = list(arrays)
    found: list[Any] = []
    for group in groups:
        if group is None:
            found.append(None)
        elif group < 0:
            found.append(rest.pop(0))
        else:
            found.append(tuple(rest[:group]))
            del rest[:group]
    return tuple(found)


def _computed_in(dtype: Any) -> Any:
    return torch.float32 if dtype in HALVES else dtype


# A method of a tensor takes a microsecond even if it does nothing.
def _plain(tensor: Any) -> Any:
    """Return a tensor without its history, in the dtype that kernels compute in."""
    plain = tensor.detach() if tensor.requires_grad else tensor
    return plain.float() if plain.dtype in HALVES else plain


def _cast(result: Any, dtype: Any) -> Any:
    return result if result.dtype is dtype and result.is_contiguous() else result.to(dtype).contiguous()


def _shape(spec: TensorSpec) -> tuple[int, ...]:
    assert spec.shape is not None
    return spec.shape


def _dtype(spec: TensorSpec) -> Any:
    assert spec.dtype is not None
    return torch_dtype(spec.dtype)


def _require_one_device(layout: Layout, call: Call) -> None:
    named = [(a.name, tensor) for a, group in zip(layout.op.inputs, call.inputs) for tensor in group]
    for name, tensor in named[1:]:
        first, other = named[0]
        if tensor.device != other.device:
            raise RefusedCall(
                f"op '{layout.op.name}': '{name}' is on the device {tensor.device}, but '{first}' on {other.device}; "
                f"move one of them with .to()"
            )


# ---- what cannot be traced


def why_not(op: OpDef, kernel: KernelFunction, inputs: Sequence[Sequence[Any]], attributes: Mapping[str, Any]) -> str:
    """Return why a kernel cannot be traced for a call with these arrays; "" if it can."""
    layout = Layout(op, takes_is_train=IS_TRAIN in kernel.keywords)
    groups = [[torch.from_numpy(array) for array in group] for group in inputs]
    values = layout.write(groups, attributes, [argument.count for argument in op.outputs], is_train=False)
    try:
        Tracer(kernel, "eager").run(layout, (), values)
    except PykernelsError as error:
        return str(error)
    return ""


def _refusal(kernel: KernelFunction, error: Exception) -> KernelError:
    """Return an error with the line of the kernel at which tracing stopped."""
    text = str(error)
    lines = re.findall(r'File "([^"]+)", line (\d+)', text)
    files = {str(kernel.path), *map(inspect.getfile, kernel.helpers)}
    at = next((f"{file}:{line}" for file, line in reversed(lines) if file in files), kernel.where)
    why = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    return KernelError(
        f"{at}: the kernel runs on the CPU, but PyTorch cannot trace it for other devices: {why}. Write it with "
        f"operations on whole arrays"
    )
