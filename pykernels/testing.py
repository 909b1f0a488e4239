"""Checks for tests of ops, which raise AssertionError with what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pykernels

__all__ = ["assert_same_op", "opcheck"]


def assert_same_op(
    op: Callable[..., Any],
    folder: str | Callable[..., Any],
    *inputs: Any,
    rtol: float = 1e-5,
    atol: float = 1e-6,
) -> None:
    """Check that an operator of PyTorch computes what an op folder does.

    Both get the same inputs; what comes out must be the same in number, shape, dtype and, within tolerances, value. So
    must the shapes and dtypes that the operator announces for tensors without data.

    Parameters
    ----------
    op : callable
        The operator, ``torch.ops.my_ops.tensor_negate``, or a function of tensors.
    folder : str or callable
        The name of a loaded op whose API function has that name, too, or a function of NumPy arrays, as
        ``lambda x: api.leaky_relu(x, alpha=0.1)``.
    *inputs : tensor or number
        What both are called with; the op folder gets tensors as NumPy arrays.
    rtol, atol : float
        Tolerances, as in `numpy.testing.assert_allclose`.

    Raises
    ------
    AssertionError
        They differ; the message says in what.
    """
    import torch

    reference = getattr(pykernels.list_ops()[folder].api, folder) if isinstance(folder, str) else folder
    expected = _outputs(reference(*(x.numpy(force=True) if isinstance(x, torch.Tensor) else x for x in inputs)))
    results = _outputs(op(*inputs))
    without_data = _outputs(op(*(x.to("meta") if isinstance(x, torch.Tensor) else x for x in inputs)))
    if len(results) != len(expected):
        raise AssertionError(f"the operator has {len(results)} outputs, and the op folder has {len(expected)}")
    for number, (result, announced, value) in enumerate(zip(results, without_data, expected)):
        for what, tensor in (("is", result), ("is announced as", announced)):
            found = f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
            wanted = f"{value.dtype} {value.shape}"
            if found != wanted:
                raise AssertionError(
                    f"output {number} of the operator {what} {found}, that of the op folder is {wanted}"
                )
        np.testing.assert_allclose(result.numpy(force=True), value, rtol, atol, err_msg=f"output {number}")


def opcheck(
    op: str | Path | pykernels.OpModule,
    sample_inputs: Sequence[Mapping[str, Any]] | None = None,
    *,
    checks: Sequence[str] | None = None,
) -> None:
    """Check that an op is right, as ``python -m pykernels check`` does.

    Parameters
    ----------
    op : str, Path or OpModule
        An op folder, or the name of an op that is loaded or found.
    sample_inputs : sequence of mapping, optional
        Calls: arrays by the names of inputs (lists of arrays where there are several), and values of attributes. These
        alone are tried then. By default calls of all kinds are made up.
    checks : sequence of str, optional
        The names of the checks; by default all.

    Raises
    ------
    AssertionError
        Something is wrong. The message has all that was found, and programs that show it again.
    CallError
        There is no such check.
    LoadError
        There is no such op.

    Examples
    --------
    >>> opcheck("ops/gain", [{"x": np.array([1.0, -2.0], np.float32), "scale": 3.0}], checks=["gradient"])
    """
    from pykernels.tools.check import findings, runner

    # What pytest shows is the message alone.
    __tracebackhide__ = True
    folder = op.path if isinstance(op, pykernels.OpModule) else _folder_of(op)
    results = runner.run_checks(folder, runner.choose(checks), sample_inputs)
    wrong = [findings.describe(each) for each in results if each.outcome == findings.FAILED]
    if wrong:
        raise AssertionError("\n\n".join(wrong))


def _folder_of(op: str | Path) -> Path:
    from pykernels.tools.commands.arguments import find_modules

    loaded = pykernels.list_ops()
    return loaded[str(op)].path if str(op) in loaded else find_modules([str(op)])[0].path


def _outputs(results: Any) -> Sequence[Any]:
    return results if isinstance(results, (list, tuple)) else [results]
