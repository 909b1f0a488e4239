"""Kernels that raise for more than two elements, and in the gradient for two: compiled, and as Python."""

from __future__ import annotations

COMPILED_RAISES = """
    def forward(args):
        (x,) = args
        if x.size > 2:
            raise ValueError("three is too many")
        return x * 1

    def backward(args):
        dy, x, y = args
        if x.size > 1:
            raise ZeroDivisionError("no gradient of two")
        return dy * 1
"""
PYTHON_RAISES = """
    def forward(args):
        (x,) = args
        table = {"limit": 2, 3: None}
        if x.size > table["limit"]:
            raise ValueError("three is too many")
        return x * 1

    def backward(args):
        dy, x, y = args
        table = {"limit": 1, 3: None}
        if x.size > table["limit"]:
            raise ZeroDivisionError("no gradient of two")
        return dy * 1
"""
