"""Ops give the same in every installed framework as on NumPy's arrays, forward and backward, eagerly and in graphs."""

from __future__ import annotations

import importlib.util
import json
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.checking.execution import run_compiled
from pykernels.checking.findings import Skipped, Wrong
from pykernels.checking.hosts.case import Case, NodeCase, Outcome
from pykernels.checking.search import Subject
from pykernels.checking.slopes import read_seeds
from pykernels.checking.steps_of import steps_of
from pykernels.checking.values import Kind, draw_sample
from pykernels.module import OpModule
from pykernels.samples import Sample
from pykernels.steps import Step, forward_step, gradient

__all__ = ["check"]

#: What is called how in messages, by package.
_FRAMEWORKS = {"mxnet": "MXNet", "oneflow": "OneFlow", "torch": "PyTorch", "onnxruntime": "ONNX Runtime"}
# The seconds that a process may take.
_LIMIT = 120


def check(subject: Subject) -> str:
    """Call the op in each framework, in a process of its own."""
    if not subject.module.forward.inputs:
        raise Skipped("the op has no inputs, which tell frameworks apart")
    installed = [package for package in _FRAMEWORKS if _is_installed(package)]
    if not installed:
        raise Skipped(f"none is installed of {', '.join(_FRAMEWORKS.values())}")
    samples = _samples(subject)
    if not samples:
        raise Skipped("there is no call all of whose arrays have axes and elements")
    told = [
        f"{name}: {', '.join(_run(subject.module, package, samples))}"
        if package in installed
        else f"{name} is not installed"
        for package, name in _FRAMEWORKS.items()
    ]
    return "; ".join(told)


def _is_installed(package: str) -> bool:
    needed = [package, "onnx"] if package == "onnxruntime" else [package]
    specs = [importlib.util.find_spec(each) for each in needed]
    # A mere folder of that name has no origin.
    return all(spec is not None and spec.origin is not None for spec in specs)


def _samples(subject: Subject) -> list[Sample]:
    """A few calls whose arrays have axes and elements, as some frameworks want it."""
    if subject.given is not None:
        return [sample for sample in subject.given if all(a.ndim and a.size for group in sample.inputs for a in group)]
    dtype = subject.forms[0].dtype
    found: list[Sample] = []
    for form in subject.forms:
        if form.dtype == dtype and all(spec.shape and 0 not in spec.shape for group in form.specs for spec in group):
            sample = draw_sample(form, [Kind.OWN], len(found))
            try:
                list(steps_of(subject, sample))
            except Exception:  # refused, or found by other checks
                continue
            found.append(sample)
    # The smallest, the largest, and one between.
    return [found[i] for i in sorted({0, len(found) // 2, len(found) - 1})] if found else []


def _run(module: OpModule, package: str, samples: Sequence[Sample]) -> list[str]:
    """The ways in which a framework was tried."""
    cases = [_case(module, sample) for sample in samples]
    with tempfile.TemporaryDirectory(prefix="pykernels-check-") as directory:
        request = Path(directory, "request")
        request.write_bytes(pickle.dumps((str(module.path), cases)))
        command = [sys.executable, "-m", "pykernels.checking.hosts", package, str(request)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT, check=False)
            output, ended = done.stdout, _how(done.returncode, done.stderr)
        except subprocess.TimeoutExpired as error:
            output = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
            ended = f"takes more than {_LIMIT} s"
    lines = [json.loads(line) for line in output.splitlines()]
    name = _FRAMEWORKS[package]
    for line in lines:
        if "wrong" in line:
            raise Wrong(f"{name}, {line['way']}: {line['wrong']}", samples[line["case"]])
    if not lines or "done" not in lines[-1]:
        last: dict[str, Any] = lines[-1] if lines else {"way": "loading the op", "case": 0}
        raise Wrong(f"{name}, {last['way']}: the process {ended}", samples[last["case"]])
    return list(dict.fromkeys(line["way"] for line in lines if "way" in line))


def _how(code: int, said: str) -> str:
    last = [line for line in said.splitlines() if line.strip()][-1:]
    how = f"is ended by {signal.Signals(-code).name}" if code < 0 else f"ends with exit code {code}"
    return f"{how}{f': {last[0]}' if last else ''}"


def _case(module: OpModule, sample: Sample) -> Case:
    op = module.forward
    expected = {is_train: _expected(module, sample, is_train=is_train) for is_train in (True, False)}
    defaults = {attribute.name: attribute.default for attribute in op.attributes}
    given = {name: value for name, value in sample.attributes.items() if value != defaults[name]}
    outcome, seeds, nodes = expected[False]
    return Case(
        op.name,
        {argument.name: group for argument, group in zip(op.inputs, sample.inputs)},
        given,
        {argument.name: argument.count for argument in op.outputs},
        seeds,
        list(expected[True][0].gradients),
        [argument.name for argument in op.inputs if argument.mutable],
        {True: expected[True][0], False: outcome},
        nodes,
    )


def _expected(module: OpModule, sample: Sample, *, is_train: bool) -> tuple[Outcome, list[np.ndarray], list[NodeCase]]:
    step = forward_step(module, sample, is_train=is_train)
    count = sum(len(group) for group in step.outputs)
    outputs = run_compiled(step)[:count]
    nodes = [_node(step)]
    if step.op.gradient is None:
        return Outcome(outputs, {}, is_train), [], nodes
    found = gradient(module, step)
    for each in found.steps:
        run_compiled(each)
        nodes.append(_node(each))
    # What the gradient does not read is constant, so its seed must not matter to the framework either.
    seeds = [seed for group in found.seeds for seed in group]
    gradients = {place: values.copy() for place, values in found.bound.items() if values.dtype.kind == "f"}
    return Outcome(outputs, gradients if any(s is not None for s in read_seeds(found)) else {}, is_train), seeds, nodes


def _node(step: Step) -> NodeCase:
    outputs = [array.copy() for group in step.outputs for array in group]
    counts = [len(group) for group in step.outputs]
    inputs = [[array.copy() for array in group] for group in step.inputs]
    return NodeCase(step.op.name, inputs, dict(step.attributes), counts, outputs)
