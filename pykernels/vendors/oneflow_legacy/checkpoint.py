"""``flow.checkpoint``, ``flow.load_variables``, ``flow.get_all_variables``: the variables of all jobs, in files, too.

The files are those of OneFlow: a folder with a folder for each variable, which `flow.load` reads, too.
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

__all__ = ["CheckPoint", "get", "get_all_variables", "load_variables", "save"]

#: Written last, which says that the others are complete.
_DONE = "snapshot_done"


def get_all_variables() -> dict[str, variables.Variable]:
    """The variables of all jobs, by name; jobs that have not been called are built for it."""
    make_jobs()
    return variables.values()


def load_variables(value_dict: Mapping[str, Any], ignore_mismatch: bool = True) -> None:
    """Set variables.

    Parameters
    ----------
    value_dict : mapping
        Arrays or tensors by name, such as those of `get`.
    ignore_mismatch : bool
        Keep values for which there is no variable, for jobs that are defined later.

    Raises
    ------
    CallError
        A value has not the shape and dtype of its variable, or there is none of its name, with `ignore_mismatch`
        false.
    """
    make_jobs()
    variables.assign(value_dict, ignore_mismatch=ignore_mismatch)


def save(path: str | Path, var_dict: Mapping[str, Any] | None = None) -> None:
    """Write variables, by default all.

    Parameters
    ----------
    path : path-like
        A folder, which must be empty or not be there.
    var_dict : mapping, optional
        Variables or tensors by name.

    Raises
    ------
    CallError
        The folder has something in it.
    """
    folder = Path(path)
    given = get_all_variables() if var_dict is None else var_dict
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise CallError(f"flow.checkpoint.save: {folder} is there already, and not empty; remove it, or take another")
    for name, variable in given.items():
        (folder / name).mkdir(parents=True)
        check_point_v2._save_tensor_to_disk(flow.tensor(variable.numpy()), folder / name)
    folder.mkdir(exist_ok=True)
    (folder / _DONE).touch()


def get(path: str | Path) -> dict[str, flow.Tensor]:
    """Read what `save` has written, or OneFlow of old.

    Returns
    -------
    dict of Tensor
        By name.

    Raises
    ------
    CallError
        There is no such folder.
    """
    if not (Path(path) / _DONE).is_file():
        raise CallError(f"flow.checkpoint.get: {path} is no folder of variables: it has no file {_DONE}")
    tensors: dict[str, flow.Tensor] = flow.load(path)
    return tensors


class CheckPoint:
    """``flow.train.CheckPoint``."""

    def init(self) -> None:
        """Nothing: variables get their first values by themselves."""

    def save(self, path: str | Path) -> None:
        """Write all variables."""
        save(path)

    def load(self, path: str | Path) -> None:
        """Read all variables."""
        load_variables(get(path))
