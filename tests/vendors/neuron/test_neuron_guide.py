"""AWS Neuron's "Custom C++ Operators Developer Guide": its files and its Python as they are printed."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import process
import pytest
from quick import thorough

GUIDE = process.CHECKOUT.parent / "shared" / "guides" / "neuron_custom_cpp_operators.rst.txt"
pytestmark = pytest.mark.skipif(not GUIDE.exists(), reason=f"the guide is not at {GUIDE}")

INPUT = "import torch\nin_tensor = torch.tensor([1.0, -2.0, 0.5])\n"
OUTPUT = "print(out_tensor)\n"
SHOWN = "tensor([-1.0000,  2.0000, -0.5000])\n"


def _blocks() -> list[str]:
    found = re.findall(r"^::\n\n((?:   .*\n|\n)+)", GUIDE.read_text(), re.M)
    return [textwrap.dedent(block).strip() + "\n" for block in found]


def _block(*parts: str) -> str:
    (block,) = [block for block in _blocks() if all(part in block for part in parts)]
    return block


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the guide's two C++ files, and its Python as scripts."""
    place = tmp_path_factory.mktemp("guide")
    (place / "kernel.cpp").write_text(_block("tensor_negate_compute(const"))
    (place / "shape.cpp").write_text(_block("NEURON_LIBRARY(my_ops, m)"))
    call = next(block for block in _blocks() if block.startswith("import torch\n\nout_tensor"))
    (here,) = [block for block in _blocks() if "custom_op.load(" in block and "build_directory" not in block]
    # Bold print has strayed into its code, and the name of the library is left to the reader.
    ahead = _block("custom_op.load(", "build_directory").replace("*=*", "=")
    name = "name = 'my_ops'\n"
    (place / "build_and_call.py").write_text(name + here + INPUT + call + OUTPUT)
    (place / "build_ahead.py").write_text("import os\n" + name + ahead)
    (place / "load.py").write_text(INPUT + _block("load_library(").replace("/home/user", str(place)) + OUTPUT)
    return place


@pytest.mark.parametrize("way", ["run", *thorough("import", "run -m")])
def test_the_guide_runs_as_printed(place: Path, way: str) -> None:
    script = (place / "build_and_call.py").read_text()
    (place / "with_import.py").write_text(f"import pykernels.vendors.neuron\n{script}")
    arguments = {
        "import": ["with_import.py"],
        "run": ["-m", "pykernels", "run", "build_and_call.py"],
        "run -m": ["-m", "pykernels", "run", "-m", "build_and_call"],
    }
    done = process.python(*arguments[way], cwd=place)
    assert (done.returncode, done.stdout, done.stderr) == (0, SHOWN, "")


@pytest.mark.thorough
def test_a_library_is_built_in_one_process_and_loaded_in_another(place: Path) -> None:
    done = process.python("-m", "pykernels", "run", "build_ahead.py", cwd=place)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (place / "libmy_ops.so").is_file()
    # What loads it needs no compiler.
    done = process.python("-m", "pykernels", "run", "load.py", cwd=place, CXX="no-such-compiler")
    assert (done.returncode, done.stdout, done.stderr) == (0, SHOWN, "")
