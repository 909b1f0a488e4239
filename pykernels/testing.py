"""Assertions for tests of ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import pykernels
from pykernels.tools.check import findings, runner
from pykernels.tools.commands.arguments import find_modules

__all__ = ["assert_same_op", "opcheck"]


def assert_same_op(
    op: Callable[..., Any],
    folder: str | Callable[..., Any],
    *inputs: Any,
    rtol: float = 1e-5,
    atol: float = 1e-6,
) -> None:
    """Check that a PyTorch operator computes the same as an op folder.

    Both get the same inputs. Their outputs must agree in number, shape, dtype and, within tolerances, value. The
    operator must also infer these shapes and dtypes for meta tensors.

    Parameters
    ----------
    op : callable
        The operator, ``torch.ops.my_ops.tensor_negate``, or a function of tensors.
    folder : str or callable
        The name of a loaded op whose API function has the same name, or a function of NumPy arrays, such as ``lambda x:
        api.leaky_relu(x, alpha=0.1)``.
    *inputs : tensor or number
        The arguments of both calls; the op folder gets tensors as NumPy arrays.
    rtol, atol : float
        Tolerances, as for `numpy.testing.assert_allclose`.

    Raises
    ------
    AssertionError
        The results differ; the message says how.
    """
    import torch

    reference = getattr(pykernels.list_ops()[folder].api, folder) if isinstance(folder, str) else folder
    expected = _outputs(reference(*(x.numpy(force=True) if isinstance(x, torch.Tensor) else x for x in inputs)))
    results = _outputs(op(*inputs))
    meta_results = _outputs(op(*(x.to("meta") if isinstance(x, torch.Tensor) else x for x in inputs)))
    if len(results) != len(expected):
        raise AssertionError(f"the operator has {len(results)} outputs, but the op folder has {len(expected)}")
    for number, (result, inferred, value) in enumerate(zip(results, meta_results, expected)):
        for verb, tensor in (("is", result), ("is inferred as", inferred)):
            actual = f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
            wanted = f"{value.dtype} {value.shape}"
            if actual != wanted:
                raise AssertionError(
                    f"output {number} of the operator {verb} {actual}, but that of the op folder is {wanted}"
                )
        np.testing.assert_allclose(result.numpy(force=True), value, rtol, atol, err_msg=f"output {number}")


def opcheck(
    op: str | Path | pykernels.OpModule,
    sample_inputs: Sequence[Mapping[str, Any]] | None = None,
    *,
    checks: Sequence[str] | None = None,
) -> None:
    """Check an op in the same way as ``python -m pykernels check``.

    Parameters
    ----------
    op : str, Path or OpModule
        An op folder, or the name of an op that is loaded or in a default place.
    sample_inputs : sequence of mapping, optional
        The calls to try: arrays by input name (lists of arrays for inputs that take several), and values of attributes.
        By default the checks generate calls of all kinds.
    checks : sequence of str, optional
        The names of the checks to run; by default all.

    Raises
    ------
    AssertionError
        A check failed. The message has every finding and the programs that reproduce them.
    CallError
        A check does not exist.
    LoadError
        The op does not exist.

    Examples
    --------
    >>> opcheck("ops/gain", [{"x": np.array([1.0, -2.0], np.float32), "scale": 3.0}], checks=["gradient"])
    """
    # Make pytest show the message alone.
    __tracebackhide__ = True
    folder = op.path if isinstance(op, pykernels.OpModule) else _folder_of(op)
    results = runner.run_checks(folder, runner.choose(checks), sample_inputs)
    wrong = [findings.describe(each) for each in results if each.outcome == findings.FAILED]
    if wrong:
        raise AssertionError("\n\n".join(wrong))


def _folder_of(op: str | Path) -> Path:
    loaded = pykernels.list_ops()
    return loaded[str(op)].path if str(op) in loaded else find_modules([str(op)])[0].path


def _outputs(results: Any) -> Sequence[Any]:
    return results if isinstance(results, (list, tuple)) else [results]
