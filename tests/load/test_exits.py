"""Files of op folders that end the program, or never end: an error that says where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from folders import PROP, write_op

from pykernels.base import python_files
from pykernels.base.errors import DefinitionError, KernelError, LoadError
from pykernels.load.module import OpModule

IDENTITY = "def forward(args):\n    return args[0]\n\n\ndef backward(args):\n    return args[0]\n"


def _module(folder: Path) -> OpModule:
    return OpModule(folder.name, folder).py_api().cpp_def().py_kernel()


def test_in_a_kernel_file(tmp_path: Path) -> None:
    module = _module(write_op(tmp_path, "leaving_file", "import sys\n\nsys.exit(3)\n"))
    with pytest.raises(LoadError, match=r"leaving_file_py_kernel\.py:3: SystemExit: 3"):
        _ = module.source


@pytest.mark.parametrize(
    ("text", "line"),
    [("import os\n\nos._exit(3)\n", 3), ("def forward(args):\n    from os import _exit\n    _exit(1)\n", 2)],
)
def test_at_once(tmp_path: Path, text: str, line: int) -> None:
    module = _module(write_op(tmp_path, "leaving_at_once", text))
    with pytest.raises(LoadError, match=rf"leaving_at_once_py_kernel\.py:{line}: os\._exit ends the process"):
        _ = module.source


@pytest.mark.parametrize("body", ["pass", "try:\n        len(())\n    except Exception:\n        pass"])
def test_never(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    monkeypatch.setattr(python_files, "_LONGEST", 0.2)
    module = _module(write_op(tmp_path, "endless_file", f"while True:\n    {body}\n"))
    with pytest.raises(LoadError, match=r"endless_file_py_kernel\.py:\d: the file ran for more than 0 s"):
        _ = module.source


def test_in_a_definition(tmp_path: Path) -> None:
    definition = PROP + "        def __init__(self):\n            raise SystemExit('enough')\n"
    module = _module(write_op(tmp_path, "leaving_prop", IDENTITY, definition.replace("        pass\n", "")))
    with pytest.raises(DefinitionError, match=r"leaving_prop_py_def\.py:\d+: .*enough"):
        _ = module.definition


def test_in_the_inference_of_a_definition(tmp_path: Path) -> None:
    definition = PROP + "        def infer_shape(self, in_shape):\n            raise SystemExit('enough')\n"
    module = _module(write_op(tmp_path, "leaving_shapes", IDENTITY, definition.replace("        pass\n", "")))
    with pytest.raises(DefinitionError, match=r"leaving_shapes_py_def\.py:\d+: .*enough"):
        module.build_load().api.leaving_shapes(np.ones(3))


@pytest.mark.filterwarnings("ignore::pykernels.PykernelsWarning")
def test_in_a_kernel(tmp_path: Path) -> None:
    # Not sys.exit, in whose place OneFlow puts a function of its own.
    kernel = "\n\n\n" + IDENTITY.replace("    return", "    raise SystemExit(4)\n    return", 1)
    module = _module(write_op(tmp_path, "leaving_kernel", kernel))
    with pytest.raises(KernelError, match=r"leaving_kernel_py_kernel\.py:5: forward raised SystemExit: 4"):
        module.build_load().api.leaving_kernel(np.ones(3))
