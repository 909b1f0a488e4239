"""Convert an IR to one ONNX model: inline called graphs, and turn changes in place into new values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pykernels.base.errors import CallError
from pykernels.vendors.popxl.dtypes import dtype
from pykernels.vendors.popxl.streams import DeviceToHostStream, HostToDeviceStream
from pykernels.vendors.popxl.tensor import Constant, Tensor, Variable

if TYPE_CHECKING:
    import onnx

#: The version of the ONNX operators. ONNX Runtime 1.17 supports it, and all its reductions take axes as an input.
OPSET = 18


class Values:
    """The ONNX names of the current values of a graph's tensors."""

    def __init__(self, lowering: Lowering) -> None:
        self._lowering = lowering
        self._names: dict[Tensor, str] = {}

    def names(self, tensors: Sequence[Tensor]) -> list[str]:
        """Return the names of the tensors' current values."""
        return [self._name(tensor) for tensor in tensors]

    def set(self, tensors: Sequence[Tensor], names: Sequence[str]) -> None:
        """Set the names of the tensors' current values."""
        for tensor, name in zip(tensors, names):
            self._names[tensor._memory] = name

    def _name(self, tensor: Tensor) -> str:
        memory = tensor._memory
        if memory not in self._names:
            if isinstance(memory, Constant):
                return self._lowering.constant(memory)
            if not isinstance(memory, Variable):
                raise CallError(f"popxl.Session: {tensor!r} has no value: a call of its graph does not pass one")
            self._names[memory] = self._lowering.variable(memory)
        return self._names[memory]


@dataclass
class Lowering:
    """An ONNX model under construction, to which ops append nodes, and the meaning of its inputs and outputs."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: dict[Constant, onnx.TensorProto] = field(default_factory=dict)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    #: The model inputs of each stream, in the order of the loads, and the outputs in the order of the stores.
    loads: dict[HostToDeviceStream, list[str]] = field(default_factory=dict)
    stores: dict[DeviceToHostStream, list[str]] = field(default_factory=dict)
    #: The model inputs that take the values of the variables, and the outputs with the new values of those that change.
    variables: dict[Variable, str] = field(default_factory=dict)
    updates: dict[Variable, str] = field(default_factory=dict)
    #: Functions that add custom ops to session options, and the further arguments of each.
    extensions: dict[Callable[..., object], list[Any]] = field(default_factory=dict)
    domains: dict[str, int] = field(default_factory=lambda: {"": OPSET})
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def node(
        self, domain: str, type_: str, inputs: Sequence[str], outputs: Sequence[Tensor], attributes: Mapping[str, Any]
    ) -> list[str]:
        """Append a node and return the names of its outputs."""
        from onnx import helper

        names = [self._unique(tensor.id) for tensor in outputs]
        name = names[0] if names else self._unique(type_)
        self.nodes.append(helper.make_node(type_, inputs, names, name, domain=domain, **attributes))
        return names

    def need(self, domain: str, extend: Callable[..., object], item: Any) -> None:
        """Register `item` for ``extend(options, *items)``, which a session calls to support the nodes of a domain."""
        self.domains.setdefault(domain, 1)
        items = self.extensions.setdefault(extend, [])
        if item not in items:
            items.append(item)

    def constant(self, tensor: Constant) -> str:
        """Return the name of a constant's value."""
        from onnx import numpy_helper

        if tensor not in self.initializers:
            self.initializers[tensor] = numpy_helper.from_array(tensor._data, self._unique(tensor.id))
        name: str = self.initializers[tensor].name
        return name

    def variable(self, tensor: Variable) -> str:
        """Return the name of a variable's value at the start of a run."""
        if tensor not in self.variables:
            self.variables[tensor] = self._input(tensor.id, tensor.shape, tensor.dtype)
        return self.variables[tensor]

    def load(self, stream: HostToDeviceStream) -> str:
        """Return the name of a new model input for the next value of a stream."""
        name = self._input(stream.tensor_id, stream.shape, stream.dtype)
        self.loads.setdefault(stream, []).append(name)
        return name

    def store(self, stream: DeviceToHostStream, value: str) -> None:
        """Add a model output that stores a value as the next one of a stream."""
        self.stores.setdefault(stream, []).append(self._output(stream.tensor_id, value))

    def finish(self, values: Values, transfers: int) -> onnx.ModelProto:
        """Return the model, which also outputs the new values of variables.

        Raise CallError if the number of loads from or stores to a stream differs from `transfers`, or a call lacks an
        input.
        """
        import onnx
        from onnx import helper

        for streams, verb in ((self.loads, "loaded"), (self.stores, "stored")):
            for stream, names in streams.items():
                if len(names) != transfers:
                    raise CallError(
                        f"popxl.Session: {stream!r} is {verb} {len(names)} times in a run, but num_host_transfers of "
                        f"its popxl.Ir is {transfers}; both must be the same number"
                    )
        for tensor, begin in list(self.variables.items()):
            (end,) = values.names([tensor])
            if end != begin:
                self.updates[tensor] = self._output(tensor.id, end)
        outputs = [*itertools.chain(*self.stores.values()), *self.updates.values()]
        graph = helper.make_graph(
            self.nodes,
            "popxl",
            self.inputs,
            [onnx.ValueInfoProto(name=name) for name in outputs],
            list(self.initializers.values()),
        )
        opsets = [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        # ONNX Runtime 1.17 supports this version.
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def _output(self, name: str, value: str) -> str:
        """Return the name of a new model output that has this value."""
        from onnx import helper

        name = self._unique(name)
        # A model input, or an existing output, cannot become an output directly.
        self.nodes.append(helper.make_node("Identity", [value], [name], name))
        return name

    def _input(self, name: str, shape: Sequence[int], dtype: dtype) -> str:
        from onnx import helper

        unique = self._unique(name)
        self.inputs.append(helper.make_tensor_value_info(unique, dtype.as_onnx(), shape))
        return unique

    def _unique(self, name: str) -> str:
        return f"{name}#{next(self._numbers)}"
