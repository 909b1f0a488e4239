"""Entering MXNet's engine, and leaving it where an op that is tried there goes wrong."""

from __future__ import annotations

from pathlib import Path

import process
import pytest
from folders import write_op
from raising_kernels import COMPILED_RAISES


@pytest.mark.thorough
def test_an_engine_that_is_left_is_as_before_and_may_be_entered_again(tmp_path: Path) -> None:
    folder = write_op(tmp_path, "fails", COMPILED_RAISES)
    process.program(
        f"""
        import warnings
        import pykernels.compat.mxnet
        import mxnet as mx
        import pykernels
        from pykernels.frameworks.mxnet import plugin, registrar

        def find_wrong(name):
            raise ValueError("not doubled")

        find_right, registrar.check_op = registrar.check_op, find_wrong

        def count_failures():
            assert mx.nd.Custom(mx.nd.ones(1), op_type="fails").asscalar() == 1
            y = mx.nd.Custom(mx.nd.ones(3), op_type="fails")
            count = 0
            for _ in range(3):
                try:
                    y.wait_to_read()
                except mx.MXNetError as error:
                    assert "three is too many" in str(error), error
                    count += 1
            return count

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", pykernels.PykernelsWarning)
            pykernels.load_ops({str(folder)!r})
        (warning,) = [str(each.message) for each in told if each.category is pykernels.PykernelsWarning]
        assert "goes wrong there: not doubled" in warning, warning
        for _ in range(2):
            assert count_failures() == 1  # MXNet forgets a failure that it has told
        registrar.check_op = find_right
        for _ in range(2):
            plugin._registrar().enter_engine()
            assert count_failures() == 3
        """,
        cwd=tmp_path,
    )
