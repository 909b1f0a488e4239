"""The options of ``poprt``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

__all__ = ["parse"]

#: What only an IPU and its compiler could honour, by the number of values.
_IPU: dict[int | str, tuple[str, ...]] = {
    0: (
        *("disable_compilation_progress_bar", "disable_fast_norm", "eightbitsio", "enable_insert_remap"),
        *("export_popef", "optimize_internal_exchange_code", "perf_tuner"),
    ),
    1: (
        *("available_memory_proportion", "batches_per_step", "ipu_version", "manual_sharding_config"),
        *("num_io_tiles", "remap_mode", "merge_matmul", "merge_matmul_add", "merge_moe"),
    ),
    "+": ("compiler_options", "popart_options", "serialize_matmul", "serialize_matmul_add"),
}


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options; ``ignored`` lists those that only an IPU could honour."""
    parser = argparse.ArgumentParser(
        "poprt",
        description="Convert an ONNX model and run it, with custom ops, by ONNX Runtime on the CPU.",
        usage="%(prog)s --input_model MODEL [OPTION ...]",
        # One name each, as in the tables of the documentation.
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-i", "--input_model", type=Path, required=True, metavar="MODEL", help="the ONNX model")
    add("--input_shape", nargs="+", type=_shape, default=[], metavar="NAME=N,N,...", help="shapes of inputs")
    libraries = "libraries of custom ops, made by python -m pykernels build --onnx"
    add("--custom_library_so_paths", nargs="+", type=Path, default=[], metavar="LIBRARY", help=libraries)
    add("--custom_shape_inference", type=Path, metavar="FILE", help="a Python file with shape functions")
    add("--convert_version", type=int, metavar="N", help="convert the model to this opset version")
    add("--precision", choices=["fp32", "fp16"], default="fp32", help="fp16: float16 in place of float32")
    add("--output_model", metavar="NAME", help="write the converted model, to NAME in the output directory")
    add("--output_dir", type=Path, metavar="DIR", help="where to write it (.)")
    add("--show", action="store_true", help="show types and shapes of inputs, outputs, and outputs of custom ops")
    add("--run", action="store_true", help="run the model, on random data if there is no other, and measure it")
    add("--input_data", type=Path, metavar="FILE", help="an .npz file with the inputs of the run")
    add("--save_outputs", type=Path, metavar="FILE", help="an .npz file to write the outputs of the run to")
    add("-v", "--verbose", action="store_true", help="show where an error comes from")
    ipu = parser.add_argument_group("accepted and ignored, since there is no IPU")
    for count, names in _IPU.items():
        for name in names:
            ipu.add_argument(f"--{name}", nargs=count, action=_Ignore, dest="ignored", default=[], metavar="VALUE")
    options = parser.parse_args(arguments)
    if not options.run and (options.input_data or options.save_outputs):
        parser.error("--input_data and --save_outputs need --run")
    return options


class _Ignore(argparse.Action):
    """Remembers the name of the option."""

    def __call__(self, parser, namespace, values, option_string=None):  # type: ignore[no-untyped-def]
        namespace.ignored = [*namespace.ignored, option_string]


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    # Names of tensors may hold what separates them from shapes.
    name, _, sizes = text.rpartition("=")
    try:
        shape = tuple(int(size) for size in sizes.split(",") if size)
    except ValueError:
        shape = (-1,)
    if not name or any(size < 0 for size in shape):
        raise argparse.ArgumentTypeError(f"{text!r} is not an input and its shape, such as input_ids=1,512")
    return name, shape
