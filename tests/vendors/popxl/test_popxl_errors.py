"""The errors for mistakes in graphs of PopXL, when they are made."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from messages import code_of

import pykernels.vendors.popxl as popxl
from pykernels.base.errors import CallError
from pykernels.vendors.popxl import ops
from pykernels.vendors.popxl.transforms import autodiff

IR = popxl.Ir()
OTHER = popxl.Ir()
with IR.main_graph:
    A = popxl.variable(np.zeros((2, 3)), name="a")
    B = popxl.variable(np.zeros((4, 5)), name="b")
    N = popxl.variable(np.zeros((2, 3), "int32"), name="n")
    C = popxl.constant(np.zeros((2, 3)), name="c")
    ADD = IR.create_graph(lambda x, y: x + y, A, A)
    IN = popxl.h2d_stream((2, 3), popxl.float32, "in")
    OUT = popxl.d2h_stream((2, 3), popxl.float32, "out")
with OTHER.main_graph:
    THERE = popxl.variable(np.zeros((2, 3)), name="there")
    IN_THERE = popxl.h2d_stream((2, 3), popxl.float32, "in_there")


def graph(function: Callable[..., Any], *tensors: Any) -> popxl.Graph:
    return IR.create_graph(function, *(tensors or [A]))


def changed(x: Any, y: Any) -> Any:
    z = x * y
    ops.var_updates.accumulator_zero_(y)
    return z


def read_later(x: Any, y: Any) -> Any:
    ops.relu_(x)
    return x + y


def returned_itself(x: Any, y: Any) -> Any:
    ops.add_(x, y)
    return x, y


def changed_by_a_call(x: Any, y: Any) -> Any:
    info = ops.call_with_info(graph(lambda t: ops.relu_(t), x), x)
    info.set_parent_input_modified(x)
    return x + y


def state(x: Any, y: Any) -> Any:
    """`y` gets a value that depends on `x`."""
    ops.var_updates.copy_var_update_(y, x * 2.0)
    return y + x


def by_value_of_main(x: Any) -> Any:
    return x + A


A_ = r"Variable[a popxl.float32 (2, 3)]"
CASES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "shapes": (
        lambda: A + B,
        ValueError,
        "add: ONNX's Add does not accept popxl.float32 (2, 3), popxl.float32 (4, 5): ",
    ),
    "matmul": (lambda: A @ A, ValueError, "matmul: ONNX's MatMul does not accept popxl.float32 (2, 3), popxl"),
    "dtypes": (
        lambda: A + N,
        ValueError,
        "add: lhs is popxl.float32, rhs is popxl.int32; they must have one dtype, which ops.cast can give them",
    ),
    "dtype of an op": (lambda: ops.exp(N), ValueError, "exp: ONNX's Exp does not accept popxl.int32 (2, 3): "),
    "no tensor": (lambda: ops.relu(3), TypeError, "relu: input 0 is 3; it must be a popxl.Tensor"),
    "another graph": (
        lambda: graph(by_value_of_main),
        ValueError,
        f"add: rhs is {A_} of the main graph, but the current graph is Graph[by_value_of_main_subgraph(",
    ),
    "another ir": (
        lambda: A + THERE,
        ValueError,
        "add: rhs is Variable[there popxl.float32 (2, 3)] of the main graph of another popxl.Ir, but the",
    ),
    "no numbers": (lambda: A + "b", ValueError, "'b' is not an array of numbers"),
    "no elements": (lambda: A + np.array([]), ValueError, "array([], dtype=float64) has no elements"),
    "nested irs": (lambda: OTHER.main_graph.__enter__(), RuntimeError, "is inside of `with` of"),
    "variable in a graph": (
        lambda: graph(lambda x: x + popxl.variable(1)),
        ValueError,
        "variables can be made in the main graph only",
    ),
    "input of main": (lambda: popxl.graph_input((), popxl.int32), ValueError, "the main graph has no inputs"),
    "output of main": (lambda: popxl.graph_output(A), ValueError, "the main graph has no outputs"),
    "dtype of a stream": (
        lambda: popxl.h2d_stream((2,), np.float32),
        TypeError,
        "popxl.h2d_stream: dtype is <class 'numpy.float32'>; it must be one of popxl's: bool, int8,",
    ),
    "stream of another ir": (
        lambda: ops.host_load(IN_THERE),
        ValueError,
        "host_load: HostToDeviceStream[in_there popxl.float32 (2, 3)] is of another popxl.Ir than Graph[main]",
    ),
    "no stream": (lambda: ops.host_load(A), TypeError, f"host_load: {A_} is not a popxl.HostToDeviceStream"),
    "wrong stream": (lambda: ops.host_store(IN, A), TypeError, "host_store: HostToDeviceStream["),
    "stored shape": (
        lambda: ops.host_store(OUT, B),
        ValueError,
        "host_store: Variable[b popxl.float32 (4, 5)] does not fit DeviceToHostStream[out popxl.float32 (2, 3)]",
    ),
    "stored dtype": (lambda: ops.host_store(OUT, N), ValueError, "shape and dtype must be the same"),
    "updated shape": (
        lambda: ops.var_updates.copy_var_update_(A, B),
        ValueError,
        f"copy_var_update_: {A_} cannot be updated by popxl.float32 (4, 5)",
    ),
    "updated constant": (lambda: ops.relu_(C), ValueError, "is a constant, which cannot be changed"),
    "broadcast update": (lambda: ops.scaled_add_(A, B), ValueError, f"scaled_add_: {A_} and Variable[b popxl"),
    "factor": (lambda: ops.scaled_add_(A, A, b=A), ValueError, f"scaled_add_: {A_} is not a scalar"),
    "too many inputs": (lambda: ops.call(ADD, A, A, A), ValueError, "call: 3 inputs are given, but Graph["),
    "too few inputs": (lambda: ops.call(ADD, A), ValueError, "call: nothing is given for these inputs of Graph["),
    "input twice": (
        lambda: ops.call(ADD, A, A, inputs_dict={ADD.inputs[0]: A}),
        ValueError,
        "is given twice: by its position and in inputs_dict",
    ),
    "input of another graph": (
        lambda: ops.call(ADD, inputs_dict={A: A}),
        ValueError,
        f"call: inputs_dict has {A_}, which is not an input of Graph[",
    ),
    "input's shape": (lambda: ops.call(ADD, A, B), ValueError, "call: Variable[b popxl.float32 (4, 5)] is given for"),
    "no graph": (lambda: ops.call(lambda x: x, A), TypeError, "is not a popxl.Graph"),
    "main graph": (lambda: ops.call(IR.main_graph), ValueError, "call: Graph[main] cannot be called in Graph[main]"),
    "count": (lambda: ops.repeat(ADD, 0, A, A), ValueError, "repeat: repeat_count is 0"),
    "carried": (
        lambda: ops.repeat(graph(lambda x: x[0]), 2, A),
        ValueError,
        "repeat: output 0 of Graph[",
    ),
    "arguments": (
        lambda: graph(lambda x: x, A, A),
        ValueError,
        "Ir.create_graph: <lambda> does not take these arguments: too many positional arguments",
    ),
    "returned": (lambda: graph(lambda x: 3), ValueError, "<lambda> returns 3; it must return tensors, or nothing"),
    "mixed list": (
        lambda: graph(lambda x: x, [A, 1]),
        TypeError,
        "argument x of <lambda> mixes tensors with other values",
    ),
    "no function": (lambda: IR.create_graph(3), TypeError, "Ir.create_graph: 3 is neither a function"),
    "no build": (
        lambda: graph(popxl.Module()),
        NotImplementedError,
        "Module is a popxl.Module and has to define build",
    ),
    "replicas": (lambda: popxl.Ir(replication=2), ValueError, "replication_factor is 2; graphs run on one CPU"),
    "transfers": (lambda: setattr(IR, "num_host_transfers", 0), ValueError, "num_host_transfers is 0"),
    "axis": (
        lambda: ops.softmax(A, 2),
        ValueError,
        "softmax: Variable[a popxl.float32 (2, 3)] has 2 axes, and no axis 2",
    ),
    "axis twice": (lambda: ops.sum(A, (0, -2)), ValueError, "sum: one axis is given twice in [0, -2]"),
    "permutation": (lambda: ops.transpose(A, (0, 0)), ValueError, "transpose: (0, 0) is not a permutation of the axes"),
    "reshape": (lambda: A.reshape((4, -1)), ValueError, "has 6 elements, which do not fit the shape (4, -1)"),
    "squeeze": (lambda: ops.squeeze(A, [0]), ValueError, "squeeze: axis 0 of"),
    "split": (lambda: ops.split(A, 2, axis=1), ValueError, "cannot be split into 2"),
    "slice": (lambda: ops.slice(A, [0, 1], [1]), ValueError, "start, stop, step and axis differ in length"),
    "index": (lambda: A[5], ValueError, f"{A_} has no index 5 on axis 0"),
    "indices": (lambda: A[0, 0, 0], ValueError, f"{A_} has 2 axes, but 3 indices are given"),
    "key": (lambda: A["x"], TypeError, "an index must be integers and slices, or a tensor of integers or booleans"),
    "concat": (lambda: ops.concat([]), ValueError, "concat: no tensor is given"),
    "length": (lambda: len(ops.sum(A)), ValueError, "has no axes, and no length"),
    "labels": (lambda: ops.nll_loss(A, A), ValueError, "nll_loss: probs are Variable[a"),
    "reduction": (lambda: ops.nll_loss(A, N[:, 0], reduction="all"), ValueError, "nll_loss: reduction is 'all'"),
    "clip": (lambda: ops.clip(A, 2, 1), ValueError, "clip: min is 2, which is greater than max, 1"),
    "mode": (lambda: popxl.in_sequence("always").__enter__(), TypeError, "popxl.in_sequence: mode is 'always'"),
    "autodiff of main": (
        lambda: autodiff(IR.main_graph),
        ValueError,
        "autodiff: the main graph cannot be differentiated",
    ),
    "autodiff of no graph": (lambda: autodiff(A), TypeError, f"autodiff: {A_} is not a popxl.Graph"),
    "no gradient": (
        lambda: autodiff(graph(lambda x: ops.floor(x) * x)),
        ValueError,
        "autodiff: floor(",
    ),
    "independent": (
        lambda: autodiff(graph(lambda x, y: x * 2, A, A)),
        ValueError,
        "has no gradient: none of [",
    ),
    "of integers": (lambda: autodiff(graph(lambda x: x + x, N)), ValueError, "has no gradient: "),
    **{
        f"changed in place: {function.__name__}": (
            lambda function=function: autodiff(graph(function, A, A)),
            ValueError,
            f"is needed for gradients, but changed in place in Graph[{function.__name__}_subgraph(",
        )
        for function in (changed, read_later, returned_itself, changed_by_a_call, state)
    },
    "required": (
        lambda: autodiff(ADD, grads_required=[A]),
        ValueError,
        f"autodiff: grads_required has {A_}, which is no",
    ),
    "provided": (
        lambda: autodiff(ADD, grads_provided=[A]),
        ValueError,
        f"autodiff: grads_provided has {A_}, which is no",
    ),
    "repeated": (
        lambda: autodiff(graph(lambda x: ops.repeat(graph(lambda t: t * 2, x), 3, x))),
        ValueError,
        "autodiff: repeat(",
    ),
    "activations of another call": (
        lambda: autodiff(ADD).inputs_dict(ops.call_with_info(graph(lambda x: x), A)),
        TypeError,
        "GradGraphInfo: the call is one of Graph[",
    ),
    "ipu": (lambda: A.ipu, popxl.errors.UndefinedValue, f"{A_} is on no IPU"),
    "dtype": (lambda: popxl.dtype.as_dtype("complex64"), ValueError, "'complex64' is not a dtype of popxl's"),
}


@pytest.mark.parametrize("what", CASES)
def test_mistakes_are_errors(what: str) -> None:
    call, error, text = CASES[what]
    with IR.main_graph, pytest.raises(error, match=re.escape(text)) as raised:
        call()
    assert code_of(raised.value) == ("PK200" if what == "no build" else CallError.code)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: ops.relu(A), "popxl.ops.relu"),
        (lambda: A + 1, "popxl"),
        (lambda: popxl.variable(1), "popxl"),
        (lambda: popxl.h2d_stream((), popxl.float32), "popxl"),
        (lambda: ops.host_load(IN), "popxl.ops.host_load"),
        (lambda: ops.call(ADD, A, A), "popxl.ops.call"),
    ],
)
def test_without_a_graph_nothing_is_made(call: Callable[[], Any], name: str) -> None:
    with pytest.raises(
        RuntimeError, match=f"^{name}: no graph has been chosen. Call it inside of `with ir.main_graph:`"
    ):
        call()


def test_a_session_refuses_a_call_that_lacks_an_input() -> None:
    ir = popxl.Ir()
    with ir.main_graph:
        x = popxl.variable(1.0)
        add = ir.create_graph(lambda x, y: x + y, x, x)
        info = ops.call_with_info(add, x, check_inputs=False)
        ops.host_store(popxl.d2h_stream((), popxl.float32), info.outputs[0])
    with pytest.raises(ValueError, match=r"y popxl.float32 \(\)\] has no value: a call of its graph does not pass one"):
        popxl.Session(ir)
