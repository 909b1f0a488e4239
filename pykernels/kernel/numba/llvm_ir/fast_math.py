"""Mark the arithmetic of a kernel that asks for fast math, in LLVM's printed text."""

from __future__ import annotations

import re

from pykernels.kernel.emit.vector_writer import FAST_MATH

_ARITHMETIC = re.compile(r"^(  %\S+ = (?:fadd|fsub|fmul|fdiv|fneg)) (?:reassoc )?(?=float |double )", re.M)


def mark(code: str) -> str:
    """Return the text of a module, which must not hold C math functions, with its arithmetic marked."""
    return _ARITHMETIC.sub(rf"\1 {' '.join(FAST_MATH)} ", code)
