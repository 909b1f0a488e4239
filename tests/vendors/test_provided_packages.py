"""Packages that scripts find although they are not installed, and that are never shadowed where they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from process import python

SCRIPTS = {
    "run": ["-m", "pykernels", "run", "script.py"],
    "import": ["-c", "import pykernels.vendors.neuron; exec(open('script.py').read())"],
}
ABSENT = "No module named 'torch_neuronx"


def write(place: Path, text: str) -> None:
    (place / "script.py").write_text(text)


@pytest.mark.parametrize("way", SCRIPTS)
def test_a_package_that_is_absent_is_provided(tmp_path: Path, way: str) -> None:
    write(
        tmp_path,
        """
import importlib.util, sys
import torch_neuronx.xla_impl
import torch_neuronx as again
print(torch_neuronx is again, torch_neuronx.xla_impl is sys.modules["pykernels.vendors.neuron.xla_impl"])
print(torch_neuronx.__name__, torch_neuronx.__spec__.name, importlib.util.find_spec("torch_neuronx") is not None)
print("torch" in sys.modules)
""",
    )
    done = python(*SCRIPTS[way], cwd=tmp_path)
    own = "pykernels.vendors.neuron"
    assert (done.stderr, done.stdout) == ("", f"True True\n{own} {own} True\nFalse\n")


@pytest.mark.parametrize("way", SCRIPTS)
def test_a_package_that_is_there_is_not_shadowed(tmp_path: Path, way: str) -> None:
    (tmp_path / "torch_neuronx" / "xla_impl").mkdir(parents=True)
    (tmp_path / "torch_neuronx" / "__init__.py").write_text("")
    (tmp_path / "torch_neuronx" / "xla_impl" / "__init__.py").write_text("custom_op = 'the package'\n")
    write(tmp_path, "from torch_neuronx.xla_impl import custom_op\nprint(custom_op)\n")
    done = python(*SCRIPTS[way], cwd=tmp_path)
    assert (done.stderr, done.stdout) == ("", "the package\n")
    # Nor is it mixed with what it lacks.
    write(tmp_path, "import torch_neuronx.xla_impl.custom_op\n")
    assert f"{ABSENT}.xla_impl.custom_op'" in python(*SCRIPTS[way], cwd=tmp_path).stderr


@pytest.mark.parametrize("way", SCRIPTS)
def test_a_folder_that_is_no_package_hides_nothing(tmp_path: Path, way: str) -> None:
    (tmp_path / "torch_neuronx").mkdir()
    write(tmp_path, "import torch_neuronx.xla_impl\nprint(torch_neuronx.xla_impl.__name__)\n")
    done = python(*SCRIPTS[way], cwd=tmp_path)
    assert (done.stderr, done.stdout) == ("", "pykernels.vendors.neuron.xla_impl\n")


def test_a_package_that_hides_a_module_is_named(tmp_path: Path) -> None:
    (tmp_path / "poprt").mkdir()
    (tmp_path / "poprt" / "__init__.py").write_text("")
    done = python("-m", "pykernels", "run", "-m", "poprt.cli", cwd=tmp_path)
    message = f"pykernels: module poprt.cli does not exist: {tmp_path}/poprt/__init__.py hides the package poprt that "
    assert done.returncode == 1 and done.stderr.startswith(message)
    done = python("-m", "pykernels", "run", "-m", "torch_neuronx.no_such", cwd=tmp_path)
    assert done.returncode == 1 and "No module named torch_neuronx.no_such" in done.stderr


def test_names_that_are_not_provided_are_named(tmp_path: Path) -> None:
    write(tmp_path, "import torch_neuronx\ntorch_neuronx.trace()\n")
    assert (
        "torch_neuronx.trace is not provided by pykernels.vendors.neuron: torch_neuronx has xla_impl.custom_op"
        in python(*SCRIPTS["run"], cwd=tmp_path).stderr
    )
    write(tmp_path, "import torch_neuronx.distributed\n")
    assert f"{ABSENT}.distributed'" in python(*SCRIPTS["run"], cwd=tmp_path).stderr


def test_python_itself_provides_nothing(tmp_path: Path) -> None:
    write(tmp_path, "import pykernels\nimport torch_neuronx\n")
    assert f"{ABSENT}'" in python("script.py", cwd=tmp_path).stderr
