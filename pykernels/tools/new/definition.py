"""Write the definition file of a new op."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

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
}
_FILE = """\
// What the op is, in OneFlow's registration language.
#include "oneflow/core/framework/framework.h"

namespace oneflow {{
namespace {{

// Infer the shapes of the outputs, and check the inputs; users read the messages.
Maybe<void> InferForward(user_op::InferContext* ctx) {{
{shapes}
  return Maybe<void>::Ok();
}}

// By default, an output has the dtype of the first input.
Maybe<void> CheckDataTypes(user_op::InferContext* ctx) {{
{dtypes}
  return Maybe<void>::Ok();
}}

// Each gradient has the shape of its input.
Maybe<void> InferBackward(user_op::InferContext* ctx) {{
{gradients}
  return Maybe<void>::Ok();
}}

}}  // namespace

// The op that users call, computed by `forward` in the kernel file.
REGISTER_USER_OP("{name}_forward")
{forward}
    .SetLogicalTensorDescInferFn(InferForward)
    .SetDataTypeInferFn(CheckDataTypes);

// Its gradient, computed by `backward`: from the inputs and the gradients of the outputs, the gradients of the inputs.
REGISTER_USER_OP("{name}_backward")
{backward}
    .SetLogicalTensorDescInferFn(InferBackward)
    .SetDataTypeInferFn(CheckDataTypes);

// The inputs of the backward op, and the gradient of each forward input among its outputs.
REGISTER_USER_OP_GRAD("{name}_forward")
    .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) -> Maybe<void> {{
      const std::string gradient = ctx->FwOp().op_name() + "_grad";
      ctx->DefineOp(gradient, [ctx](user_op::BackwardOpBuilder& builder) {{
        return builder.OpTypeName("{name}_backward")
{bound}
            .Build();
      }});
{wired}
      return Maybe<void>::Ok();
    }});

}}  // namespace oneflow
"""


def definition_text(sketch: Sketch) -> str:
    """Return the text of ``<op>_cpp_def.cpp``."""
    attributes = [_attribute(each) for each in sketch.attributes]
    inputs = [f'.Input("{name}")' for name in sketch.inputs]
    slopes = [f'.Input("d{name}")' for name in sketch.outputs]
    return _FILE.format(
        name=sketch.name,
        shapes=_lines(_shapes(sketch), 2),
        dtypes=_lines(_dtypes(sketch), 2),
        gradients=_lines(
            (f'ctx->SetOutputShape("d{name}", 0, ctx->InputShape("{name}", 0));' for name in sketch.inputs), 2
        ),
        forward=_lines([*inputs, *(f'.Output("{name}")' for name in sketch.outputs), *attributes], 4),
        backward=_lines([*inputs, *slopes, *(f'.Output("d{name}")' for name in sketch.inputs), *attributes], 4),
        bound=_lines(_bound(sketch), 12),
        wired=_lines(_wired(sketch.inputs), 6),
    )


def _lines(lines: Sequence[str] | Iterator[str], indent: int) -> str:
    return "\n".join(" " * indent + line for line in lines)


def _attribute(attribute: Attribute) -> str:
    type_, value = _TYPES[attribute.type], attribute.default
    if attribute.required:
        return f'.Attr<{type_}>("{attribute.name}")'
    literal = json.dumps(value) if isinstance(value, (bool, str)) else repr(value)
    return f'.Attr<{type_}>("{attribute.name}", {literal})'


def _shapes(sketch: Sketch) -> Iterator[str]:
    first, *others = sketch.inputs
    if sketch.kind == "matmul":
        (second,) = others
        yield f'const Shape& {first} = ctx->InputShape("{first}", 0);'
        yield f'const Shape& {second} = ctx->InputShape("{second}", 0);'
        yield f"if ({first}.NumAxes() != 2 || {second}.NumAxes() != 2 || {first}.At(1) != {second}.At(1)) {{"
        yield f'  return Error::RuntimeError() << "{first} must have the shape (rows, inputs) and {second} (outputs, "'
        yield f'                                   "inputs), but they have " << {first} << " and " << {second};'
        yield "}"
        yield f'ctx->SetOutputShape("{sketch.outputs[0]}", 0, Shape({{{first}.At(0), {second}.At(0)}}));'
        return
    for other in others:
        yield f'CHECK_EQ_OR_RETURN(ctx->InputShape("{other}", 0), ctx->InputShape("{first}", 0))'
        yield f'    << "{other} must have the shape of {first}";'
    if sketch.kind == "elementwise":
        for output in sketch.outputs:
            yield f'ctx->SetOutputShape("{output}", 0, ctx->InputShape("{first}", 0));'
        return
    yield f'DimVector rows = ctx->InputShape("{first}", 0).dim_vec();'
    yield f'if (rows.empty()) {{ return Error::RuntimeError() << "{first} must have at least one axis"; }}'
    yield "rows.pop_back();"
    for output in sketch.outputs:
        yield f'ctx->SetOutputShape("{output}", 0, Shape(rows));'


def _dtypes(sketch: Sketch) -> Iterator[str]:
    first, *others = sketch.inputs
    yield f'const DataType dtype = ctx->InputDType("{first}", 0);'
    yield "if (!IsFloatingDataType(dtype)) {"
    yield f'  return Error::TypeError() << "{first} must be floating point, but is " << dtype;'
    yield "}"
    for other in others:
        yield f'CHECK_EQ_OR_RETURN(ctx->InputDType("{other}", 0), dtype) << "{other} must have the dtype of {first}";'


def _bound(sketch: Sketch) -> Iterator[str]:
    for name in sketch.inputs:
        yield f'.InputBind("{name}", ctx->FwOp().input("{name}", 0))'
    for name in sketch.outputs:
        yield f'.InputBind("d{name}", ctx->FwOp().output_grad("{name}", 0))'
    for name in sketch.inputs:
        yield f'.Output("d{name}")'
    for each in sketch.attributes:
        yield f'.Attr("{each.name}", ctx->FwOp().attr<{_TYPES[each.type]}>("{each.name}"))'


def _wired(inputs: Sequence[str]) -> Iterator[str]:
    for name in inputs:
        yield f'ctx->FwOp().InputGradBind(user_op::OpArg("{name}", 0), [ctx, gradient]() -> const std::string& {{'
        yield f'  return ctx->GetOp(gradient).output("d{name}", 0);'
        yield "});"
