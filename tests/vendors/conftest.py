from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from process import python
from shape_files import NEW

from pykernels.base import paths
from pykernels.build import cache
from pykernels.vendors.popart import build
from pykernels.vendors.poprt import cli
from pykernels.vendors.poprt.passes import base, shape_inference

Run = Callable[..., str]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped leaky ReLU under the name that the guide gives it, as a library."""
    folder = tmp_path_factory.mktemp("poprt")
    shutil.copytree(paths.OPS / "leaky_relu", folder / "leaky_relu", ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / "leaky_relu" / "leaky_relu_py_api.py").open("a") as file:
        file.write('\nonnx_domain = "ai.graphcore"\nonnx_op_type = "LeakyRelu"\n')
    arguments = ("-o", "custom_ops.so", "--dtype", "float32", "float16", "--no-gradients")
    done = python("-m", "pykernels", "build", "--onnx", "./leaky_relu", *arguments, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "custom_ops.so"


@pytest.fixture
def place(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a model, the library and a shape file, as the guide has them."""
    from model_files import guide_model

    monkeypatch.chdir(tmp_path)
    shutil.copy(library, "custom_ops.so")
    Path("custom_shape_inference.py").write_text(NEW)
    Path("custom_op_test.onnx").write_bytes(guide_model().SerializeToString())
    np.savez("inputs.npz", X=np.linspace(-4, 4, 64, dtype="float32").reshape(8, 8))
    monkeypatch.setattr(shape_inference, "_functions", {})
    monkeypatch.setattr(base, "_passes", dict(base._passes))
    return tmp_path


@pytest.fixture
def poprt(place: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command line and gives its output, or, where it fails as it should, its error."""

    def run(*arguments: str, model: str = "custom_op_test.onnx", library: str = "custom_ops.so", code: int = 0) -> str:
        libraries = ["--custom_library_so_paths", library] if library else []
        before = sorted(place.iterdir())
        found = cli.main(["--input_model", model, *libraries, *arguments])
        out, err = capsys.readouterr()
        assert found == code, err
        if code:
            assert sorted(place.iterdir()) == before, "something was written"
            assert err.count("\n") == 1 and err.startswith("poprt: ")
        return err if code else out

    return run


@pytest.fixture(scope="session")
def cpp_libraries() -> dict[str, Path]:
    """The libraries of ops in C++ that the tests have, by name."""
    from popart_libraries import SOURCES, compile_library

    def built(name: str) -> Path:
        """As users build it, but once for all processes that run tests."""

        def make(output: Path) -> dict[str, Any]:
            done = compile_library(SOURCES / f"{name}.cpp", output, "-Wall", "-Wextra", "-Werror")
            assert done.returncode == 0, done.stderr
            return {}

        key = cache.digest([build.headers_symbol(), *sorted(SOURCES.iterdir())])
        return cache.build("libraries of the tests", f"{name}-{key}", f"{name}.so", make).path

    return {name: built(name) for name in ("operators", "failures", "gradients")}
