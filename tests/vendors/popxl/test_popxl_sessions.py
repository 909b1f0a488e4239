"""Runs of PopXL's graphs: streams, variables on the host and on the device, and what does not fit."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from process import program, python

import pykernels.vendors.popxl as popxl
from pykernels.vendors.popxl import ops


class Counter(NamedTuple):
    """A graph that adds what it loads to a variable, and stores the variable."""

    ir: popxl.Ir
    added: popxl.HostToDeviceStream
    total: popxl.Variable
    stored: popxl.DeviceToHostStream


def counter(shape: tuple[int, ...] = (2,), transfers: int = 1) -> Counter:
    ir = popxl.Ir()
    ir.num_host_transfers = transfers
    with ir.main_graph, popxl.in_sequence():
        added = popxl.h2d_stream(shape, popxl.float32, name="added")
        total = popxl.variable(np.zeros(shape), popxl.float32, name="total")
        stored = popxl.d2h_stream(shape, popxl.float32, name="stored")
        for _ in range(transfers):
            ops.add_(total, ops.host_load(added))
            ops.host_store(stored, total)
    return Counter(ir, added, total, stored)


ONES = np.ones(2, "float32")


def test_variables_keep_their_values_from_run_to_run() -> None:
    ir, added, total, stored = counter()
    session = popxl.Session(ir, "ipu_model")
    assert session.expected_inputs() == [added] and not session.is_attached
    with session:
        for n in (1, 2, 3):
            np.testing.assert_array_equal(session.run({added: ONES})[stored], n * ONES)
            np.testing.assert_array_equal(session.get_tensor_data(total), n * ONES)
    np.testing.assert_array_equal(session.get_tensor_data(total), 3 * ONES)
    with session as same:
        assert same is session and session.is_attached
        np.testing.assert_array_equal(session.run({added: ONES})[stored], 4 * ONES)


def test_threads_run_a_session_in_turns() -> None:
    ir, added, total, _ = counter()
    with popxl.Session(ir) as session, ThreadPoolExecutor(8) as pool:
        for run in [pool.submit(session.run, {added: ONES}) for _ in range(200)]:
            run.result()
        np.testing.assert_array_equal(session.get_tensor_data(total), 200 * ONES)


def test_without_copying_at_the_end_the_host_keeps_its_values() -> None:
    ir, added, total, _ = counter()
    with popxl.Session(ir, weights_to_host_on_exit=False) as session:
        session.run({added: ONES})
    assert not session.get_tensor_data(total).any()


def test_writing_variables() -> None:
    ir, added, total, stored = counter()
    session = popxl.Session(ir)
    session.write_variable_data(total, 5 * ONES)
    with session:
        session.run({added: ONES})
        session.write_variable_data(total, 10 * ONES)
        np.testing.assert_array_equal(session.run({added: ONES})[stored], 11 * ONES)
        found = session.get_tensors_data([total])[total]
        found[:] = 0  # a copy
        np.testing.assert_array_equal(session.get_tensor_data(total), 11 * ONES)


def test_writing_one_variable_keeps_what_runs_made_of_others() -> None:
    ir = popxl.Ir()
    with ir.main_graph:
        a, b = popxl.variable(0.0), popxl.variable(0.0)
        ops.add_(a, popxl.constant(1.0))
    with popxl.Session(ir) as session:
        session.run()
        session.write_variable_data(b, 7.0)
        assert [session.get_tensor_data(t).item() for t in (a, b)] == [1, 7]


def test_nested_contexts_are_one() -> None:
    ir, added, total, _ = counter()
    with popxl.Session(ir) as session:
        with session:
            session.run({added: ONES})
        assert session.is_attached
        session.run({added: ONES})
    np.testing.assert_array_equal(session.get_tensor_data(total), 2 * ONES)


def test_several_transfers_in_a_run() -> None:
    ir, added, _, stored = counter(transfers=3)
    data = np.arange(6, dtype="float32").reshape(3, 2)
    with popxl.Session(ir) as session:
        np.testing.assert_array_equal(session.run({added: data})[stored], data.cumsum(0))
        outputs = session.create_host_outputs()
        assert outputs[stored].shape == (3, 2)
        session.run_with_outputs({added: data}, outputs)
        np.testing.assert_array_equal(outputs[stored], data.sum(0) + data.cumsum(0))


def test_streams_in_called_and_repeated_graphs() -> None:
    ir = popxl.Ir()
    ir.num_host_transfers = 4
    with ir.main_graph:
        stream, out = popxl.h2d_stream((), popxl.int32), popxl.d2h_stream((), popxl.int32)

        def step(total: Any) -> Any:
            total = total + ops.host_load(stream)
            ops.host_store(out, total)
            return total

        zero = popxl.constant(0)
        ops.repeat(ir.create_graph(step, zero), 4, zero)
    assert ir.get_all_h2d_streams() == {stream} and ir.get_all_d2h_streams() == {out}
    with popxl.Session(ir) as session:
        assert session.run({stream: [1, 2, 3, 4]})[out].tolist() == [1, 3, 6, 10]


@pytest.mark.parametrize("data", [[0.5, 2], np.array([0.5, 2]), (np.float64(0.5), 2), [1, 2]])
def test_64_bits_become_32_and_integers_of_python_what_is_wanted(data: Any) -> None:
    ir, added, _, stored = counter()
    with popxl.Session(ir) as session:
        assert session.run({added: data})[stored].dtype == "float32"


def test_one_number_has_any_number_of_axes() -> None:
    ir, added, _, stored = counter((1, 1))
    with popxl.Session(ir) as session:
        assert session.run({added: 2.5})[stored].tolist() == [[2.5]]


WRONG: dict[str, tuple[Callable[[Counter, popxl.Session], Any], type[Exception], str]] = {
    "shape": (
        lambda c, s: s.run({c.added: np.zeros((3, 2), "float32")}),
        ValueError,
        "Session.run: an array of float32 (3, 2) is given for HostToDeviceStream[added popxl.float32 (2,)]; shapes "
        "must agree",
    ),
    "dtype": (
        lambda c, s: s.run({c.added: np.zeros(2, "int32")}),
        ValueError,
        "Session.run: an array of int32 (2,) is given for HostToDeviceStream[added popxl.float32 (2,)]; convert it to "
        "float32",
    ),
    "numbers": (lambda c, s: s.run({c.added: [2**24 + 1, 0]}), ValueError, "an array of int32 (2,) is given for"),
    "not downcast": (
        lambda c, s: s.run({c.added: np.zeros(2)}, downcast_inputs=False),
        ValueError,
        "an array of float64 (2,) is given for HostToDeviceStream[added",
    ),
    "no numbers": (lambda c, s: s.run({c.added: ["a", "b"]}), ValueError, "['a', 'b'] is not an array of numbers"),
    "missing": (
        lambda c, s: s.run(),
        ValueError,
        "Session.run: inputs has no data for HostToDeviceStream[added popxl.float32 (2,)]",
    ),
    "unknown": (
        lambda c, s: s.run({c.added: ONES, counter().added: ONES}),
        ValueError,
        "inputs has data for HostToDeviceStream[added popxl.float32 (2,)], which the graph does not use",
    ),
    "key": (
        lambda c, s: s.run({"added": ONES}),
        TypeError,
        "Session.run: inputs has the key 'added'; it must be a popxl.HostToDeviceStream",
    ),
    "outputs": (
        lambda c, s: s.run_with_outputs({c.added: ONES}, {c.stored: np.zeros(3, "float32")}),
        ValueError,
        "an array of float32 (3,) is given for DeviceToHostStream[stored popxl.float32 (2,)]",
    ),
    "no outputs": (
        lambda c, s: s.run_with_outputs({c.added: ONES}),
        ValueError,
        "outputs has no data for DeviceToHostStream[stored",
    ),
    "data of no variable": (
        lambda c, s: s.get_tensor_data(ops_tensor(c)),
        TypeError,
        "is neither a variable nor a constant",
    ),
    "data of another graph": (
        lambda c, s: s.get_tensor_data(counter().total),
        ValueError,
        "Session.get_tensor_data: Variable[total popxl.float32 (2,)] is of another popxl.Ir than the session",
    ),
    "written dtype": (
        lambda c, s: s.write_variable_data(c.total, np.zeros(2)),
        TypeError,
        "Variable[total popxl.float32 (2,)] cannot have a value of float64",
    ),
    "written shape": (
        lambda c, s: s.write_variable_data(c.total, np.zeros(3, "float32")),
        ValueError,
        "Variable[total popxl.float32 (2,)] cannot have a value of the shape (3,)",
    ),
    "written tensor": (
        lambda c, s: s.write_variable_data(ops_tensor(c), ONES),
        TypeError,
        "Session.write_variable_data: Tensor[",
    ),
}


def ops_tensor(c: Counter) -> Any:
    return c.ir.main_graph.ops[0].outputs[0]


@pytest.mark.parametrize("what", WRONG)
def test_data_that_do_not_fit_are_refused_and_change_nothing(what: str) -> None:
    call, error, text = WRONG[what]
    made = counter()
    with popxl.Session(made.ir) as session:
        with pytest.raises(error, match=re.escape(text)):
            call(made, session)
        assert not session.get_tensor_data(made.total).any()
        session.run({made.added: ONES})


@pytest.mark.parametrize("method", ["run", "run_with_outputs", "weights_to_host", "weights_from_host"])
@pytest.mark.parametrize("before", [True, False])
def test_outside_of_with_a_session_does_not_run(method: str, before: bool) -> None:
    session = popxl.Session(counter().ir)
    if not before:
        with session:
            pass
    with pytest.raises(ValueError, match=f"Session.{method}: the session is not open"):
        getattr(session, method)()


@pytest.mark.parametrize(
    ("device", "text"),
    [
        ("ipu_hw", "popxl.Session: 'ipu_hw': there is no IPU here; choose one of cpu, ipu_model"),
        ("gpu", "popxl.Session: 'gpu': choose one of cpu, ipu_model"),
    ],
)
def test_there_is_no_ipu(device: str, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        popxl.Session(counter().ir, device)


def test_an_ir_that_has_a_session_cannot_be_changed() -> None:
    made = counter()
    popxl.Session(made.ir)
    with made.ir.main_graph, pytest.raises(RuntimeError, match="belongs to a popxl.Session"):
        ops.relu(made.total)
    with pytest.raises(RuntimeError, match="belongs to a popxl.Session"):
        made.ir.num_host_transfers = 2
    popxl.Session(made.ir)  # others may run it


def test_the_number_of_transfers_has_to_be_that_of_loads_and_stores() -> None:
    made = counter()
    made.ir.num_host_transfers = 2
    text = "HostToDeviceStream[added popxl.float32 (2,)] is loaded 1 times in a run, but num_host_transfers of its"
    with pytest.raises(ValueError, match=re.escape(text)):
        popxl.Session(made.ir)


def test_ops_that_onnx_runtime_lacks_are_refused() -> None:
    ir = popxl.Ir()
    with ir.main_graph:
        t = ops.cos(popxl.variable(0.0, popxl.float64))
        ops.host_store(popxl.d2h_stream(t.shape, t.dtype), t)
    with pytest.raises(ValueError, match=r"popxl.Session: ONNX Runtime \S+ refuses the graph: .*Cos"):
        popxl.Session(ir)


def test_the_error_of_an_op_is_reported() -> None:
    ir = popxl.Ir()
    with ir.main_graph:
        index = popxl.h2d_stream((), popxl.int32)
        t = ops.gather(popxl.variable(np.zeros(3)), ops.host_load(index))
        ops.host_store(popxl.d2h_stream(t.shape, t.dtype), t)
    with popxl.Session(ir) as session:
        session.run({index: 2})
        with pytest.raises(ValueError, match=r"Session.run: .*indices element out of data bounds"):
            session.run({index: 3})


FORK = """
    import os, sys
    import pykernels.vendors.popxl as popxl
    from pykernels.vendors.popxl import ops

    def made():
        ir = popxl.Ir()
        with ir.main_graph:
            t = ops.gelu(popxl.variable([1.0] * 100_000))
            stream = popxl.d2h_stream(t.shape, t.dtype)
            ops.host_store(stream, t)
        return popxl.Session(ir), stream

    session, stream = made()
    with session:
        session.run()
        child = os.fork()
        if child == 0:
            try:
                session.run()
            except RuntimeError as error:
                print(error)
            other, stream = made()
            with other:
                print(round(float(other.run()[stream][-1]), 3), flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(round(float(session.run()[stream][0]), 3))
"""


def test_a_forked_process_makes_its_own_sessions(tmp_path: Path) -> None:
    done = program(FORK, cwd=tmp_path)
    refused, in_child, in_parent = done.stdout.splitlines()
    assert re.fullmatch(
        r"Session.run: the session was made in process \d+, from which this one was forked; make another in this "
        r"process \[PK400\]",
        refused,
    )
    assert in_child == in_parent == "0.841"


SCRIPT = """
import popxl
import popxl.ops as ops
from popxl.context import get_current_context, op_debug_context
from popxl.tensor import Tensor
from popxl.ops.call import CallSiteInfo
import popxl.transforms as transforms
from popxl.transforms.autodiff import GradGraphInfo
print(popxl.__name__, ops.CallSiteInfo is CallSiteInfo, isinstance(popxl.float32, popxl.dtype))
print(ops.call.__name__, transforms.autodiff.__name__)  # the functions, not the modules of these names
print(popxl.ops.conv)
"""


def test_scripts_get_the_package_and_errors_that_name_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = python("-m", "pykernels", "run", "script.py", cwd=tmp_path)
    assert done.stdout == "pykernels.vendors.popxl True True\ncall autodiff\n"
    last = done.stderr.splitlines()[-1]
    assert ": popxl.ops.conv is not provided by pykernels.vendors.popxl.ops: popxl.ops has CallSiteInfo, abs," in last


@pytest.mark.parametrize("name", ["popxl.RemoteBuffer", "popxl.transforms.merge", "popxl.ops.var_updates.adam_updater"])
def test_every_module_names_what_it_lacks(name: str) -> None:
    module, _, last = name.rpartition(".")
    place = {
        "popxl": popxl,
        "popxl.transforms": popxl.transforms,
        "popxl.ops.var_updates": ops.var_updates,
    }[module]
    with pytest.raises(AttributeError, match=f"^{re.escape(name)} is not provided by pykernels.vendors.popxl"):
        getattr(place, last)
