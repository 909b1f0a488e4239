"""Nodes in sessions: attributes, arguments, errors, threads, names, and models that need help."""

from __future__ import annotations

import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import complex_ops
import numpy as np
import onnx
import onnxruntime
import pytest
from folders import write_op
from messages import code_of
from models import feed, model_of, one_node, value
from onnx import helper

import pykernels
import pykernels.onnx
from pykernels.base.dtypes import bfloat16
from pykernels.base.errors import CallError, LoadError

Load = Callable[..., str]
BACKWARD = "\ndef backward(args):\n    return args[0]\n"


def quiet() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors are the test's to see
    return options


def run(op: str, inputs: list[Any], outputs: list[str], **attributes: Any) -> list[np.ndarray]:
    model = one_node(op, inputs, outputs, **attributes)
    return list(pykernels.onnx.session(model, quiet()).run(None, feed(inputs)))


KINDS = """
    #include "oneflow/core/framework/framework.h"
    namespace oneflow {{
    REGISTER_USER_OP("{name}_forward")
        .Input("data")
        .Output("output")
        .Attr<int32_t>("number", 3)
        .Attr<float>("real", 0.1)
        .Attr<bool>("flag", false)
        .Attr<std::string>("text", "a")
        .Attr<std::vector<int64_t>>("sizes", {{1, 2}})
        .Attr<std::vector<float>>("reals", {{0.5f}})
        .Attr<std::vector<std::string>>("words", {{"x"}})
        .Attr<DataType>("kind", kFloat)
        .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
    }}
"""
READS = """
    def forward(args, *, number, real, flag, text, sizes, reals, words, kind):
        (x,) = args
        y = x.copy()
        y[0] = number
        y[1] = real
        y[2] = flag
        y[3] = len(text)
        y[4] = sizes[-1]
        y[5] = len(words)
        y[6] = reals[-1]
        return y
"""


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An op with an attribute of every kind, which it writes into its output."""
    folder = write_op(tmp_path_factory.mktemp("ops"), "reader", READS)
    (folder / "reader_py_def.py").unlink()
    (folder / "reader_cpp_def.cpp").write_text(textwrap.dedent(KINDS.format(name="reader")))
    pykernels.load_ops(folder)
    yield "reader"
    pykernels.unload_ops("reader")


@pytest.mark.thorough
def test_attributes_have_the_defaults_of_the_definition(reader: str) -> None:
    (y,) = run(reader, [np.zeros(7)], ["float64"])
    assert y.tolist() == [3, 0.1, 0, 1, 2, 1, 0.5]


def test_attributes_of_every_kind_are_read(reader: str) -> None:
    attributes = {"number": -7, "real": 0.3, "flag": 1, "text": "four", "sizes": [5, 6, 9], "words": "['p', 'q', 'r']"}
    attributes["reals"] = [2.0, 0.3]
    (y,) = run(reader, [np.zeros(7)], ["float64"], kind=onnx.TensorProto.FLOAT16, **attributes)
    assert y.tolist() == [-7, 0.3, 1, 4, 9, 3, 0.3]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"number": 0.5}, "attribute 'number' must be a 32-bit integer such as 3, got '0.5'"),
        ({"number": 2**40}, "attribute 'number' must be a 32-bit integer such as 3"),
        ({"flag": 7}, "attribute 'flag' must be True or False, got '7'"),
        ({"sizes": "no"}, "attribute 'sizes' must be a list of 64-bit integers such as [1, 2], got 'no'"),
        ({"kind": 99}, "attribute 'kind' must be the name of a dtype such as float32, got 'ONNX's type 99'"),
    ],
)
def test_wrong_attributes_fail_when_the_model_is_loaded(reader: str, attributes: Any, message: str) -> None:
    model = one_node(reader, [np.zeros(6)], ["float64"], **attributes).SerializeToString()
    options = quiet()
    pykernels.onnx.register(options, reader)
    with pytest.raises(Exception) as caught:
        onnxruntime.InferenceSession(model, options)
    assert f"op '{reader}': {message}" in str(caught.value) and code_of(caught.value) == "PK400"


def test_an_unknown_attribute_is_reported_where_pykernels_opens_the_model(reader: str) -> None:
    with pytest.raises(CallError, match=r"node '' \(pykernels::reader\): .* has no attribute 'numbr'; did you mean"):
        pykernels.onnx.session(one_node(reader, [np.zeros(6)], ["float64"], numbr=1))


@pytest.mark.usefixtures("shipped")
def test_steps_of_a_model_are_nodes_side_by_side() -> None:
    x = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    nodes = [
        helper.make_node("leaky_relu", ["x"], ["a"], domain="pykernels", alpha=0.5),
        helper.make_node("Add", ["a", "x"], ["b"]),
        helper.make_node("sigmoid", ["b"], ["y"], domain="pykernels"),
    ]
    model = model_of(nodes, [value("x", "float32", ["n", 4])], [value("y", "float32")])
    (y,) = pykernels.onnx.session(model).run(None, {"x": x})
    np.testing.assert_allclose(y, 1 / (1 + np.exp(-(np.where(x > 0, x, x / 2) + x))), rtol=1e-6)


@pytest.mark.usefixtures("shipped")
def test_shapes_may_change_from_run_to_run() -> None:
    session = pykernels.onnx.session(one_node("leaky_relu", [np.zeros(1, "float32")], ["float32"], alpha=2.0))
    for size in [*range(100), *range(100)]:  # more than a node remembers
        x = -np.ones((size, 2), np.float32)
        np.testing.assert_array_equal(session.run(None, {"x0": x})[0], 2 * x)
    for shape in [(4,), (2, 2), (1, 4), (4, 1), (2, 1, 2), (4,), ()]:
        x = np.full(shape, -1, np.float32)
        np.testing.assert_array_equal(session.run(None, {"x0": x})[0], 2 * x)


@pytest.mark.usefixtures("shipped")
@pytest.mark.parametrize("n_threads", [1, 4])
def test_large_tensors_are_shared_out_among_threads(n_threads: int) -> None:
    x = np.random.default_rng(0).normal(size=700_001).astype("float32")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    (y,) = pykernels.onnx.session(one_node("leaky_relu", [x], ["float32"]), options).run(None, {"x0": x})
    np.testing.assert_array_equal(y, np.where(x > 0, x, np.float32(0.01) * x))


@pytest.mark.usefixtures("shipped")
def test_several_threads_run_one_session() -> None:
    session = pykernels.onnx.session(one_node("softmax", [np.zeros((1, 1), "float32")], ["float32"]))
    wrong: list[int] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(50):
            x = rng.normal(size=(rng.integers(1, 9), 5)).astype("float32")
            (y,) = session.run(None, {"x0": x})
            e = np.exp(x - x.max(-1, keepdims=True))
            if not np.allclose(y, e / e.sum(-1, keepdims=True), rtol=1e-5):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.usefixtures("shipped")
def test_unaligned_inputs_are_copied() -> None:
    raw = np.zeros(4 * 8 + 1, np.uint8)
    x = raw[1:].view(np.float32)
    x[:] = np.arange(-4, 4)
    value_ = onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(x))
    session = pykernels.onnx.session(one_node("leaky_relu", [x], ["float32"], alpha=0.5))
    np.testing.assert_array_equal(session.run(None, {"x0": x})[0], np.where(x > 0, x, x / 2))
    np.testing.assert_array_equal(session.run_with_ort_values(None, {"x0": value_})[0].numpy()[:1], [-2])


# ---- errors


def test_a_kernel_that_raises_fails_the_run(load: Load) -> None:
    op = load("def forward(args):\n    raise ValueError('no luck')\n" + BACKWARD)
    with pytest.raises(Exception, match=r"_py_kernel.py:2: forward raised ValueError: no luck") as caught:
        run(op, [np.ones(3)], ["float64"])
    assert type(caught.value).__name__ == "Fail" and f"op '{op}_forward'" in str(caught.value)
    assert code_of(caught.value) == "PK300"


@pytest.mark.filterwarnings("ignore:.*does not raise:pykernels.PykernelsWarning")
def test_a_run_that_fails_in_compiled_code_only_is_pythons(load: Load) -> None:
    op = load("import numpy as np\ndef forward(args):\n    return np.cov(args[0]) + args[0]\n" + BACKWARD)
    np.testing.assert_allclose(run(op, [np.array([[1.0, 2, 3]])], ["float64"])[0], [[2, 3, 4]])


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
def test_kernels_that_are_not_compiled_run_as_python(load: Load) -> None:
    op = load("import numpy as np\ndef forward(args):\n    return np.vectorize(lambda v: v + 1)(args[0])\n" + BACKWARD)
    np.testing.assert_array_equal(run(op, [np.ones(3)], ["float64"])[0], [2, 2, 2])


@pytest.mark.usefixtures("shipped")
def test_a_node_of_no_op_is_reported() -> None:
    model = one_node("leaky_rellu", [np.ones(1)], ["float64"])
    with pytest.raises(
        CallError, match=r"a node of pykernels::leaky_rellu, but there is no such op. Loaded are: .*relu"
    ):
        pykernels.onnx.session(model)


@pytest.mark.usefixtures("shipped")
def test_a_type_that_the_definition_refuses_is_refused() -> None:
    with pytest.raises(Exception, match=r"Type 'tensor\(int32\)' of input parameter \(x0\) .* is invalid"):
        run("leaky_relu", [np.ones(1, "int32")], ["int32"])


@pytest.mark.usefixtures("shipped")
def test_a_result_for_which_there_is_no_memory() -> None:
    told = r"dense_cpp_def.cpp:\d+ infers \(1048576, 1048576\) for its output 'y': Unable to allocate 8.00 TiB"
    np.testing.assert_array_equal(run("dense", [np.ones((2, 0)), np.ones((2, 0))], ["float64"])[0], np.zeros((2, 2)))
    with pytest.raises(Exception, match=told) as caught:
        run("dense", [np.ones((2**20, 0)), np.ones((2**20, 0))], ["float64"])
    assert code_of(caught.value) == "PK400"


def test_what_is_no_model_is_reported(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_text("not a model")
    with pytest.raises(LoadError, match=r"model.onnx is not an ONNX model"):
        pykernels.onnx.session(tmp_path / "model.onnx")
    with pytest.raises(LoadError, match=r"missing.onnx cannot be read: No such file"):
        pykernels.onnx.session(tmp_path / "missing.onnx")


def test_what_is_not_loaded_is_reported() -> None:
    with pytest.raises(CallError, match="op 'nothing' is not loaded"):
        pykernels.onnx.session_options("nothing")


# ---- models that need help


@pytest.mark.usefixtures("shipped")
def test_a_model_that_is_too_new_is_given_an_older_version(tmp_path: Path) -> None:
    x = np.array([-2, 3], np.float32)
    model = one_node("leaky_relu", [x], ["float32"], alpha=0.5)
    model.ir_version = 99
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(Exception, match="Unsupported model IR version: 99"):
        onnxruntime.InferenceSession(tmp_path / "model.onnx", pykernels.onnx.session_options("leaky_relu"))
    for given in (model, model.SerializeToString(), tmp_path / "model.onnx"):
        assert pykernels.onnx.session(given).run(None, {"x0": x})[0].tolist() == [-1, 3]
    assert model.ir_version == 99


def test_folders_choose_the_names_of_their_nodes(load: Load, tmp_path: Path) -> None:
    op = load("def forward(args):\n    return -args[0]\n" + BACKWARD)
    api = tmp_path / op / f"{op}_py_api.py"
    api.write_text(api.read_text() + '\n\nonnx_domain = "ai.graphcore"\nonnx_op_type = "Minus"\n')
    pykernels.reload(op)
    x = np.array([1.0, -2.0])
    node = helper.make_node("Minus", ["x"], ["y"], domain="ai.graphcore")
    model = model_of([node], [value("x", "float64", [2])], [value("y", "float64")])
    model.opset_import.append(helper.make_opsetid("ai.graphcore", 1))
    assert pykernels.onnx.session(model).run(None, {"x": x})[0].tolist() == [-1, 2]


def test_reloaded_ops_are_those_of_later_sessions(load: Load, tmp_path: Path) -> None:
    op = load("def forward(args):\n    return args[0] + 2\n" + BACKWARD)
    model = one_node(op, [np.ones(1)], ["float64"])
    before = pykernels.onnx.session(model)
    assert before.run(None, {"x0": np.ones(1)})[0].tolist() == [3]
    kernel = tmp_path / op / f"{op}_py_kernel.py"
    kernel.write_text("def forward(args):\n    return args[0] + 30\n" + BACKWARD)
    pykernels.reload(op)
    after = pykernels.onnx.session(model)
    assert [each.run(None, {"x0": np.ones(1)})[0].tolist() for each in (before, after)] == [[3], [31]]


@pytest.mark.usefixtures("shipped")
def test_bfloat16_is_computed_in_float32() -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["half"], to=onnx.TensorProto.BFLOAT16),
        helper.make_node("sigmoid", ["half"], ["result"], domain="pykernels"),
        helper.make_node("Cast", ["result"], ["y"], to=onnx.TensorProto.FLOAT),
    ]
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    model = model_of(nodes, [value("x", x.dtype)], [value("y", x.dtype)])
    (y,) = pykernels.onnx.session(model, quiet()).run(None, {"x": x})
    half = x.astype(bfloat16()).astype(np.float32)
    np.testing.assert_array_equal(y, pykernels.list_ops()["sigmoid"].api.sigmoid(half).astype(bfloat16()).astype("f4"))


def test_complex_results_are_refused_by_name_and_other_ops_run(tmp_path: Path) -> None:
    pykernels.load_ops(complex_ops.write_ops(tmp_path))
    x = np.ones(3, np.float32)
    np.testing.assert_array_equal(run("times", [x, x], ["float32"]), [x])
    with pytest.raises(Exception, match="op 'polar': 'y' has dtype complex64, but ONNX Runtime has no tensors of"):
        run("polar", [x, x], ["float32"])
    pykernels.unload_ops(*complex_ops.OPS, "unnamed")
