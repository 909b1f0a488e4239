"""Write the definition file of a new op."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pykernels.base.abi import AttrType
from pykernels.define.declared import Attribute
from pykernels.tools.new.sketch import Sketch

_TYPES = {
    AttrType.FLOAT: "float",
    AttrType.DOUBLE: "double",
    AttrType.INT32: "int32_t",
    AttrType.INT64: "int64_t",
    AttrType.BOOL: "bool",
    AttrType.STRING: "std::string",
    AttrType.SHAPE: "Shape",
}
_HEAD = """\
// What the op is: its inputs and outputs with their dtypes and axes, and what its gradient is computed from. The kernel
// file computes both.
#include "oneflow/core/framework/framework.h"

"""


def definition_text(sketch: Sketch) -> str:
    """Return the text of ``<op>_cpp_def.cpp``."""
    return (
        f'{_HEAD}REGISTER_USER_OP("{sketch.name}_forward")\n'
        + "\n".join(f"    {part}" for part in _parts(sketch))
        + ";\n"
    )


def _parts(sketch: Sketch) -> Iterator[str]:
    yield from (f'.Input("{each.name}", "{each.type}")' for each in sketch.inputs)
    yield from (f'.Output("{each.name}", "{each.type}")' for each in sketch.outputs)
    yield from map(_attribute, sketch.attributes)
    yield from (f'.Require("{condition}")' for condition in sketch.requires)
    yield from (f'.Split("{axis}")' for axis in sketch.splits)
    yield f'.Backward("{sketch.gradient}")' if sketch.gradient else ".NoGrad()"


def _attribute(attribute: Attribute) -> str:
    type_, value = _TYPES[attribute.type], attribute.default
    if attribute.required:
        return f'.Attr<{type_}>("{attribute.name}")'
    literal = json.dumps(value) if isinstance(value, (bool, str)) else repr(value)
    if attribute.type is AttrType.SHAPE:
        literal = f"Shape({{{', '.join(map(str, value))}}})"
    return f'.Attr<{type_}>("{attribute.name}", {literal})'
