"""Attribute values from Python values and from the strings that frameworks make of them."""

from __future__ import annotations

import gc
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykernels.base import abi
from pykernels.base.abi import AttrType
from pykernels.base.attributes import format_value, parse_value, sample_value, type_name
from pykernels.base.errors import CallError
from pykernels.define.declared import Argument, Attribute
from pykernels.define.definition import Definition, OpDef


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (AttrType.INT32, "-7", -7),
        (AttrType.INT32, " 3 ", 3),
        (AttrType.INT32, np.int8(5), 5),
        (AttrType.INT64, 2**62, 2**62),
        (AttrType.BOOL, "True", True),
        (AttrType.BOOL, "false", False),
        (AttrType.BOOL, 1, True),
        (AttrType.BOOL, np.bool_(False), False),
        (AttrType.FLOAT, "0.1", 0.1),
        (AttrType.FLOAT, np.float32(0.1), 0.1),
        (AttrType.FLOAT, 1, 1.0),
        (AttrType.FLOAT, "1e-3", 0.001),
        (AttrType.FLOAT, "inf", math.inf),
        # A 32-bit float, held as the shortest decimal that stands for it.
        (AttrType.FLOAT, 0.123456789, 0.12345679),
        (AttrType.FLOAT, 16777217, 16777216.0),
        (AttrType.DOUBLE, "0.123456789012", 0.123456789012),
        (AttrType.STRING, "same", "same"),
        (AttrType.SHAPE, "(2, 3)", (2, 3)),
        (AttrType.SHAPE, "()", ()),
        (AttrType.SHAPE, 4, (4,)),
        (AttrType.SHAPE, np.array([1, 2]), (1, 2)),
        (AttrType.LIST_INT32, "[1, -2]", (1, -2)),
        (AttrType.LIST_INT64, "1, 2", (1, 2)),
        (AttrType.LIST_FLOAT, [0.1, "2"], (0.1, 2.0)),
        (AttrType.LIST_STRING, ["a", "b"], ("a", "b")),
        (AttrType.LIST_STRING, "['a', 'b']", ("a", "b")),
        (AttrType.LIST_SHAPE, "[(1,), (), (2, 3)]", ((1,), (), (2, 3))),
        (AttrType.DTYPE, "float32", 2),
        (AttrType.DTYPE, np.float64, 3),
        (AttrType.DTYPE, np.dtype("int8"), 4),
        (AttrType.DTYPE, str(np.float16), 9),
        (AttrType.DTYPE, 12, 12),
        (AttrType.DTYPE, "12", 12),
        (AttrType.LIST_DTYPE, ["int32", np.bool_], (5, 12)),
    ],
)
def test_values_that_are_understood(type_: AttrType, value: Any, expected: Any) -> None:
    parsed = parse_value(type_, value)
    assert parsed == expected
    assert type(parsed) is type(expected)


@pytest.mark.parametrize(
    ("type_", "value", "why"),
    [
        (AttrType.INT32, "3.0", "not an integer"),
        (AttrType.INT32, 3.0, "not an integer"),
        (AttrType.INT32, "", "not an integer"),
        (AttrType.INT32, True, "a bool"),
        (AttrType.INT32, 2**31, "does not fit in 32 bits"),
        (AttrType.INT64, "9223372036854775808", "does not fit in 64 bits"),
        (AttrType.BOOL, "yes", "neither true nor false"),
        (AttrType.BOOL, 2, "neither true nor false"),
        (AttrType.FLOAT, "abc", "not a number"),
        (AttrType.FLOAT, None, "not a number"),
        (AttrType.FLOAT, True, "a bool"),
        (AttrType.FLOAT, "1e39", "does not fit in a 32-bit float"),
        (AttrType.DOUBLE, 10**400, "not a number"),
        (AttrType.DOUBLE, [1.0], "not a number"),
        (AttrType.STRING, 1, "not a string"),
        (AttrType.STRING, "a\0b", "null character"),
        (AttrType.SHAPE, "(2,", "not written as a tuple or list"),
        (AttrType.SHAPE, "__import__('os')", "not written as a tuple or list"),
        (AttrType.SHAPE, "'ab'", "not a tuple or list"),
        (AttrType.SHAPE, {1: 2}, "not a tuple or list"),
        (AttrType.SHAPE, (1, 2.5), "item 1, 2.5, is not of type int64: it is not an integer"),
        (
            AttrType.LIST_SHAPE,
            [(1,), ("a",)],
            "item 1, ('a',), is not of type shape: item 0, 'a', is not of type int64",
        ),
        (AttrType.LIST_STRING, "same", "not written as a tuple or list"),
        (AttrType.DTYPE, "float33", "not a data type that ops support"),
        (AttrType.DTYPE, "datetime64", "not a data type that ops support"),
        (AttrType.DTYPE, 99, "not the number of a data type"),
    ],
)
def test_values_that_are_refused(type_: AttrType, value: Any, why: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_value(type_, value)
    assert why in str(error.value)


@pytest.mark.parametrize("type_", AttrType)
def test_every_type_survives_the_c_abi_and_being_written_out(type_: AttrType) -> None:
    value = sample_value(type_)
    assert parse_value(type_, value) == value
    assert parse_value(type_, format_value(type_, value)) == value or type_ is AttrType.STRING
    attr = abi.encode_attr("name", type_, value)
    gc.collect()
    assert abi.decode_attr(attr) == value
    assert type_name(type_) == type_name(AttrType(attr.type))


@given(st.floats(width=32))
def test_a_float_is_the_nearest_32_bit_float_and_stays_as_it_is(value: float) -> None:
    parsed = parse_value(AttrType.FLOAT, value)
    assert np.float32(parsed) == np.float32(value) or math.isnan(value)
    assert parse_value(AttrType.FLOAT, repr(parsed)) == parsed or math.isnan(value)


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4), max_size=4))
def test_lists_of_shapes_survive_the_c_abi(shapes: list[list[int]]) -> None:
    value = parse_value(AttrType.LIST_SHAPE, shapes)
    assert abi.decode_attr(abi.encode_attr("shapes", AttrType.LIST_SHAPE, value)) == value


# ---- of an op


def _op(*attributes: Attribute) -> OpDef:
    from pathlib import Path

    x = (Argument("x"),)
    definition = Definition(Path("op_cpp_def.cpp"), 0, None)
    return OpDef("op_forward", "op_cpp_def.cpp", 3, x, x, attributes, abi.OpFlag(1), 0, None, definition)


ALPHA = Attribute("alpha", AttrType.FLOAT, 0.01)
AXIS = Attribute("axis", AttrType.INT32)


def test_defaults_are_filled_in_and_strings_are_parsed() -> None:
    assert _op(ALPHA, AXIS).parse_attributes({"axis": "-1"}) == {"alpha": 0.01, "axis": -1}


@pytest.mark.parametrize(
    ("given_values", "text"),
    [
        ({"axis": 1, "aplha": 1}, "op op_forward has no attribute 'aplha'; did you mean 'alpha'?"),
        ({"axis": 1, "slope": 1}, "op op_forward has no attribute 'slope'; it has: alpha, axis"),
        ({}, "op op_forward needs attribute 'axis' (int32): op_forward(x, *, alpha: float = 0.01, axis: int32) -> x"),
        (
            {"axis": "one"},
            "attribute 'axis' of op op_forward is of type int32, which 'one' is not: it is not an integer",
        ),
    ],
)
def test_attributes_that_are_unknown_missing_or_malformed(given_values: dict[str, Any], text: str) -> None:
    with pytest.raises(CallError) as error:
        _op(ALPHA, AXIS).parse_attributes(given_values)
    assert str(error.value) == f"{text} [PK400]"


def test_an_op_without_attributes_says_so() -> None:
    with pytest.raises(CallError, match="op op_forward has no attribute 'alpha'; it has: none"):
        _op().parse_attributes({"alpha": 1})
