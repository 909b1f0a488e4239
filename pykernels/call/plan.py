"""Plans of calls: compute once what all calls of the same form share, and cache it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType
from pykernels.define.declared import Declaration
from pykernels.define.definition import OpDef
from pykernels.load import discovery, loaded, plugins
from pykernels.load.module import OpModule

#: The most plans in the cache, so that an attribute that changes in every call cannot fill the memory.
_MOST_PLANS = 1024
#: The keywords of NumPy's ufuncs that calls take unless they are attributes of the op, with their defaults.
_DEFAULTS: dict[str, Any] = {"out": None, "where": True}
KEYWORDS = frozenset(_DEFAULTS)
#: The types of attributes whose values are identified by type and equality.
_PLAIN = frozenset({bool, int, float, str, type(None)})

_Call = Callable[..., Sequence[Any]]


class Plan:
    """A form in which an op is called: the number of tensors of each argument, and the attributes.

    As an op type, the name of a folder stands for its forward op. `counts` has alternately the name of an argument and
    its number of tensors, which is negative for outputs; the last of several entries for an argument counts.
    `attributes` are those that the call gives.

    Attributes
    ----------
    op : OpDef
    outputs : list of tuple
        The name of each requested output, in the order of the requests, and its positions among all results.
    calls, calls_into : dict
        The results of `bind` and `bind_into`, by the type of the tensor, or by the tuple of types if there are several.

    Raises
    ------
    CallError
        The op, an input, an output or an attribute is unknown, missing or malformed.
    """

    __slots__ = ("_attributes", "_counts", "_inputs", "_module", "_order", "calls", "calls_into", "op", "outputs")

    def __init__(self, op_type: str, counts: Sequence[str | int], attributes: Mapping[str, Any] | None) -> None:
        self._module, self.op = _find(op_type)
        op_type = self.op.name
        inputs: dict[str, range] = {}
        outputs: dict[str, int] = {}
        n_given = 0
        for name, count in zip(counts[::2], counts[1::2]):
            assert isinstance(count, int)
            if not isinstance(name, str):
                raise WrongType(f"op {op_type!r}: the name of an input or output is a string, not {name!r}")
            if count < 0:
                outputs[name] = -count
            else:
                inputs[name] = range(n_given, n_given + count)
                n_given += count
        _check_names(self.op, "input", inputs, [a.name for a in self.op.inputs])
        _check_names(self.op, "output", outputs, [a.name for a in self.op.outputs])
        self._attributes = self.op.parse_attributes(attributes or {})
        self._inputs = [inputs.get(argument.name, range(0)) for argument in self.op.inputs]
        # An optional output that is not requested is left out.
        self._counts = [outputs.get(a.name, 0 if a.optional else a.count) for a in self.op.outputs]
        self.outputs = list(_slices(outputs or [a.name for a in self.op.outputs], self.op, self._counts))
        order = [position for positions in self._inputs for position in positions]
        # None if the tensors come in the order of the definition.
        self._order = None if order == list(range(n_given)) else order
        self.calls: dict[Any, _Call] = {}
        self.calls_into: dict[Any, _Call] = {}

    @property
    def n_results(self) -> int:
        """The number of tensors that a call returns."""
        return sum(self._counts)

    def bind(self, tensors: Sequence[Any]) -> _Call:
        """Return the function that calls the op on tensors of these types, and store it in `calls`.

        This raises `CallError` if the values are not tensors of one framework.
        """
        groups = [[tensors[position] for position in positions] for positions in self._inputs]
        call = plugins.bind(self._module, self.op.name, groups, self._attributes, self._counts)
        if self._order is not None:
            call = _reordered(call, self._order)
        self.calls[_kinds(tensors)] = call
        return call

    def bind_into(self, tensors: Sequence[Any]) -> _Call:
        """Return the function that calls the op with the keywords of `take_keywords`, and store it in `calls_into`.

        This raises the errors of `bind`, and `CallError` if the tensors are not NumPy's arrays.
        """
        for tensor in tensors:
            framework = plugins.framework_of(tensor, self.op.name)
            if framework != plugins.NUMPY:
                raise CallError(
                    f"op {self.op.name!r}: out= and where= are for NumPy's arrays, and an input is a tensor of "
                    f"{framework}"
                )
        kinds = _kinds(tensors)
        call = self.calls.get(kinds) or self.bind(tensors)
        places = [at for _, positions in self.outputs for at in range(positions.start, positions.stop)]
        if places != list(range(self.n_results)):
            call = self._placed(call, places)
        self.calls_into[kinds] = call
        return call

    def _placed(self, call: _Call, places: Sequence[int]) -> _Call:
        def call_into(*tensors: Any, out: Any = None, **keywords: Any) -> Sequence[Any]:
            arrays: list[Any] = [None] * self.n_results
            for at, array in zip(places, arrays_of_out(self.op, out, len(places))):
                arrays[at] = array
            return call(*tensors, out=tuple(arrays), **keywords)

        return call_into


def arrays_of_out(op: Declaration, out: Any, count: int) -> tuple[Any, ...]:
    """Return what the keyword `out` has for each of `count` results; raise `CallError` if their numbers differ."""
    arrays = out if isinstance(out, tuple) else (None,) * count if out is None else (out,)
    if len(arrays) != count:
        raise CallError(f"op {op.name!r}: out has {len(arrays)} arrays, and the call has {count} results")
    return arrays


def find_plan(op_type: str, counts: Sequence[str | int], attributes: Mapping[str, Any] | None) -> Plan:
    """Return the `Plan` of these parameters, a new one or that of an equal earlier call."""
    # The plans belong to the ops that are loaded now: loading or unloading ops replaces this dictionary.
    plans = loaded.plans
    try:
        key = (op_type, *counts, *attributes, *map(_key, attributes.values())) if attributes else (op_type, *counts)
        plan: Plan | None = plans.get(key)
    except TypeError:  # a name that cannot be hashed, for example, or a value that cannot be cached
        return Plan(op_type, counts, attributes)
    if plan is None:
        plan = Plan(op_type, counts, attributes)
        if len(plans) >= _MOST_PLANS:
            plans.clear()
        plans[key] = plan
    return plan


def take_keywords(op_type: str, attributes: dict[str, Any]) -> dict[str, Any]:
    """Remove `KEYWORDS` from the attributes of a call, and return those that do not have their default value."""
    plans = loaded.plans
    names = plans.get(op_type)  # plans have tuples as their keys
    if names is None:
        names = plans[op_type] = KEYWORDS.difference(attribute.name for attribute in _find(op_type)[1].attributes)
    taken = {}
    for name in names:
        value = attributes.pop(name, _DEFAULTS[name])
        if value is not _DEFAULTS[name]:
            taken[name] = value
    return taken


def _find(op_type: str) -> tuple[OpModule, OpDef]:
    """Return the op of a type, and the folder that defines it; that of a folder is its forward op."""
    module = discovery.find_op(op_type)
    return module, module.definition.ops[f"{op_type}_forward" if op_type == module.name else op_type]


def _key(value: Any) -> Any:
    """Return a key that distinguishes an attribute's value even from equal ones, as ``1`` from ``1.0``."""
    kind = type(value)
    if kind in _PLAIN:
        # Zeros of both signs are equal.
        return (kind, value) if kind is not float or value else (kind, 0, math.copysign(1, value))
    if kind is tuple or kind is list:
        return (kind, *map(_key, value))
    raise TypeError(f"a {kind} may change while it is remembered")


def _kinds(tensors: Sequence[Any]) -> Any:
    return type(tensors[0]) if len(tensors) == 1 else tuple(map(type, tensors))


def _check_names(op: OpDef, kind: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise CallError(
                f"op {op.name!r} has no {kind} {name!r}; its {kind}s are {', '.join(known) or 'none'} "
                f"({op.file}:{op.line})"
            )


def _slices(asked: Iterable[str], op: OpDef, counts: Sequence[int]) -> Iterator[tuple[str, slice]]:
    ends = {}
    end = 0
    for argument, count in zip(op.outputs, counts):
        ends[argument.name] = slice(end, end := end + count)
    for name in asked:
        yield name, ends[name]


def _reordered(call: _Call, order: Sequence[int]) -> _Call:
    return lambda *tensors, **keywords: call(*[tensors[position] for position in order], **keywords)
