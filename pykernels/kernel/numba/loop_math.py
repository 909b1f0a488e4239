"""Functions of C's mathematics in loops: named so that LLVM may call them on vectors, and then written out.

LLVM would compute ``exp`` lane by lane. Here each such function becomes one of our own, of which LLVM is told (by the
vector function ABI) that it has twins for vectors; when loops are vectorised, their bodies are put in. One number is
computed as a lane of a vector, so it is the same wherever it lies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import llvmlite.ir as ir

from pykernels.kernel.emit import target
from pykernels.kernel.emit.vector_writer import Writer

__all__ = ["LoopMath"]

_I32 = ir.IntType(32)
_DECLARATION = re.compile(r"^declare (?P<type>float|double) @(?P<symbol>[\w.]+)\((?P<arguments>[^)]*)\).*$", re.M)
_FUNCTIONS = frozenset(
    (
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "pow", "cbrt", "hypot", "erf", "erfc"),
    )
)
_PURE = "nounwind willreturn memory(none)"
_USED = "@llvm.compiler.used = appending global"


@dataclass(frozen=True)
class _Function:
    """A function of C's mathematics for one dtype."""

    name: str
    type: str
    n_arguments: int

    @property
    def symbol(self) -> str:
        return f"pk_{self.name}_{self.type}"

    @property
    def widths(self) -> tuple[int, ...]:
        """The lanes of the vectors that it can be called on; the last fill a register."""
        lanes = target.instruction_set().register // (4 if self.type == "float" else 8)
        return tuple(width for width in (2, 4, 8, 16) if lanes // 4 <= width <= lanes)

    def declarations(self) -> Iterator[str]:
        """In LLVM IR: the function and its twins."""
        variants = ",".join(
            f"_ZGV_LLVM_N{width}{'v' * self.n_arguments}_{self.symbol}({self.symbol}_{width})" for width in self.widths
        )
        arguments = ", ".join([self.type] * self.n_arguments)
        yield f'declare {self.type} @{self.symbol}({arguments}) {_PURE} "vector-function-abi-variant"="{variants}"'
        for width in self.widths:
            vector = f"<{width} x {self.type}>"
            yield f"declare {vector} @{self.symbol}_{width}({', '.join([vector] * self.n_arguments)}) {_PURE}"

    def write(self, module: ir.Module, width: int) -> Writer:
        """Define the twin for `width` lanes, or for 0 the function itself.

        All compute a whole register, so that a lane has the same result in each of them.
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
            # Lanes that nobody asked for repeat others, so that no operation meets a number it was not given.
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
    """The mathematics of one module.

    Attributes
    ----------
    vector_math, scalar_math : set of str
        By their names in C: the functions computed in vectors, and those that only the C library's scalar code has.
    needs_library : bool
        Whether the vector math library is called.
    """

    def __init__(self) -> None:
        self.vector_math: set[str] = set()
        self.scalar_math: set[str] = set()
        self.needs_library = False
        self._functions: list[_Function] = []

    def name(self, code: str) -> str:
        """The text of a module that calls functions of ours in place of C's."""
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
        """The text of an optimised module, and that of the module with the functions that it calls."""
        code = "\n".join(line for line in code.split("\n") if not line.startswith(_USED))
        module = ir.Module("loop_math")
        for function in self._functions:
            for width in (0, *function.widths):
                function.write(module, width)
        return code, str(module)

    def _function(self, declaration: re.Match[str]) -> _Function | None:
        """The function of ours for one that a module declares; None to leave it as it is."""
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
