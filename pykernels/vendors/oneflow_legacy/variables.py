"""Define ``flow.get_variable`` and the variables: tensors that jobs share by name and that persist between calls."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import oneflow as flow

from pykernels.base.errors import CallError
from pykernels.vendors.oneflow_legacy import scope
from pykernels.vendors.oneflow_legacy.graph import building
from pykernels.vendors.oneflow_legacy.regularizers import L2

_variables: dict[str, flow.Tensor] = {}
#: The loaded values of variables that no job has yet.
_loaded: dict[str, np.ndarray] = {}
_lock = threading.RLock()


def get_variable(
    name: str,
    shape: Sequence[int] | None = None,
    dtype: flow.dtype = flow.float32,
    initializer: Any = None,
    regularizer: L2 | None = None,
    trainable: bool | None = None,
    model_name: str | None = None,
    random_seed: int | None = None,
    reuse: bool = True,
) -> flow.Tensor:
    """Return a variable of the job whose function is running; jobs share variables with the same name.

    Parameters
    ----------
    name : str
    shape : sequence of int
    dtype : flow.dtype
    initializer : InitializerConf, optional
        The initializer, such as ``flow.zeros_initializer()``. It can be omitted for a variable that exists or has been
        loaded.
    regularizer : optional
        ``flow.regularizers.l2(...)``.
    trainable : bool, optional
        Whether the optimizer of this job updates the variable. The default is true for floating-point variables.
    model_name : str, optional
        Ignored.
    random_seed : int, optional
        The seed of random initial values. By default it is drawn, subject to `flow.manual_seed`.
    reuse : bool
        Whether this job may have the variable already.

    Returns
    -------
    Tensor
        A tensor of shape `shape` and dtype `dtype`.

    Raises
    ------
    CallError
        No job is running, the variable exists with another shape or dtype, or an argument is wrong.
    """
    graph = building("flow.get_variable")
    where = f"flow.get_variable({name!r})"
    if not isinstance(name, str) or not name:
        raise CallError(f"{where}: a variable needs a name")
    if not (isinstance(shape, (tuple, list)) and all(isinstance(n, (int, np.integer)) and n > 0 for n in shape)):
        raise CallError(f"{where}: shape must be a tuple of integers from 1 on, not {shape!r}")
    if not isinstance(dtype, flow.dtype):
        raise CallError(f"{where}: dtype must be one of OneFlow's, such as flow.float32, not {dtype!r}")
    if regularizer is not None and not isinstance(regularizer, L2):
        raise CallError(f"{where}: regularizer must be flow.regularizers.l2(...), not {regularizer!r}")
    name = scope.prefix() + name
    shape = tuple(map(int, shape))
    with _lock:
        known = graph.variable(name)
        if known is not None:
            if not reuse:
                raise CallError(f"{where}: the job has a variable {name!r} already, and reuse=False")
            _check(name, known.shape, known.dtype, shape, dtype)
            return known
        if name not in _variables:
            if initializer is None and graph.config.proto.HasField("default_initializer_conf"):
                initializer = graph.config.proto.default_initializer_conf
            # Eagerly, so that this is not an op of the graph.
            with flow._oneflow_internal.lazy_mode.guard(False):
                _variables[name] = flow.tensor(_first_values(name, shape, dtype, initializer, random_seed))
            graph.created.append(name)
        value = _variables[name]
        _check(name, value.shape, value.dtype, shape, dtype)
        if trainable is None:
            trainable = dtype.is_floating_point
        return graph.add_variable(name, value, trainable=trainable, l2=regularizer.factor if regularizer else 0.0)


def _check(name: str, shape: Sequence[int], dtype: flow.dtype, asked: tuple[int, ...], asked_dtype: flow.dtype) -> None:
    if (tuple(shape), dtype) != (asked, asked_dtype):
        raise CallError(
            f"flow.get_variable: variable {name!r} is {dtype}{tuple(shape)}, and {asked_dtype}{asked} is requested; "
            f"jobs share variables by name (flow.clear_default_session() forgets them)"
        )


def _first_values(
    name: str, shape: tuple[int, ...], dtype: flow.dtype, initializer: Any, seed: int | None
) -> np.ndarray:
    if name in _loaded:
        value = _loaded[name]
        _check(name, value.shape, flow.from_numpy(value).dtype, shape, dtype)
        del _loaded[name]
        return value
    if initializer is None:
        raise CallError(
            f"flow.get_variable({name!r}): a new variable needs an initializer, such as "
            f"initializer=flow.zeros_initializer()"
        )
    if seed is None:
        seed = int(flow.randint(0, 2**31 - 1, (1,)).item())
    try:
        # Imported here because OneFlow 0.9 lacks this module, and has no initializers.
        initializer_util = importlib.import_module("oneflow.ops.initializer_util")
        draw = initializer_util.GetInitializer(initializer, seed, shape)
    except (AssertionError, AttributeError, ImportError, ValueError):
        raise CallError(
            f"flow.get_variable({name!r}): initializer must be one of OneFlow's, such as flow.zeros_initializer(), "
            f"not {initializer!r}"
        ) from None
    values: np.ndarray = initializer_util.generate_values_by_initializer(draw, shape, dtype)
    return values


@dataclass(frozen=True)
class Variable:
    """A variable as seen outside of jobs."""

    _tensor: flow.Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return tuple(self._tensor.shape)

    @property
    def dtype(self) -> flow.dtype:
        """The OneFlow dtype."""
        return self._tensor.dtype

    def numpy(self) -> np.ndarray:
        """Return a copy of the current values."""
        numbers: np.ndarray = self._tensor.numpy()
        # OneFlow's array shares its memory with the variable.
        return numbers.copy()


def values() -> dict[str, Variable]:
    """Return the existing variables by name."""
    with _lock:
        return {name: Variable(tensor) for name, tensor in _variables.items()}


def assign(given: Mapping[str, Any], *, ignore_mismatch: bool) -> None:
    """Set the values of variables, which are arrays or tensors by name.

    With `ignore_mismatch`, values without a variable are kept for later jobs; otherwise they raise CallError, as values
    of another shape or dtype than their variable's always do.
    """
    arrays = {name: np.asarray(value.numpy() if hasattr(value, "numpy") else value) for name, value in given.items()}
    with _lock:
        for name, array in arrays.items():
            variable = _variables.get(name)
            if variable is None:
                if not ignore_mismatch:
                    raise CallError(f"flow.load_variables: variable {name!r} does not exist; {_names()}")
                continue
            dtype = flow.convert_oneflow_dtype_to_numpy_dtype(variable.dtype)
            if (array.shape, array.dtype) != (tuple(variable.shape), dtype):
                raise CallError(
                    f"flow.load_variables: variable {name!r} is {variable.dtype}{tuple(variable.shape)}, its value "
                    f"{array.dtype}{array.shape}"
                )
        # Only after all values have been checked, so that an error changes nothing.
        for name, array in arrays.items():
            if name in _variables:
                with flow.no_grad():
                    _variables[name][...] = flow.tensor(array)
            else:
                _loaded[name] = array
        flow._oneflow_internal.eager.Sync()


def _names() -> str:
    return f"the variables are {', '.join(_variables)}" if _variables else "no job has variables"


def forget(names: Sequence[str]) -> None:
    """Remove variables that were created by a job whose graph could not be built."""
    with _lock:
        for name in names:
            _variables.pop(name, None)


def clear() -> None:
    """Remove all variables and all loaded values."""
    with _lock:
        _variables.clear()
        _loaded.clear()
