"""Raise where compiled code reads a variable without a value, as Python does.

A variable has no value if the branch that assigns it was not taken, or the loop had no iterations. numba then reads
zeros. So each variable that may be read without a value gets a flag::

    for i in range(n):          has_value = False
        last = x[i]             for i in range(n):
    y[0] = last                     last = x[i]; has_value = True
                                check(has_value); y[0] = last

Most functions have no such variable and stay unchanged. The pass works on numba's IR, which shows every assignment once
inner functions are inlined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numba import types as nb
from numba.core import cgutils, ir
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.compiler import run_frontend
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.extending import intrinsic


def uncertain_names(function: Callable[..., Any]) -> frozenset[str]:
    """Return the variables of a function that may be read without a value."""
    blocks = run_frontend(function).blocks
    flow = _Flow(blocks)
    scope = next(iter(blocks.values())).scope
    return frozenset(scope.get_exact(name).unversioned_name for name in flow.uncertain)


@register_pass(mutates_CFG=False, analysis_only=False)
class Checks(FunctionPass):  # type: ignore[misc]
    """The pass that adds the flags and their checks."""

    _name = "pykernels_checks_of_values"

    def __init__(self) -> None:  # abstract in numba's base class
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Run the pass; return whether it changed anything."""
        flow = _Flow(state.func_ir.blocks)
        if flow.uncertain:
            flow.add_checks()
        return bool(flow.uncertain)


class _Flow:
    """Which variables have values in each block of a function.

    Attributes
    ----------
    uncertain : set of str
        The variables that may be read without a value.
    """

    def __init__(self, blocks: Mapping[int, ir.Block]) -> None:
        self._blocks = blocks
        self._entry = compute_cfg_from_blocks(blocks).entry_point()
        self._before = self._states()
        self.uncertain = {
            name
            for label, before in self._before.items()
            for certain in [set(before)]
            for statement in blocks[label].body
            for name in _step(statement, certain)
        }

    def _states(self) -> dict[int, set[str]]:
        """Return the variables that certainly have values at the start of each reachable block."""
        before: dict[int, set[str]] = {self._entry: set()}
        waiting = [self._entry]
        while waiting:
            label = waiting.pop()
            after = set(before[label])
            for statement in self._blocks[label].body:
                _step(statement, after)
            for target in self._blocks[label].terminator.get_targets():
                known = before.get(target)
                if known is None or not known <= after:
                    before[target] = set(after) if known is None else known & after
                    waiting.append(target)
        return before

    def add_checks(self) -> None:
        """Add flags for the uncertain variables, and checks of the flags."""
        flagged = self._flagged()
        scope = self._blocks[self._entry].scope
        flags = {name: scope.redefine(f"$has_value_{name}", scope.loc) for name in sorted(flagged)}

        def set_flag(name: str, value: Any, loc: ir.Loc) -> ir.Assign:
            return ir.Assign(value, flags[name], loc)

        for label, certain in self._before.items():
            block = self._blocks[label]
            body = (
                [set_flag(name, ir.Const(False, scope.loc), scope.loc) for name in flags]
                if label == self._entry
                else []
            )
            for statement in block.body:
                loc = statement.loc
                for name in _step(statement, certain):
                    function, nothing = (scope.redefine(each, loc) for each in ("$check_value", "$checked_value"))
                    body += [
                        ir.Assign(ir.Global("check_value", check_value, loc), function, loc),
                        ir.Assign(ir.Expr.call(function, [flags[name]], (), loc), nothing, loc),
                    ]
                body.append(statement)
                target = statement.target.name if isinstance(statement, ir.Assign) else None
                if target in flags:
                    value = statement.value
                    given = flags.get(value.name) if _is_passed_on(statement) else None
                    body.append(set_flag(target, given or ir.Const(not _is_nothing(value), loc), loc))
            block.body = body

    def _flagged(self) -> set[str]:
        """Return the uncertain variables, and those whose values may be passed on to them."""
        copies = [s for b in self._blocks.values() for s in b.find_insts(ir.Assign) if _is_passed_on(s)]
        flagged, found = set[str](), self.uncertain
        while found:
            flagged |= found
            found = {copy.value.name for copy in copies if copy.target.name in flagged} - flagged
        return flagged


def _step(statement: ir.Stmt, certain: set[str]) -> list[str]:
    """Return the variables that a statement reads and that may lack a value; update those in `certain`."""
    is_assignment = isinstance(statement, ir.Assign)
    if is_assignment and (_is_passed_on(statement) or _is_nothing(statement.value)):
        has_value = not _is_nothing(statement.value) and statement.value.name in certain
        (certain.add if has_value else certain.discard)(statement.target.name)
        return []
    read = statement.value if is_assignment else statement
    variables = [read] if isinstance(read, ir.Var) else read.list_vars() if isinstance(read, ir.Inst) else []
    uncertain = sorted({each.name for each in variables} - certain)
    certain.update(uncertain)  # otherwise the check has raised
    if is_assignment:
        certain.add(statement.target.name)
    return uncertain


def _is_passed_on(statement: ir.Assign) -> bool:
    """Whether a value goes to or from Python's stack, where a comprehension saves the variables that it shadows."""
    names = statement.target.name, statement.value.name if isinstance(statement.value, ir.Var) else ""
    return bool(names[1]) and any(name.startswith("$") for name in names)


def _is_nothing(value: Any) -> bool:
    return isinstance(value, ir.Expr) and value.op == "undef"


@intrinsic
def check_value(typing_context: Any, has_value: nb.Boolean) -> Any:
    """Raise unless a variable has a value."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        with cgutils.if_unlikely(builder, builder.not_(arguments[0])):
            context.call_conv.return_user_exc(builder, UnboundLocalError, ())
        return context.get_dummy_value()

    return nb.void(has_value), generate
