"""Define ``popxl.Session``, which runs an IR with ONNX Runtime on the CPU."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pykernels.base.errors import CallError
from pykernels.base.refusals import RefusedCall, WrongType
from pykernels.vendors.popxl.dtypes import to_numpy
from pykernels.vendors.popxl.ir import Ir
from pykernels.vendors.popxl.lowering import Lowering, Values
from pykernels.vendors.popxl.streams import DeviceToHostStream, HostToDeviceStream, Stream
from pykernels.vendors.popxl.tensor import Constant, Tensor, Variable

_DEVICES = ("cpu", "ipu_model")


class Session:
    """A session, which runs an IR.

    Runs take place inside ``with session:``. There the variables have separate values ("on the device"), which are
    copied from the host on entry and back to the host on exit.

    Parameters
    ----------
    ir : Ir
        The IR to run. It cannot be changed any more.
    device_desc : str
        "cpu" or "ipu_model", which both mean ONNX Runtime on the CPU. "ipu_hw" is an error, as there is no IPU.
    weights_to_host_on_exit : bool
        Whether to copy the variables back to the host on exit.

    Raises
    ------
    CallError
        The number of loads from or stores to a stream differs from `Ir.num_host_transfers`, or ONNX Runtime rejects
        the ops.
    RuntimeError
        `device_desc` is "ipu_hw" or unknown.
    LoadError, DefinitionError, KernelError, BuildError, CacheError
        An op folder that the IR uses is wrong or cannot be built.
    """

    def __init__(self, ir: Ir, device_desc: str = "cpu", weights_to_host_on_exit: bool = True) -> None:
        import onnxruntime

        if not isinstance(ir, Ir):
            raise WrongType(f"popxl.Session: {ir!r} is not a popxl.Ir")
        if device_desc not in _DEVICES:
            hint = "there is no IPU here; " if device_desc == "ipu_hw" else ""
            raise RefusedCall(f"popxl.Session: {device_desc!r}: {hint}choose one of {', '.join(_DEVICES)}")
        self.ir = ir
        self.weights_to_host_on_exit = weights_to_host_on_exit
        self._pid = os.getpid()
        self._program = Lowering()
        values = Values(self._program)
        ir.main_graph.lower(self._program, values)
        model = self._program.finish(values, ir.num_host_transfers)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # its errors are raised anyway
        # Higher levels fuse nodes, which not every dtype supports and which rounds differently.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        for extend, items in self._program.extensions.items():
            extend(options, *items)
        try:
            self._runtime = onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:
            raise CallError(
                f"popxl.Session: ONNX Runtime {onnxruntime.__version__} refuses the graph: {error}"
            ) from error
        ir._closed = True
        self._host = {variable: variable._data.copy() for variable in ir.main_graph.variables}
        self._device: dict[Variable, np.ndarray] = {}
        self._depth = 0
        self._in_sync = True
        # Several threads may share the session; their runs take turns.
        self._lock = threading.Lock()

    @property
    def is_attached(self) -> bool:
        """Whether the session is inside a ``with`` statement."""
        return self._depth > 0

    def expected_inputs(self) -> list[HostToDeviceStream]:
        """Return the streams for which `run` needs data."""
        return list(self._program.loads)

    def run(
        self, inputs: Mapping[HostToDeviceStream, Any] | None = None, downcast_inputs: bool = True
    ) -> dict[DeviceToHostStream, np.ndarray]:
        """Run the IR once.

        Parameters
        ----------
        inputs : mapping, optional
            Data of the stream's shape for every stream from which the IR loads. If `Ir.num_host_transfers` exceeds 1,
            the data have an additional first axis of that size.
        downcast_inputs : bool
            Whether to convert 64-bit types to 32-bit ones.

        Returns
        -------
        dict
            An array for every stream to which the IR stores, with the same additional axis.

        Raises
        ------
        CallError
            The session is not inside a ``with`` statement, data are missing or do not fit their stream, or an op fails.
        RuntimeError
            The session was created in another process, from which this one was forked.
        """
        self._check_attached("run")
        feeds = self._feeds(inputs or {}, downcast_inputs)
        stores = [name for names in self._program.stores.values() for name in names]
        wanted = [*stores, *self._program.updates.values()]
        with self._lock:
            feeds.update((name, self._device[variable]) for variable, name in self._program.variables.items())
            try:
                results = dict(zip(wanted, self._runtime.run(wanted, feeds) if wanted else []))
            except Exception as error:
                raise CallError(f"Session.run: {error}") from error
            for variable, name in self._program.updates.items():
                self._device[variable] = results[name]
            self._in_sync = self._in_sync and not self._program.updates
        return {
            stream: np.stack([results[name] for name in names]) if len(names) > 1 else results[names[0]]
            for stream, names in self._program.stores.items()
        }

    def run_with_outputs(
        self,
        inputs: Mapping[HostToDeviceStream, Any] | None = None,
        outputs: Mapping[DeviceToHostStream, np.ndarray] | None = None,
        downcast_inputs: bool = True,
    ) -> None:
        """Run the IR once and write the results to the given arrays, such as those of `create_host_outputs`."""
        self._check_attached("run_with_outputs")
        arrays = outputs or {}
        self._check_streams(arrays, self._program.stores, "outputs", DeviceToHostStream)
        for stream, array in arrays.items():
            shape = self._shape(stream)
            if not isinstance(array, np.ndarray) or (array.shape, array.dtype) != (shape, stream.dtype.as_numpy()):
                raise CallError(
                    f"Session.run_with_outputs: {_described(array)} is given for {stream!r}, which has {shape}"
                )
        for stream, result in self.run(inputs, downcast_inputs).items():
            arrays[stream][...] = result

    def create_host_outputs(self) -> dict[DeviceToHostStream, np.ndarray]:
        """Return uninitialized arrays for the results of `run_with_outputs`."""
        return {stream: np.empty(self._shape(stream), stream.dtype.as_numpy()) for stream in self._program.stores}

    def weights_to_host(self) -> None:
        """Copy the variables from the device to the host; raise CallError outside ``with session:``."""
        self._check_attached("weights_to_host")
        self._host.update(self._device)
        self._in_sync = True

    def weights_from_host(self) -> None:
        """Copy the variables from the host to the device; raise CallError outside ``with session:``."""
        self._check_attached("weights_from_host")
        self._device = dict(self._host)
        self._in_sync = True

    def get_tensor_data(self, tensor: Variable | Constant) -> np.ndarray:
        """Return the value of a variable or a constant: inside ``with session:`` that on the device, else on the host.

        Raises
        ------
        TypeError
            The tensor is neither a variable nor a constant.
        CallError
            The tensor belongs to another IR.
        """
        return self.get_tensors_data([tensor])[tensor]

    def get_tensors_data(self, tensors: Iterable[Variable | Constant]) -> dict[Variable | Constant, np.ndarray]:
        """Return the values of several variables and constants, as `get_tensor_data` does."""
        wanted = list(tensors)
        for tensor in wanted:
            if not isinstance(tensor, (Variable, Constant)):
                raise WrongType(f"Session.get_tensor_data: {tensor!r} is neither a variable nor a constant")
            self._check_own("get_tensor_data", tensor)
        if self.is_attached and not self._in_sync and any(isinstance(tensor, Variable) for tensor in wanted):
            self.weights_to_host()
        return {t: self._host[t].copy() if isinstance(t, Variable) else t._data.copy() for t in wanted}

    def write_variable_data(self, tensor: Variable, data: Any) -> None:
        """Set the value of a variable on the host and, inside ``with session:``, also on the device.

        Raises
        ------
        TypeError
            The tensor is not a variable, or `data` have another dtype.
        CallError
            `data` have another shape, or the variable belongs to another IR.
        """
        self.write_variables_data({tensor: data})

    def write_variables_data(self, tensors: Mapping[Variable, Any]) -> None:
        """Set the values of several variables, as `write_variable_data` does; if one does not fit, set none."""
        arrays = {}
        for tensor, data in tensors.items():
            if not isinstance(tensor, Variable):
                raise WrongType(f"Session.write_variable_data: {tensor!r} is not a variable")
            self._check_own("write_variable_data", tensor)
            number = isinstance(data, (int, float)) and not isinstance(data, np.generic)
            array = to_numpy(data, tensor.dtype if number else None, downcast=False)
            if array.dtype != tensor.dtype.as_numpy():
                raise WrongType(f"Session.write_variable_data: {tensor!r} cannot have a value of {array.dtype}")
            if array.shape != tensor.shape:
                raise CallError(
                    f"Session.write_variable_data: {tensor!r} cannot have a value of the shape {array.shape}"
                )
            arrays[tensor] = array
        if self.is_attached and not self._in_sync:
            self.weights_to_host()  # so that the other variables keep their current values
        self._host.update(arrays)
        if self.is_attached:
            self.weights_from_host()

    def __enter__(self) -> Session:
        self._depth += 1
        if self._depth == 1:
            self.weights_from_host()
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        if self._depth == 1:
            if kind is None and self.weights_to_host_on_exit:
                self.weights_to_host()
            self._device = {}
        self._depth -= 1

    def _feeds(self, inputs: Mapping[HostToDeviceStream, Any], downcast: bool) -> dict[str, np.ndarray]:
        self._check_streams(inputs, self._program.loads, "inputs", HostToDeviceStream)
        feeds: dict[str, np.ndarray] = {}
        for stream, data in inputs.items():
            array, shape = to_numpy(data, downcast=downcast), self._shape(stream)
            if not hasattr(data, "dtype") and array.dtype.kind == "i":
                # Python integers fit every dtype that can represent them.
                converted = array.astype(stream.dtype.as_numpy())
                array = converted if (converted == array).all() else array
            if array.dtype != stream.dtype.as_numpy():
                raise CallError(
                    f"Session.run: {_described(array)} is given for {stream!r}; convert it to {stream.dtype.name}"
                )
            # For a single number, axes of length 1 do not matter.
            if array.shape != shape and not (array.size == 1 and np.prod(shape) == 1):
                transfers = f", with num_host_transfers {shape}" if self.ir.num_host_transfers > 1 else ""
                raise CallError(
                    f"Session.run: {_described(array)} is given for {stream!r}{transfers}; shapes must agree"
                )
            names = self._program.loads[stream]
            feeds.update(zip(names, map(np.asarray, array.reshape((len(names), *stream.shape)))))
        return feeds

    def _shape(self, stream: Stream) -> tuple[int, ...]:
        transfers = self.ir.num_host_transfers
        return (transfers, *stream.shape) if transfers > 1 else stream.shape

    def _check_attached(self, method: str) -> None:
        if self._pid != os.getpid():
            raise RefusedCall(
                f"Session.{method}: the session was made in process {self._pid}, from which this one was forked; make "
                "another in this process"
            )
        if not self.is_attached:
            raise CallError(f"Session.{method}: the session is not open; call it inside `with session:`")

    def _check_own(self, method: str, tensor: Tensor) -> None:
        if tensor.ir is not self.ir:
            raise CallError(f"Session.{method}: {tensor!r} is of another popxl.Ir than the session")

    @staticmethod
    def _check_streams(given: Mapping[Any, Any], expected: Iterable[Stream], what: str, kind: type[Stream]) -> None:
        wanted = list(expected)
        for key in given:
            if not isinstance(key, kind):
                raise WrongType(f"Session.run: {what} has the key {key!r}; it must be a popxl.{kind.__name__}")
            if key not in wanted:
                raise CallError(f"Session.run: {what} has data for {key!r}, which the graph does not use")
        for stream in wanted:
            if stream not in given:
                raise CallError(f"Session.run: {what} has no data for {stream!r}")


def _described(array: Any) -> str:
    return f"an array of {array.dtype} {array.shape}" if isinstance(array, np.ndarray) else repr(array)
