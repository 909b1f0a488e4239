"""Run models in ONNX Runtime, with libraries of custom ops."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pykernels.base.errors import CallError, DefinitionError, LoadError
from pykernels.vendors.popart import build, loading
from pykernels.vendors.poprt.types import describe, fits

if TYPE_CHECKING:
    import onnx
    import onnxruntime

_ENTRY = "RegisterCustomOps"
_TRY = f"""import ctypes, sys
for needed in sys.argv[2:]:
    ctypes.CDLL(needed, ctypes.RTLD_GLOBAL)
library = ctypes.CDLL(sys.argv[1])
sys.exit(None if sys.argv[2:] or hasattr(library, {_ENTRY!r}) else "no {_ENTRY}")
"""
# An IR version that the oldest supported version of ONNX Runtime accepts.
_IR_VERSION = 9
_UNKNOWN_OP = re.compile(r"Fatal error: (\S*):(\S+)\(-?\d+\) is not a registered function/op")
# The prefixes of ONNX Runtime's messages.
_BEFORE = re.compile(
    r"^\[ONNXRuntimeError\] : \d+ : \w+ : |^Exception during initialization: |^/\S+:\d+ .*?\) (?=[A-Z])"
)


def check_libraries(paths: Sequence[Path]) -> None:
    """Load each library in a separate process, which a broken library may crash.

    Raise LoadError if a file is missing, is not a library, or has no custom ops for ONNX Runtime.
    """
    for path in paths:
        if not path.is_file():
            raise LoadError(f"{path} does not exist (--custom_library_so_paths)")
        needed = [str(build.build())] if loading.is_library(path) else []
        command = [sys.executable, "-I", "-S", "-c", _TRY, str(path.absolute()), *needed]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode < 0:
            raise LoadError(f"{path} cannot be loaded: a process that tries ends with signal {-done.returncode}")
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["for no known reason"])[-1]
            if reason == f"no {_ENTRY}":
                raise LoadError(
                    f"{path} has no symbol {_ENTRY}, so it is not a library of custom ops for ONNX Runtime; "
                    "python -m pykernels build --onnx makes one"
                )
            raise LoadError(loading.explain(path, reason) if needed else f"{path} cannot be loaded: {reason}")


def session(model: onnx.ModelProto, libraries: Sequence[Path]) -> onnxruntime.InferenceSession:
    """Create a session for a model in ONNX Runtime, on the CPU.

    Raise LoadError or CallError if ONNX Runtime refuses a library or the model, or no library has an op of the model.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors are raised anyway
    in_cpp = [path for path in libraries if loading.is_library(path)]
    if in_cpp:
        loading.register(options, in_cpp)
    for path in libraries:
        if path in in_cpp:
            continue
        try:
            options.register_custom_ops_library(str(path.absolute()))
        except Exception as error:
            raise LoadError(f"{path}: {_text(error)}") from error
    given = type(model)()
    given.CopyFrom(model)
    given.ir_version = min(given.ir_version, _IR_VERSION)
    for value in given.graph.value_info:
        # The results of shape functions are checked; ONNX Runtime must not plan memory with them.
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    try:
        return onnxruntime.InferenceSession(given.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        unknown = _UNKNOWN_OP.search(str(error))
        if unknown is None:
            raise CallError(f"ONNX Runtime {onnxruntime.__version__} refuses the model: {_text(error)}") from error
        files = ", ".join(map(str, libraries))
        hint = f"the libraries are {files}" if files else "name its library with --custom_library_so_paths"
        raise CallError(
            f"the model has a node of {unknown[1]}::{unknown[2]}, an op that no library has; {hint}"
        ) from error


def run(session: onnxruntime.InferenceSession, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Run a model; return its outputs by name. Raise CallError if ONNX Runtime or an op fails."""
    try:
        results = session.run(None, inputs)
    except Exception as error:
        raise CallError(f"the run failed: {_text(error)}") from error
    return dict(zip((each.name for each in session.get_outputs()), results))


def compute(model: onnx.ModelProto, nodes: Sequence[onnx.NodeProto], names: Sequence[str]) -> dict[str, np.ndarray]:
    """Return tensors by name, which `nodes` compute from the model's initializers."""
    part = type(model)(ir_version=model.ir_version, opset_import=model.opset_import)
    part.graph.name = model.graph.name or "part"
    part.graph.node.extend(nodes)
    part.graph.initializer.extend(model.graph.initializer)
    part.graph.output.extend(type(model.graph.output[0])(name=name) for name in names)
    return run(session(part, ()), {})


def exposing(model: onnx.ModelProto, names: Sequence[str]) -> onnx.ModelProto:
    """Return the model with further outputs, and without the types and shapes of all outputs."""
    wider = type(model)()
    wider.CopyFrom(model)
    others = [value for value in model.graph.value_info if value.name not in names]
    outputs = dict.fromkeys([*names, *(value.name for value in model.graph.output)])
    for values, kept in (
        (wider.graph.value_info, others),
        (wider.graph.output, [type(model.graph.output[0])(name=name) for name in outputs]),
    ):
        del values[:]
        values.extend(kept)
    return wider


def check_types(model: onnx.ModelProto, outputs: Mapping[str, Any]) -> None:
    """Raise DefinitionError if a tensor has another type or shape than in the model."""
    from onnx import helper

    values = {value.name: value for value in (*model.graph.value_info, *model.graph.output)}
    for name, array in outputs.items():
        if name not in values or not isinstance(array, np.ndarray):
            continue
        tensor_type = values[name].type.tensor_type
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        if tensor_type.elem_type not in (0, dtype) or not fits(tensor_type, array.shape):
            raise DefinitionError(
                f"a shape function or the model is wrong: it says that {name} is {describe(values[name])}, but it is "
                f"{array.dtype} {array.shape}"
            )


def measure(session: onnxruntime.InferenceSession, inputs: Mapping[str, np.ndarray]) -> tuple[int, float]:
    """Return the batch size and the average seconds of a run: of a hundred, or of as many as fit into two seconds."""
    for _ in range(3):
        run(session, inputs)
    begin = end = time.perf_counter()
    count = 0
    while count < 100 and (count == 0 or end - begin < 2):
        run(session, inputs)
        count += 1
        end = time.perf_counter()
    first = next(iter(inputs.values()), np.zeros(()))
    return first.shape[0] if first.ndim else 1, (end - begin) / count


def _text(error: Exception) -> str:
    text, n = str(error), 1
    while n:
        text, n = _BEFORE.subn("", text)
    return text
