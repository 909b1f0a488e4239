"""Write the kernel file of a new op."""

from __future__ import annotations

from collections.abc import Sequence

from pykernels.tools.new.sketch import Sketch

_FILE = """\
{imports}# One function for each op type of the definition. `args` are NumPy arrays, in the order of the definition's
# inputs; return the output, or a tuple of outputs. Attributes come by name.


def forward(args{keywords}):
    {inputs} = args
{forward}


def backward(args{keywords}):
    {gradient_inputs} = args
{backward}
"""


def kernel_text(sketch: Sketch) -> str:
    """Return the text of ``<op>_py_kernel.py``."""
    slopes = [f"d{name}" for name in sketch.outputs]
    return _FILE.format(
        imports="import numpy as np\n\n" if sketch.kind == "matmul" else "",
        keywords=f", *, {', '.join(sketch.factors)}" if sketch.factors else "",
        inputs=_unpacked(sketch.inputs),
        gradient_inputs=_unpacked([*sketch.inputs, *slopes]),
        forward=_indented(_forward(sketch)),
        backward=_indented(_backward(sketch, slopes)),
    )


def _formula(sketch: Sketch) -> str:
    """Return the expression by which the kernel computes the first output."""
    return " * ".join([*sketch.factors, _value(sketch)])


def _value(sketch: Sketch) -> str:
    if sketch.kind == "matmul":
        x, weight = sketch.inputs
        return f"np.dot({x}, {weight}.T)"
    if sketch.kind == "loss":
        prediction, target = sketch.inputs
        return f"(({prediction} - {target}) ** 2).sum(axis=-1)"
    squares = " + ".join(f"{name} * {name}" for name in sketch.inputs)
    if sketch.kind == "reduction":
        return f"({squares}).sum(axis=-1)"
    return f"({squares})" if len(sketch.inputs) > 1 and sketch.factors else squares


def _forward(sketch: Sketch) -> list[str]:
    if len(sketch.outputs) == 1:
        return [f"return {_formula(sketch)}"]
    results = ["total", *(f"{number} * total" for number in range(2, len(sketch.outputs) + 1))]
    return [f"total = {_formula(sketch)}", f"return {', '.join(results)}"]


def _backward(sketch: Sketch, slopes: Sequence[str]) -> list[str]:
    if sketch.kind == "matmul":
        x, weight = sketch.inputs
        (dy,) = slopes
        parts = (f"np.dot({dy}, {weight})", f"np.dot({dy}.T, {x})")
        return [f"return {', '.join(' * '.join([*sketch.factors, part]) for part in parts)}"]
    lines = []
    if sketch.kind != "elementwise":
        # Restore the summed axis. This also keeps slopes arrays, so that Python numbers do not change their dtype.
        slopes = [f"{name}[..., None]" for name in slopes]
    slope = slopes[0]
    if len(slopes) > 1:
        slope = "gradient"
        lines = [f"gradient = {slopes[0]} + {' + '.join(f'{n} * {name}' for n, name in enumerate(slopes[1:], 2))}"]
    factor = " * ".join(["2", *sketch.factors])
    if sketch.kind == "loss":
        prediction, target = sketch.inputs
        return [*lines, f"error = {factor} * ({prediction} - {target}) * {slope}", "return error, -error"]
    return [*lines, f"return {', '.join(f'{factor} * {name} * {slope}' for name in sketch.inputs)}"]


def _unpacked(names: Sequence[str]) -> str:
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)


def _indented(lines: Sequence[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)
