"""Choose the kernels of a library, and compile them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.base import abi, dtypes
from pykernels.base.errors import BuildError, CallError, CompileFailed, KernelError
from pykernels.build import linking
from pykernels.call.uses import Use, forward_use, gradient_uses
from pykernels.define.definition import OpDef
from pykernels.kernel import service
from pykernels.kernel.facts import ELEMENTWISE, PYTHON, Facts
from pykernels.kernel.pipeline import compile_kernel
from pykernels.kernel.read.signature import Signature, read_shapes, signature_of
from pykernels.kernel.read.source import KernelFunction
from pykernels.load.module import OpModule
from pykernels.load.samples import MAX_NDIM, Sample, sample

# More elements would need the same kernels.
_ELEMENTS = 64
#: The default dtypes; those are compiled that the definition accepts.
DEFAULT_DTYPES = ("float32", "float64", "float16")


@dataclass(frozen=True)
class Wanted:
    """The kernels that a library should contain."""

    #: The dtypes of the inputs; `DEFAULT_DTYPES` if empty.
    dtypes: Sequence[np.dtype | str] = ()
    #: The shapes of inputs, of which only the number of axes counts. By default those of `samples.sample`, and inputs
    #: of one shape with up to `samples.MAX_NDIM` axes.
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    #: Values of attributes. Numbers may be left out, since kernels take them at run time.
    attributes: Mapping[str, Any] = field(default_factory=dict)
    #: Whether to compile the ops of gradients, too.
    gradients: bool = True
    #: As for `kernel.pipeline.compile_kernel`: what the objects are for.
    filename: str = linking.RELOCATABLE


@dataclass(frozen=True, eq=False)
class LibraryKernel:
    """A kernel that is compiled to an object."""

    op: OpDef
    function: KernelFunction
    #: The use that it was compiled for.
    instance: abi.Instance
    #: The signature of the use, not specialized on any numbers.
    given: Signature
    signature: Signature
    #: The object, whose function is `linking.ENTRY`.
    path: Path
    facts: Facts

    @property
    def any_rank(self) -> bool:
        """Whether it takes tensors with any number of axes."""
        return self.facts.form == ELEMENTWISE


#: The kernels of each op.
Kernels = Mapping[OpModule, Sequence[LibraryKernel]]


def compile_kernels(module: OpModule, wanted: Wanted) -> tuple[list[LibraryKernel], list[str]]:
    """Compile the kernels of a folder for the chosen processor, or find them in the cache.

    Dtypes and numbers of axes that are not chosen explicitly are left out if the definition or the kernel refuses them,
    as long as one remains. Return the kernels, and why others for calls that the definition accepts are missing.

    This raises `BuildError` if a kernel needs Python or no compiler is installed, `CallError` if the definition refuses
    the chosen dtypes, shapes or attributes, and another `PykernelsError` if something else is wrong with the folder.
    """
    found = _Collected(module, wanted.filename)
    for variant in _variants(module, wanted):
        try:
            for use in variant.uses:
                found.add(use)
        except CompileFailed:
            raise
        except (BuildError, KernelError) as error:
            if variant.is_required:
                raise
            found.left_out.append(str(error))
    return found.kernels, found.left_out


class _Collected:
    """Collects the kernels of a folder."""

    def __init__(self, module: OpModule, filename: str) -> None:
        self.kernels: list[LibraryKernel] = []
        self.left_out: list[str] = []
        self._module = module
        self._filename = filename
        self._covered: set[tuple[str, Signature]] = set()

    def add(self, use: Use) -> None:
        """Compile the kernel that a use needs, unless it is there already."""
        given = signature_of(use.op, self._module.kernel(use.op.name), use.instance())
        if {(use.op.name, given), (use.op.name, given.without_ranks())} & self._covered:
            return
        made = self._add_specialized(use, given)
        self._covered.add((use.op.name, given.without_ranks() if made.any_rank else given))

    def _add_specialized(self, use: Use, given: Signature, covered: Sequence[str] = ()) -> LibraryKernel:
        """Add the kernel of a use, and those for other values of the numbers that it is specialized on.

        One kernel that is not specialized serves them all. Without it, there is a kernel for each likely value of
        the numbers that are not in `covered`.
        """
        made = self._compile(use, given)
        if all((made.op.name, made.signature) != (other.op.name, other.signature) for other in self.kernels):
            self.kernels.append(made)
        names = [name for name in made.signature.specialized if name not in covered]
        if not names:
            return made
        if not covered:
            with contextlib.suppress(BuildError, KernelError):
                self.kernels.append(self._compile(use, given, any_values=True))
                return made
        own = tuple(use.attributes[name] for name in names)
        for values in itertools.product(*(self._values(use, given, name) for name in names)):
            other = replace(use, attributes={**use.attributes, **dict(zip(names, values))})
            if values != own:
                with contextlib.suppress(CallError, KernelError):
                    other.infer()
                    self._add_specialized(other, given, made.signature.specialized)
        return made

    def _values(self, use: Use, given: Signature, name: str) -> Sequence[Any]:
        """Return the likely values of an attribute: both truth values, or the numbers of axes from either end."""
        if name in given.flags:
            return (False, True)
        if name in given.reals:
            return (use.attributes[name],)
        ndim = max((tensor.ndim for tensor in given.tensors), default=0)
        return sorted({*range(-ndim, ndim), use.attributes[name]})

    def _compile(self, use: Use, given: Signature, *, any_values: bool = False) -> LibraryKernel:
        op, function, instance = use.op, self._module.kernel(use.op.name), use.instance()
        names, shapes = service.output_names(op, instance), read_shapes(instance)
        values = {} if any_values else {name: use.attributes[name] for name, at in given.scalars if at >= 0}
        path, facts, signature = compile_kernel(
            function, op.name, given, names, shapes, values, filename=self._filename
        )
        if facts.form == PYTHON or facts.python_calls:
            where, reason = function.where, facts.reason
            if facts.python_calls:
                call = facts.python_calls[0]
                where, reason = str(function.path.parent / call.where), f"it calls {call.name}: {call.reason}"
            raise BuildError(f"op {op.name!r}: {where}: {function.name} needs Python at run time: {reason}")
        return LibraryKernel(op, function, instance, given, signature, path, facts)


@dataclass(frozen=True)
class _Variant:
    """The uses of a forward op and its gradient for inputs of certain types."""

    uses: list[Use]
    is_required: bool


def _variants(module: OpModule, wanted: Wanted) -> Iterator[_Variant]:
    refused: list[CallError] = []
    accepted = 0
    for dtype in map(dtypes.find, wanted.dtypes or DEFAULT_DTYPES):
        try:
            first = sample(module, _ELEMENTS, dtype, shapes=wanted.shapes, attributes=wanted.attributes, makes_up=False)
        except CallError as error:
            if wanted.dtypes:
                raise
            refused.append(error)
            continue
        accepted += 1
        yield _Variant(_uses(module, first, wanted), is_required=bool(wanted.dtypes) or accepted == 1)
        for other in () if wanted.shapes else _others(module, first, dtype, wanted):
            with contextlib.suppress(CallError):
                yield _Variant(_uses(module, other, wanted), is_required=False)
    if not accepted:
        raise refused[0]


def _others(module: OpModule, first: Sample, dtype: np.dtype, wanted: Wanted) -> Iterator[Sample]:
    """Yield arguments with other numbers of axes, which the definition may refuse."""
    for ndim in range(1, MAX_NDIM + 1):
        with contextlib.suppress(CallError):
            yield sample(module, _ELEMENTS, dtype, attributes=wanted.attributes, ndim=ndim, makes_up=False)
    # Batches of the given arguments: of all inputs, or of the data without its weights.
    for more in range(1, MAX_NDIM):
        yield Sample([[_batch(a, more) for a in group] for group in first.inputs], first.attributes)
        data, *weights = first.inputs or [[]]
        yield Sample([[_batch(a, more) for a in data], *weights], first.attributes)


def _batch(array: np.ndarray, more: int) -> np.ndarray:
    """Return the array with more axes of length one, up to the limit."""
    return array[(None,) * min(more, max(0, MAX_NDIM - array.ndim))]


def _uses(module: OpModule, arguments: Sample, wanted: Wanted) -> list[Use]:
    forward = forward_use(module, arguments)
    forward.infer()  # the definition may refuse it
    return [forward, *(gradient_uses(module, forward) if wanted.gradients else ())]
