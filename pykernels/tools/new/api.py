"""Write the API file of a new op."""

from __future__ import annotations

from collections.abc import Iterator

from pykernels.base.abi import AttrType
from pykernels.define.declared import Attribute
from pykernels.tools.new.sketch import Sketch

_SHAPES = {
    "elementwise": "(elements,)",
    "reduction": "(max(1, elements // 8), 8)",
    "loss": "(max(1, elements // 8), 8)",
    "matmul": "(max(1, int(elements**0.5)),) * 2",
}
_ABOUT = {
    "elementwise": "Floating point{}.",
    "reduction": "Floating point, with one axis or more{}.",
    "loss": "Floating point, with one axis or more{}.",
    "matmul": "Floating point, with the shapes ``(rows, inputs)`` and ``(outputs, inputs)``.",
}


def api_text(sketch: Sketch) -> str:
    """Return the text of ``<op>_py_api.py``."""
    inputs = ", ".join(f'"{name}"' for name in sketch.inputs)
    passed = [*sketch.inputs, *(f"{each.name}={each.name}" for each in sketch.attributes)]
    lines = [
        *(["import numpy as np", ""] if _needs_sample(sketch) else []),
        "import pykernels",
        "",
        f"_{sketch.name} = (",
        f'    pykernels.user_op_builder("{sketch.name}")',
        f'    .Op("{sketch.name}_forward")',
        *(f'    .Output("{name}")' for name in sketch.outputs),
        f"    .Function({inputs})",
        ")",
        "",
        "",
        f"def {sketch.name}({', '.join(_parameters(sketch))}):",
        *_docstring(sketch),
        f"    return _{sketch.name}({', '.join(passed)})",
        *(_sample(sketch) if _needs_sample(sketch) else []),
    ]
    return "\n".join(lines) + "\n"


def example_value(attribute: Attribute) -> object:
    """Return the default of an attribute, or a suitable value if it has none."""
    if not attribute.required:
        return attribute.default
    return {AttrType.BOOL: True, AttrType.STRING: "text"}.get(attribute.type, 2)


def _parameters(sketch: Sketch) -> Iterator[str]:
    yield from sketch.inputs
    yield from (each.name for each in sketch.attributes if each.required)
    yield from (f"{each.name}={each.default!r}" for each in sketch.attributes if not each.required)


def _docstring(sketch: Sketch) -> Iterator[str]:
    yield f'    """Compute {" and ".join(sketch.outputs)} by the function ``forward`` of {sketch.name}_py_kernel.py.'
    yield from ("", "    Parameters", "    ----------", f"    {', '.join(sketch.inputs)} : tensor")
    same = ", all with the same shape and dtype" if len(sketch.inputs) > 1 else ""
    yield f"        {_ABOUT[sketch.kind].format(same)}"
    for each in sketch.attributes:
        python = {AttrType.BOOL: "bool", AttrType.STRING: "str", AttrType.INT32: "int", AttrType.INT64: "int"}
        yield f"    {each.name} : {python.get(each.type, 'float')}"
        yield "        Passed to the kernel." if each.name in sketch.factors else "        Not used yet."
    yield from ("", "    Returns", "    -------", *(f"    {name} : tensor" for name in sketch.outputs), '    """')


def _needs_sample(sketch: Sketch) -> bool:
    """Return whether checks cannot generate arguments from the definition alone."""
    return sketch.kind == "matmul" or any(each.required for each in sketch.attributes)


def _sample(sketch: Sketch) -> Iterator[str]:
    yield from ("", "", "def sample_inputs(elements, dtype):")
    yield '    """Return arguments for checks and benchmarks, with about this number of elements."""'
    yield f"    shape = {_SHAPES[sketch.kind]}"
    yield "    rng = np.random.default_rng(0)"
    yield "    return {"
    yield from (f'        "{name}": rng.uniform(0.5, 2, shape).astype(dtype),' for name in sketch.inputs)
    for each in sketch.attributes:
        if each.required:
            yield f'        "{each.name}": {example_value(each)!r},'
    yield "    }"
