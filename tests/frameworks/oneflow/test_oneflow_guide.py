"""OneFlow's page "Extending Op with Python": its files and its script as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

import process
import pytest
from quick import thorough

GUIDE = process.CHECKOUT.parent / "shared" / "guides" / "oneflow_extending_op_with_python.md"
pytestmark = pytest.mark.skipif(not GUIDE.exists(), reason=f"the guide is not at {GUIDE}")

GRADIENT = """
x = flow.tensor([-2.0, -1.0, 0.0, 1.0, 2.0], requires_grad=True)
user_relu_op.api.user_relu_forward(x).sum().backward()
print(x.grad.tolist())
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """The guide's script, beside the folder with the guide's three files."""
    blocks = re.findall(r"^```(?:cpp|c\+\+|python)\n(.*?)^```$", GUIDE.read_text(), re.M | re.S)

    def chosen(*beginnings: str) -> str:
        found = [block for block in blocks if block.startswith(beginnings)]
        assert len(found) == len(beginnings)
        return "\n".join(found)

    files = {
        "user_relu/user_relu_cpp_def.cpp": chosen(
            "#include", 'REGISTER_USER_OP("user_relu_backward")', "REGISTER_USER_OP_GRAD"
        ),
        "user_relu/user_relu_py_api.py": chosen("import oneflow as flow\n\ndef user_relu_forward"),
        "user_relu/user_relu_py_kernel.py": chosen("import numpy as np\n\ndef forward", "def backward"),
        "script.py": chosen("import oneflow as flow\nimport numpy"),
    }
    (tmp_path / "user_relu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path / "script.py"


@pytest.mark.parametrize("way", ["run", *thorough("import", "run -m")])
def test_the_guide_runs_as_printed(script: Path, way: str) -> None:
    arguments = {
        "import": ["with_import.py"],
        "run": ["-m", "pykernels", "run", "script.py"],
        "run -m": ["-m", "pykernels", "run", "-m", "script"],
    }
    text = f"import pykernels.vendors.oneflow_legacy\n{script.read_text()}{GRADIENT}"
    (script.parent / "with_import.py").write_text(text)
    done = process.python(*arguments[way], cwd=script.parent)
    assert done.returncode == 0, done.stderr
    shown = "[-2. -1.  0.  1.  2.]\n[-0. -0.  0.  1.  2.]\n"
    assert done.stdout == shown + ("[0.0, 0.0, 0.0, 1.0, 1.0]\n" if way == "import" else "")
    # The guide's gradient speaks of x and y, its op of in and out.
    assert done.stderr.count("PykernelsWarning") == 1
    assert "The gradient was read by position, because the op has one input and one output" in done.stderr


def test_the_script_needs_these_names(script: Path) -> None:
    done = process.python("script.py", cwd=script.parent)
    assert done.returncode == 1
    assert "No module named 'oneflow.typing'" in done.stderr
