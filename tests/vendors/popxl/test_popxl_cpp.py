"""Ops in C++ in PopXL's graphs: the example, and the guide "Custom operations"."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest
from process import CHECKOUT, program, python

#: A folder with the files that the guide includes: leaky_relu_op_impl.cpp, leaky_relu_op.py and run_leaky_relu.py.
GUIDE = os.environ.get("PYKERNELS_TEST_POPXL_FILES", "")
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("cppimport") is None, reason="cppimport is not installed: pip install 'pykernels[popxl]'"
)
IMPORTS = """
    import sys
    sys.path.insert(0, "")
    import numpy as np
    import pykernels.vendors.popxl
    import popxl
    from popxl import ops
    from popxl.transforms import autodiff
    from squash_op import squash
"""


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, compiled."""
    folder = tmp_path_factory.mktemp("popxl") / "example"
    shutil.copytree(CHECKOUT / "examples" / "popxl", folder, ignore=shutil.ignore_patterns("__pycache__"))
    done = python("-m", "pykernels", "run", "train.py", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    (folder / "output.txt").write_text(done.stdout)
    return folder


def test_the_example_learns(example: Path) -> None:
    lines = (example / "output.txt").read_text().splitlines()
    losses = [float(re.fullmatch(r"step +\d+: loss (\S+), \d+% right", line)[1]) for line in lines]
    assert len(losses) == 5 and losses[0] > 0.6 and losses[-1] < 0.15


NUMPY = """
    import train

    weights = train.initial_weights()
    training = train.make_training()

    def step(x, y):
        h = x @ weights["w1"] + weights["b1"]
        scale = 1 + train.STEEPNESS * abs(h)
        z = h / scale @ weights["w2"] + weights["b2"]
        p = np.exp(z - z.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        loss = -np.log(p[range(len(y)), y]).mean()
        dz = (p - np.eye(train.CLASSES)[y]) / len(y)
        dh = dz @ weights["w2"].T / scale**2
        grads = {"w1": x.T @ dh, "b1": dh.sum(0), "w2": (h / scale).T @ dz, "b2": dz.sum(0)}
        for name, grad in grads.items():
            weights[name] = weights[name] - train.LEARNING_RATE * grad
        return loss, z

    with popxl.Session(training.ir, "ipu_model") as session:
        for n, (x, y) in enumerate(train.batches(50)):
            outputs = session.run({training.points: x, training.labels: y})
            loss, z = step(x.astype(float), y)
            np.testing.assert_allclose(outputs[training.loss], loss, rtol=1e-4)
            np.testing.assert_allclose(outputs[training.scores], z, rtol=1e-3, atol=1e-4)
            for name, variable in training.weights.items():
                np.testing.assert_allclose(session.get_tensor_data(variable), weights[name], rtol=1e-3, atol=1e-5)
    print(n + 1, "steps agree")
"""


def test_every_step_of_the_example_is_that_of_numpy(example: Path) -> None:
    assert program(IMPORTS + NUMPY, cwd=example).stdout == "50 steps agree\n"


CALLS = """
    def run(function, array, dtype):
        ir = popxl.Ir()
        with ir.main_graph:
            made = function(popxl.variable(array, dtype))
            streams = [popxl.d2h_stream(t.shape, t.dtype) for t in made]
            for stream, t in zip(streams, made):
                ops.host_store(stream, t)
        with popxl.Session(ir) as session:
            outputs = session.run()
        return [outputs[stream] for stream in streams]

    def both(x):
        graph = popxl.gir().create_graph(lambda t: squash(t, 0.25) * 3, x)
        call = ops.call_with_info(graph, x)
        info = autodiff(graph)
        ones = popxl.constant(np.ones(x.shape), x.dtype)
        return [*ops.call(info.graph, ones, inputs_dict=info.inputs_dict(call)), call.outputs[0], squash(x, 0)]

    for shape in ((), (0,), (5,), (2, 3, 4)):
        for dtype in (popxl.float32, popxl.float16):
            x = np.random.default_rng(0).normal(0, 3, shape).astype(dtype.as_numpy())
            grad, y, same = run(both, x, dtype)
            tolerance = dict(rtol=5e-3 if dtype is popxl.float16 else 1e-5, atol=1e-6)
            assert grad.dtype == y.dtype == x.dtype and grad.shape == y.shape == x.shape
            wide = x.astype(float)
            np.testing.assert_allclose(y, 3 * wide / (1 + 0.25 * abs(wide)), **tolerance)
            np.testing.assert_allclose(grad, 3 / (1 + 0.25 * abs(wide)) ** 2, **tolerance)
            np.testing.assert_array_equal(same, x)

    ir = popxl.Ir()
    seen = []
    with ir.main_graph:
        x = popxl.variable(np.ones(3))
        ir.main_graph.register_op_created_hook(seen.append)
        with popxl.name_scope("layer"):
            print(squash(x).id, seen)
        try:
            squash(x, -1)
        except Exception as error:
            print(type(error).__name__, error)
        try:
            squash(3)
        except TypeError as error:
            print(error)
        first = autodiff(ir.create_graph(squash, x))
        try:
            autodiff(first.graph)
        except ValueError as error:
            print(error)
    try:
        squash(x)
    except RuntimeError as error:
        print(error)
"""


def test_values_gradients_and_errors(example: Path) -> None:
    made, negative, no_tensor, no_gradient, no_graph = program(IMPORTS + CALLS, cwd=example).stdout.splitlines()
    assert made == "layer/squash_out [layer/squash(t)]"
    assert negative.startswith("LoadError") and "steepness is -1" in negative and "squash" in negative.lower()
    assert no_tensor == "squash: x is 3; it must be a popxl.Tensor [PK400]"
    assert re.match(r"autodiff: SquashGrad\(.*\) in Graph\[\S+\] has no gradient", no_gradient)
    assert no_graph.startswith("popxl.ops.squash: no graph has been chosen")


@pytest.mark.thorough
def test_a_module_of_other_headers_is_compiled_again(example: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(example, tmp_path / "copy")
    (module,) = folder.glob("squash_op_impl*.so")
    before = module.read_bytes()
    marks = set(re.findall(rb"popart_cpu_headers_\w+", before))
    assert len(marks) == 1
    mark = marks.pop()
    module.write_bytes(before.replace(mark, mark[:-1] + (b"0" if mark[-1:] != b"0" else b"1")))
    done = program(IMPORTS + "\n    print(squash.__name__)", cwd=folder)
    assert done.stdout == "squash\n" and mark in module.read_bytes()


@pytest.mark.skipif(
    not GUIDE, reason="the guide's files are not there: name their folder in PYKERNELS_TEST_POPXL_FILES"
)
def test_the_guide(tmp_path: Path) -> None:
    folder = shutil.copytree(GUIDE, tmp_path / "guide", ignore=shutil.ignore_patterns("*.so", ".rendered*"))
    arguments = ("--alpha", "0.1", "--input_data", "-1", "2", "-3")
    done = python("-m", "pykernels", "run", "run_leaky_relu.py", *arguments, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == "RESULT X: [-0.1  2.  -0.3]"
