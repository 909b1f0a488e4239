"""Read models, and change them as the options say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pykernels.base.errors import CallError, LoadError

if TYPE_CHECKING:
    import onnx

__all__ = ["convert_opset", "read_model", "to_float16"]


def read_model(path: Path) -> onnx.ModelProto:
    """A model with all its tensors, checked by ONNX's own checker.

    Raises
    ------
    LoadError
        There is no such file, it is no model, or the model is broken or newer than the installed onnx.
    """
    import onnx

    if not path.is_file():
        raise LoadError(f"there is no file {path} (--input_model)")
    try:
        model = onnx.load(path)
    except OSError as error:
        raise LoadError(f"{path} cannot be read: {error.strerror or error}") from error
    except Exception as error:  # protobuf's own, which differ from version to version
        raise LoadError(f"{path} is no ONNX model: {error}") from error
    if model.ir_version > onnx.IR_VERSION:
        raise LoadError(
            f"{path} has IR version {model.ir_version}; the installed onnx {onnx.__version__} knows versions up to "
            f"{onnx.IR_VERSION}. Install a newer onnx, or save the model with an older one"
        )
    try:
        onnx.checker.check_model(model)
    except Exception as error:  # a large model cannot be put into one message; that is a ValueError
        raise LoadError(f"{path} is a broken model: {error}") from error
    return model


def convert_opset(model: onnx.ModelProto, version: int) -> onnx.ModelProto:
    """The model with another version of ONNX's operators.

    Raises
    ------
    CallError
        There is no such version, or no conversion to it.
    """
    from onnx import version_converter

    try:
        return version_converter.convert_version(model, version)
    except Exception as error:
        raise CallError(f"--convert_version {version}: the model cannot be converted: {error}") from error


def to_float16(model: onnx.ModelProto, skipped: Sequence[str] = ()) -> onnx.ModelProto:
    """The model with float16 in place of float32, inputs and outputs included, but not in nodes of `skipped` op types.

    Raises
    ------
    CallError
        It cannot be converted.
    """
    from onnxruntime.transformers import float16

    try:
        # Its own inference would not know the shapes of custom ops.
        return float16.convert_float_to_float16(
            model,
            keep_io_types=False,
            disable_shape_infer=True,
            op_block_list=[*float16.DEFAULT_OP_BLOCK_LIST, *skipped],
        )
    except Exception as error:
        raise CallError(f"--precision fp16: the model cannot be converted: {error}") from error
