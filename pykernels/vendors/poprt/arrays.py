"""Make random inputs of models, and read and write inputs and outputs as NumPy files."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from pykernels.base.errors import CallError, LoadError

if TYPE_CHECKING:
    import onnxruntime

#: NumPy's dtypes by ONNX Runtime's names.
_DTYPES = {
    **{f"tensor({name})": np.dtype(name) for name in ("float16", "bool", "int8", "int16", "int32", "int64")},
    **{f"tensor({name})": np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64")},
    "tensor(float)": np.dtype("float32"),
    "tensor(double)": np.dtype("float64"),
}


def random_inputs(inputs: Sequence[onnxruntime.NodeArg]) -> dict[str, np.ndarray]:
    """Return the same random arrays in every run: floating-point numbers in [0, 1), other numbers 0 or 1.

    Raise CallError if the type or the shape of an input is not supported.
    """
    generator = np.random.default_rng(0)
    arrays = {}
    for each in inputs:
        dtype = _dtype(each)
        if each.shape is None or not all(isinstance(size, int) for size in each.shape):
            raise CallError(
                f"input {each.name} has the shape {_shape(each.shape)}; give its sizes with "
                f"--input_shape {each.name}=..., or its data with --input_data"
            )
        if dtype.kind == "f":
            arrays[each.name] = np.asarray(generator.random(each.shape), dtype)
        else:
            arrays[each.name] = np.asarray(generator.integers(0, 2, each.shape), dtype)
    return arrays


def read_inputs(path: Path, inputs: Sequence[onnxruntime.NodeArg]) -> dict[str, np.ndarray]:
    """Read the arrays of an ``.npz`` file, which must match the inputs of the model.

    Raise LoadError if the file does not exist or is not an ``.npz`` file, and CallError if names, dtypes or shapes are
    not those of the model's inputs.
    """
    if not path.is_file():
        raise LoadError(f"{path} does not exist (--input_data)")
    try:
        with path.open("rb") as file:
            found = np.load(file, allow_pickle=False)
            arrays = dict(found) if isinstance(found, np.lib.npyio.NpzFile) else None
    except Exception as error:  # reading a broken archive raises arbitrary errors
        raise LoadError(f"{path} cannot be read as an .npz file of NumPy: {error}") from error
    if arrays is None:
        raise LoadError(f"{path} holds one array; write a file with names by numpy.savez")
    wanted = [each.name for each in inputs]
    for name in (*(n for n in wanted if n not in arrays), *(n for n in arrays if n not in wanted)):
        lack = f"has no array {name!r}" if name in wanted else f"has an array {name!r}, which is not an input"
        raise CallError(f"{path} {lack}; the inputs of the model are {', '.join(wanted)}")
    for each in inputs:
        array, dtype = arrays[each.name], _dtype(each)
        if array.dtype != dtype:
            raise CallError(f"{path}: {each.name} is {array.dtype}, but the model takes {dtype}")
        sizes = each.shape if each.shape is not None else array.shape
        if len(sizes) != array.ndim or any(isinstance(n, int) and n != m for n, m in zip(sizes, array.shape)):
            raise CallError(f"{path}: {each.name} has the shape {array.shape}, but the model takes {_shape(sizes)}")
    return arrays


def write_outputs(file: BinaryIO, arrays: Mapping[str, np.ndarray]) -> None:
    """Write an ``.npz`` file; unlike `numpy.savez`, this allows any names.

    Raise CallError if an output is not a tensor, or a tensor of strings.
    """
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.hasobject:
            raise CallError(f"--save_outputs: output {name} is not a tensor of numbers")
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.save(member, array, allow_pickle=False)


def _dtype(value: onnxruntime.NodeArg) -> np.dtype:
    if value.type not in _DTYPES:
        raise CallError(f"input {value.name} is a {value.type}, which NumPy's files do not hold")
    return _DTYPES[value.type]


def _shape(sizes: Sequence[int | str | None] | None) -> str:
    known = ", ".join("?" if size is None else str(size) for size in sizes or ())
    return "?" if sizes is None else f"({known}{',' * (len(sizes) == 1)})"
