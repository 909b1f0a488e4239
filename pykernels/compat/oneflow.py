"""The names of OneFlow 0.1 to 0.4 that today's lacks, so that scripts written for them run as they are.

``import pykernels.compat.oneflow`` adds them: ``flow.experimental.custom_op_module``, ``flow.user_op_builder``,
``flow.global_function``, ``oneflow.typing``, ``flow.scope.placement`` and ``flow.config``.
"""

from __future__ import annotations

import sys
from typing import Any

import oneflow as flow
import oneflow.experimental

from pykernels.builder import user_op_builder
from pykernels.compat import oneflow_scope, oneflow_typing
from pykernels.compat.oneflow_config import Config
from pykernels.compat.oneflow_job import global_function
from pykernels.module import custom_op_module

__all__: list[str] = []


def _add(owner: Any, **names: Any) -> None:
    for name, value in names.items():
        if not hasattr(owner, name):
            setattr(owner, name, value)


_add(flow.experimental, custom_op_module=custom_op_module)
_add(
    flow,
    user_op_builder=user_op_builder,
    global_function=global_function,
    typing=oneflow_typing,
    scope=oneflow_scope,
    config=Config(),
)
# For `import oneflow.typing`, which looks here.
sys.modules.setdefault("oneflow.typing", flow.typing)
