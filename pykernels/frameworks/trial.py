"""An op tried in a framework, in a process of its own: ``python -m pykernels.frameworks.trial FRAMEWORK FOLDER``."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.errors import PykernelsError, PykernelsWarning

__all__ = ["Trial", "try_op"]

#: How long a framework may take, in seconds: the first time, its registrar is built.
TIMEOUT = 300.0
# Fewer make the same kernels.
_ELEMENTS = 64
_MARK = "pykernels trial: "


@dataclass(frozen=True)
class Trial:
    """What came of it: an `error`, or none, and `warnings` of ours."""

    error: str = ""
    warnings: list[str] = field(default_factory=list)


def try_op(framework: str, folder: Path) -> Trial:
    """Run the forward op of a folder in an installed framework and compare it with the run on NumPy arrays."""
    command = [sys.executable, "-m", "pykernels.frameworks.trial", framework, str(folder)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
    except subprocess.TimeoutExpired:
        return Trial(f"it does not end within {TIMEOUT:.0f} s")
    for line in done.stdout.splitlines():
        if line.startswith(_MARK):
            return Trial(**json.loads(line.removeprefix(_MARK)))
    said = done.stderr.strip().splitlines()
    return Trial(f"the process that tries it ends with exit code {done.returncode}: {said[-1] if said else 'no word'}")


def _main(framework: str, folder: Path) -> Trial:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        error = _run(framework, folder)
    ours = (str(each.message) for each in told if issubclass(each.category, PykernelsWarning))
    return Trial(error, list(dict.fromkeys(ours)))


def _run(framework: str, folder: Path) -> str:
    """What goes wrong, if anything does."""
    try:
        importlib.import_module(framework)
    except Exception as error:
        return f"importing it fails: {type(error).__name__}: {error}"
    from pykernels import discovery, frameworks
    from pykernels.samples import sample

    (module,) = discovery.load_ops(folder).values()
    try:
        given = sample(module, _ELEMENTS, np.dtype(np.float32))
        op = module.forward
        counts = [argument.count for argument in op.outputs]
        call = frameworks.bind(module, op.name, given.inputs, given.attributes, counts)
        # Arrays that a kernel changes in place are not those that it gets again.
        flat = [array for group in given.inputs for array in group]
        expected = call(*(array.copy() for array in flat))
        results = _IN[framework](module, given, flat, counts)
        for number, (result, wanted) in enumerate(zip(results, expected, strict=True)):
            np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6, err_msg=f"output {number}")
    except AssertionError as error:
        return f"the result is not that on NumPy arrays: {' '.join(str(error).split())}"
    except PykernelsError as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _on_tensors(convert: Any, back: Any) -> Any:
    def run(module: Any, given: Any, flat: list[np.ndarray], counts: list[int]) -> list[np.ndarray]:
        from pykernels import frameworks

        tensors = iter([convert(array) for array in flat])
        groups = [[next(tensors) for _ in group] for group in given.inputs]
        call = frameworks.bind(module, module.forward.name, groups, given.attributes, counts)
        return [back(result) for result in call(*(tensor for group in groups for tensor in group))]

    return run


def _on_onnxruntime(module: Any, given: Any, flat: list[np.ndarray], counts: list[int]) -> list[np.ndarray]:
    import onnxruntime
    from onnx import helper

    import pykernels.onnx
    from pykernels.onnx.nodes import node_names

    (name,) = (name for name, op in node_names(module) if op is module.forward)
    shown = {attribute.name: attribute for attribute in module.forward.attributes}
    attributes = {key: value for key, value in given.attributes.items() if value != shown[key].default}
    names = [[f"in{at}_{i}" for i in range(len(group))] or [""] for at, group in enumerate(given.inputs)]
    inputs = [each for group in names for each in group]
    outputs = [f"out{at}_{i}" for at, count in enumerate(counts) for i in range(count)]
    node = helper.make_node(name.op_type, inputs, outputs, domain=name.domain, **attributes)
    specs = module.forward.infer([[_spec(array) for array in group] for group in given.inputs], given.attributes)
    model = helper.make_model(
        helper.make_graph(
            [node],
            "trial",
            [_value(each, array) for each, array in zip(filter(None, inputs), flat)],
            [_value(each, spec) for each, spec in zip(outputs, (spec for group in specs for spec in group))],
        ),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(name.domain, 1)],
        ir_version=8,
    )
    session = onnxruntime.InferenceSession(model.SerializeToString(), pykernels.onnx.session_options(module.name))
    return list(session.run(None, dict(zip(filter(None, inputs), flat))))


def _spec(array: np.ndarray) -> Any:
    from pykernels.definition import TensorSpec

    return TensorSpec(array.shape, array.dtype)


def _value(name: str, array: Any) -> Any:
    from onnx import helper

    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def _mxnet_tensor(array: np.ndarray) -> Any:
    return sys.modules["mxnet"].nd.array(array, dtype=array.dtype)


_IN = {
    "numpy": _on_tensors(np.copy, np.asarray),
    "mxnet": _on_tensors(_mxnet_tensor, lambda tensor: tensor.asnumpy()),
    "oneflow": _on_tensors(lambda array: sys.modules["oneflow"].tensor(array), lambda tensor: tensor.numpy()),
    "torch": _on_tensors(lambda array: sys.modules["torch"].tensor(array), lambda tensor: tensor.numpy()),
    "onnxruntime": _on_onnxruntime,
}

if __name__ == "__main__":
    print(_MARK + json.dumps(asdict(_main(sys.argv[1], Path(sys.argv[2])))), flush=True)
