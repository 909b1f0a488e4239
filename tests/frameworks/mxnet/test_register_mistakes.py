"""``pykernels.register``: whatever a class gets wrong is told with the op, the method and its place."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import mxnet as mx
import numpy as np
import pytest

import pykernels


class Same(mx.operator.CustomOp):
    def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req: list[str], out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any) -> None:
        self.assign(in_grad[0], req[0], out_grad[0])


def register(operator: type = Same, **methods: Any) -> None:
    """Register a class with these methods as ``cls_wrong``."""
    methods.setdefault("create_operator", lambda self, ctx, shapes, types: operator())
    pykernels.register("cls_wrong")(type("WrongProp", (mx.operator.CustomOpProp,), methods))


def run() -> np.ndarray:
    """A forward and a backward pass."""
    x = mx.nd.ones(3)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x, op_type="cls_wrong")
    y.backward()
    y.wait_to_read()
    gradient: np.ndarray = x.grad.asnumpy()
    return gradient


def boom(*_: Any) -> NoReturn:
    raise KeyError("boom")


METHODS = [
    "list_arguments",
    "list_outputs",
    "list_auxiliary_states",
    "declare_backward_dependency",
    "infer_shape",
    "infer_type",
    "infer_storage_type",
    "infer_storage_type_backward",
    "create_operator",
]


@pytest.mark.parametrize("method", METHODS)
def test_an_exception(method: str) -> None:
    register(**{method: boom})
    place = rf"test_register_mistakes\.py:{boom.__code__.co_firstlineno + 1}"
    with pytest.raises(mx.MXNetError, match=rf"op 'cls_wrong': .*{place}: WrongProp\.{method} raised KeyError: 'boom'"):
        run()


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt("stop"), RecursionError("so deep")])
@pytest.mark.parametrize("method", ["create_operator", "infer_shape"])
def test_what_would_end_the_program(method: str, error: BaseException) -> None:
    def fail(*_: Any) -> NoReturn:
        raise error

    register(**{method: fail})
    with pytest.raises(mx.MXNetError, match=rf"WrongProp\.{method} raised {type(error).__name__}: {error}"):
        run()


@pytest.mark.parametrize("name", ["forward", "backward"])
def test_leaving_from_an_operator(name: str) -> None:
    def leave(self: Any, **_: Any) -> NoReturn:
        sys.exit("now")

    register(type("Leaves", (Same,), {name: leave}))
    with pytest.raises(mx.MXNetError, match=rf"test_register_mistakes\.py:\d+: Leaves\.{name} raised SystemExit: now"):
        run()


RETURNED = {
    "list_arguments": [("data", "returned 'data', not a list of names"), ([1], r"returned \[1\], not a list of names")],
    "list_outputs": [(None, "returned None, not a list of names")],
    "list_auxiliary_states": [({"a"}, r"returned {'a'}, not a list of names")],
    "declare_backward_dependency": [(None, "returned None"), ([-1], r"returned \[-1\]"), ([0.5], r"returned \[0.5\]")],
    "infer_shape": [
        (None, "returned None, not lists of 1 shapes for arguments and 1 for outputs"),
        (([[3]], [[3], [3]], []), "not lists of 1 shapes for arguments and 1 for outputs"),
        (([], [[3]], []), "not lists of 1 shapes for arguments and 1 for outputs"),
        (([[3]], [[3]], [[3]]), "not lists of 1 shapes for arguments and 1 for outputs"),
        (([[3]],), "not lists of 1 shapes for arguments and 1 for outputs"),
        (([[3]], [[1.5]], []), "'float' object cannot be interpreted as an integer"),
        (([[3]], [3], []), "'int' object is not iterable"),
        (([[3]], [[2**31]], []), r"\[2147483648\] is not a shape for 'output'"),
        (([[3]], [[1] * 33], []), "is not a shape for 'output'"),
        (([[4]], [[3]], []), r"wants \(4,\) as the shape of 'data', which is \(3,\)"),
    ],
    "infer_type": [
        (None, "returned None, not lists of 1 types for arguments and 1 for outputs"),
        (([np.float32], [], []), "not lists of 1 types for arguments and 1 for outputs"),
        (([np.float32], [np.int16], []), "'numpy.int16'> is not a type of MXNet"),
        (([np.float32], [object], []), "is not a type of MXNet"),
    ],
    "infer_storage_type": [
        ((["default"], [], []), "not lists of 1 types for arguments and 1 for outputs"),
        ((["default"], ["sparse"], []), "storage types are 'default', 'row_sparse' and 'csr'"),
    ],
    "infer_storage_type_backward": [
        (None, "returned None, not lists of"),
        (([], [], [], [], []), "not lists of 1, 1, 1, 1, 0 storage types"),
        ((["default"], ["default"], ["default"], ["undefined"], []), "storage types are 'default', 'row_sparse'"),
    ],
    "create_operator": [(3, "returned 3, which has no method forward")],
}


@pytest.mark.parametrize(
    ("method", "returned", "text"), [(method, *case) for method, cases in RETURNED.items() for case in cases]
)
def test_what_a_method_returns(method: str, returned: Any, text: str) -> None:
    def answer(*_: Any) -> Any:
        return returned

    answer.__qualname__ = f"WrongProp.{method}"
    register(**{method: answer})
    place = rf"test_register_mistakes\.py:{answer.__code__.co_firstlineno}"
    with pytest.raises(mx.MXNetError, match=rf"op 'cls_wrong': .*{place}: WrongProp\.{method} .*{text}"):
        run()


def test_a_method_with_other_parameters() -> None:
    class Few(Same):
        def forward(self, in_data: Any, out_data: Any) -> None:
            pass

    register(Few)
    with pytest.raises(mx.MXNetError, match=r"op 'cls_wrong': .*Few\.forward raised TypeError: .*'is_train'"):
        run()


def test_no_backward_gives_no_gradient() -> None:
    class Forward(mx.operator.CustomOp):
        def forward(self, is_train: bool, req: list[str], in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], in_data[0])

    register(Forward)
    np.testing.assert_array_equal(run(), [0, 0, 0])


def test_long_texts_and_others_than_ascii() -> None:
    def shout(*_: Any) -> NoReturn:
        raise ValueError("größer als 5: " + "x" * 100_000)

    register(infer_shape=shout)
    with pytest.raises(mx.MXNetError, match=r"WrongProp\.infer_shape raised ValueError: größer als 5: x{5000}"):
        run()


def test_an_attribute_of_any_text() -> None:
    seen = []

    def make(self: Any, **attributes: str) -> None:
        mx.operator.CustomOpProp.__init__(self)
        seen.append(attributes)

    register(__init__=make)
    mx.nd.Custom(mx.nd.ones(1), op_type="cls_wrong", a="größer", b="", c=(1, 2), d=None, e=True).wait_to_read()
    assert seen[-1] == {"a": "größer", "b": "", "c": "(1, 2)", "d": "None", "e": "True"}


def test_a_class_is_replaced_while_its_graph_lives() -> None:
    """The graph keeps the class that it was made with."""
    register(infer_shape=lambda self, shapes: (shapes, [[7]], []))
    symbol = mx.sym.Custom(mx.sym.var("x"), op_type="cls_wrong")
    register()
    assert symbol.infer_shape(x=(3,))[1] == [(7,)]
    assert mx.sym.Custom(mx.sym.var("x"), op_type="cls_wrong").infer_shape(x=(3,))[1] == [(3,)]
