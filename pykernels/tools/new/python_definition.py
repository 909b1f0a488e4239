"""Write the definition of a new op in Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pykernels.base.abi import AttrType
from pykernels.base.errors import CallError
from pykernels.define.declared import Attribute
from pykernels.define.prop import CustomOpProp
from pykernels.tools.new.axes import AXIS, Tensor, is_along_axis, names_in
from pykernels.tools.new.sketch import Sketch

_TYPES = {
    AttrType.FLOAT: "float",
    AttrType.DOUBLE: "float",
    AttrType.INT32: "int",
    AttrType.INT64: "int",
    AttrType.BOOL: "bool",
    AttrType.STRING: "str",
    AttrType.SHAPE: "tuple[int, ...]",
}
_HEAD = """\
# What the op is: its inputs and outputs with their dtypes and shapes, and what its gradient is computed from. The
# kernel file computes both.
import pykernels


"""


def python_definition_text(sketch: Sketch) -> str:
    """Return the text of ``<op>_py_def.py``; raise `CallError` if an attribute has a name that such classes use."""
    for each in sketch.attributes:
        if hasattr(CustomOpProp, each.name):
            raise CallError(f"{each.name!r} cannot name an attribute: the class of a Python definition has that itself")
    lines = [*_variables(sketch), *_infer_shape(sketch)]
    return (
        f"{_HEAD}class {''.join(part.title() for part in sketch.name.split('_'))}(pykernels.CustomOpProp):\n"
        + "".join(f"    {line}".rstrip() + "\n" for line in lines)
    )


def _variables(sketch: Sketch) -> Iterator[str]:
    tensors = (*sketch.inputs, *sketch.outputs)
    words = {each.name: each.dtype for each in tensors}
    for what, group in (("arguments", sketch.inputs), ("outputs", sketch.outputs)):
        names = [f'"{each.name}"' for each in group]
        yield f"{what} = {_list(names)}"
    given = ", ".join(f'"{name}": "{word}"' for name, word in words.items())
    yield f'dtypes = "{tensors[0].dtype}"' if len(set(words.values())) == 1 else f"dtypes = {{{given}}}"
    yield f'backward = "{sketch.gradient}"' if sketch.gradient else "backward = None"
    if "..." in sketch.splits and all(each.axes == ("...",) for each in tensors):
        yield "split_for_each_axis = True"
    yield from (_attribute(each) for each in sketch.attributes)


def _attribute(attribute: Attribute) -> str:
    default = "" if attribute.required else f" = {attribute.default!r}"
    return f"{attribute.name}: {_TYPES[attribute.type]}{default}"


def _infer_shape(sketch: Sketch) -> Iterator[str]:
    if len(sketch.inputs) == 1 and all(each.axes == ("...",) for each in (*sketch.inputs, *sketch.outputs)):
        return  # as without the method
    lines = _axes_along(sketch) if is_along_axis(sketch.inputs) else _axes(sketch)
    yield ""
    yield "def infer_shape(self, in_shape):"
    yield from (f"    {line}" for line in lines)


def _axes_along(sketch: Sketch) -> Iterator[str]:
    """Yield the lines for inputs of one shape, in which an attribute selects an axis."""
    yield "shape = in_shape[0]"
    yield f"n, axis = shape[self.{AXIS}], self.{AXIS} % len(shape)"
    yield from _conditions(sketch)
    inputs = ["shape"] * len(sketch.inputs)
    outputs = [_along(each, [each.name for each in sketch.attributes]) for each in sketch.outputs]
    yield f"return {_list(inputs)}, {_list(outputs)}, []"


def _along(tensor: Tensor, attributes: Sequence[str]) -> str:
    if tensor.axes == ("... without axis",):
        return "[*shape[:axis], *shape[axis + 1 :]]"
    formula = _formula(tensor.axes[0].partition(" = ")[2], attributes) if tensor.axes else ""
    return "shape" if formula == "n" else f"[*shape[:axis], {formula}, *shape[axis + 1 :]]" if formula else "[]"


def _axes(sketch: Sketch) -> Iterator[str]:
    """Yield the lines that find the length of each axis, and give it to the axes of the same name."""
    attributes = [each.name for each in sketch.attributes]
    bound: set[str] = set(attributes)
    for at, tensor in enumerate(sketch.inputs):
        free = {each for each in tensor.named if each.isidentifier()} - bound
        leads = tensor.takes_any and "..." not in bound
        if free or leads:
            targets = ["*lead" if leads else "*_"] if tensor.takes_any else []
            targets += [each if each in free else "_" for each in tensor.named]
            yield (f"lead = in_shape[{at}]" if targets == ["*lead"] else f"{_tuple(targets)} = in_shape[{at}]")
            bound |= free | ({"..."} if leads else set())
    yield from _conditions(sketch)
    inputs, outputs = ([_shape(each, attributes) for each in group] for group in (sketch.inputs, sketch.outputs))
    yield f"return {_list(inputs)}, {_list(outputs)}, []"


def _conditions(sketch: Sketch) -> Iterator[str]:
    for condition in sketch.requires:
        yield f"if not ({_formula(condition, [each.name for each in sketch.attributes])}):"
        yield f'    raise ValueError(f"it requires {condition}, but the inputs have the shapes {{in_shape}}")'


def _shape(tensor: Tensor, attributes: Sequence[str]) -> str:
    if tensor.axes == ("...",):
        return "lead"
    return _list([*(["*lead"] if tensor.takes_any else []), *(_formula(each, attributes) for each in tensor.named)])


def _formula(text: str, attributes: Sequence[str]) -> str:
    for name in set(names_in(text)) & set(attributes):
        text = re.sub(rf"\b{name}\b", f"self.{name}", text)
    return text


def _list(items: Sequence[str]) -> str:
    return f"[{', '.join(items)}]"


def _tuple(items: Sequence[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else ", ".join(items)
