"""What people see of ops in an interpreter: `help`, signatures, and what a notebook shows."""

from __future__ import annotations

import inspect
import pydoc
from pathlib import Path

import numpy as np

import pykernels
from pykernels.tools.new.sketch import sketch
from pykernels.tools.new.writing import write_op


def shown(value: object) -> str:
    """What `help` prints of it."""
    return pydoc.plain(pydoc.render_doc(value))


def test_help_and_notebooks_show_the_schema(tmp_path: Path) -> None:
    write_op(sketch("gain"), tmp_path)
    module = pykernels.custom_op_module("gain", tmp_path).py_api().cpp_def().py_kernel()
    text = shown(module)
    assert "gain_forward(x, *, scale: double = 1.0) -> y" in text
    assert "gain(x, scale=1.0)" in text and "Passed to the kernel." in text
    assert "One op folder." in (pykernels.OpModule.__doc__ or "")

    class Printer:
        shown = ""

        def __init__(self, *stack: int) -> None:
            self.stack = stack

        def text(self, text: str) -> None:
            self.shown += text

    alone, inside = Printer(1), Printer(1, 2)
    module._repr_pretty_(alone, False)
    assert alone.shown == f"{module!r}\ngain_forward(x, *, scale: double = 1.0) -> y"
    module._repr_pretty_(inside, False)
    assert inside.shown == repr(module)
    (tmp_path / "gain/gain_cpp_def.cpp").write_text("int x = y;\n")
    broken = pykernels.custom_op_module("gain", tmp_path).py_api().cpp_def().py_kernel()
    assert "it cannot be used: " in shown(broken)


def test_op_types_and_functions_say_what_they_take() -> None:
    module = pykernels.load_ops()["leaky_relu"]
    schema = "leaky_relu_forward(x, *, alpha: float = 0.01) -> y"
    assert repr(module.forward) == f"OpDef({schema!r})"
    assert f"{schema}\n    \n    Defined in {module.path}/leaky_relu_cpp_def.cpp:" in shown(module.forward)
    assert "One op type." in (type(module.forward).__doc__ or "")
    # As they are written, without the quotes of annotations that are not evaluated.
    assert "leaky_relu(x: Any, alpha: float = 0.01, **options: Any) -> Any" in shown(module)
    assert list(inspect.signature(module.api.leaky_relu).parameters) == ["x", "alpha", "options"]
    assert "Slope for numbers that are not positive" in shown(module.api.leaky_relu)


def test_what_is_completed() -> None:
    # Notebooks know the keys of dictionaries, and what is behind one, not those of other mappings.
    assert type(pykernels.load_ops()) is type(pykernels.list_ops()) is dict
    assert {"load_ops", "errors", "KernelError"} <= set(dir(pykernels))
    assert not {"abi", "discovery"} & set(dir(pykernels))
    assert all(hasattr(pykernels, name) for name in dir(pykernels))


def test_calls_that_are_being_built() -> None:
    pykernels.load_ops()
    begun = pykernels.user_op_builder("mine")
    assert repr(begun) == "UserOpBuilder('mine', no op yet: nothing given)"
    described = begun.Op("leaky_relu_forward").Output("y").Attr("alpha", 0.5)
    function = described.Function("x")
    assert function.__name__ == "leaky_relu_forward" and "on x." in shown(function)
    call = described.Input("x", [np.ones(2, np.float32)])
    assert repr(call) == "UserOpBuilder('mine', 'leaky_relu_forward': y[1] out, x[1], alpha=0.5)"
    built = call.Build()
    schema = "leaky_relu_forward(x, *, alpha: float = 0.01) -> y"
    assert repr(built) == f"UserOp({schema!r}, not called yet)"
    assert repr(built.InferAndTryRun()) == f"UserOp({schema!r}, called)"
