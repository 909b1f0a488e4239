"""What calls the kernels of the campaign: the C ABI, or a framework that has them as an op."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from compiled import run

import pykernels

__all__ = ["HOSTS", "Call", "write"]

#: Computes from inputs, the last of which is like the output; gives the output and what went wrong, if anything.
Call = Callable[[Sequence[np.ndarray]], tuple[np.ndarray, str]]

_DEFINITION = """
    import pykernels


    class Prop(pykernels.CustomOpProp):
        def list_arguments(self):
            return ["x", "w", "a", "z", "like"]

        def infer_shape(self, in_shape):
            return in_shape, in_shape[-1:]

        def infer_type(self, in_type):
            return in_type, in_type[-1:], []

        def list_gradients(self):
            return []
"""


def write(parent: Path, kernel: str) -> Path:
    """Write the folder of an op with this kernel, whose name is that of `parent`, too, and give its path."""
    folder = parent / f"op_{parent.name}"
    folder.mkdir(parents=True)
    for part, text in (("py_kernel", kernel), ("py_def", textwrap.dedent(_DEFINITION)), ("py_api", "")):
        (folder / f"{folder.name}_{part}.py").write_text(text)
    return folder


def _abi(folder: Path, built: Any) -> Call:
    def call(inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, str]:
        made = inputs[-1]
        made[...] = 0
        return made, run(built, inputs, [made]) or ""

    return call


def _torch(folder: Path, built: Any) -> Call:
    import torch

    pykernels.load_ops(folder)

    def call(inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, str]:
        try:
            return getattr(torch.ops.pykernels, folder.name)(*map(torch.from_numpy, inputs)).numpy(), ""
        except RuntimeError as error:
            return inputs[-1], str(error)

    return call


def _onnxruntime(folder: Path, built: Any) -> Call:
    import onnxruntime
    from onnx import helper

    import pykernels.onnx

    pykernels.load_ops(folder)
    (*dtypes,) = (each.dtype for each in built.signature.inputs)
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), None)
        for name, dtype in zip("xwazly", [*dtypes, dtypes[-1]])
    ]
    node = helper.make_node(folder.name, list("xwazl"), ["y"], domain="pykernels")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("pykernels", 1)]
    graph = helper.make_graph([node], "campaign", infos[:-1], infos[-1:])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    options = pykernels.onnx.session_options(folder.name)
    options.log_severity_level = 4  # each error is an outcome
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def call(inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, str]:
        try:
            return session.run(None, dict(zip("xwazl", inputs)))[0], ""
        except Exception as error:  # of ONNX Runtime's own classes
            return inputs[-1], str(error)

    return call


#: How a kernel, which has been built, and its folder are called, by the package that calls it.
HOSTS: dict[str, Callable[[Path, Any], Call]] = {"pykernels": _abi, "torch": _torch, "onnxruntime": _onnxruntime}
