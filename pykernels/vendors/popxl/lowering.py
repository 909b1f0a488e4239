"""An IR as one ONNX model: called graphs stand in the place of their calls, and changes in place become new values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pykernels.base.errors import CallError
from pykernels.vendors.popxl.nodes import OPSET
from pykernels.vendors.popxl.streams import DeviceToHostStream, HostToDeviceStream
from pykernels.vendors.popxl.tensor import Constant, Tensor, Variable

if TYPE_CHECKING:
    import onnx

    from pykernels.vendors.popxl.graph import Graph
    from pykernels.vendors.popxl.ir import Ir

__all__ = ["Lowering", "Program", "Values", "lower"]


class Values:
    """What ONNX calls the present values of a graph's tensors."""

    def __init__(self, lowering: Lowering) -> None:
        self._lowering = lowering
        self._names: dict[Tensor, str] = {}

    def names(self, tensors: Sequence[Tensor]) -> list[str]:
        """The names of these tensors' values."""
        return [self._name(tensor) for tensor in tensors]

    def set(self, tensors: Sequence[Tensor], names: Sequence[str]) -> None:
        """Tensors have these values from now on."""
        for tensor, name in zip(tensors, names):
            self._names[tensor._memory] = name

    def _name(self, tensor: Tensor) -> str:
        memory = tensor._memory
        if memory not in self._names:
            if isinstance(memory, Constant):
                return self._lowering.constant(memory)
            if not isinstance(memory, Variable):
                raise CallError(f"popxl.Session: {tensor!r} has no value: a call of its graph gives none for it")
            self._names[memory] = self._lowering.variable(memory)
        return self._names[memory]


@dataclass
class Program:
    """An ONNX model, and what its inputs and outputs are.

    Attributes
    ----------
    model : onnx.ModelProto
    loads : dict
        The inputs of each stream, in the order in which they are loaded.
    stores : dict
        The outputs of each stream, in the order in which they are stored.
    variables : dict
        The inputs for the values of variables.
    updates : dict
        The outputs for their new values, where they change.
    extensions : dict
        What makes session options know ops that are not ONNX's: functions of them, and what else each is given.
    """

    model: onnx.ModelProto
    loads: dict[HostToDeviceStream, list[str]]
    stores: dict[DeviceToHostStream, list[str]]
    variables: dict[Variable, str]
    updates: dict[Variable, str]
    extensions: dict[Callable[..., object], list[Any]]


@dataclass
class Lowering:
    """What ops append to."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: dict[Constant, onnx.TensorProto] = field(default_factory=dict)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    loads: dict[HostToDeviceStream, list[str]] = field(default_factory=dict)
    stores: dict[DeviceToHostStream, list[str]] = field(default_factory=dict)
    variables: dict[Variable, str] = field(default_factory=dict)
    extensions: dict[Callable[..., object], list[Any]] = field(default_factory=dict)
    domains: dict[str, int] = field(default_factory=lambda: {"": OPSET})
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def graph(self, graph: Graph, values: Values) -> None:
        """Append the nodes of all ops of a graph."""
        for op in graph.ops:
            op.lower(self, values)

    def node(
        self,
        domain: str,
        type_: str,
        inputs: Sequence[str],
        outputs: Sequence[Tensor],
        attributes: Mapping[str, Any],
    ) -> list[str]:
        """Append a node; returns the names of its outputs."""
        from onnx import helper

        names = [self._unique(tensor.id) for tensor in outputs]
        name = names[0] if names else self._unique(type_)
        self.nodes.append(helper.make_node(type_, inputs, names, name, domain=domain, **attributes))
        return names

    def need(self, domain: str, extend: Callable[..., object], item: Any) -> None:
        """Have ``extend(options, ...)`` called with `item` among others, so that nodes of a domain are known."""
        self.domains.setdefault(domain, 1)
        items = self.extensions.setdefault(extend, [])
        if item not in items:
            items.append(item)

    def constant(self, tensor: Constant) -> str:
        """The name of a constant's value."""
        from onnx import numpy_helper

        if tensor not in self.initializers:
            self.initializers[tensor] = numpy_helper.from_array(tensor._data, self._unique(tensor.id))
        name: str = self.initializers[tensor].name
        return name

    def variable(self, tensor: Variable) -> str:
        """The name of a variable's value at the begin of a run."""
        if tensor not in self.variables:
            self.variables[tensor] = self._input(tensor.id, tensor.shape, tensor.dtype.as_numpy())
        return self.variables[tensor]

    def load(self, stream: HostToDeviceStream) -> str:
        """The name of what comes next in a stream."""
        name = self._input(stream.tensor_id, stream.shape, stream.dtype.as_numpy())
        self.loads.setdefault(stream, []).append(name)
        return name

    def store(self, stream: DeviceToHostStream, value: str) -> None:
        """Have a value come next in a stream."""
        self.stores.setdefault(stream, []).append(self.output(stream.tensor_id, value))

    def output(self, name: str, value: str) -> str:
        """The name of an output that has this value."""
        from onnx import helper

        name = self._unique(name)
        # An input, or what is an output already, cannot be an output itself.
        self.nodes.append(helper.make_node("Identity", [value], [name], name))
        return name

    def _input(self, name: str, shape: Sequence[int], dtype: Any) -> str:
        from onnx import helper

        value = helper.make_tensor_value_info(self._unique(name), helper.np_dtype_to_tensor_dtype(dtype), shape)
        self.inputs.append(value)
        made: str = value.name
        return made

    def _unique(self, name: str) -> str:
        return f"{name}#{next(self._numbers)}"


def lower(ir: Ir) -> Program:
    """The ONNX model of an IR.

    Raises
    ------
    CallError
        A stream is not loaded from, or stored to, `Ir.num_host_transfers` times; a call lacks an input.
    """
    import onnx
    from onnx import helper

    lowering = Lowering()
    values = Values(lowering)
    lowering.graph(ir.main_graph, values)
    for streams, verb in ((lowering.loads, "loaded"), (lowering.stores, "stored")):
        for stream, names in streams.items():
            if len(names) != ir.num_host_transfers:
                raise CallError(
                    f"popxl.Session: {stream!r} is {verb} {len(names)} times in a run, but num_host_transfers of its "
                    f"popxl.Ir is {ir.num_host_transfers}; both must be the same number"
                )
    updates = {}
    for tensor, begin in list(lowering.variables.items()):
        (end,) = values.names([tensor])
        if end != begin:
            updates[tensor] = lowering.output(tensor.id, end)
    outputs = [name for names in lowering.stores.values() for name in names] + list(updates.values())
    graph = helper.make_graph(
        lowering.nodes,
        "popxl",
        lowering.inputs,
        [onnx.ValueInfoProto(name=name) for name in outputs],
        list(lowering.initializers.values()),
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in lowering.domains.items()]
    # ONNX Runtime 1.17 knows this version.
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return Program(model, lowering.loads, lowering.stores, lowering.variables, updates, lowering.extensions)
