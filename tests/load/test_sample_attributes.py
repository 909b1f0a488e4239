"""Attributes without a default, for which calls that are made up have plain values."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pykernels.base.errors import CallError
from pykernels.load.module import OpModule
from pykernels.load.sample_attributes import missing_attributes, plain_attributes
from pykernels.load.samples import MissingAttribute, sample

FLOAT = np.dtype(np.float32)
DEFINITION = """
    import numpy as np

    import pykernels


    class Scaled(pykernels.CustomOpProp):
        def __init__(
            self,
            scale: float,
            mode: str,
            depth: int,
            is_fast: bool,
            as_type: np.dtype,
            pads: tuple[int, ...],
            rate: int = 3,
        ):
            super().__init__()
            self.mode, self.depth = mode, depth

        def list_arguments(self):
            return ["x", "w"]

        def infer_shape(self, in_shape):
            if self.mode != "sum" or self.depth != DEPTH:
                raise ValueError(f"there is no {self.mode} of depth {self.depth}")
            return in_shape, in_shape[:1], []
"""


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., OpModule]:
    """Makes an op that takes one value of `mode`, and one of `depth`."""

    def make(depth: int = 1, api: str = "") -> OpModule:
        folder = tmp_path / "scaled"
        folder.mkdir()
        definition = textwrap.dedent(DEFINITION).replace("DEPTH", str(depth))
        for part, text in (("py_def", definition), ("py_kernel", "MODE = 'mean'\n"), ("py_api", api)):
            (folder / f"scaled_{part}.py").write_text(text)
        return OpModule(folder.name, folder).py_api().cpp_def().py_kernel()

    return make


def test_those_that_are_not_given_have_plain_values_of_their_types(make: Callable[..., OpModule]) -> None:
    module = make()
    plain = {"scale": 0.5, "depth": 1, "is_fast": True, "as_type": 3, "pads": (1,), "rate": 3}
    assert sample(module, 7, np.dtype(np.float64)).attributes == {**plain, "mode": "sum"}
    given = sample(module, 7, FLOAT, attributes={"scale": "4", "pads": "(2, 3)"}).attributes
    assert given == {**plain, "as_type": 2, "mode": "sum", "scale": 4.0, "pads": (2, 3)}
    assert [each.name for each in missing_attributes(module.forward, given)] == []


def test_strings_are_words_of_the_kernel_none_and_words_of_the_definition(make: Callable[..., OpModule]) -> None:
    found = [each["mode"] for each in plain_attributes(make(), FLOAT, {"scale": 1.0})]
    assert found[:2] == ["mean", ""] and "sum" in found
    assert len(found) == len(set(found))


def test_what_the_op_itself_declares_comes_first(make: Callable[..., OpModule]) -> None:
    module = make(
        api="""
import numpy as np


def sample_inputs(elements, dtype):
    return {"x": np.ones(3, dtype), "w": np.ones(3, dtype), "scale": 7.0}
"""
    )
    given = sample(module, 7, FLOAT)
    assert (given.inputs[0][0].shape, given.attributes["scale"], given.attributes["mode"]) == ((3,), 7.0, "sum")
    assert sample(module, 7, FLOAT, attributes={"scale": 8.0}).attributes["scale"] == 8.0


def test_a_refusal_names_the_flags_to_give(make: Callable[..., OpModule]) -> None:
    module = make(depth=7)
    hint = (
        "Name the values of attributes (--attr scale=VALUE --attr mode=VALUE --attr depth=VALUE --attr is_fast=VALUE "
        "--attr as_type=VALUE) and the shapes of the inputs (--shape x=1000,32 --shape w=32), or add a function "
        "sample_inputs(elements, dtype) to scaled_py_api.py [PK400]"
    )
    for shapes in ({}, {"x": (2, 3), "w": (2, 3)}):
        with pytest.raises(MissingAttribute, match="there is no mean of depth 1") as error:
            sample(module, 7, FLOAT, shapes=shapes, attributes={"pads": [1]})
        assert str(error.value).endswith(hint)
        assert "\n" not in str(error.value)
    assert sample(module, 7, FLOAT, attributes={"depth": 7}).attributes["depth"] == 7


def test_nothing_is_made_up_for_what_is_shipped(make: Callable[..., OpModule]) -> None:
    with pytest.raises(CallError, match=r"op scaled_forward needs attribute 'scale' \(float\)"):
        sample(make(), 7, FLOAT, makes_up=False)
