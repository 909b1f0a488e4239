"""Op folders for tests, with definitions in Python, which take no compiler."""

from __future__ import annotations

import textwrap
from pathlib import Path

API = """
    import pykernels


    def {name}(x, **attributes):
        call = pykernels.user_op_builder("{name}").Op("{name}_forward").Input("data", [x]).Output("output")
        for key, value in attributes.items():
            call = call.Attr(key, value)
        return call.Build().InferAndTryRun().SoleOutputBlob()
"""
PROP = """
    import pykernels


    class Prop(pykernels.CustomOpProp):
        pass
"""
#: Kernels and a definition for an op that changes from one version of its folder to the next.
TIMES = "def forward(args):\n    return args[0] * {factor}\n\ndef backward(args):\n    return args[0] * {factor}\n"
TIMES_ATTRIBUTE = (
    "def forward(args, *, by):\n    return args[0] * by\n\ndef backward(args, *, by):\n    return args[0] * by\n"
)
PROP_WITH_ATTRIBUTE = """
    import pykernels


    class Prop(pykernels.CustomOpProp):
        def __init__(self, by: int = 7):
            super().__init__(need_top_grad=True)
"""


def write_op(parent: Path, name: str, kernel: str, definition: str = PROP) -> Path:
    """An op folder `name` in `parent`; without a definition: one input, one output, the same shape and dtype."""
    folder = parent / name
    folder.mkdir(exist_ok=True)
    for ending, text in (("py_api", API.format(name=name)), ("py_kernel", kernel), ("py_def", definition)):
        (folder / f"{name}_{ending}.py").write_text(textwrap.dedent(text))
    return folder
