"""Signatures of kernels: the dtypes and ranks of tensors, the run-time numbers, and the compiled-in constants."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from pykernels.base import abi, dtypes
from pykernels.base.errors import KernelError
from pykernels.base.locks import once
from pykernels.define.declared import Argument
from pykernels.define.definition import OpDef
from pykernels.kernel.read.source import IS_TRAIN, KernelFunction

#: The rank of a tensor that may have any.
ANY_RANK = -1


@dataclass(frozen=True)
class TensorType:
    """The dtype and rank of one tensor, and whether it is an input that the kernel changes in place."""

    #: That of its memory; a kernel sees an array of ``dtypes.seen_as(dtype)``.
    dtype: np.dtype
    ndim: int
    mutable: bool = False

    def __str__(self) -> str:
        axes = "..." if self.ndim == ANY_RANK else ", ".join(":" * self.ndim)
        return f"{self.dtype}[{axes}]{'!' if self.mutable else ''}"


#: One argument in ``args``: a tensor, None for an optional one that is left out, a tuple for a repeated one.
Group: TypeAlias = TensorType | tuple[TensorType, ...] | None


@dataclass(frozen=True)
class Signature:
    """What a kernel is compiled for.

    A keyword of a kernel is a *scalar* or a *constant*. A scalar is passed at run time, so one kernel serves all of its
    values; a constant is compiled in. Numbers begin as scalars, all other attributes are constants. Where the code
    depends on the value of a number, such as an axis or a bool that it branches on, the kernel is *specialized* on it:
    the number becomes a constant, and each value gets its own kernel. The recogniser finds the names of such numbers;
    `Facts.specialize_on` passes them to `specialize`.
    """

    #: The tensors of each input and each output of the definition.
    inputs: tuple[Group, ...]
    outputs: tuple[Group, ...]
    #: The keywords passed at run time, each with its position among the definition's attributes, or
    #: ``abi.SCALAR_IS_TRAIN``.
    scalars: tuple[tuple[str, int], ...] = ()
    #: The scalars that are floating-point numbers.
    reals: frozenset[str] = frozenset()
    #: The scalars that are bools.
    flags: frozenset[str] = frozenset()
    #: The keywords that are compiled in.
    constants: tuple[tuple[str, Any], ...] = field(default=(), compare=False)
    #: The constants that are numbers.
    specialized: tuple[str, ...] = ()
    # Compared as text, since -0.0 equals 0.0, and NaN does not equal itself.
    _constants_as_text: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_constants_as_text", repr(self.constants))

    @once
    def tensors(self) -> tuple[TensorType, ...]:
        """Every tensor, inputs first, in the order of the ABI's buffers."""
        return tuple(leaves((*self.inputs, *self.outputs)))

    @once
    def n_inputs(self) -> int:
        """The number of inputs among `tensors`."""
        return len(leaves(self.inputs))

    @once
    def mutable(self) -> frozenset[int]:
        """The positions in ``args`` of the inputs that the kernel changes."""
        return frozenset(at for at, group in enumerate(self.inputs) if any(t.mutable for t in leaves((group,))))

    @once
    def has_ranks(self) -> bool:
        """Whether the ranks of the tensors are known."""
        return all(tensor.ndim != ANY_RANK for tensor in self.tensors)

    def without_ranks(self) -> Signature:
        """Return the signature for tensors of any rank."""
        return replace(self, inputs=_without_ranks(self.inputs), outputs=_without_ranks(self.outputs))

    @once
    def specializable(self) -> frozenset[str]:
        """The scalars that it can be specialized on: attributes that are integers or bools."""
        return frozenset(name for name, at in self.scalars if at != abi.SCALAR_IS_TRAIN) - self.reals

    def specialize(self, names: Collection[str], values: Mapping[str, Any]) -> Signature:
        """Return the signature with the values of some scalars compiled in."""
        constants = tuple((name, values[name]) for name, _ in self.scalars if name in names)
        return replace(
            self,
            scalars=tuple((name, at) for name, at in self.scalars if name not in names),
            flags=self.flags - set(names),
            constants=self.constants + constants,
            specialized=self.specialized + tuple(name for name, _ in constants),
        )

    def serves(self, values: Mapping[str, Any]) -> bool:
        """Whether `values` has the values that the signature is specialized on."""
        constants = dict(self.constants)
        return all(values[name] == constants[name] for name in self.specialized)

    def example(self, name: str) -> bool | int | float:
        """Return a sample value of a scalar's type."""
        return True if name in self.flags else 1.0 if name in self.reals else 1

    def __str__(self) -> str:
        inputs = ", ".join(map(_describe, self.inputs))
        constants = "".join(f", {name}={value!r}" for name, value in self.constants)
        return f"({inputs}{constants}) -> ({', '.join(map(_describe, self.outputs))})"


def _without_ranks(groups: Sequence[Group]) -> tuple[Group, ...]:
    return group_shapes(groups, (replace(tensor, ndim=ANY_RANK) for tensor in leaves(groups)))


def _describe(group: Group) -> str:
    return f"({', '.join(map(str, group))})" if isinstance(group, tuple) else str(group)


def leaves(groups: Iterable[Any]) -> list[Any]:
    """Return what groups hold, tensors or arrays, one after the other."""
    return [each for group in groups if group is not None for each in (group if isinstance(group, tuple) else (group,))]


_REALS = {abi.AttrType.FLOAT, abi.AttrType.DOUBLE}
_SCALARS = {abi.AttrType.INT32, abi.AttrType.INT64, abi.AttrType.BOOL, *_REALS}


def signature_of(op: OpDef, kernel: KernelFunction, instance: abi.Instance) -> Signature:
    """Return the signature under which `instance` runs `kernel`; raise `KernelError` if no kernel can serve it."""
    if op.outputs and not instance.n_outputs:
        names = ", ".join(repr(output.name) for output in op.outputs)
        raise KernelError(f"op {op.name!r} has nothing to compute: the call asks for none of its outputs, {names}")
    types = {attribute.name: (at, attribute.type) for at, attribute in enumerate(op.attributes)}
    scalars, reals, flags, constants = [], set(), set(), []
    for keyword in kernel.keywords:
        if keyword == IS_TRAIN:
            scalars.append((keyword, abi.SCALAR_IS_TRAIN))
            flags.add(keyword)
            continue
        at, type_ = types[keyword]
        if type_ in _SCALARS:
            scalars.append((keyword, at))
            reals |= {keyword} if type_ in _REALS else set()
            flags |= {keyword} if type_ is abi.AttrType.BOOL else set()
        else:
            constants.append((keyword, _constant(type_, abi.decode_attr(instance.attrs[at]))))
    return Signature(
        _group(op, op.inputs, instance.inputs[: instance.n_inputs]),
        _group(op, op.outputs, instance.outputs[: instance.n_outputs]),
        tuple(scalars),
        frozenset(reals),
        frozenset(flags),
        tuple(constants),
    )


def _constant(type_: abi.AttrType, value: Any) -> Any:
    """Return an attribute's value as a kernel sees it: dtypes are NumPy's."""
    if type_ is abi.AttrType.DTYPE:
        return dtypes.seen_as(dtypes.from_number(value))
    if type_ is abi.AttrType.LIST_DTYPE:
        return tuple(dtypes.seen_as(dtypes.from_number(number)) for number in value)
    return value


def _group(op: OpDef, arguments: Sequence[Argument], tensors: Sequence[abi.Tensor]) -> tuple[Group, ...]:
    found: dict[str, list[TensorType]] = {}
    mutable = {argument.name for argument in arguments if argument.mutable}
    for tensor in tensors:
        name = tensor.argument.decode()
        try:
            dtype = dtypes.from_number(tensor.dtype)
        except KeyError:
            raise KernelError(
                f"op {op.name!r}: {name!r} has dtype {dtypes.dtype_name(tensor.dtype)}, which kernels cannot take"
            ) from None
        found.setdefault(name, []).append(TensorType(dtype, tensor.ndim, name in mutable))
    return tuple(
        tuple(found.get(a.name, ())) if a.repeated else next(iter(found.get(a.name, ())), None) for a in arguments
    )


def read_shapes(instance: abi.Instance) -> list[tuple[int, ...]]:
    """Return the shapes of an instance's tensors, inputs first."""
    tensors = [*instance.inputs[: instance.n_inputs], *instance.outputs[: instance.n_outputs]]
    return [tuple(tensor.dims[: tensor.ndim]) for tensor in tensors]


def group_shapes(groups: Sequence[Group], items: Iterator[Any]) -> tuple[Any, ...]:
    """Arrange `items`, one for each tensor, like `groups`: the layout of ``args`` and ``outs``."""
    return tuple(
        tuple(next(items) for _ in group) if isinstance(group, tuple) else None if group is None else next(items)
        for group in groups
    )
