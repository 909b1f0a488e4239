"""Compile a fused kernel: its stages, and tables that tell the driver how to run them.

The driver is ``cpp_defs/runtime/fused.cpp``; ``fused/tables.h`` beside it explains the names that both share. An
elementwise kernel has one stage for shapes of any rank; its driver is ``elementwise.cpp``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as ir
import numpy as np

from pykernels.build import linking
from pykernels.kernel.emit import number_checks, target, vector_math
from pykernels.kernel.emit.stage_code import MAX_NUMBERS, STAGE, StageCode
from pykernels.kernel.emit.vector_writer import FAST_MATH, Writer
from pykernels.kernel.expression.array_nodes import Counted, Extent, Reduction, Reshaped, Sliced, Strides
from pykernels.kernel.expression.axes import Shape, encoded
from pykernels.kernel.expression.fused import Fused
from pykernels.kernel.expression.nodes import NotExpressible, dtype_of
from pykernels.kernel.expression.operations import neutral_of
from pykernels.kernel.facts import ELEMENTWISE, FUSED, Facts
from pykernels.kernel.plan.graph import within
from pykernels.kernel.plan.planning import Planner
from pykernels.kernel.plan.stages import (
    Plan,
    Stage,
    adds_rows,
    arguments_of,
    extents_of,
    is_copy,
    is_costly,
    is_plain,
    widest,
    written_by,
)

_I32, _I64 = ir.IntType(32), ir.IntType(64)
# The same values as in tables.h.
_EVEN, _NONEMPTY = 1, 2
_TOGETHER, _MAX_STAGES, _VARIANTS = 4, 64, 5
# The number of elements in a short vector.
_SHORT = 4


def compile_kernel(fused: Fused, output: Path, where: str, *, fast_math: bool) -> Facts:
    """Compile an expression into a shared object with the function `linking.ENTRY`.

    Parameters
    ----------
    output : Path
        The path of the shared object.
    where : str
        The location of the kernel, for the message if the linker fails.
    fast_math : bool
        Whether LLVM may use fast math.

    Raises
    ------
    NotExpressible
        The expression cannot be planned.
    BuildError
        There is no compiler to link with, or linking fails.
    """
    plan = Planner(fused).plan()
    # The instructions of several registers are interleaved, so that one need not wait for another. Around a call the
    # registers would be spilled to memory.
    registers = 4 if fused.is_elementwise and target.instruction_set().register < 64 else 2
    module, writers = _write(plan, registers=registers, fast_math=fast_math)
    if any(writer.has_calls for writer in writers):
        module, writers = _write(plan, registers=1, fast_math=fast_math)
    _describe(module, plan, writers[0].lanes)
    parsed = llvm.parse_assembly(str(module))
    for value in [*parsed.functions, *parsed.global_variables]:
        if not value.is_declaration:
            value.visibility = "hidden"
    target.optimise(parsed, level=2)
    libraries = [str(vector_math.path()), "-lm"] if any(writer.needs_library for writer in writers) else ["-lm"]
    parts = linking.FOR_FUSED[fused.is_elementwise]
    linking.link(target.machine().emit_object(parsed), parts, libraries, output, where)
    return Facts(
        ELEMENTWISE if fused.is_elementwise else FUSED,
        vector_math=tuple(sorted(set[str]().union(*(writer.vector_math for writer in writers)))),
        scalar_math=tuple(sorted(set[str]().union(*(writer.scalar_math for writer in writers)))),
        instruction_set=target.instruction_set().name,
        in_pieces=plan.in_pieces and not fused.is_elementwise,
        stages=0 if fused.is_elementwise else len(plan.stages),
        fast_math=fast_math,
    )


def _write(plan: Plan, *, registers: int, fast_math: bool) -> tuple[ir.Module, list[Writer]]:
    module = ir.Module("fused")
    module.triple = llvm.get_default_triple()
    instructions = target.instruction_set()
    n_scalars = len(plan.graph.fused.signature.scalars)
    if n_scalars + len(extents_of(plan)) > MAX_NUMBERS and not plan.graph.fused.is_elementwise:
        raise NotExpressible(f"it computes with more than {MAX_NUMBERS} numbers")
    if len(plan.stages) > _MAX_STAGES:
        raise NotExpressible(f"it needs more than {_MAX_STAGES} passes")
    slots = {extent: n_scalars + at for at, extent in enumerate(extents_of(plan))}
    writers, functions = [], []
    for at, stage in enumerate(plan.stages):
        many = 2 * registers if is_plain(stage) and not adds_rows(stage) else registers
        lanes = many * instructions.register // widest(plan, stage)
        writer = Writer(module, lanes, instructions, FAST_MATH if fast_math else ())
        writers.append(writer)
        short, single = (Writer(module, count, instructions, writer.flags) for count in (_SHORT, 1))
        functions += _stage(plan, stage, writer, short, single, slots, f"pk_stage_{at}")
    number_checks.write(Writer(module, _SHORT, instructions), plan.graph.fused.outputs, slots)
    pointer = STAGE.as_pointer()
    values = [function or ir.Constant(pointer, None) for function in functions]
    _define(module, "pk_stages", ir.Constant(ir.ArrayType(pointer, len(values)), values))
    return module, writers


def _stage(
    plan: Plan, stage: Stage, writer: Writer, short: Writer, single: Writer, slots: Mapping[Extent, int], name: str
) -> list[ir.Function | None]:
    """Write the functions of a stage; return them in the order of ``pk_stages``."""
    columns = stage.domain[-1:]

    def write(number: int, using: Writer, column: tuple[int, ...], together: int = 1, streaming: bool = False) -> Any:
        code = StageCode(using, plan, stage, f"{name}_{number}", slots, column, together, streaming=streaming)
        return code.write()

    if is_copy(stage) and not plan.graph.fused.is_elementwise:
        return [None] * _VARIANTS
    if plan.graph.fused.is_elementwise:
        return [write(k, writer, columns, streaming=k == 1) for k in range(2)]
    before = tuple(each for each in stage.domain if plan.groups[each] != plan.groups[stage.domain[-1]])[-1:]
    is_cheap = not (is_costly(stage) or adds_rows(stage))
    # The order of addition of such a stage depends on the length of its vectors.
    folds_rows = any(column not in array.classes for column in columns for _, array in stage.folds)
    variants = (
        (writer, columns),
        (writer, columns, _TOGETHER) if adds_rows(stage) else None,
        (writer, before) if before else None,
        (short, columns) if is_cheap else None,
        (single, columns) if is_cheap and not folds_rows else None,
    )
    return [write(number, *variant) if variant else None for number, variant in enumerate(variants)]


def _describe(module: ir.Module, plan: Plan, lanes: int) -> None:
    """Add the tables that the driver needs to the module."""
    tables = _elementwise_tables(plan, lanes) if plan.graph.fused.is_elementwise else _tables(plan)
    for name, values in tables.items():
        _define(module, name, ir.Constant(ir.ArrayType(_I32, max(1, len(values))), list(map(int, values)) or [0]))
    firsts = [_pattern(node, array.storage) for stage in plan.stages for node, array in stage.folds]
    _define(module, "pk_identities", ir.Constant(ir.ArrayType(_I64, max(1, len(firsts))), firsts or [0]))


def _elementwise_tables(plan: Plan, lanes: int) -> dict[str, list[int]]:
    """Return the tables for the driver of elementwise kernels."""
    outputs, n_inputs = plan.graph.outputs, plan.graph.fused.signature.n_inputs
    return {
        "pk_counts": [n_inputs, len(outputs), lanes],
        "pk_item_sizes": [array.storage.itemsize for array in plan.arrays],
        "pk_shapes": [_mask(axis) for output in outputs for axis in plan.graph.axes.shape_of(output)],
    }


def _tables(plan: Plan) -> dict[str, list[int]]:
    """Return the tables for the driver of all other kernels."""
    fused, extents = plan.graph.fused, extents_of(plan)
    n_inputs = fused.signature.n_inputs
    arguments = [arguments_of(stage) for stage in plan.stages]
    at_array = {array: at for at, array in enumerate(plan.arrays)}
    views = [array.view for array in plan.arrays if isinstance(array.view, (Reshaped, Sliced))]
    shape_of = fused.axes.shape_of
    reductions = [node for stage in plan.stages for node, _ in stage.folds]
    position_class = _classes_of_positions(plan)
    members: list[list[int]] = [[] for _ in plan.graph.numbers]
    of_outputs = range(*(sum(map(len, fused.tensors[:end])) for end in (n_inputs, len(fused.tensors))))
    for position, number in enumerate(position_class):
        if number >= 0 and position not in of_outputs:
            members[number].append(position)
    return {
        "pk_counts": [
            *(n_inputs, len(fused.tensors) - n_inputs, len(plan.arrays), len(plan.stages)),
            *(len(plan.graph.numbers), len(fused.signature.scalars), len(extents), len(reductions)),
            *(sum(map(len, fused.tensors)), len(fused.axes.lengths), len(views), len(fused.axes.equal)),
            sum(isinstance(array.view, Counted) for array in plan.arrays),
        ],
        "pk_blocked": [_mask(plan.blocked)],
        "pk_groups": list(plan.groups),
        "pk_classes": position_class,
        "pk_arrays": [
            number
            for array in plan.arrays
            for number in (
                at_array[array.base] if array.base else array.tensor,
                *(array.storage.itemsize, _mask(array.classes), array.is_local),
            )
        ],
        "pk_stage_table": [
            number
            for stage, given in zip(plan.stages, arguments)
            for number in (
                *(stage.phase, stage.in_block, _mask(stage.domain), len(given), len(stage.folds)),
                *(adds_rows(stage), len(set(stage.reads.values())), len(given) - len(written_by(stage))),
                len(stage.stores) if is_copy(stage) else 0,
            )
        ],
        "pk_arguments": [at_array[array] for given in arguments for array in given],
        "pk_copies": [
            given.index(array)
            for stage, given in zip(plan.stages, arguments)
            if is_copy(stage)
            for node, target in stage.stores
            for array in (stage.reads[within(node)], target)
        ],
        "pk_folds": [at_array[array.base or array] for stage in plan.stages for _, array in stage.folds],
        "pk_members": _lists(members),
        "pk_output_shapes": _lists([sorted(axis) for output in fused.outputs for axis in fused.axes.shape_of(output)]),
        "pk_extents": _shapes([extent.shape for extent in extents]),
        "pk_lengths": _lists(fused.axes.lengths),
        "pk_views": _lists([_view(view, shape_of(view)) for view in views]),
        "pk_equal": _shapes([shape for pair in fused.axes.equal for shape in pair]),
        "pk_counted": _shapes([shape_of(array.view) for array in plan.arrays if isinstance(array.view, Counted)]),
        "pk_packed": list(plan.graph.packed),
        "pk_reductions": [number for node in reductions for number in _reduction(node)],
    }


def _define(module: ir.Module, name: str, value: ir.Constant) -> None:
    variable = ir.GlobalVariable(module, value.type, name)
    variable.global_constant = True
    variable.initializer = value


def _mask(classes: Sequence[int] | frozenset[int]) -> int:
    return sum(1 << each for each in classes)


def _classes_of_positions(plan: Plan) -> list[int]:
    """Return the class number of every axis of every tensor and reshaped array, or -1 if it does not matter."""
    fused = plan.graph.fused
    found = [plan.graph.numbers.get(fused.axes.class_of(position), -1) for position in range(fused.axes.n_positions)]
    at = sum(map(len, fused.tensors[: fused.signature.n_inputs]))
    for output, is_packed, is_joined in zip(fused.outputs, plan.graph.packed, plan.graph.joined):
        for axis in fused.axes.shape_of(output):
            (found[at],) = plan.graph.classes_of((axis,)) if axis and not (is_packed or is_joined) else (-1,)
            at += 1
    return found


def _lists(lists: Sequence[Sequence[int]]) -> list[int]:
    """Concatenate lists, each preceded by its length."""
    return [number for each in lists for number in (len(each), *each)]


def _reduction(node: Reduction) -> list[int]:
    """Encode what must hold for a reduction and the lengths that it reduces."""
    must = _EVEN if node.name in ("add", "multiply") else 0 if node.may_be_empty else _NONEMPTY
    return [must, *_shapes([tuple(axis for axis in node.folded if axis)])]


def _view(view: Reshaped | Sliced, shape: Shape) -> list[int]:
    strides = view.strides if isinstance(view, Sliced) else [Strides(-1, 1, at, at) for axis in shape for at in axis]
    return [number for each in strides for number in (each.first, each.step, each.own, each.whole)]


def _shapes(shapes: Sequence[Shape]) -> list[int]:
    return [number for shape in shapes for number in encoded(shape)]


def _pattern(node: Reduction, storage: np.dtype) -> int:
    """Return the bits of the initial value of a reduction."""
    first = np.array(neutral_of(node.name, dtype_of(node)), storage).tobytes()
    return int.from_bytes(first, "little", signed=len(first) == 8)
