"""The types of elements: ``popxl.float32`` and its like."""

from __future__ import annotations

from typing import Any

import numpy as np

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType

__all__ = ["DTYPES", "check_dtype", "dtype"]


class dtype:  # noqa: N801
    """The type of a tensor's elements; there is one object of each.

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
        """The dtype of this name.

        Raises
        ------
        CallError
            There is none.
        """
        if name not in DTYPES:
            raise CallError(f"there is no popxl.dtype with the name {name!r}; there are {', '.join(DTYPES)}")
        return DTYPES[name]

    @classmethod
    def as_dtype(cls, type_value: Any) -> dtype:
        """The dtype that a NumPy dtype, an array, a type of Python's, a dtype of PyTorch's or a name stands for.

        Raises
        ------
        CallError
            It stands for none.
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
                f"{type_value!r} is no dtype of popxl's, and has none; there are {', '.join(DTYPES)}"
            ) from None

    def as_numpy(self) -> np.dtype:
        """NumPy's dtype."""
        return self._numpy

    def as_torch(self) -> Any:
        """PyTorch's dtype.

        Raises
        ------
        TypeError
            It has none.
        ModuleNotFoundError
            PyTorch is not installed.
        """
        import torch

        if not hasattr(torch, self.name):
            raise WrongType(f"PyTorch has no dtype for {self}")
        return getattr(torch, self.name)

    def __repr__(self) -> str:
        return f"popxl.{self.name}"

    def __reduce__(self) -> Any:
        return dtype.from_name, (self.name,)  # there is one object of each


#: All of them, by name.
DTYPES: dict[str, dtype] = {}
for _name in (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
):
    DTYPES[_name] = dtype(_name)


def check_dtype(what: str, given: Any) -> None:
    """Raise TypeError unless `given` is a dtype of popxl's."""
    if not isinstance(given, dtype):
        raise WrongType(f"{what}: dtype is {given!r}; it must be one of popxl's: {', '.join(DTYPES)}")
