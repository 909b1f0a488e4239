"""Provide the names of OneFlow 0.1 to 0.4 that current versions lack, so that old scripts run unchanged.

``import pykernels.vendors.oneflow_legacy`` adds the names for custom ops (``flow.experimental.custom_op_module``,
``flow.user_op_builder``), for jobs (``flow.global_function``, ``oneflow.typing``), for training
(``flow.get_variable``, ``flow.optimizer``, ``flow.checkpoint``) and for networks (``flow.layers``, ``flow.math``, and
functions in ``flow.nn``).
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
import types
import warnings
from typing import Any

import oneflow as flow
from oneflow.framework import function_util, id_util

from pykernels.base.errors import CallError
from pykernels.base.refusals import MissingName
from pykernels.call.builder import user_op_builder
from pykernels.load.module import custom_op_module
from pykernels.vendors.oneflow_legacy import checkpoint, layers, math, nn, optimizer, regularizers, scope, typing
from pykernels.vendors.oneflow_legacy.config import Config, enable_eager_execution, find_setting
from pykernels.vendors.oneflow_legacy.job import clear_default_session, global_function
from pykernels.vendors.oneflow_legacy.variables import get_variable
from pykernels.vendors.oneflow_legacy.watch import watch, watch_diff
from pykernels.vendors.providing import missing, public


def _add(owner: Any, **names: Any) -> None:
    for name, value in names.items():
        if not hasattr(owner, name):
            setattr(owner, name, value)


def _name_old(owner: types.ModuleType, place: str, *names: str) -> None:
    """Let a module of OneFlow say which old names there are, if it lacks one."""

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingName(
            f"OneFlow {flow.__version__} has no {place}.{name}, and {__name__} adds only {', '.join(sorted(names))}"
        )

    _add(owner, __getattr__=__getattr__)


def _namespace(place: str, **names: Any) -> types.ModuleType:
    made = types.ModuleType(place)
    vars(made).update(names, __getattr__=missing(place, names, __name__))
    return made


#: The kinds of initializers, which OneFlow lacks since version 0.9.
_INITIALIZERS = (
    *("constant", "glorot_normal", "glorot_uniform", "kaiming", "ones", "random_normal", "random_uniform"),
    *("truncated_normal", "variance_scaling", "xavier_normal", "xavier_uniform", "zeros"),
)


def _refuse_initializer(kind: str, *_: Any, **__: Any) -> Any:
    raise CallError(
        f"flow.{kind}_initializer: OneFlow has no initializers since 0.9, so new variables (flow.get_variable, "
        "flow.layers) need OneFlow 0.8: pip install oneflow==0.8.0"
    )


def _truncated_normal(stddev: float = 1.0) -> Any:
    return flow.truncated_normal_initializer(0.0, stddev)


def _set_placement(description: Any, value: Any) -> None:
    description.function_attribute.default_placement_scope = value


with warnings.catch_warnings():
    # OneFlow has these modules, but does not import them. The first one imports a deprecated Python module.
    warnings.simplefilter("ignore", DeprecationWarning)
    importlib.import_module("oneflow.unittest")
    if importlib.util.find_spec("oneflow.experimental"):
        importlib.import_module("oneflow.data")
    else:  # since OneFlow 0.9, in which oneflow.data cannot be imported either
        flow.experimental = sys.modules["oneflow.experimental"] = types.ModuleType("oneflow.experimental")

_add(flow.experimental, custom_op_module=custom_op_module)
_add(flow.nn, **public(nn))
_name_old(flow.nn, "flow.nn", *public(nn))
_add(flow, **{f"{kind}_initializer": functools.partial(_refuse_initializer, kind) for kind in _INITIALIZERS})
_NAMES = {
    "FixedTensorDef": typing.Numpy.Placeholder,
    "MirroredTensorDef": typing.ListNumpy.Placeholder,
    "checkpoint": _namespace("flow.checkpoint", get=checkpoint.get, save=checkpoint.save),
    "clear_default_session": clear_default_session,
    "config": Config(),
    "enable_eager_execution": enable_eager_execution,
    "get_all_variables": checkpoint.get_all_variables,
    "get_variable": get_variable,
    "global_function": global_function,
    "layers": layers,
    "load_variables": checkpoint.load_variables,
    "math": math,
    "optimizer": optimizer,
    "regularizers": regularizers,
    "scope": scope,
    "train": _namespace("flow.train", CheckPoint=checkpoint.CheckPoint),
    "truncated_normal": _truncated_normal,
    "typing": typing,
    "user_op_builder": user_op_builder,
    "util": _namespace("flow.util", unique_str=id_util.UniqueStr),
    "watch": watch,
    "watch_diff": watch_diff,
}
_add(flow, **_NAMES)
_name_old(flow, "flow", *_NAMES)
# The setters of flow.FunctionConfig need a name that their module lacks, and one old setter is missing.
_add(function_util, distribute_ctx=types.SimpleNamespace(DistributeStrategy=scope.View))
if not hasattr(flow.FunctionConfig, "default_placement_scope"):
    function_util.oneflow_function_config("default_placement_scope")(_set_placement)
if "__getattribute__" not in vars(flow.FunctionConfig):
    flow.FunctionConfig.__getattribute__ = find_setting
# `import oneflow.typing` looks for the module here.
sys.modules.setdefault("oneflow.typing", flow.typing)
