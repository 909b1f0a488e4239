"""The source distribution and the wheel made of it: what it has, and that it works outside the checkout."""

from __future__ import annotations

import configparser
import importlib.metadata
import shutil
import sys
import zipfile
from pathlib import Path

import pytest
from process import CHECKOUT, program, python, run

SOURCES = ["LICENSE", "README.md", "pyproject.toml", "setup.cfg", "cpp_defs", "ops", "pykernels", "registry"]
DATA = {".py", ".cpp", ".h", ".hpp", ".c"}


def pip(*arguments: str | Path, cwd: Path) -> None:
    done = run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # Built in a copy, because setuptools leaves build/ and *.egg-info beside the sources.
    source = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        if (CHECKOUT / name).is_dir():
            shutil.copytree(CHECKOUT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(CHECKOUT / name, source / name)
    build = "import setuptools.build_meta as backend; backend.build_sdist('.')"
    done = run([sys.executable, "-c", build], cwd=source)
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = source.glob("*.tar.gz")
    pip("wheel", archive, "--no-deps", "--no-build-isolation", "--wheel-dir", "dist", cwd=source)
    (path,) = (source / "dist").iterdir()
    assert path.name.endswith("-py3-none-any.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    pip("install", "--no-deps", "--target", target, wheel, cwd=target)
    return target


@pytest.mark.thorough
def test_holds_everything_that_the_checkout_has(wheel: Path) -> None:
    expected = {
        f"pykernels/{path.relative_to(CHECKOUT / 'pykernels')}"
        for path in (CHECKOUT / "pykernels").rglob("*")
        if path.suffix in DATA or path.name == "py.typed"
    }
    for folder in ("ops", "registry", "cpp_defs"):
        files = {p for p in (CHECKOUT / folder).rglob("*") if p.suffix in DATA}
        assert files
        expected |= {f"pykernels/{path.relative_to(CHECKOUT)}" for path in files}
    names = set(zipfile.ZipFile(wheel).namelist())
    assert expected - names == set()
    extra = {name for name in names - expected if not name.split("/")[0].endswith(".dist-info")}
    assert extra == set()


def test_data_folders_are_no_packages(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [
        n
        for n in names
        if n.startswith(("pykernels/ops", "pykernels/registry", "pykernels/cpp_defs")) and n.endswith("__init__.py")
    ] == []


def test_metadata(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (info,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
    metadata = archive.read(f"{info}/METADATA").decode()
    for extra in ("mxnet", "oneflow", "onnx", "torch", "jax", "plot", "demo", "test", "docs"):
        assert f"\nProvides-Extra: {extra}\n" in metadata
    assert "\nLicense: Apache-2.0\n" in metadata or "\nLicense-Expression: Apache-2.0\n" in metadata
    assert any(name.startswith(info) and name.endswith("/LICENSE") for name in archive.namelist())
    scripts = configparser.ConfigParser()
    scripts.read_string(archive.read(f"{info}/entry_points.txt").decode())
    assert dict(scripts["console_scripts"]) == {"pykernels": "pykernels.tools.cli:main"}


def test_version_is_one() -> None:
    import pykernels

    assert importlib.metadata.version("pykernels") == pykernels.__version__


@pytest.mark.thorough
def test_works_installed_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    program(
        f"""
        from pathlib import Path

        import mxnet as mx
        import numpy as np
        import pykernels
        from pykernels.base import paths

        site = Path({str(installed)!r})
        assert Path(pykernels.__file__).parent == site / "pykernels"
        assert [paths.OPS, paths.REGISTRY, paths.CPP_DEFS] == [
            site / "pykernels" / name for name in ("ops", "registry", "cpp_defs")
        ]
        assert sorted(pykernels.load_ops()) == {sorted(path.name for path in (CHECKOUT / "ops").iterdir())!r}

        x = np.array([-2, 3], np.float32)
        y = pykernels.list_ops()["leaky_relu"].api.leaky_relu(x, alpha=0.5)
        assert (y.dtype, y.tolist()) == (np.float32, [-1, 3])
        z = mx.nd.Custom(mx.nd.array(x), op_type="leaky_relu", alpha=0.5)
        assert z.asnumpy().tolist() == [-1, 3]
        """,
        cwd=tmp_path,
        path=installed,
    )


@pytest.mark.thorough
def test_its_command_line_makes_a_new_op(installed: Path, tmp_path: Path) -> None:
    done = python("-m", "pykernels", "new", "twice", cwd=tmp_path, path=installed)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list((tmp_path / "ops/twice").iterdir())) == 3
