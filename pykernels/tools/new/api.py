"""Write the API file of a new op."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from pykernels.base.abi import AttrType
from pykernels.define.declared import Attribute
from pykernels.tools.new.axes import Tensor, names_in
from pykernels.tools.new.inference import example_value
from pykernels.tools.new.sketch import Sketch

_PYTHON = {
    AttrType.BOOL: "bool",
    AttrType.STRING: "str",
    AttrType.INT32: "int",
    AttrType.INT64: "int",
    AttrType.SHAPE: "tuple of int",
}


def api_text(sketch: Sketch) -> str:
    """Return the text of ``<op>_py_api.py``."""
    inputs = ", ".join(f'"{each.name}"' for each in sketch.inputs)
    passed = [*(each.name for each in sketch.inputs), *(f"{each.name}={each.name}" for each in sketch.attributes)]
    lines = [
        *(["import numpy as np", ""] if _needs_sample(sketch) else []),
        "import pykernels",
        "",
        f"_{sketch.name} = (",
        f'    pykernels.user_op_builder("{sketch.name}")',
        f'    .Op("{sketch.name}_forward")',
        *(f'    .Output("{each.name}")' for each in sketch.outputs),
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


def drawn_text(tensor: Tensor, shape: str) -> str:
    """Return an expression for an array: positive numbers, or integers that are positions on any axis."""
    if tensor.dtype == "bool":
        return f"rng.random({shape}) < 0.5"
    if tensor.dtype.startswith(("int", "uint")):
        return f"rng.integers(0, 2, {shape})"
    return f"rng.uniform(0.5, 2, {shape})"


def _parameters(sketch: Sketch) -> Iterator[str]:
    yield from (each.name for each in sketch.inputs)
    yield from (each.name for each in sketch.attributes if each.required)
    yield from (f"{each.name}={each.default!r}" for each in sketch.attributes if not each.required)


def _docstring(sketch: Sketch) -> Iterator[str]:
    names = [each.name for each in sketch.outputs]
    text = sketch.text or f"Compute {' and '.join(names)} by the function ``forward`` of {sketch.name}_py_kernel.py."
    first, *rest = text.splitlines()
    yield f'    """{first}'
    yield from (f"    {line}".rstrip() for line in rest)
    if "Parameters\n---" not in text:
        yield from ("", "    Parameters", "    ----------")
        for tensor in sketch.inputs:
            yield from (f"    {tensor.name} : tensor", f"        ``{tensor.type}``")
        for each in sketch.attributes:
            yield f"    {each.name} : {_PYTHON.get(each.type, 'float')}"
            yield "        Passed to the kernel." if _uses(sketch, each) else "        Not used yet."
        yield from ("", "    Returns", "    -------")
        for tensor in sketch.outputs:
            yield from (f"    {tensor.name} : tensor", f"        ``{tensor.type}``")
    yield '    """'


def _uses(sketch: Sketch, attribute: Attribute) -> bool:
    """Return whether the kernel takes an attribute."""
    return re.search(rf"\*, .*\b{attribute.name}\b", sketch.kernel) is not None


def _needs_sample(sketch: Sketch) -> bool:
    """Return whether checks cannot generate arguments from the definition alone."""
    types = {each.type for each in sketch.inputs}
    is_alike = len(types) == 1 and all(each.dtype == "floating" for each in sketch.inputs)
    return not is_alike or bool(sketch.requires) or any(each.required for each in sketch.attributes)


def _sample(sketch: Sketch) -> Iterator[str]:
    attributes = {each.name for each in sketch.attributes}
    found = (name for each in sketch.inputs for axis in each.named for name in names_in(axis))
    names = list(dict.fromkeys(name for name in found if name not in attributes))
    most = max(len(each.named) + each.takes_any for each in sketch.inputs)
    yield from ("", "", "def sample_inputs(elements, dtype):")
    yield '    """Return arguments for checks and benchmarks, with about this number of elements."""'
    # A multiple of what most functions divide by, and of what this one does.
    divisors = (re.search(r"% (\d+) ==", each) for each in sketch.requires)
    step = math.lcm(8, *(int(each[1]) for each in divisors if each)) if sketch.requires else 1
    root = f"int(elements ** (1 / {max(1, most)}))"
    yield f"    side = {f'max(1, {root})' if step == 1 else f'{step} * max(1, {root} // {step})'}"
    if names:
        # No two lengths are equal, so that checks find axes that are mistaken for each other.
        lengths = [f"side + {step * more}" if more else "side" for more in range(len(names))]
        yield f"    {', '.join(names)} = {', '.join(lengths)}"
    yield "    rng = np.random.default_rng(0)"
    yield "    return {"
    for tensor in sketch.inputs:
        axes = (["side"] if tensor.takes_any else []) + list(tensor.named)
        shape = f"({', '.join(axes)}{',' if len(axes) == 1 else ''})"
        cast = ".astype(dtype)" if tensor.dtype == "floating" else ""
        yield f'        "{tensor.name}": {drawn_text(tensor, shape)}{cast},'
    for each in sketch.attributes:
        if each.required:
            yield f'        "{each.name}": {example_value(each)!r},'
    yield "    }"
