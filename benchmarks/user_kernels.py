"""Compare kernels as users write them with plain NumPy, for ``benchmarks/kernels.py --users``."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from pykernels.call.arrays import ArrayCall
from pykernels.frameworks import timing
from pykernels.kernel.build import build_kernel
from pykernels.kernel.read.signature import Signature, TensorType
from pykernels.kernel.read.source import KernelSource

#: For each kernel an expression of its inputs `x` and `y`, or statements that end with one, and the number of columns
#: of each input; 0 if it has one axis.
KERNELS = {
    "columns": ("x[:, 2] - x[:, 0]", (4,)),
    "every second": ("x[:, ::2] * x[:, 1::2]", (64,)),
    "differences": ("np.diff(x)", (0,)),
    "range": ("np.ptp(x)", (0,)),
    "rows by columns": ("x * y", (1, 0)),
    "sum of single rows": ("x.sum(axis=1)", (1,)),
    "norm of rows": ("x / np.linalg.norm(x, axis=1, keepdims=True)", (64,)),
    "triangle": ("np.tril(x)", (64,)),
    "largest": ("np.argmax(x)", (0,)),
    "largest of rows": ("np.argmax(x, axis=1)", (10,)),
    "largest of long rows": ("np.argmax(x, axis=1)", (500,)),
    "largest of columns": ("np.argmax(x, axis=0)", (64,)),
    "without NaN": ("np.nanmean(x, axis=0)", (64,)),
    "rounded": ("np.round(x, 2)", (0,)),
    "convolution": ("np.convolve(x, x[:5])", (0,)),
    "product": ("np.maximum(x @ x.T[:, :16], 0)", (64,)),
    "selected": ("x[x > 0].sum()", (0,)),
    "sorted": ("np.sort(x)", (0,)),
    "stacked": ("np.stack((x, 2 * x))", (64,)),
    "stacked columns": ("np.stack((x[:, 2], x[:, 1], x[:, 0]), axis=1)", (4,)),
    "flipped": ("np.flip(x, 0)", (64,)),
    "rolled": ("np.roll(x, 3)", (0,)),
    "rolled rows": ("np.roll(x, 3, axis=1)", (64,)),
    "taken rows": ("np.take(x, np.arange(0, x.shape[0], 2), axis=0)", (64,)),
    "shifted": ("z = np.zeros(x.shape, x.dtype); z[1:] = x[:-1]; z", (64,)),
    "padded": ("z = np.zeros((x.shape[0] + 2, 66), x.dtype); z[1:-1, 1:-1] = x; z", (64,)),
    "interleaved": ("z = np.empty((x.shape[0], 128), x.dtype); z[:, ::2] = x; z[:, 1::2] = -x; z", (64,)),
    "axes exchanged": ("x.reshape((-1, 4, 4)).transpose((0, 2, 1))", (16,)),
    "sums of columns turned": ("x.T.sum(axis=1)", (64,)),
    "sums of rows turned": ("x.T.sum(axis=0)", (64,)),
    "places": ("np.nonzero(x > 1)[0]", (0,)),
}


def make_call(folder: Path, expression: str, inputs: Sequence[np.ndarray]) -> tuple[ArrayCall, Callable[[], None]]:
    """Return a call of an expression's kernel, and the same in plain NumPy into its own array."""
    path = folder / "kernel.py"
    names = "".join(f"{name}, " for name, _ in zip("xy", inputs))
    *statements, result = expression.split("; ")
    body = "".join(f"    {line}\n" for line in (f"{names}= args", *statements, f"return {result}"))
    path.write_text(f"import numpy as np\ndef forward(args):\n{body}")
    function = KernelSource(path).functions["forward"]
    wanted = np.asarray(function.function(tuple(inputs)))
    ours, numpys = (np.empty(wanted.shape, wanted.dtype) for _ in range(2))
    arrays = [*inputs, ours]
    tensors = [TensorType(array.dtype, array.ndim) for array in arrays]
    signature = Signature(tuple(tensors[:-1]), tuple(tensors[-1:]))
    kernel = build_kernel(function, "user", signature, ["y"], [array.shape for array in arrays])
    call = ArrayCall(kernel, inputs, [ours])
    compute = call.plain()

    def plain() -> None:
        numpys[...] = compute()

    return call, plain


def timers(size: int) -> Iterator[tuple[str, dict[str, timing.Timer]]]:
    """Yield timers of each kernel and NumPy, on inputs with about so many elements."""
    rng = np.random.default_rng(0)
    for name, (expression, columns) in KERNELS.items():
        # The number of rows of an outer product is the square root of its elements.
        rows = max(8, size) if len(columns) == 1 else max(8, int(size**0.5))
        shapes = [(rows,) if each == 0 else (max(1, rows // each), each) for each in columns]
        inputs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
        with tempfile.TemporaryDirectory() as folder:
            call, plain = make_call(Path(folder), expression, inputs)
            call.run()
            yield name, {"ours": timing.time_kernel(call), "NumPy": timing.time_python(plain)}
