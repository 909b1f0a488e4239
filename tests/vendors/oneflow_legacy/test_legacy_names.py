"""The names that OneFlow has dropped: jobs, placeholders, placements and settings."""

from __future__ import annotations

import operator
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import oneflow as flow
import process
import pytest

import pykernels
import pykernels.vendors.oneflow_legacy
from pykernels.base.errors import CallError
from pykernels.vendors import oneflow_legacy
from pykernels.vendors.oneflow_legacy import typing as tp

X = np.array([-1.0, 0.0, 2.0], np.float32)
PLACE = tp.Numpy.Placeholder((3,))
FAILING = """
def forward(args):
    (x,) = args
    if x[0] < 0:
        raise ValueError("nothing to be done")
    return x


def backward(args):
    (dy, x, y) = args
    return dy
"""


def job(
    placeholder: Any, result: Any = tp.Numpy, body: Callable[..., Any] = lambda x: x, **settings: Any
) -> Callable[..., Any]:
    def chosen(x):
        return body(x)

    chosen.__annotations__ = {"x": placeholder, "return": result}
    return flow.global_function(**settings)(chosen)


# ---- what is added


def test_names_are_added_and_none_is_replaced(tmp_path: Path) -> None:
    text = """
        import sys
        import oneflow as flow
        import oneflow.experimental
        before = {owner: dict(vars(owner)) for owner in (flow, flow.experimental, flow.nn, flow.FunctionConfig)}
        import pykernels.vendors.oneflow_legacy
        for owner, names in before.items():
            assert all(vars(owner)[name] is value for name, value in names.items())
            print(owner.__name__, *sorted(set(vars(owner)) - set(names)))
        import oneflow.typing as tp
        from oneflow.typing import Numpy
        assert tp.Numpy is Numpy is flow.typing.Numpy
        assert flow.user_op_builder is pykernels.user_op_builder
    """
    done = process.program(text, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "oneflow FixedTensorDef MirroredTensorDef __getattr__ checkpoint clear_default_session config data "
        "enable_eager_execution get_all_variables get_variable global_function layers load_variables math optimizer "
        "regularizers scope sysconfig train truncated_normal typing unittest user_op_builder util watch watch_diff",
        "oneflow.experimental custom_op_module load_mnist",
        "oneflow.nn __getattr__ avg_pool2d bias_add conv2d dropout elu leaky_relu logsoftmax max_pool2d relu softmax "
        "softmax_cross_entropy_with_logits sparse_softmax_cross_entropy_with_logits",
        "FunctionConfig __getattribute__ default_placement_scope",
    ]


def test_initializers_that_oneflow_lacks_are_refused() -> None:
    with pytest.raises(CallError, match="flow.zeros_initializer: OneFlow has no initializers since 0.9, .*==0.8.0"):
        oneflow_legacy._refuse_initializer("zeros")


def test_names_that_are_not_provided_are_named() -> None:
    for owner, name, place in [
        (tp, "ListListNumpy", "oneflow.typing"),
        (flow.scope, "pipeline", "flow.scope"),
        (flow.config, "load_library", "flow.config"),
        (flow.optimizer, "LAMB", "flow.optimizer"),
        (flow.layers, "layer_norm", "flow.layers"),
        (flow.math, "l2_normalize", "flow.math"),
        (flow.regularizers, "l1", "flow.regularizers"),
    ]:
        message = rf"{place}.{name} is not provided by pykernels.vendors.oneflow_legacy.\w+: {place} has"
        with pytest.raises(AttributeError, match=message):
            getattr(owner, name)


# ---- jobs


def test_a_job_runs_ops_of_folders_and_of_oneflow(shipped: None) -> None:
    relu = pykernels.list_ops()["relu"].api.relu
    run = job(tp.Numpy.Placeholder((3,)), body=lambda x: relu(x) + 1)
    result = run(X)
    assert isinstance(result, np.ndarray)
    assert (result.dtype, result.tolist()) == (np.float32, [1, 1, 3])
    assert run(x=X + 1).tolist() == [1, 2, 4]


def test_one_graph_is_built_for_all_calls_of_a_job() -> None:
    built = []
    run = job(tp.Numpy.Placeholder((3,)), body=lambda x: built.append(x) or x)
    assert [run(X * n).tolist() for n in (1, 2)] == [X.tolist(), (X * 2).tolist()]
    assert len(built) == 1


def test_several_results_and_several_parameters() -> None:
    @flow.global_function(type="predict")
    def both(
        a: tp.Numpy.Placeholder((2, 1)), b: tp.Numpy.Placeholder((2,), dtype=flow.int32)
    ) -> tuple[tp.Numpy, tuple[tp.ListNumpy, tp.Numpy]]:
        return a * 2, (b, a)

    first, (second, third) = both(b=np.array([1, 2]), a=np.ones((2, 1)))
    assert first.tolist() == [[2], [2]]
    assert isinstance(second, list)
    assert (second[0].dtype, second[0].tolist()) == (np.int32, [1, 2])
    assert third.tolist() == [[1], [1]]


def test_a_list_may_hold_less_than_its_placeholder() -> None:
    run = job(tp.ListNumpy.Placeholder((4, 2)), tp.ListNumpy)
    for rows in (4, 1, 3, 1):
        (result,) = run([np.full((rows, 2), rows)])
        assert result.tolist() == [[rows, rows]] * rows
    for value, message in [
        ([np.ones((5, 2))], r"has shape \(5, 2\), but its placeholder takes non-empty ones up to \(4, 2\)"),
        ([np.ones((0, 2))], r"has shape \(0, 2\)"),
        ([np.ones(4)], r"has shape \(4,\)"),
        ([np.ones((4, 2))] * 2, "must be a list of one array, for the one device, not one of 2"),
        (np.ones((4, 2)), "must be a list of one array, for the one device, not a ndarray"),
    ]:
        with pytest.raises(pykernels.CallError, match=f"argument 'x' {message}"):
            run(value)


def test_a_result_is_no_view_of_an_argument() -> None:
    run = job(tp.Numpy.Placeholder((3,)))
    given = X.copy()
    result = run(given)
    given[:] = 7
    assert result.tolist() == X.tolist()


def test_settings_of_a_function_config_are_those_of_the_graph() -> None:
    config = flow.FunctionConfig()
    config.default_data_type(flow.float64)
    config.enable_inplace(False)
    graphs = []
    build = flow.nn.Graph.__call__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flow.nn.Graph, "__call__", lambda self, *args: graphs.append(self) or build(self, *args))
        job(tp.Numpy.Placeholder((3,)), function_config=config)(X)
    (graph,) = graphs
    assert graph.config.proto.enable_inplace is False
    assert graph.config.proto.default_data_type == config.function_desc.job_config_proto.default_data_type


# ---- placeholders


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        (np.array([1.5, 2]), flow.float32),
        (np.array([1, 2]), flow.float64),
        (np.array([1, 255]), flow.uint8),
        (np.array([True, False]), flow.int64),
        (np.array([1.5, np.inf, np.nan]), flow.float32),
        (np.arange(6.0)[::2], flow.float32),
        (np.array(3.0), flow.float32),
    ],
    ids=str,
)
def test_values_are_converted_to_the_dtype_of_the_placeholder(given: np.ndarray, dtype: Any) -> None:
    result = job(tp.Numpy.Placeholder(given.shape, dtype=dtype))(given)
    assert result.dtype == flow.convert_oneflow_dtype_to_numpy_dtype(dtype)
    np.testing.assert_array_equal(result, given)


@pytest.mark.parametrize(
    ("given", "dtype", "message"),
    [
        (X[:2], flow.float32, r"argument 'x' has shape \(2,\), but its placeholder has \(3,\)"),
        (X[None], flow.float32, r"argument 'x' has shape \(1, 3\), but its placeholder has \(3,\)"),
        ([1.0, 2.0, 3.0], flow.float32, r"argument 'x' must be a NumPy array, not a list: numpy.asarray\(...\)"),
        (X, flow.int32, "argument 'x' has dtype float32, which is not converted to the placeholder's int32"),
        (X + 1j, flow.float32, "argument 'x' has dtype complex64, which is not converted to the placeholder's float32"),
        (np.array(list("abc")), flow.float32, "argument 'x' has dtype <U1, which is not converted"),
        (X.astype(int), flow.uint8, r"argument 'x' \(int64\) has values that the placeholder's uint8 cannot hold"),
        (
            np.array([0, 1, 1e300]),
            flow.float32,
            r"argument 'x' \(float64\) has values that the placeholder's float32 cannot hold",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_does_not_fit_a_placeholder_is_refused(given: Any, dtype: Any, message: str) -> None:
    with pytest.raises(pykernels.CallError, match=rf"test_legacy_names.py:\d+: job chosen: {message}"):
        job(tp.Numpy.Placeholder((3,), dtype=dtype))(given)


@pytest.mark.parametrize(
    ("shape", "dtype", "message"),
    [
        (3, flow.float32, "a placeholder's shape must be a tuple of integers from 1 on, not 3"),
        ((0, 2), flow.float32, r"a placeholder's shape must be a tuple of integers from 1 on, not \(0, 2\)"),
        ((1.5,), flow.float32, r"not \(1.5,\)"),
        ((3,), np.float32, "a placeholder's dtype must be one of OneFlow's, such as flow.float32, not <class"),
        ((3,), flow.bfloat16, "a placeholder's dtype must be one that NumPy has, which oneflow.bfloat16 is not"),
    ],
)
def test_impossible_placeholders_are_refused(shape: Any, dtype: Any, message: str) -> None:
    with pytest.raises(pykernels.CallError, match=message):
        tp.Numpy.Placeholder(shape, dtype=dtype)


# ---- mistakes


def test_missing_and_unknown_arguments_are_named() -> None:
    run = job(tp.Numpy.Placeholder((3,)))
    with pytest.raises(pykernels.CallError, match=r":\d+: job chosen: missing a required argument: 'x'"):
        run()
    with pytest.raises(pykernels.CallError, match=r":\d+: job chosen: got an unexpected keyword argument 'z'"):
        run(X, z=1)


def test_annotations_are_needed() -> None:
    with pytest.raises(pykernels.CallError, match=r":\d+: job chosen: parameter 'x' has to be annotated with a plac"):
        job(int)
    for result in (int, tuple[int], tuple, list[int], tp.Callback[int]):
        with pytest.raises(pykernels.CallError, match=r":\d+: job chosen: its result has to be annotated with tp.Num"):
            job(tp.Numpy.Placeholder((3,)), result)


def test_a_job_must_return_what_it_is_annotated_with() -> None:
    with pytest.raises(pykernels.CallError, match=r"job chosen: it returned int where a tensor is annotated"):
        job(tp.Numpy.Placeholder((3,)), body=lambda x: 3)(X)
    with pytest.raises(pykernels.CallError, match=r"job chosen: it returned 1 results where a tuple of 2 is annotated"):
        job(tp.Numpy.Placeholder((3,)), tuple[tp.Numpy, tp.Numpy], lambda x: (x,))(X)


def test_types_of_jobs_are_checked() -> None:
    with pytest.raises(pykernels.CallError, match=r"type='test'\): the type of a job is 'predict' or 'train'"):
        flow.global_function("test")
    with pytest.raises(pykernels.CallError, match=r"has to be called: @flow.global_function\(\)"):
        flow.global_function(lambda x: x)


def test_a_job_is_not_called_in_a_job() -> None:
    inner = job(tp.Numpy.Placeholder((3,)))
    with pytest.raises(pykernels.CallError, match="job chosen: it is called in another job, where a plain function is"):
        job(tp.Numpy.Placeholder((3,)), body=lambda x: inner(X))(X)
    assert inner(X).tolist() == X.tolist()


def test_settings_that_graphs_do_not_have_are_refused_by_name() -> None:
    config = flow.FunctionConfig()
    config.function_desc.function_attribute.default_placement_scope = object()
    with pytest.raises(pykernels.CallError, match="function_config sets default_placement_scope, which is not supp"):
        flow.global_function(function_config=config)
    with pytest.raises(pykernels.CallError, match="function_config must be a flow.FunctionConfig, not 3"):
        flow.global_function(function_config=3)
    config = flow.FunctionConfig()
    config.function_desc.job_config_proto.train_conf.primary_lr = 0.1
    with pytest.raises(pykernels.CallError, match="function_config sets train, .* flow.optimizer.SGD"):
        flow.global_function(function_config=config)


def test_settings_that_there_are_not_are_named() -> None:
    config = flow.FunctionConfig()
    message = "flow.FunctionConfig has no setting 'enable_speed'; it has all_reduce_fp16, .*, enable_cudnn, "
    with pytest.raises(pykernels.CallError, match=message):
        config.enable_speed(True)
    config.enable_cudnn(False)


def test_settings_that_change_nothing_are_accepted() -> None:
    config = flow.FunctionConfig()
    config.default_logical_view(flow.scope.consistent_view())
    config.default_logical_view(flow.scope.mirrored_view())
    config.default_placement_scope(flow.scope.placement("cpu", "0:0"))
    assert job(tp.Numpy.Placeholder((3,)), type=config)(X).tolist() == X.tolist()
    flow.config.enable_legacy_model_io(False)
    flow.enable_eager_execution(False)
    with pytest.warns(pykernels.PykernelsWarning, match=r"flow.enable_eager_execution\(\) has no effect: jobs run as"):
        flow.enable_eager_execution()
    with pytest.warns(pykernels.PykernelsWarning, match=r"flow.config.enable_debug_mode\(True\) has no effect"):
        flow.config.enable_debug_mode(True)


def test_ops_run_on_the_cpu_of_one_machine() -> None:
    for devices in ("0:0", ["0:0"], "@0:0"):
        with flow.scope.placement("cpu", devices):
            pass
    for device, devices in [("gpu", "0:0"), ("cpu", "0:0-3"), ("cpu", ["0:0", "1:0"])]:
        with pytest.raises(pykernels.CallError, match=rf"placement\('{device}', .*\): ops run on the CPU of one mach"):
            flow.scope.placement(device, devices)
    flow.config.machine_num(1)
    flow.config.cpu_device_num(1)
    flow.config.gpu_device_num(0)
    for name, value in [("machine_num", 2), ("cpu_device_num", 4), ("gpu_device_num", 1)]:
        with pytest.raises(pykernels.CallError, match=rf"flow.config.{name}\({value}\): ops run on the CPU"):
            getattr(flow.config, name)(value)


def test_a_failing_kernel_fails_the_job(load: Callable[..., str]) -> None:
    name = load(FAILING)
    module = pykernels.list_ops()[name]
    source, target = module.forward.inputs[0].name, module.forward.outputs[0].name

    def call(x: Any) -> Any:
        op = flow.user_op_builder("failing").Op(f"{name}_forward").Input(source, [x]).Output(target).Build()
        return op.InferAndTryRun().SoleOutputBlob()

    run = job(tp.Numpy.Placeholder((3,)), body=call)
    for _ in range(2):
        with pytest.raises(pykernels.KernelError, match="nothing to be done"):
            run(X)


@pytest.mark.thorough
def test_a_job_in_a_forked_child_is_refused(tmp_path: Path) -> None:
    text = """
        import os
        import numpy as np
        import pykernels.vendors.oneflow_legacy
        import oneflow as flow, oneflow.typing as tp

        @flow.global_function()
        def same(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
            return x

        print(same(np.ones(3)).tolist(), flush=True)
        if os.fork() == 0:
            try:
                same(np.ones(3))
            except RuntimeError as error:
                print(error, flush=True)
            os._exit(0)
        os.wait()
    """
    done = process.program(text, cwd=tmp_path)
    first, second = done.stdout.splitlines()
    assert first == "[1.0, 1.0, 1.0]"
    assert "job same cannot run in process" in second
    assert "start workers with the multiprocessing method 'spawn'" in second


def test_tuples_of_placeholders() -> None:
    # Old scripts write typing.Tuple, which checks what it is given.
    @flow.global_function()
    def combined(x: tuple[PLACE, tuple[PLACE, PLACE]], y: typing.Tuple[PLACE]) -> tp.Numpy:  # noqa: UP006
        return x[0] + x[1][0] * x[1][1] - y[0]

    np.testing.assert_array_equal(combined((X, (X * 2, X)), [X]), 2 * X * X)
    for argument, message in (
        (X, "argument 'x' must be a tuple of 2 arrays, not a ndarray"),
        ((X,), "argument 'x' must be a tuple of 2 arrays, not one of 1"),
        ((X, (X, X[:2])), r"argument 'x\[1\]\[1\]' has shape \(2,\), but its placeholder has \(3,\)"),
    ):
        with pytest.raises(CallError, match=message):
            combined(argument, (X,))
    with pytest.raises(CallError, match="with a Tuple that has one for each of its items"):
        job(typing.Tuple[PLACE, ...])  # noqa: UP006
    with pytest.raises(CallError, match="a placeholder is an annotation"):
        PLACE()


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("losses", "OneFlow .* has no flow.losses, and pykernels.vendors.oneflow_legacy adds only FixedTensorDef, "),
        ("nn.conv9d", "OneFlow .* has no flow.nn.conv9d, and .* adds only .*bias_add, conv2d"),
        ("train.Saver", "flow.train.Saver is not provided by .*: flow.train has CheckPoint"),
    ],
)
def test_old_names_that_are_not_provided(place: str, message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        operator.attrgetter(place)(flow)
    assert not hasattr(flow, "losses")
