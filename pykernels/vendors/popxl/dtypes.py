"""Define the element types, ``popxl.float32`` and the others, and convert users' data to arrays of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType


class dtype:  # noqa: N801
    """The type of a tensor's elements; each type is one object.

    Attributes
    ----------
    name : str
    is_int, is_floating_point, is_complex, is_signed : bool
    """

    def __init__(self, name: str) -> None:
        if name in DTYPES:
            raise WrongType(f"popxl.dtype: there is popxl.{name} already")
        self.name = name
        self._numpy = np.dtype(name)
        kind = self._numpy.kind
        self.is_int = kind in "iu"
        self.is_floating_point = kind == "f"
        self.is_complex = kind == "c"
        self.is_signed = kind in "ifc"

    @classmethod
    def from_name(cls, name: str) -> dtype:
        """Return the dtype with this name; raise CallError if it does not exist."""
        if name not in DTYPES:
            raise CallError(f"popxl.dtype {name!r} does not exist; the dtypes are {', '.join(DTYPES)}")
        return DTYPES[name]

    @classmethod
    def as_dtype(cls, type_value: Any) -> dtype:
        """Return the dtype for a NumPy dtype, an array, a Python type, a PyTorch dtype or a name.

        Raise CallError if no dtype corresponds to the value.
        """
        if isinstance(type_value, dtype):
            return type_value
        if type_value is float:
            return DTYPES["float32"]
        named = str(getattr(type_value, "dtype", type_value)).removeprefix("torch.")
        name = {"half": "float16", "float": "float32", "double": "float64"}.get(named, named)
        try:
            return DTYPES[name if name in DTYPES else np.dtype(type_value).name]
        except (KeyError, TypeError):
            raise CallError(
                f"{type_value!r} is not a dtype of popxl's and has none; the dtypes are {', '.join(DTYPES)}"
            ) from None

    def as_numpy(self) -> np.dtype:
        """Return the NumPy dtype."""
        return self._numpy

    @classmethod
    def from_onnx(cls, number: int) -> dtype:
        """Return the dtype with this number in ONNX."""
        from onnx import helper

        return cls.as_dtype(helper.tensor_dtype_to_np_dtype(number))

    def as_onnx(self) -> int:
        """Return ONNX's number of the dtype."""
        from onnx import helper

        return int(helper.np_dtype_to_tensor_dtype(self._numpy))

    def __repr__(self) -> str:
        return f"popxl.{self.name}"

    def __reduce__(self) -> Any:
        return dtype.from_name, (self.name,)  # so that each type stays one object


#: The 32-bit types that replace 64-bit ones.
_DOWNCAST = {"float64": "float32", "int64": "int32", "uint64": "uint32"}
#: All dtypes by name.
DTYPES: dict[str, dtype] = {}
for _name in (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
):
    DTYPES[_name] = dtype(_name)


def check_dtype(what: str, given: Any) -> None:
    """Raise TypeError unless `given` is a popxl dtype."""
    if not isinstance(given, dtype):
        raise WrongType(f"{what}: dtype is {given!r}; it must be one of popxl's: {', '.join(DTYPES)}")


def to_numpy(data: Any, dtype: dtype | None = None, downcast: bool = True) -> np.ndarray:
    """Return a new array with the data of a NumPy array, a PyTorch tensor, a sequence or a number.

    If no `dtype` is given, `downcast` converts 64-bit types to 32-bit ones. Raise CallError if the data cannot be
    converted to an array of numbers.
    """
    if hasattr(data, "detach"):
        data = data.detach().cpu().numpy()
    try:
        array = np.array(data, dtype.as_numpy() if dtype is not None else None, order="C")
    except (TypeError, ValueError) as error:
        raise CallError(f"{data!r} is not an array of numbers: {error}") from None
    if array.dtype.kind not in "biuf":
        raise CallError(f"{data!r} is not an array of numbers: NumPy makes {array.dtype} of it")
    if dtype is None and downcast:
        return array.astype(_DOWNCAST.get(array.dtype.name, array.dtype), copy=False)
    return array
