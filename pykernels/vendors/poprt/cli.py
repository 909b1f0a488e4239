"""PopRT's command line on the CPU: ``python -m pykernels run -m poprt.cli``."""

from __future__ import annotations

import argparse
import contextlib
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pykernels.base.errors import CallError, PykernelsError
from pykernels.build.output import replacing
from pykernels.vendors.poprt import arrays, models, options, running
from pykernels.vendors.poprt.passes import (
    Pass,
    PassManager,
    get_pass,
    get_registered_passes,
    onnx_helper,
    shape_inference,
)
from pykernels.vendors.poprt.types import describe
from pykernels.vendors.poprt.user_files import run_file

if TYPE_CHECKING:
    import numpy as np
    import onnx


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, with the arguments of the process or these; return the exit code."""
    given = options.parse(arguments)
    if given.ignored and given.logging_level not in ("ERROR", "CRITICAL"):
        print(f"poprt: ignored, since there is no IPU: {', '.join(dict.fromkeys(given.ignored))}", file=sys.stderr)
    try:
        _run(given)
    except Exception as error:
        if given.verbose:
            traceback.print_exception(error)
        # Report unexpected errors in one line, too.
        kind = "" if isinstance(error, PykernelsError) else f"{type(error).__name__}: "
        print(f"poprt: {kind}{' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


def _run(given: argparse.Namespace) -> None:
    for path in given.custom_pass_config:
        run_file(path, "--custom_pass_config")
    if given.list_all_passes:
        print("\n".join(get_registered_passes()))
    if given.input_model is None:
        return
    running.check_libraries(given.custom_library_so_paths)
    model = _convert(given)
    if given.show:
        _show(model)
    with contextlib.ExitStack() as stack:
        # Check that the files can be written before the run; they appear when all is done.
        made = {path: stack.enter_context(replacing([path]))[path] for path in _written(given)}
        if given.run or given.check:
            outputs = _run_model(model, given)
            if given.save_outputs:
                with made[given.save_outputs].open("wb") as file:
                    arrays.write_outputs(file, outputs)
        output = _output_model(given)
        if output is not None:
            made[output].write_bytes(model.SerializeToString())


def _convert(given: argparse.Namespace) -> onnx.ModelProto:
    """Return the model to show, run and write."""
    if given.precision.startswith("fp8"):
        raise CallError(
            f"--precision {given.precision}: there is no IPU, which could compute with it; use fp16 or fp32"
        )
    passes = PassManager([_find_pass(name, given) for name in given.passes if name not in given.skip_passes])
    model = models.read_model(given.input_model)
    if given.batch_size is not None:
        models.set_batch_size(model, given.batch_size, given.batch_axis)
    models.set_input_shapes(model, dict(given.input_shape))
    if given.remove_outputs:
        models.remove_outputs(model, given.remove_outputs)
    if given.convert_version is not None:
        model = models.convert_opset(model, given.convert_version)
    for path in given.custom_shape_inference:
        run_file(path, "--custom_shape_inference")
    model = passes.run(shape_inference.infer_shapes(model))
    if given.passes:
        model = shape_inference.infer_shapes(model)
    models.add_outputs(model, given.checkpoints)
    return models.to_float16(model, given.fp16_skip_op_types) if given.precision == "fp16" else model


def _find_pass(name: str, given: argparse.Namespace) -> Pass:
    arguments = {
        "constant_folding": {"max_tensor_size": given.max_tensor_size},
        "float_to_half": {"skip_op_types": given.fp16_skip_op_types},
    }
    return get_pass(name, **arguments.get(name, {}))


def _run_model(model: onnx.ModelProto, given: argparse.Namespace) -> dict[str, np.ndarray]:
    """Run the model, measure it if requested, and return the outputs."""
    import onnxruntime

    libraries = given.custom_library_so_paths
    inferred = [name for node in shape_inference.served_nodes(model) for name in node.output if name]
    session = running.session(running.exposing(model, inferred) if inferred else model, libraries)
    wanted = session.get_inputs()
    inputs = arrays.read_inputs(given.input_data, wanted) if given.input_data else arrays.random_inputs(wanted)
    if inferred:
        running.check_types(model, running.run(session, inputs))
        session = running.session(model, libraries)
    outputs = running.run(session, inputs)
    if not given.run:
        return outputs
    batch_size, seconds = running.measure(session, inputs)
    print(f"Bs: {batch_size}")
    print(f"Latency: {seconds * 1e3:.{2 if seconds > 1e-3 else 4}f}ms")
    print(f"Tput: {batch_size / seconds:.0f}")
    print(f"Device: CPU ({', '.join(session.get_providers())} of ONNX Runtime {onnxruntime.__version__})")
    return outputs


def _show(model: onnx.ModelProto) -> None:
    for value in models.inputs_of(model):
        print(f"input {value.name}: {describe(value)}")
    for node in model.graph.node:
        for name in filter(None, node.output if node.domain else ()):
            value = onnx_helper.find_value_info(model.graph, name)
            print(f"{node.domain}::{node.op_type} {name}: {describe(value) if value else 'of unknown type'}")
    for value in model.graph.output:
        print(f"output {value.name}: {describe(value)}")


def _written(given: argparse.Namespace) -> list[Path]:
    model, outputs = _output_model(given), given.save_outputs
    if model is not None and outputs is not None and model.absolute() == outputs.absolute():
        raise CallError(f"{model} cannot be both the converted model and the outputs (--save_outputs)")
    return [path for path in (model, outputs) if path is not None]


def _output_model(given: argparse.Namespace) -> Path | None:
    """Return the path of the converted model; None if it is not written."""
    if given.output_model is None and given.output_dir is None:
        return None
    name = given.output_model or f"{given.input_model.name}.optimized.onnx"
    return (given.output_dir or Path()) / name


if __name__ == "__main__":
    sys.exit(main())
