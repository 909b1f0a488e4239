"""Op folders and classes of one name: a class keeps it, whoever has registered it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mxnet as mx
import pytest
from folders import TIMES, write_op

import pykernels

REGISTER: dict[str, Callable[[str], Any]] = {"mxnet": mx.operator.register, "pykernels": pykernels.register}


class Answer(mx.operator.CustomOp):
    def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], in_data[0] * 0 + 42)


class AnswerProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Answer:
        return Answer()


@pytest.fixture(scope="module", autouse=True)
def plugged_in() -> None:
    """What MXNet warns of meanwhile is not a part of what `load_ops` warns of."""
    pykernels.register("any_answer")(AnswerProp)


@pytest.fixture(params=list(REGISTER))
def register(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    return REGISTER[request.param]


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    name = f"taken_{request.node.name.rpartition('[')[2].rstrip(']')}_{request.node.originalname[-6:]}"
    yield write_op(tmp_path, name, TIMES.format(factor=3))
    pykernels.unload_ops(name)


def call(op_type: str) -> float:
    return float(mx.nd.Custom(mx.nd.ones(1), op_type=op_type).asscalar())


def test_a_folder_leaves_the_name_of_a_class(register: Callable[[str], Any], folder: Path) -> None:
    name = folder.name
    register(name)(AnswerProp)
    owners = (
        rf"'{name}' stays with class AnswerProp, .*test_names.py:\d+: the op folder {folder} .* as '{name}_forward'"
    )
    for _ in range(2):
        with pytest.warns(pykernels.PykernelsWarning, match=owners):
            module = pykernels.load_ops(folder)[name]
        assert call(f"{name}_forward") == 3
        assert call(name) == 42
        assert getattr(module.api, name)(mx.nd.ones(1)).asscalar() == 3
        pykernels.unload_ops(name)
        assert call(name) == 42
    with pytest.warns(pykernels.PykernelsWarning):
        pykernels.load_ops(folder)


def test_a_class_takes_the_name_of_a_folder(register: Callable[[str], Any], folder: Path) -> None:
    name = folder.name
    pykernels.load_ops(folder)
    register(name)(AnswerProp)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pykernels.PykernelsWarning)
        assert call(f"{name}_forward") == 3  # which loads the whole folder
    assert call(name) == 42


def test_what_a_class_of_pykernels_lacks_is_still_explained(folder: Path) -> None:
    name = folder.name
    pykernels.register(name)(AnswerProp)
    with pytest.warns(pykernels.PykernelsWarning):
        pykernels.load_ops(folder)
    for _ in range(2):
        with pytest.raises(mx.MXNetError, match=f"op '{name}' takes 1 input"):
            mx.nd.Custom(mx.nd.ones(1), mx.nd.ones(1), op_type=name)
        pykernels.unload_ops(name)
        with pytest.warns(pykernels.PykernelsWarning):
            pykernels.load_ops(folder)
