"""Plans of calls: work out once what is the same in every call of a form, and remember it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType
from pykernels.define.definition import OpDef
from pykernels.load import discovery, loaded, plugins

__all__ = ["Plan", "find_plan"]

#: How many plans are remembered, so that an attribute that always changes cannot fill the memory.
_MOST_PLANS = 1024
#: The values of attributes that are known by their type and what they equal.
_PLAIN = frozenset({bool, int, float, str, type(None)})

_Call = Callable[..., Sequence[Any]]


class Plan:
    """A form of call of an op: how many tensors for which arguments, with which attributes.

    Parameters
    ----------
    op_type : str
        The op type; the name of a folder stands for its forward op.
    counts : sequence of str and int
        In turn the name of an argument and how many tensors it stands for, as a negative number for outputs. Of two
        entries for one argument the last counts.
    attributes : mapping, optional
        What is given of the attributes.

    Attributes
    ----------
    op : OpDef
    outputs : list of tuple
        The name of each output that is asked for, in that order, and its positions among all results.
    n_results : int
        How many tensors the op gives.
    is_whole : bool
        Whether all of them are asked for, in that order.
    calls : dict
        What `bind` has given, by the type of the one tensor, or by the tuple of the types of several.

    Raises
    ------
    CallError
        The op, an input, an output or an attribute is unknown, missing or malformed.
    """

    __slots__ = (
        "_attributes",
        "_counts",
        "_inputs",
        "_module",
        "_order",
        "calls",
        "is_whole",
        "n_results",
        "op",
        "outputs",
    )

    def __init__(self, op_type: str, counts: Sequence[str | int], attributes: Mapping[str, Any] | None) -> None:
        self._module = discovery.find_op(op_type)
        if op_type == self._module.name:
            op_type = f"{op_type}_forward"
        self.op: OpDef = self._module.definition.ops[op_type]
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
        # An optional output that nobody has asked for is left out.
        self._counts = [outputs.get(a.name, 0 if a.optional else a.count) for a in self.op.outputs]
        self.outputs = list(_slices(outputs or [a.name for a in self.op.outputs], self.op, self._counts))
        self.n_results = sum(self._counts)
        asked = [position for _, positions in self.outputs for position in range(positions.start, positions.stop)]
        self.is_whole = asked == list(range(self.n_results))
        order = [position for positions in self._inputs for position in positions]
        # None where the tensors come in the order of the definition.
        self._order = None if order == list(range(n_given)) else order
        self.calls: dict[Any, _Call] = {}

    def bind(self, tensors: Sequence[Any]) -> _Call:
        """What calls the op on tensors of the types of these; `calls` has it from then on.

        Raises
        ------
        CallError
            They are no tensors of one framework.
        """
        groups = [[tensors[position] for position in positions] for positions in self._inputs]
        call = plugins.bind(self._module, self.op.name, groups, self._attributes, self._counts)
        if self._order is not None:
            call = _reordered(call, self._order)
        self.calls[type(tensors[0]) if len(tensors) == 1 else tuple(map(type, tensors))] = call
        return call


def find_plan(op_type: str, counts: Sequence[str | int], attributes: Mapping[str, Any] | None) -> Plan:
    """The `Plan` of these parameters, a new one or one of an equal call before."""
    # Of the ops that are loaded now: whatever changes them begins another dictionary.
    plans = loaded.plans
    try:
        key = (op_type, *counts) if attributes is None else (op_type, *counts, *_keys(attributes))
        plan: Plan | None = plans.get(key)
    except TypeError:  # an argument's name, say, that cannot be hashed, or a value that is not remembered
        return Plan(op_type, counts, attributes)
    if plan is None:
        plan = Plan(op_type, counts, attributes)
        if len(plans) >= _MOST_PLANS:
            plans.clear()
        plans[key] = plan
    return plan


def _keys(attributes: Mapping[str, Any]) -> Iterator[Any]:
    """What tells these attributes from others, also from equal ones such as ``1`` and ``1.0``."""
    for name, value in attributes.items():
        yield name
        yield _key(value)


def _key(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        # The zeros of both signs are equal.
        return (kind, value) if kind is not float or value else (kind, 0, math.copysign(1, value))
    if kind is tuple or kind is list:
        return (kind, *map(_key, value))
    raise TypeError(f"a {kind} may change while it is remembered")


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
    return lambda *tensors: call(*[tensors[position] for position in order])
