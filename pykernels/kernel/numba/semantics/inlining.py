"""Keep stores and errors when numba inlines functions within functions.

After inlining, numba removes dead code. It considers a store to an array dead unless it knows that the array is an
argument, which it does not know of ``(y,) = outs`` and of the result of a function. It also drops statements that may
raise if nothing uses their values, and `del`.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from numba.core import errors, ir
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import alias_analysis_extensions, remove_dead_extensions

from pykernels.base.bytecode import instructions


@register_pass(mutates_CFG=False, analysis_only=False)
class Preparation(FunctionPass):  # type: ignore[misc]
    """The pass before inlining, which keeps stores and errors, and refuses `del`."""

    _name = "pykernels_preparation"

    def __init__(self) -> None:  # abstract in numba's base class
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Run the pass; return whether it changed anything."""
        for code in _within(state.func_id.code):
            if any(each.opname == "DELETE_FAST" for each, _ in instructions(code)):
                raise errors.UnsupportedError(f"del in {code.co_name}", loc=state.func_ir.loc)
        blocks = state.func_ir.blocks
        for block in blocks.values():
            block.body = [_Kept(each.value, each.target, each.loc) if _may_raise(each) else each for each in block.body]
        first = blocks[min(blocks)].body[0]
        if isinstance(first, ir.Assign):  # otherwise the function has no arguments
            blocks[min(blocks)].body[0] = _First(first.value, first.target, first.loc)
        return True


def _within(code: types.CodeType) -> Iterator[types.CodeType]:
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from _within(each)


def _may_raise(statement: ir.Stmt) -> bool:
    value = statement.value if isinstance(statement, ir.Assign) else None
    if isinstance(value, ir.Var):
        return not value.name.startswith("$")  # the variable may have no value
    return isinstance(value, ir.Expr) and value.op in ("getitem", "static_getitem", "exhaust_iter", "binop")


class _Kept(ir.Assign):  # type: ignore[misc]
    """An assignment that numba keeps even if nothing uses its variable."""


class _First(ir.Assign):  # type: ignore[misc]
    """The first statement of a function. It tells numba that an argument may hold any array."""


def _keep(statement: ir.Assign, used: set[str], *_: Any) -> ir.Assign:
    used.add(statement.target.name)
    return statement


def _keep_stores(_: Any, names: Any, typemap: Any, function: Any, aliases: Any, of_arguments: set[str]) -> None:
    of_arguments |= {each.target.name for block in function.blocks.values() for each in block.find_insts(ir.Assign)}


remove_dead_extensions[_Kept] = _keep
alias_analysis_extensions[_First] = _keep_stores
