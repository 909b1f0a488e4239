"""Provide the ops: each appends itself to the current graph and returns its output tensors."""

from __future__ import annotations

from pykernels.vendors.popxl.nodes import cast
from pykernels.vendors.popxl.ops import call, elementwise, host, layers, reductions, shapes, utils, var_updates
from pykernels.vendors.popxl.tensor import OPS
from pykernels.vendors.providing import missing, public

_MODULES = (call, elementwise, host, layers, reductions, shapes)
_FUNCTIONS = {name: function for module in _MODULES for name, function in public(module).items()}

__all__ = ["cast", "utils", "var_updates", *_FUNCTIONS]

globals().update(_FUNCTIONS)
# The operators and methods of tensors call these.
OPS.update(_FUNCTIONS, item=shapes._item)

__getattr__ = missing("popxl.ops", __all__, __name__)
