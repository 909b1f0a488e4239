"""The fast-math flags of LLVM for a kernel whose file says ``FAST_MATH = True``.

LLVM may regroup sums and products, round a product and its sum once, replace divisions by a common
divisor with multiplications by its reciprocal, and ignore the sign of a zero. It may not assume that NaN and infinity
never occur: extrema begin with infinity, and sigmoid divides by it. With that assumption LLVM would also estimate
reciprocals, which turns such a division into NaN. The functions of C's mathematics are compiled without these flags:
regrouping their sums would undo the compensation for rounding errors.
"""

from __future__ import annotations

#: The flags of an arithmetic instruction.
FLAGS = ("reassoc", "nsz", "arcp", "contract")
