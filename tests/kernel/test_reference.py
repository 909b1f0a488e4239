"""The plain NumPy run: its checks, and what they say."""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
import pytest
from compiled import build

from pykernels.base.errors import KernelError
from pykernels.kernel import reference
from pykernels.kernel.read.source import KernelSource


def run(folder: Path, body: str, x: np.ndarray, out: np.ndarray, signature: str = "args") -> None:
    path = folder / "op_py_kernel.py"
    path.write_text(f"import numpy as np\ndef forward({signature}):\n" + textwrap.indent(textwrap.dedent(body), "    "))
    kernel = KernelSource(path).functions["forward"]
    reference.run(kernel, "op_forward", (x,), (out,), ["y"], {})


def test_results_reach_the_outputs(tmp_path: Path) -> None:
    x = np.arange(4, dtype=np.float32)
    out = np.empty_like(x)
    run(tmp_path, "return args[0] * 2", x, out)
    assert (out == x * 2).all()
    run(tmp_path, "outs[0][...] = args[0] * 3", x, out, "args, outs")
    assert (out == x * 3).all()
    run(tmp_path, "return (args[0],)", x, out)
    assert (out == x).all()


def test_results_of_float16_are_rounded(tmp_path: Path) -> None:
    x = np.linspace(0, 1, 4).astype(np.float16)
    out = np.empty_like(x)
    run(tmp_path, "return args[0].astype(np.float32) / 3", x, out)
    np.testing.assert_array_equal(out, (x.astype(np.float32) / 3).astype(np.float16))
    with pytest.raises(KernelError, match="returned dtype int64 for output 'y', but the definition infers float16"):
        run(tmp_path, "return args[0].astype(int)", x, out)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("pass", "returned None. Return the output array"),
        ("return args[0], args[0]", r"returned 2 arrays, but the op has 1 outputs \(y\)"),
        ("return args[0][1:]", r"returned shape \(3,\) for output 'y', but the definition infers \(4,\)"),
        ("return args[0].astype('f8')", "returned dtype float64 for output 'y', but the definition infers float32"),
        ("return [args[0]]", "returned a list"),
        ("return ('text',)", "returned a str for output 'y'"),
        ("raise ValueError('too odd')", "raised ValueError: too odd"),
        ("args[0][0] = 1\nreturn args[0]", "raised ValueError: assignment destination is read-only. Inputs belong to"),
    ],
)
def test_what_is_wrong_is_reported_with_op_file_and_line(tmp_path: Path, body: str, told: str) -> None:
    x = np.ones(4, np.float32)
    with pytest.raises(KernelError, match=rf"op 'op_forward': {tmp_path}/op_py_kernel\.py:[23]: forward {told}"):
        run(tmp_path, body, x, np.empty_like(x))


def test_a_kernel_with_outs_must_not_return(tmp_path: Path) -> None:
    x = np.ones(4, np.float32)
    with pytest.raises(KernelError, match="must write into them, but returned a value"):
        run(tmp_path, "return outs[0]", x, np.empty_like(x), "args, outs")


def test_a_0d_result_keeps_the_definitions_dtype(tmp_path: Path) -> None:
    x = np.array(2, np.float32)
    out = np.empty_like(x)
    run(tmp_path, "return 1 / (1.0 + args[0])", x, out)
    assert out == np.float32(1 / 3)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="before NumPy 2, no number widens an array")
@pytest.mark.parametrize("number", ["np.sqrt(2 / np.pi)", "np.float64(3)", "SCALE", "np.exp(SCALE)"])
def test_a_number_that_widens_is_named_with_its_cure(tmp_path: Path, number: str) -> None:
    path = tmp_path / "op_py_kernel.py"
    text = "import numpy as np\nSCALE = np.float64(2)\ndef forward(args):\n    return args[0] * 2 + {}\n"
    x, out = np.ones(3, np.float32), np.zeros(3, np.float32)
    path.write_text(text.format(number))
    kernel = KernelSource(path).functions["forward"]
    with pytest.raises(KernelError) as raised:
        reference.run(kernel, "op_forward", (x,), (out,), ["y"], {})
    assert f"infers float32. {number} is a float64 number, which widens the array: write float({number})" in str(
        raised.value
    )
    path.write_text(text.format(f"float({number})"))
    kernel = KernelSource(path).functions["forward"]
    reference.run(kernel, "op_forward", (x,), (out,), ["y"], {})
    built = build(kernel, [x], [np.zeros_like(x)])
    assert built.facts.form == "elementwise"


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="before NumPy 2, no number widens an array")
def test_other_widened_results_name_no_number(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match=r"infers float32 \[PK300\]$"):
        run(
            tmp_path,
            "return args[0] * np.sqrt(args[0].sum(dtype=float))",
            np.ones(3, np.float32),
            np.ones(3, np.float32),
        )
