"""Vectorise C math functions in loops: LLVM calls their vector twins, which are then inlined.

LLVM would compute ``exp`` lane by lane. This module replaces each such function with one of ours, which declares twins
for vectors (by the vector function ABI). Once the loops are vectorised, the bodies of the twins are inlined. A single
number is computed as a lane of a vector, so its result does not depend on its position.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import llvmlite.ir as ir

from pykernels.kernel.emit import target
from pykernels.kernel.emit.vector_writer import Writer
from pykernels.kernel.expression.operations import OPERATIONS, Cost

_I32 = ir.IntType(32)
_DECLARATION = re.compile(r"^declare (?P<type>float|double) @(?P<symbol>[\w.]+)\((?P<arguments>[^)]*)\).*$", re.M)
_FUNCTIONS = frozenset(row.c for row in OPERATIONS.values() if row.c and row.cost is Cost.HIGH)
_PURE = "nounwind willreturn memory(none)"
_USED = "@llvm.compiler.used = appending global"


@dataclass(frozen=True)
class _Function:
    """A C math function for one dtype."""

    name: str
    type: str
    n_arguments: int

    @property
    def symbol(self) -> str:
        return f"pk_{self.name}_{self.type}"

    @property
    def widths(self) -> tuple[int, ...]:
        """The numbers of lanes that it can be called with; the last one fills a register."""
        lanes = target.instruction_set().register // (4 if self.type == "float" else 8)
        return tuple(width for width in (2, 4, 8, 16) if lanes // 4 <= width <= lanes)

    def declarations(self) -> Iterator[str]:
        """Yield the declarations of the function and its twins in LLVM IR."""
        variants = ",".join(
            f"_ZGV_LLVM_N{width}{'v' * self.n_arguments}_{self.symbol}({self.symbol}_{width})" for width in self.widths
        )
        arguments = ", ".join([self.type] * self.n_arguments)
        yield f'declare {self.type} @{self.symbol}({arguments}) {_PURE} "vector-function-abi-variant"="{variants}"'
        for width in self.widths:
            vector = f"<{width} x {self.type}>"
            yield f"declare {vector} @{self.symbol}_{width}({', '.join([vector] * self.n_arguments)}) {_PURE}"

    def write(self, module: ir.Module, width: int) -> Writer:
        """Define the twin for `width` lanes, or the function itself for 0.

        All of them compute a whole register, so that a lane has the same result in each.
        """
        lane, lanes = ir.FloatType() if self.type == "float" else ir.DoubleType(), self.widths[-1]
        type_ = ir.VectorType(lane, width) if width else lane
        symbol = f"{self.symbol}_{width}" if width else self.symbol
        function = ir.Function(module, ir.FunctionType(type_, [type_] * self.n_arguments), symbol)
        function.attributes.add("alwaysinline")
        function.attributes.add("nounwind")
        writer = Writer(module, lanes, target.instruction_set())
        writer.builder = builder = ir.IRBuilder(function.append_basic_block())
        first, undefined = _I32(0), ir.Constant(ir.VectorType(lane, width or lanes), ir.Undefined)
        operands = []
        for operand in function.args:
            if not width:
                operand = builder.insert_element(undefined, operand, first)
            # Unused lanes repeat others, so that operations see only given numbers.
            mask = [_I32(at % max(width, 1)) for at in range(lanes)]
            operands.append(builder.shuffle_vector(operand, undefined, ir.Constant(ir.VectorType(_I32, lanes), mask)))
        result = writer.math(self.name, *operands)
        if width:
            mask = ir.Constant(ir.VectorType(_I32, width), [_I32(at) for at in range(width)])
            builder.ret(builder.shuffle_vector(result, ir.Constant(result.type, ir.Undefined), mask))
        else:
            builder.ret(builder.extract_element(result, first))
        return writer


class LoopMath:
    """The math functions of one module.

    Attributes
    ----------
    vector_math, scalar_math : set of str
        The C names of the functions computed in vectors, and of those with scalar code only.
    needs_library : bool
        Whether the vector math library is called.
    """

    def __init__(self) -> None:
        self.vector_math: set[str] = set()
        self.scalar_math: set[str] = set()
        self.needs_library = False
        self._functions: list[_Function] = []

    def name(self, code: str) -> str:
        """Return the text of a module with calls of our functions in place of C's."""
        renamed = {}
        for match in _DECLARATION.finditer(code):
            found = self._function(match)
            if found is None:
                continue
            renamed[match["symbol"]] = found.symbol
            if found not in self._functions:
                self._functions.append(found)
        if not renamed:
            return code
        code = _DECLARATION.sub(lambda match: "" if match["symbol"] in renamed else match.group(), code)
        for old, new in renamed.items():
            code = code.replace(f"@{old}(", f"@{new}(")
        lines = [line for function in self._functions for line in function.declarations()]
        twins = [f"ptr @{f.symbol}_{width}" for f in self._functions for width in f.widths]
        lines.append(f'{_USED} [{len(twins)} x ptr] [{", ".join(twins)}], section "llvm.metadata"')
        return code + "\n".join(["", *lines, ""])

    def define(self, code: str) -> tuple[str, str]:
        """Return the text of an optimised module, and of a module with the functions that it calls."""
        code = "\n".join(line for line in code.split("\n") if not line.startswith(_USED))
        module = ir.Module("loop_math")
        for function in self._functions:
            for width in (0, *function.widths):
                function.write(module, width)
        return code, str(module)

    def _function(self, declaration: re.Match[str]) -> _Function | None:
        """Return our function for one that a module declares; None to leave it unchanged."""
        symbol, type_ = declaration["symbol"], declaration["type"]
        is_intrinsic = symbol.startswith("llvm.")
        name = symbol.removeprefix("llvm.").removesuffix(".f32").removesuffix(".f64")
        if not is_intrinsic and type_ == "float":
            if not name.endswith("f") or name in _FUNCTIONS:
                return None
            name = name.removesuffix("f")
        if name not in _FUNCTIONS:
            return None
        function = _Function(name, type_, declaration["arguments"].count(type_))
        writer = function.write(ir.Module(), 0)
        if writer.scalar_math:
            self.scalar_math |= writer.scalar_math
            return None
        self.vector_math |= writer.vector_math
        self.needs_library |= writer.needs_library
        return function
