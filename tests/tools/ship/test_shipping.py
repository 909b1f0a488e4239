"""Packages of ops: written, built into a wheel with compiled objects, installed, and used without a compiler."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path

import numpy as np
import pytest
from folders import write_op
from process import CHECKOUT, program, python

from pykernels.build import linking, machine, shipped
from pykernels.call.uses import forward_use
from pykernels.kernel.read.signature import signature_of
from pykernels.kernel.shipping import shipped_kernel
from pykernels.load.module import OpModule
from pykernels.load.samples import sample
from pykernels.tools import cli
from pykernels.tools.ship.kernels import Wanted, compile_kernels
from pykernels.tools.ship.wheel import write_store

USE = """
    import sys
    import numpy as np
    import demo_ops

    x = np.ones((3, 4), np.float32)
    assert demo_ops.gain(x, scale=2.0).tolist() == (2 * x).tolist()
    assert "numba" not in sys.modules
"""


@pytest.mark.thorough
def test_a_new_package_works_from_its_sources(package: Path) -> None:
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", package / "tests", cwd=package)
    assert "4 passed" in done.stdout, done.stdout
    assert sorted(p.name for p in package.iterdir() if p.name != "dist") == [
        "README.md",
        "demo_ops",
        "pyproject.toml",
        "tests",
    ]


@pytest.mark.thorough
def test_more_ops_of_a_package_have_their_tests_beside_it(
    package: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {p.name for p in (package / "tests").glob("*.py")} == {"test_gain.py", "test_product.py"}
    assert not list((package / "demo_ops").glob("test_*"))
    monkeypatch.chdir(package / "demo_ops")
    try:
        assert cli.main(["new", "third", "--path", "."]) == 0
        errors = capsys.readouterr().out
        assert 'Export its function from __init__.py:\n    third = pykernels.list_ops()["third"].api.third\n' in errors
        assert f"python -m pytest {package / 'tests/test_third.py'}\n" in errors
        done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", package / "tests/test_third.py", cwd=package)
        assert "2 passed" in done.stdout, done.stdout
    finally:
        shutil.rmtree("third")
        (package / "tests/test_third.py").unlink()


def test_numba_is_not_needed(site: Path, use: Callable[..., str], without_compiler: dict[str, str]) -> None:
    (site / "numba.py").write_text("raise ImportError('of another version')\n")
    assert use(USE, **without_compiler) == ""


def test_a_dtype_that_the_wheel_has_no_kernel_for_runs_as_python(
    use: Callable[..., str], without_compiler: dict[str, str]
) -> None:
    text = """
        import numpy as np
        import demo_ops

        assert demo_ops.gain(np.full(3, 2.0)).tolist() == [4.0, 4.0, 4.0]
        """
    errors = use(text, **without_compiler)
    assert "PykernelsWarning: op 'gain_forward': forward runs as Python" in errors
    assert "because no C++ compiler is on the PATH" in errors


def test_the_wheel_holds_objects_and_says_what_they_are_for(wheel: Path) -> None:
    assert wheel.name.startswith("demo_ops-0.1.0-py3-none-manylinux_")
    archive = zipfile.ZipFile(wheel)
    manifest = json.loads(archive.read("demo_ops/compiled/manifest.json"))
    assert set(manifest["ops"]) == {"gain", "product"}
    assert manifest["made_for"]["cpu"] in ("x86-64-v3", "native")
    assert manifest["made_for"]["flags"]
    files = {entry["file"] for op in manifest["ops"].values() for entry in op["objects"].values()}
    assert {f"demo_ops/compiled/{name}" for name in files} <= set(archive.namelist())
    # Types of all ops are in it, also of those that were added since the package was written.
    assert "class ProductApi(Protocol):" in archive.read("demo_ops/stubs.pyi").decode()
    assert "demo_ops/py.typed" in archive.namelist()
    # What a definition says of itself has no path of the author's machine.
    assert str(wheel.parent.parent).encode() not in archive.read("demo_ops/compiled/gain_definition.so")


def test_users_need_no_compiler_and_nothing_is_built(
    site: Path, use: Callable[..., str], without_compiler: dict[str, str]
) -> None:
    assert use(USE, **without_compiler) == ""
    assert not (site.parent / "cache").exists()


def test_gradients_and_matrix_products_need_none_either(
    site: Path, use: Callable[..., str], without_compiler: dict[str, str]
) -> None:
    text = """
        import sys
        import numpy as np
        import pykernels
        from pykernels.load.samples import sample
        from pykernels.call.steps import forward_step, gradient_steps

        for name in ("gain", "product"):
            module = pykernels.load_ops()[name]
            forward = forward_step(module, sample(module, 16, np.dtype(np.float32)))
            (backward,) = gradient_steps(module, forward)
            forward.call.run()
            backward.call.run()
            assert np.isfinite(backward.outputs[0][0]).all()
        assert "numba" not in sys.modules
        """
    assert use(text, **without_compiler) == ""
    assert not (site.parent / "cache").exists()


def test_the_definition_names_its_file_where_it_is_installed(
    site: Path, use: Callable[..., str], without_compiler: dict[str, str]
) -> None:
    text = f"""
        import numpy as np
        import demo_ops
        import pykernels

        assert pykernels.list_ops()["gain"].forward.file == {str(site / "demo_ops/gain/gain_cpp_def.cpp")!r}
        try:
            demo_ops.gain(np.arange(3))
        except pykernels.CallError as error:
            print(error)
        """
    use(text, **without_compiler)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("made_for", "problem"),
    [
        ({"manifest format": 0}, "built for manifest format 0 (of pykernels 0.0.9), but this is "),
        ({"kernel ABI": 0}, "built for kernel ABI 0 (of pykernels 0.0.9), but this is "),
        ({"definition ABI": 0}, "built for definition ABI 0 (of pykernels 0.0.9), but this is "),
        ({"machine": "riscv64"}, "they were built for machine riscv64, but this is "),
        ({"libc": "glibc 99.0"}, "they were built for glibc 99.0, but this is "),
        (
            {"cpu": "x86-64-v3", "flags": ["avx2", "fma"]},
            "they were built for x86-64-v3, but this processor lacks avx2, fma",
        ),
    ],
)
def test_what_is_made_for_another_machine_does_not_fit(
    site: Path, monkeypatch: pytest.MonkeyPatch, made_for: dict[str, object], problem: str
) -> None:
    store = site / "demo_ops/compiled"
    values = json.loads((store / "manifest.json").read_text())
    assert shipped.Store(store, values).problem(site / "demo_ops/gain") == ""
    monkeypatch.setattr(machine, "processor_flags", lambda: frozenset())
    values["pykernels"] = "0.0.9"
    values["made_for"] |= {"flags": [], **made_for}
    assert problem in shipped.Store(store, values).problem(site / "demo_ops/gain")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("gain/gain_py_kernel.py", b"# edited\n", "gain_py_kernel.py is not the file that they were built from"),
        ("compiled/gain_definition.so", b"damaged", "gain_definition.so is damaged"),
        ("compiled/manifest.json", b"{", "manifest.json cannot be read: JSONDecodeError"),
    ],
)
def test_what_does_not_fit_is_refused_without_a_compiler(
    site: Path, use: Callable[..., str], without_compiler: dict[str, str], file: str, content: bytes, problem: str
) -> None:
    path = site / "demo_ops" / file
    path.write_bytes(path.read_bytes() + content if path.suffix == ".py" else content)
    errors = use(USE, code=1, **without_compiler)
    assert "PackageError: op 'gain': the compiled objects in " in errors and problem in errors
    assert "no C++ compiler is on the PATH" in errors and "python -m pykernels build --wheel" in errors


@pytest.mark.thorough
def test_what_does_not_fit_is_compiled_here_where_there_is_a_compiler(site: Path, use: Callable[..., str]) -> None:
    with (site / "demo_ops/gain/gain_py_kernel.py").open("a") as file:
        file.write("# edited\n")
    errors = use(USE.replace('assert "numba" not in sys.modules', ""))
    assert "PykernelsWarning: op 'gain': the compiled objects in " in errors
    assert errors.count("It is compiled on this machine instead") == 1
    assert (site.parent / "cache/definitions").is_dir()


@pytest.mark.thorough
def test_objects_can_be_left_aside(site: Path, use: Callable[..., str]) -> None:
    # Not only where it is right: what does not fit is not looked at either.
    (site / "demo_ops/compiled/gain_definition.so").write_bytes(b"damaged")
    assert "compiled objects" not in use(USE, PYKERNELS_SHIPPED="0")
    assert (site.parent / "cache/definitions").is_dir()


def test_clashes_name_both_packages(site: Path, use: Callable[..., str]) -> None:
    other = site / "other_ops"
    shutil.copytree(site / "demo_ops", other, ignore=shutil.ignore_patterns("compiled", "product"))
    info = site / "other_ops-2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other_ops\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text("[pykernels.ops]\nother_ops = other_ops\n")
    # Names of packages have both spellings.
    errors = use("import pykernels\npykernels.load_ops()\n", code=1).replace("-ops", "_ops")
    assert "ClashError: two folders define the op 'gain': " in errors
    assert f"{site / 'demo_ops/gain'} (of demo_ops 0.1.0)" in errors
    assert f"{other / 'gain'} (of other_ops 2.0)" in errors
    assert "Rename one, uninstall its package, or load one by its path" in errors
    text = "import pykernels\nfor each in 'demo', 'other':\n    pykernels.load_ops(f'site/{each}_ops')\n"
    assert "or unload the first with pykernels.unload_ops('gain')" in use(text, code=1)


def test_what_builds_wheels_is_looked_for_first(
    package: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known = PathFinder.find_spec
    monkeypatch.setattr(PathFinder, "find_spec", lambda name, *rest: None if name == "wheel" else known(name, *rest))
    assert cli.main(["build", "--wheel", str(package)]) == 1
    assert "the wheel cannot be built, since wheel cannot be imported: " in (errors := capsys.readouterr().err)
    assert "-m pip install wheel" in errors


def test_what_is_no_package_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["build", "--wheel", str(tmp_path)]) == 1
    assert f"{tmp_path / 'pyproject.toml'} does not exist; give the folder of a package" in capsys.readouterr().err
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert cli.main(["build", "--wheel", str(tmp_path)]) == 1
    assert 'has no table [project.entry-points."pykernels.ops"]' in capsys.readouterr().err
    (tmp_path / "pyproject.toml").write_text("[project.entry-points.'pykernels.ops']\nx = 'x.ops'\n")
    assert cli.main(["build", "--wheel", str(tmp_path)]) == 1
    assert "the entry point is for 'x.ops', but the folder " in capsys.readouterr().err
    for name, message in (
        ("a b", "use letters, digits"),
        ("pykernels", "cannot be the name"),
        ("gain", "both be called"),
    ):
        assert cli.main(["new", "gain", "--package", name, "--path", str(tmp_path)]) == 1
        assert message in capsys.readouterr().err


@pytest.mark.thorough
def test_list_names_the_installed_package(site: Path) -> None:
    done = program(
        "import sys\nfrom pykernels.tools import cli\nsys.exit(cli.main(['list']))",
        cwd=site.parent,
        path=CHECKOUT,
        PYTHONPATH=f"{CHECKOUT}:{site}",
    )
    assert "demo_ops 0.1.0" in done.stdout.replace("-ops", "_ops")


CENTERED = """
    import numpy as np


    def forward(args, *, centered, axis):
        (x,) = args
        if centered:
            return x - np.flip(x, axis)
        return x + 1
    """
CENTERED_DEFINITION = """
    import pykernels


    class Prop(pykernels.CustomOpProp):
        def __init__(self, centered: bool = {default}, axis: int = 0):
            super().__init__(need_top_grad=True)
"""


@pytest.mark.parametrize("default", [False, True])
def test_kernels_may_be_specialized_on_different_numbers(default: bool, tmp_path: Path) -> None:
    write_op(tmp_path, "centered", CENTERED, CENTERED_DEFINITION.format(default=default))
    module = OpModule("centered", tmp_path / "centered").py_api().cpp_def().py_kernel()
    function, shapes = module.kernel(module.forward.name), {"data": (2, 3)}
    kernels, _ = compile_kernels(module, Wanted(["float32"], shapes, gradients=False, filename=linking.LOADABLE))
    write_store(tmp_path / shipped.FOLDER, {module: kernels}, [], "native")
    paths = set()
    for axis in (-2, -1, 0, 1):
        for centered, specialized in ((False, ("centered",)), (True, ("centered", "axis"))):
            attributes = {"centered": centered, "axis": axis}
            use = forward_use(module, sample(module, 6, np.dtype("f4"), shapes=shapes, attributes=attributes))
            found = shipped_kernel(function, signature_of(use.op, function, use.instance()), use.attributes)
            assert found is not None
            assert found[2].specialized == specialized
            paths.add(found[0])
    assert len(paths) == len(kernels) == 5
