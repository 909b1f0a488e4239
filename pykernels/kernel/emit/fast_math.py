"""What LLVM may do to the arithmetic of a kernel whose file says ``FAST_MATH = True``.

It may regroup sums and products, round a product together with the sum that it goes into, multiply by a reciprocal
where many numbers are divided by one, and lose the sign of a zero. It may not suppose that there is neither NaN nor
infinity: extrema begin with infinity, and sigmoid divides by it; then LLVM would estimate reciprocals, too, which makes
NaN of such a division. The functions of C's mathematics are left as they are, since what they compensate for is lost
when their sums are regrouped.
"""

from __future__ import annotations

import re

__all__ = ["FLAGS", "mark"]

#: Of an instruction.
FLAGS = ("reassoc", "nsz", "arcp", "contract")

_ARITHMETIC = re.compile(r"^(  %\S+ = (?:fadd|fsub|fmul|fdiv|fneg)) (?:reassoc )?(?=float |double )", re.M)


def mark(code: str) -> str:
    """The text of a module, without functions of C's mathematics, whose arithmetic may be changed."""
    return _ARITHMETIC.sub(rf"\1 {' '.join(FLAGS)} ", code)
