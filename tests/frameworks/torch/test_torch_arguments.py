"""Schemas: attributes of every type, repeated and optional arguments, several outputs, names that Python keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from every_op import GIVEN, call, in_pytorchs_words, write_every_op
from folders import write_op

import pykernels
from pykernels.base.abi import AttrType
from pykernels.define.declared import Argument, Attribute
from pykernels.frameworks.torch.layout import Layout

pytestmark = pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")


@pytest.fixture(scope="module")
def every(backend: str, tmp_path_factory: pytest.TempPathFactory, enter: Callable[..., Any]) -> Iterator[Any]:
    pykernels.load_ops(write_every_op(tmp_path_factory.mktemp("every")))
    yield enter("every")
    pykernels.unload_ops("every")


@pytest.mark.thorough
def test_the_schema_says_what_the_definition_does(every: Any) -> None:
    schema = str(every.default._schema).partition("::")[2]
    assert schema == (
        "every(Tensor x, Tensor[] xs, Tensor? bias=None, int i32=-3, int i64=1099511627776, bool yes=True, "
        'float f=0.10000000000000001, float d=0.10000000000000001, str s="plain", int[] shape=[2, 3], '
        "ScalarType? dtype=None, int[] li32=[1, -2], int[] li64=[1099511627776], float[]? lf=None, "
        "ScalarType[]? ldtype=None, int[][]? lshape=None, str[]? ls=None, *, int each_count=1) -> (Tensor, Tensor[])"
    )


@pytest.mark.parametrize("attributes", [{}, *({name: value} for name, value in GIVEN.items()), GIVEN], ids=str)
def test_attributes_arrive_as_on_arrays(every: Any, attributes: dict[str, Any]) -> None:
    x = np.arange(3.0)
    expected, _ = call(x, [x], **attributes)
    t = torch.from_numpy(x)
    given = {name: in_pytorchs_words(name, value) for name, value in attributes.items()}
    np.testing.assert_array_equal(every(t, [t], **given)[0].numpy(), expected)
    np.testing.assert_array_equal(call(t, [t], **attributes)[0].numpy(), expected)


@pytest.mark.parametrize("n", [1, 3, 11])
@pytest.mark.parametrize("has_bias", [False, True])
def test_repeated_and_optional_arguments(every: Any, n: int, has_bias: bool) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(2, i + 1)) for i in range(n)]
    x, bias = rng.normal(size=4), rng.normal(size=4) if has_bias else None
    expected = call(x, arrays, bias)
    tensors = [torch.from_numpy(a) for a in arrays]
    t, b = torch.from_numpy(x), None if bias is None else torch.from_numpy(bias)
    y, each = every(t, tensors, b, each_count=n)
    for results in ([y, *each], call(t, tensors, b)):
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result.numpy(), wanted)


def test_gradients_of_repeated_arguments(every: Any) -> None:
    xs = [torch.ones(i + 1, dtype=torch.float64, requires_grad=True) for i in range(11)]
    x = torch.ones(4, dtype=torch.float64, requires_grad=True)
    y, each = every(x, xs, d=0.25, each_count=11)
    (y.sum() + sum(e.sum() for e in each)).backward()
    np.testing.assert_array_equal(x.grad, np.full(4, 0.25))
    for i, tensor in enumerate(xs):
        np.testing.assert_array_equal(tensor.grad, np.full(i + 1, i + 1.0))


def test_lists_are_checked_compiled_and_batched(every: Any) -> None:
    x, xs = torch.ones(4), [torch.ones(i + 1) for i in range(3)]
    torch.library.opcheck(every.default, (x, xs), {"each_count": 3})
    compiled = torch.compile(
        lambda x, xs: every(x, xs, each_count=3), fullgraph=True, dynamic=True, backend="aot_eager"
    )
    torch.testing.assert_close(compiled(x, xs), every(x, xs, each_count=3))
    y, each = torch.func.vmap(lambda x, xs: every(x, xs, each_count=3))(
        torch.stack([x, x]), [x.expand(2, -1) for x in xs]
    )
    assert y.shape == (2, 4) and [e.shape for e in each] == [(2, 1), (2, 2), (2, 3)]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"xs": []}, "every_forward"),
        ({"each_count": 0}, "every_forward"),
        ({"i32": 2**31}, "'i32'.*every_forward|every_forward.*'i32'"),
        ({"f": 1e300}, "'f'.*every_forward|every_forward.*'f'"),
        ({"li32": [2**31]}, "'li32'.*every_forward|every_forward.*'li32'"),
        ({"dtype": torch.float8_e5m2}, "dtype"),
        ({"nothing": 1}, "Unknown keyword argument 'nothing'"),
        ({"f": "x"}, "Expected a value of type 'float' for argument 'f'"),
    ],
    ids=str,
)
def test_wrong_arguments_are_reported(every: Any, arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(RuntimeError, match=told):
        every(**{"x": torch.ones(2), "xs": [torch.ones(2)], **arguments})


def test_what_must_be_given_after_what_need_not_is_given_by_name() -> None:
    layout = _layout(
        [Argument("x"), Argument("y", optional=True)],
        [Attribute("n", AttrType.INT32), Attribute("m", AttrType.INT32, 2)],
    )
    assert layout.schema == "(Tensor x, Tensor? y=None, *, int n, int m=2) -> Tensor"
    layout = _layout([Argument("x", optional=True), Argument("y"), Argument("zs", 0, True, True)], [])
    assert layout.schema == "(Tensor? x, Tensor y, Tensor[] zs=[]) -> Tensor"


def test_values_that_schemas_cannot_say_stand_for_the_definitions_default() -> None:
    attributes = [
        Attribute("f", AttrType.DOUBLE, float("inf")),
        Attribute("s", AttrType.STRING, 'a"b'),
        Attribute("t", AttrType.STRING, ""),
    ]
    assert _layout([], attributes).schema == '(float? f=None, str? s=None, str t="") -> Tensor'


def test_attributes_whose_names_python_keeps() -> None:
    layout = _layout([Argument("x")], [Attribute("lambda", AttrType.DOUBLE, 0.5)])
    assert layout.schema == "(Tensor x, float lambda_=0.5) -> Tensor"
    assert layout.write([[1]], {"lambda": 2.0}, [1], False) == {"x": 1, "lambda_": 2.0}


def _layout(inputs: list[Argument], attributes: list[Attribute]) -> Layout:
    op = SimpleNamespace(inputs=tuple(inputs), outputs=(Argument("out"),), attributes=tuple(attributes))
    return Layout(op, takes_is_train=False)


def test_names_that_python_keeps(enter: Callable[..., Any], tmp_path: Any) -> None:
    definition = """
        import pykernels


        class Prop(pykernels.CustomOpProp):
            def list_arguments(self):
                return ["in"]
    """
    pykernels.load_ops(
        write_op(
            tmp_path,
            "kept",
            "def forward(args):\n    return args[0] * 2\n\ndef backward(args):\n    return args[0]\n",
            definition,
        )
    )
    try:
        assert enter("kept")(in_=torch.ones(2)).tolist() == [2, 2]
    finally:
        pykernels.unload_ops("kept")


def test_the_zeros_of_both_signs_are_different(ops: Any) -> None:
    x = torch.tensor([-1.0])
    for alpha in (0.0, -0.0, 0.0):
        assert torch.signbit(ops.leaky_relu(x, alpha=alpha)).tolist() == [not np.signbit(alpha)]
