"""PopXL's graphs: calls, changes in place, gradients of what calls, names, hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from popxl_runs import gradients, numerical_gradients, run

import pykernels.vendors.popxl as popxl
from pykernels.vendors.popxl import ops
from pykernels.vendors.popxl.transforms import ExpectedConnectionType, autodiff

X = np.array([[-1.5, -0.25, 0.75], [0.5, 1.25, 2.5]])


class Linear(popxl.Module):
    def build(self, x: Any, features: int) -> Any:
        self.w = popxl.graph_input((x.shape[-1], features), x.dtype, "w")
        self.b = popxl.graph_input((features,), x.dtype, "b")
        return ops.tanh(x @ self.w + self.b)


def test_a_graph_is_called_with_other_tensors_each_time() -> None:
    def twice(x: Any, y: Any) -> Any:
        graph = popxl.gir().create_graph(lambda a, b: a * b + a, x, y)
        (once,) = ops.call(graph, x, y)
        return ops.call(graph, once, inputs_dict={graph.inputs[1]: np.full(X.shape, 2)})

    (found,) = run(twice, X, X + 1)
    once = X * (X + 1) + X
    np.testing.assert_allclose(found, once * 2 + once)


def test_graphs_call_graphs_and_have_their_own_constants() -> None:
    def outer(x: Any) -> Any:
        def inner(t: Any) -> Any:
            return t + popxl.constant(10.0, t.dtype)

        graph = popxl.gir().create_graph(inner, x)
        return ops.call(graph, ops.call(graph, x)[0])[0] * 2

    (found,) = run(lambda x: ops.call(popxl.gir().create_graph(outer, x), x), X)
    np.testing.assert_allclose(found, (X + 20) * 2)


@pytest.mark.parametrize("by", ["value", "reference", "call site"])
def test_changes_in_place_reach_the_caller_if_that_is_wanted(by: str) -> None:
    def value(x: Any) -> None:
        ops.add_(x, popxl.constant(1.0, x.dtype))

    def reference(x: popxl.TensorByRef) -> None:
        ops.add_(x, popxl.constant(1.0, x.dtype))

    def function(x: Any) -> Any:
        graph = popxl.gir().create_graph(reference if by == "reference" else value, x)
        info = ops.call_with_info(graph, x)
        if by == "call site":
            info.set_parent_input_modified(x)
        ops.call(graph, x)
        return x + 0.0

    (found,) = run(function, X)
    # The second call is by value again where only the call site says so.
    np.testing.assert_allclose(found, X + {"value": 0, "reference": 2, "call site": 1}[by])


IN_PLACE: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add_": (lambda x, y: ops.add_(x, y), lambda x, y: x + y),
    "relu_": (lambda x, y: ops.relu_(x), lambda x, y: np.maximum(x, 0)),
    "exp_": (lambda x, y: ops.exp_(x), lambda x, y: np.exp(x)),
    "iadd": (lambda x, y: x.__iadd__(y), lambda x, y: x + y),
    "scaled_add_": (lambda x, y: ops.scaled_add_(x, y, 0.5, -2), lambda x, y: 0.5 * x - 2 * y),
    "scaled_add_ tensors": (
        lambda x, y: ops.scaled_add_(x, y, b=popxl.constant(-0.1)),
        lambda x, y: x - np.float64(np.float32(0.1)) * y,
    ),
    "copy_var_update_": (lambda x, y: ops.var_updates.copy_var_update_(x, y), lambda x, y: y),
    "accumulate_": (lambda x, y: ops.var_updates.accumulate_(x, y), lambda x, y: x + y),
    "accumulate_ scaled": (lambda x, y: ops.var_updates.accumulate_(x, y, 3), lambda x, y: x + 3 * y),
    "accumulate_square_": (lambda x, y: ops.var_updates.accumulate_square_(x, y, 2), lambda x, y: x + 2 * y * y),
    "accumulate_mean_": (lambda x, y: ops.var_updates.accumulate_mean_(x, y, 3.0), lambda x, y: 0.75 * x + 0.25 * y),
    "accumulate_moving_average_": (
        lambda x, y: ops.var_updates.accumulate_moving_average_(x, y, 0.9),
        lambda x, y: 0.9 * x + 0.1 * y,
    ),
    "accumulate_moving_average_square_": (
        lambda x, y: ops.var_updates.accumulate_moving_average_square_(x, y, 0.9),
        lambda x, y: 0.9 * x + 0.1 * y * y,
    ),
    "accumulator_scale_": (lambda x, y: ops.var_updates.accumulator_scale_(x, 4.0), lambda x, y: 4 * x),
    "accumulator_zero_": (lambda x, y: ops.var_updates.accumulator_scale_(x, 0), lambda x, y: 0 * x),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_ops_in_place_change_the_tensor_and_all_its_names(name: str) -> None:
    op, expected = IN_PLACE[name]

    def function(x: Any, y: Any) -> Any:
        before = x + 0.0
        after = op(x, y)
        return before, after + 0.0, x + 0.0

    before, after, x = run(function, X, X - 1)
    np.testing.assert_array_equal(before, X)
    np.testing.assert_allclose(after, expected(X, X - 1), rtol=1e-12)
    np.testing.assert_array_equal(x, after)


def test_repeat_carries_outputs_to_inputs() -> None:
    def function(x: Any, y: Any) -> Any:
        graph = popxl.gir().create_graph(lambda a, b: a + b, x, y)
        return ops.repeat(graph, 4, x, y)

    np.testing.assert_allclose(run(function, X, X * X)[0], X + 4 * X * X)


def test_create_graph_takes_lists_and_dictionaries_and_specs() -> None:
    ir = popxl.Ir()

    def function(a: Any, n: int, *rest: Any, **named: Any) -> Any:
        return a * n + rest[0] - rest[1] * named["k"]

    with ir.main_graph:
        t = popxl.constant(2.0)
        spec = popxl.TensorSpec((), popxl.float32)
        graph = ir.create_graph(function, spec, 3, t, spec, k=t)
        stream = popxl.d2h_stream((), popxl.float32)
        ops.host_store(stream, *ops.call(graph, 2.0, [5.0, 7.0], 11.0))
    assert list(graph.inputs_by_name) == ["a", "rest_0", "rest_1", "k"]
    with popxl.Session(ir) as session:
        assert session.run()[stream] == 2 * 3 + 5 - 7 * 11


def test_autodiff_of_modules_and_its_description() -> None:
    """As published: provided gradients first, activations become outputs, also of the call that is there."""
    rng = np.random.default_rng(0)
    w, b, grad = rng.normal(size=(3, 2)), rng.normal(size=2), rng.normal(size=(2, 2))

    def function(x: Any, w: Any, b: Any) -> Any:
        linear = Linear()
        graph = popxl.gir().create_graph(linear, x, features=2)
        call = ops.call_with_info(graph, x, inputs_dict={linear.w: w, linear.b: b})
        assert len(call.outputs) == 1
        info = autodiff(graph, grads_required=[linear.w, graph.inputs[0], linear.b])
        assert info.forward_graph is graph
        kinds = [each.connection_type for each in info.expected_inputs]
        assert kinds == [ExpectedConnectionType.FwdGrad] + [ExpectedConnectionType.Fwd] * (len(kinds) - 1)
        assert set(info.inputs) <= {*graph.inputs, *graph.outputs}
        assert info.outputs == (linear.w, graph.inputs[0], linear.b)
        assert len(call.outputs) == len(graph.outputs)
        grads = ops.call_with_info(info.graph, popxl.constant(grad, x.dtype), inputs_dict=info.inputs_dict(call))
        by_parent = info.fwd_parent_ins_to_grad_parent_outs(call, grads)
        assert list(by_parent) == [w, x, b]
        assert list(info.fwd_graph_ins_to_grad_parent_outs(grads).values()) == list(by_parent.values())
        return by_parent[x], by_parent[w], by_parent[b]

    def forward(x: Any, w: Any, b: Any) -> Any:
        return ops.tanh(x @ w + b)

    for found, expected in zip(run(function, X, w, b), numerical_gradients(forward, [X, w, b], [grad])):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_autodiff_goes_through_calls() -> None:
    """A graph that is called twice, once with an output that nothing depends on."""

    def function(x: Any, y: Any) -> Any:
        def inner(a: Any, b: Any) -> Any:
            return a * b, ops.sin(a.reshape((6,)))

        graph = popxl.gir().create_graph(inner, x, y)
        product, sine = ops.call(graph, x, y)
        again, _ = ops.call(graph, ops.exp(product), product)
        return again, sine * 2

    small = (X / 4).astype("f4")
    grads = [np.ones((2, 3), "f4"), np.arange(6, dtype="f4")]
    found = gradients(function, [small, small + 1], grads)
    for one, other in zip(found, numerical_gradients(function, [small, small + 1], grads, 1e-3), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-2)


def test_return_all_grad_graphs_and_use_them_again() -> None:
    def function(x: Any) -> Any:
        inner = popxl.gir().create_graph(lambda t: t * t * t, x)
        outer = popxl.gir().create_graph(lambda t: ops.call(inner, t)[0] * 2, x)
        infos = autodiff(outer, return_all_grad_graphs=True)
        assert list(infos) == [inner, outer] or list(infos) == [outer, inner]
        other = popxl.gir().create_graph(lambda t: ops.call(inner, t)[0] * 3, x)
        info = autodiff(other, called_graphs_grad_info={inner: infos[inner]})
        assert infos[inner].graph in info.graph.called_graphs
        call = ops.call_with_info(other, x)
        return ops.call(info.graph, popxl.constant(np.ones(x.shape), x.dtype), inputs_dict=info.inputs_dict(call))

    np.testing.assert_allclose(run(function, X)[0], 9 * X * X)


def test_states_may_be_updated_in_a_graph_that_is_differentiated() -> None:
    """As long as nothing that has a gradient uses them afterwards."""

    def forward(x: Any, mean: popxl.TensorByRef) -> Any:
        ops.var_updates.accumulate_moving_average_(mean, x, 0.5)
        return x * x

    def function(x: Any, mean: Any) -> Any:
        graph = popxl.gir().create_graph(forward, x, mean)
        info = autodiff(graph, grads_required=[graph.inputs[0]])
        call = ops.call_with_info(graph, x, mean)
        one = popxl.constant(np.ones(x.shape), x.dtype)
        return *ops.call(info.graph, one, inputs_dict=info.inputs_dict(call)), mean + 0.0

    grad, mean = run(function, X, 0 * X)
    np.testing.assert_allclose(grad, 2 * X)
    np.testing.assert_allclose(mean, X / 2)


def test_an_output_that_is_there_twice_has_two_gradients() -> None:
    def function(x: Any) -> Any:
        y = x * 2.0
        return y, y

    (found,) = gradients(function, [X], [X, X + 1])
    np.testing.assert_allclose(found, 4 * X + 2)


def test_detach_stops_gradients() -> None:
    (found,) = gradients(lambda x: ops.detach(x) * x, [X], [np.ones(X.shape)])
    np.testing.assert_array_equal(found, X)


def test_names_are_scoped_and_unique() -> None:
    ir = popxl.Ir()
    with ir.main_graph, popxl.name_scope("outer"):
        first, second = popxl.variable(0.0, name="x"), popxl.variable(0.0, name="x")
        with popxl.name_scope("inner") as scopes:
            assert scopes == ["outer", "inner"]
            third = popxl.constant(0.0, name="x")
        graph = ir.create_graph(lambda t: t, first)
    assert [t.id for t in (first, third)] == ["outer/x", "outer/inner/x"]
    assert second.id != first.id
    assert (graph.inputs[0].name, graph.inputs[0].scope) == ("outer/t", graph.name)
    assert repr(first) == "Variable[outer/x popxl.float32 ()]"


def test_hooks_see_the_ops_of_their_graph() -> None:
    ir = popxl.Ir()
    seen: list[Any] = []
    with ir.main_graph:
        x = popxl.variable(1.0)
        handle = ir.main_graph.register_op_created_hook(seen.append)
        y = ops.relu(x)
        ir.create_graph(lambda t: t + t, x)
        ir.main_graph.remove_op_created_hook(handle)
        ops.relu(y)
    assert [op.outputs for op in seen] == [[y]]


def test_the_context_is_one_of_the_thread_and_ends_with_the_block() -> None:
    ir = popxl.Ir()
    with pytest.raises(ValueError), ir.main_graph, popxl.in_sequence(False), popxl.name_scope("a"):
        assert popxl.gcg() is popxl.gmg() is ir.main_graph and popxl.gir() is ir
        raise ValueError
    with pytest.raises(RuntimeError, match="no graph has been chosen"):
        popxl.gcg()


def test_dtypes() -> None:
    assert popxl.float is popxl.float32 and popxl.half is popxl.float16 and popxl.double is popxl.float64
    assert popxl.dtype.as_dtype(np.zeros(1, "int8")) is popxl.int8
    assert popxl.dtype.as_dtype(float) is popxl.float32 and popxl.dtype.as_dtype("half") is popxl.float16
    assert popxl.dtype.as_dtype(bool) is popxl.bool and popxl.dtype.from_name("uint64") is popxl.uint64
    assert popxl.float16.as_numpy() == np.float16 and repr(popxl.int32) == "popxl.int32"
    assert popxl.int32.is_int and popxl.int32.is_signed and not popxl.uint8.is_signed
    assert popxl.float32.is_floating_point and not popxl.bool.is_int
