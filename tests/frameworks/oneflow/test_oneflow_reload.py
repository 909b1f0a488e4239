"""Folders that are loaded twice, edited and loaded again, or unloaded; graphs keep what they were built with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import oneflow as flow
import pytest
from folders import PROP_WITH_ATTRIBUTE, TIMES, TIMES_ATTRIBUTE, write_op

import pykernels


def call(x: Any, **attributes: Any) -> Any:
    return pykernels.list_ops()["changing"].api.changing(x, **attributes)


def gradient(x: Any) -> list[float]:
    x = x.detach().requires_grad_()
    call(x).sum().backward()
    return list(x.grad.tolist())


class Graph(flow.nn.Graph):
    def build(self, x: Any) -> Any:
        return call(x)


@pytest.fixture(autouse=True)
def unloaded() -> Any:
    yield
    if "changing" in pykernels.list_ops():
        pykernels.unload_ops("changing")


def test_an_edited_folder(tmp_path: Path) -> None:
    x = flow.ones(2)
    pykernels.load_ops(write_op(tmp_path, "changing", TIMES.format(factor=2)))
    graph = Graph()
    assert (call(x).tolist(), gradient(x), graph(x).tolist()) == ([2, 2], [2, 2], [2, 2])

    write_op(tmp_path, "changing", TIMES.format(factor=3))
    pykernels.reload("changing")
    assert (call(x).tolist(), gradient(x), Graph()(x).tolist()) == ([3, 3], [3, 3], [3, 3])
    assert graph(x).tolist() == [2, 2]

    # Other attributes than before.
    write_op(tmp_path, "changing", TIMES_ATTRIBUTE, PROP_WITH_ATTRIBUTE)
    pykernels.reload("changing")
    assert (call(x).tolist(), call(x, by=5).tolist(), gradient(x)) == ([7, 7], [5, 5], [7, 7])
    assert graph(x).tolist() == [2, 2]


def test_a_function_of_the_builder_follows_the_folder(tmp_path: Path) -> None:
    function = pykernels.user_op_builder("x").Op("changing_forward").Output("output").Function("data")
    x = flow.ones(2)
    for factor in (2, 3):
        write_op(tmp_path, "changing", TIMES.format(factor=factor))
        pykernels.load_ops(tmp_path / "changing")
        assert function(x).tolist() == [factor, factor]
    pykernels.unload_ops("changing")
    with pytest.raises(pykernels.CallError, match="op 'changing_forward' is not loaded"):
        function(x)


def test_a_folder_that_is_loaded_twice(tmp_path: Path) -> None:
    folder = write_op(tmp_path, "changing", TIMES.format(factor=2))
    for _ in range(2):
        pykernels.load_ops(folder)
        assert call(flow.ones(2)).tolist() == [2, 2]


def test_two_folders_of_one_name(tmp_path: Path) -> None:
    """OneFlow itself ends the process if a name is registered twice."""
    for factor in (2, 3):
        (tmp_path / str(factor)).mkdir()
        pykernels.load_ops(write_op(tmp_path / str(factor), "changing", TIMES.format(factor=factor)))
        assert call(flow.ones(1)).item() == factor
        pykernels.unload_ops("changing")


def test_an_unloaded_folder(tmp_path: Path) -> None:
    pykernels.load_ops(write_op(tmp_path, "changing", TIMES.format(factor=2)))
    graph, x = Graph(), flow.ones(2)
    assert graph(x).tolist() == [2, 2]
    pykernels.unload_ops("changing")
    with pytest.raises(pykernels.CallError, match="op 'changing_forward' is not loaded"):
        pykernels.user_op_builder("x").Op("changing_forward").Input("data", [x]).Output("output").Build()
    assert graph(x).tolist() == [2, 2]
