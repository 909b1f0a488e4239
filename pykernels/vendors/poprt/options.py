"""Parse the options of ``poprt``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

#: The options that only an IPU and its compiler support, by the number of their values.
_IPU: dict[int | str, tuple[str, ...]] = {
    0: (
        *("calibration_with_data", "disable_compilation_progress_bar", "disable_fast_norm", "eightbitsio"),
        *("enable_compress_pattern", "enable_erf_gelu", "enable_insert_remap", "export_popef"),
        *("fold_periodic_initializer", "merge_if_with_same_cond", "only_manual_sharding"),
        *("optimize_internal_exchange_code", "perf_tuner", "precision_compare"),
    ),
    1: (
        *("available_memory_proportion", "batches_per_step", "calibration_loss_type", "data_preprocess"),
        *("fp8_params", "fp8_skip_op_names", "ipu_version", "manual_sharding_config", "merge_matmul"),
        *("merge_matmul_add", "merge_moe", "num_io_tiles", "num_of_layers_keep_fp16", "remap_mode"),
    ),
    "+": ("apply_hcsr", "compiler_options", "popart_options", "serialize_matmul", "serialize_matmul_add"),
}
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the options; ``ignored`` lists those that only an IPU supports."""
    parser = argparse.ArgumentParser(
        "poprt",
        description="Convert an ONNX model and run it, with custom ops, by ONNX Runtime on the CPU.",
        usage="%(prog)s --input_model MODEL [OPTION ...]",
        # Each option has one name, as in the tables of the documentation.
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-i", "--input_model", type=Path, metavar="MODEL", help="the ONNX model")
    add("--input_shape", nargs="+", type=_shape, default=[], metavar="NAME=N,N,...", help="shapes of inputs")
    add("--batch_size", type=int, metavar="N", help="the size of all inputs along the axis of the batch")
    add("--batch_axis", type=int, default=0, metavar="AXIS", help="the axis of the batch (0)")
    libraries = "libraries of custom ops, made by python -m pykernels build --onnx or in PopART's C++"
    add("--custom_library_so_paths", nargs="+", type=Path, default=[], metavar="LIBRARY", help=libraries)
    shapes = "Python files with shape functions, with commas between them"
    add("--custom_shape_inference", type=_paths, default=[], metavar="FILE,...", help=shapes)
    add("--convert_version", type=int, metavar="N", help="convert the model to this opset version")
    add("--passes", type=_names, default=[], metavar="PASS,...", help="passes to apply, in this order")
    add("--skip_passes", type=_names, default=[], metavar="PASS,...", help="passes to leave out")
    add("--custom_pass_config", type=_paths, default=[], metavar="FILE,...", help="Python files with passes")
    add("--list_all_passes", action="store_true", help="list the passes that there are")
    add("--max_tensor_size", type=int, default=-1, metavar="BYTES", help="of what constant_folding makes (any)")
    add("--checkpoints", type=_names, default=[], metavar="TENSOR,...", help="further tensors to make outputs")
    add("--remove_outputs", type=_names, default=[], metavar="OUTPUT,...", help="outputs to take out of the model")
    add("--precision", choices=["fp32", "fp16", "fp8", "fp8_weight"], default="fp32", help="fp16: float16 for float32")
    skipped = "op types that keep float32 with --precision fp16"
    add("--fp16_skip_op_types", type=_names, default=[], metavar="OP_TYPE,...", help=skipped)
    add("--output_model", metavar="NAME", help="write the converted model, to NAME in the output directory")
    add("--output_dir", type=Path, metavar="DIR", help="where to write it (.)")
    add("--show", action="store_true", help="show types and shapes of inputs, outputs, and outputs of custom ops")
    add("--check", action="store_true", help="run the model once")
    add("--run", action="store_true", help="run the model, on random data if there is no other, and measure it")
    add("--input_data", type=Path, metavar="FILE", help="an .npz file with the inputs of the run")
    add("--save_outputs", type=Path, metavar="FILE", help="an .npz file to write the outputs of the run to")
    add("--framework", choices=["onnx"], default="onnx", help="what the model is of")
    add("--infer_shape_ahead", action="store_true", help="shapes are always inferred at the beginning")
    add("--logging_level", choices=_LEVELS, default="WARNING", help="ERROR: without the warning of what is ignored")
    add("-v", "--verbose", action="store_true", help="show where an error comes from")
    ipu = parser.add_argument_group("accepted and ignored, since there is no IPU")
    for count, names in _IPU.items():
        for name in names:
            ipu.add_argument(f"--{name}", nargs=count, action=_Ignore, dest="ignored", default=[], metavar="VALUE")
    options = parser.parse_args(arguments)
    if options.input_model is None and not options.list_all_passes:
        parser.error("the following arguments are required: -i/--input_model")
    if options.batch_size is not None and options.batch_size < 1:
        parser.error("--batch_size must be 1 or more")
    if not options.run and (options.input_data or options.save_outputs):
        parser.error("--input_data and --save_outputs need --run")
    return options


class _Ignore(argparse.Action):
    """Records the name of an ignored option."""

    def __call__(self, parser, namespace, values, option_string=None):  # type: ignore[no-untyped-def]
        namespace.ignored = [*namespace.ignored, option_string]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _paths(text: str) -> list[Path]:
    return [Path(name) for name in _names(text)]


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    # The name of a tensor may contain the separator, too.
    name, _, sizes = text.rpartition("=")
    try:
        shape = tuple(int(size) for size in sizes.split(",") if size)
    except ValueError:
        shape = (-1,)
    if not name or any(size < 0 for size in shape):
        raise argparse.ArgumentTypeError(f"{text!r} is not an input and its shape, such as input_ids=1,512")
    return name, shape
