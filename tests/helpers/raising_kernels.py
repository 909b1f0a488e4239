"""Kernels that fail: that raise for more than two elements, and in the gradient for two; that return something else."""

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


def returns(statement: str) -> str:
    """A kernel that ends with this statement, and gets ``x``."""
    return f"""
    import numpy as np

    def forward(args):
        (x,) = args
        {statement}

    def backward(args):
        dy, x, y = args
        return dy * 1
"""
