"""Get, set, save and load the variables of all jobs: ``flow.checkpoint``, ``flow.load_variables`` and others.

The file format is OneFlow's: a folder with one folder for each variable, which `flow.load` can read as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import oneflow as flow
from oneflow.framework import check_point_v2

from pykernels.base.errors import CallError
from pykernels.vendors.oneflow_legacy import variables
from pykernels.vendors.oneflow_legacy.job import make_jobs

#: The file that is written last: it marks the others as complete.
_DONE = "snapshot_done"


def get_all_variables() -> dict[str, variables.Variable]:
    """Return the variables of all jobs by name; this builds the jobs that have not been called yet."""
    make_jobs()
    return variables.values()


def load_variables(value_dict: Mapping[str, Any], ignore_mismatch: bool = True) -> None:
    """Set the values of variables, given as arrays or tensors by name, such as the result of `get`.

    With `ignore_mismatch`, values without a variable are kept for jobs that are defined later; otherwise they raise
    CallError, as values of another shape or dtype than their variable's always do.
    """
    make_jobs()
    variables.assign(value_dict, ignore_mismatch=ignore_mismatch)


def save(path: str | Path, var_dict: Mapping[str, Any] | None = None) -> None:
    """Write variables or tensors by name, by default all variables, to a folder that is empty or does not exist.

    Raise CallError if the folder is not empty.
    """
    folder = Path(path)
    given = get_all_variables() if var_dict is None else var_dict
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise CallError(f"flow.checkpoint.save: {folder} already exists and is not empty; remove it or choose another")
    for name, variable in given.items():
        (folder / name).mkdir(parents=True)
        check_point_v2._save_tensor_to_disk(flow.tensor(variable.numpy()), folder / name)
    folder.mkdir(exist_ok=True)
    (folder / _DONE).touch()


def get(path: str | Path) -> dict[str, flow.Tensor]:
    """Return the variables that `save` or an old version of OneFlow has written, as tensors by name.

    Raise CallError if the folder does not exist or does not hold variables.
    """
    if not (Path(path) / _DONE).is_file():
        raise CallError(f"flow.checkpoint.get: {path} is not a folder of variables: it has no file {_DONE}")
    tensors: dict[str, flow.Tensor] = flow.load(path)
    return tensors


class CheckPoint:
    """Save and load all variables: ``flow.train.CheckPoint``."""

    def init(self) -> None:
        """Do nothing: each variable is initialized when it is created."""

    def save(self, path: str | Path) -> None:
        """Write all variables."""
        save(path)

    def load(self, path: str | Path) -> None:
        """Read all variables."""
        load_variables(get(path))
