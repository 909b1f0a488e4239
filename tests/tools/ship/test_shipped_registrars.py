"""Registrars that come with a package of ops: used without a compiler, and refused where they do not fit."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import sysconfig
import textwrap
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import pykernels
from pykernels.base import paths
from pykernels.base.errors import BuildError, CompileFailed, LoadError, PykernelsWarning
from pykernels.build import machine, shipped
from pykernels.frameworks import registrar_build, registrar_libraries
from pykernels.frameworks.registrar_libraries import RegistrarLibrary, find_library
from pykernels.tools import cli

# What the package's op computes forward, scale * x * x, and its gradient, in each framework.
USES = {
    "mxnet": """
        x = mxnet.nd.array(values)
        x.attach_grad()
        with mxnet.autograd.record():
            y = demo_ops.gain(x, scale=3.0)
        y.backward()
        y, dx = y.asnumpy(), x.grad.asnumpy()
        """,
    "oneflow": """
        x = oneflow.tensor(values, requires_grad=True)
        y = demo_ops.gain(x, scale=3.0)
        y.sum().backward()
        y, dx = y.numpy(), x.grad.numpy()
        """,
    "jax": """
        dx = jax.grad(lambda x: demo_ops.gain(x, scale=3.0).sum())(jax.numpy.asarray(values))
        y = demo_ops.gain(jax.numpy.asarray(values), scale=3.0)
        """,
    "onnxruntime": """
        import pykernels.onnx
        from onnx import TensorProto, helper

        nodes = [
            helper.make_node("gain", ["x"], ["y"], domain="pykernels", scale=3.0),
            helper.make_node("gain_backward", ["x", "dy"], ["dx"], domain="pykernels", scale=3.0),
        ]
        tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 4]) for name in ("x", "dy", "y", "dx")]
        graph = helper.make_graph(nodes, "gain", tensors[:2], tensors[2:])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("pykernels", 1)]
        session = pykernels.onnx.session(helper.make_model(graph, opset_imports=opsets))
        y, dx = session.run(["y", "dx"], {"x": values, "dy": numpy.ones_like(values)})
        """,
    "torch": """
        x = torch.tensor(values, requires_grad=True)
        y = demo_ops.gain(x, scale=3.0)
        y.sum().backward()
        y, dx = y.detach().numpy(), x.grad.numpy()
        """,
}
PROGRAM = """
import pykernels.compat.mxnet
import {framework}
import sys
import warnings
import numpy
warnings.simplefilter("error", pykernels.PykernelsWarning)
import demo_ops

values = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
{use}
assert (y == 3 * values * values).all(), y
assert (dx == 6 * values).all(), dx
assert "numba" not in sys.modules
"""


def program(framework: str) -> str:
    return PROGRAM.format(framework=framework, use=textwrap.dedent(USES[framework]))


def needs(framework: str) -> pytest.MarkDecorator:
    """Skips where a framework is not installed, before anything is built."""
    is_installed = framework in registrar_libraries.installed_registrars()
    return pytest.mark.skipif(not is_installed, reason=f"{framework} is not installed in this environment")


@pytest.mark.parametrize(
    "framework",
    [
        *(pytest.param(each, marks=needs(each)) for each in ("mxnet", "torch")),
        *(pytest.param(each, marks=[needs(each), pytest.mark.thorough]) for each in ("oneflow", "onnxruntime", "jax")),
    ],
)
def test_frameworks_need_no_compiler(
    site: Path, use: Callable[..., str], without_compiler: dict[str, str], framework: str
) -> None:
    use(program(framework), **without_compiler)
    assert not (site.parent / "cache").exists()


def test_the_registrars_of_a_wheel_are_listed(built: subprocess.CompletedProcess[str], site: Path) -> None:
    lines = built.stdout.splitlines()
    carried = json.loads((site / "demo_ops/compiled/manifest.json").read_text())["registrars"]
    assert [each["framework"] for each in carried] == registrar_libraries.installed_registrars()
    titles = {
        "jax": "jaxlib 0.",
        "mxnet": "any version of MXNet",
        "oneflow": "OneFlow 0.",
        "onnxruntime": "any version of ONNX Runtime",
        "torch": "PyTorch 2.",
    }
    for each in carried:
        (line,) = [line for line in lines if line.startswith(f"registrar for {titles[each['framework']]}")]
        assert line.endswith(" KiB")
        content = (site / "demo_ops/compiled" / each["file"]).read_bytes()
        # Libraries of the framework are found where it is installed.
        assert b"oneflow.libs" not in content
        # It is the same wherever it is built.
        assert str(paths.REGISTRY).encode() not in content and sysconfig.get_paths()["purelib"].encode() not in content


@pytest.mark.thorough
def test_a_wheel_carries_what_others_carry(package: Path, wheel: Path, tmp_path: Path) -> None:
    def build(*options: str) -> list[dict[str, object]]:
        folder = tmp_path / f"dist{len(options)}"
        command = ["build", "--wheel", str(package), "--dtype", "float32", "--jobs", "1", "-o", str(folder), *options]
        assert cli.main(command) == 0
        with zipfile.ZipFile(folder / wheel.name) as archive:
            carried = json.loads(archive.read("demo_ops/compiled/manifest.json"))["registrars"]
            for each in carried:
                digest = hashlib.sha256(archive.read(f"demo_ops/compiled/{each['file']}")).hexdigest()
                assert digest == each["digest"]
        return [{**each, "file": ""} for each in carried]

    own = build()
    # Here with other frameworks, then with the same.
    assert build("--frameworks", "--registrars-of", str(wheel)) == own
    assert build("--registrars-of", str(wheel)) == own


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "cannot be read: File is not a zip file"),
        ({}, "has no registrars: build it again with python -m pykernels build --wheel where the frameworks are"),
        ({"pykernels": "0.0.9"}, "was built by pykernels 0.0.9, but this is "),
        ({"registrars": [1]}, "cannot be read: 'int' object is not subscriptable"),
    ],
)
def test_wheels_that_carry_nothing_of_use(
    content: dict[str, object] | None, text: str, package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.whl"
    other.touch()
    if content is not None:
        with zipfile.ZipFile(other, "w") as archive:
            manifest = {"pykernels": pykernels.__version__, "registrars": [], **content}
            archive.writestr("demo_ops/compiled/manifest.json", json.dumps(manifest))
    assert cli.main(["build", "--wheel", str(package), "--registrars-of", str(other)]) == 1
    assert f"{other} {text}" in capsys.readouterr().err


@pytest.mark.thorough
@needs("mxnet")
def test_the_error_names_what_the_wheel_carries_and_what_is_installed(
    site: Path, use: Callable[..., str], without_compiler: dict[str, str]
) -> None:
    manifest = site / "demo_ops/compiled/manifest.json"
    values = json.loads(manifest.read_text())
    (own,) = [each for each in values["registrars"] if each["framework"] == "mxnet"]
    own["made_for"] = {"MXNet": "2.0.0", **own["made_for"]}
    manifest.write_text(json.dumps(values))
    message = use("import pykernels.compat.mxnet, mxnet, demo_ops\n", code=1, **without_compiler)
    assert "BuildError: no C++ compiler is on the PATH. Install one" in message
    assert "to build the registrar for any version of MXNet, since no package of ops that is loaded carries" in message
    assert f"{site / 'demo_ops/compiled' / own['file']} is made for MXNet 2.0.0, and this is" in message
    # What does not go through the registrar still works.
    use("import numpy\nimport demo_ops\ndemo_ops.gain(numpy.ones(3, numpy.float32))\n", **without_compiler)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Writes a store with one registrar, for OneFlow 0.8.0 on Python 3.10, and lets it be found."""

    def write(framework: str = "oneflow", **made_for: str) -> Path:
        folder = tmp_path / "ops/compiled"
        folder.mkdir(parents=True)
        library = folder / "some_registrar.so"
        library.write_bytes(b"machine code")
        fitting = registrar_libraries._made_for("oneflow", {"OneFlow": "0.8.0", "Python": "3.10"})
        digest = hashlib.sha256(b"machine code").hexdigest()
        entry = {"framework": framework, "file": library.name, "digest": digest, "made_for": fitting | made_for}
        manifest = {"pykernels": "0.0.9", "registrars": [entry]}
        (folder / "manifest.json").write_text(json.dumps(manifest))
        monkeypatch.setattr(shipped, "_collections", {tmp_path / "ops": None})
        return library

    return write


def find() -> Path:
    def compile_library() -> Path:
        raise BuildError("no C++ compiler is on the PATH")

    return find_library("oneflow", {"OneFlow": "0.8.0", "Python": "3.10"}, compile_library)


def test_a_registrar_that_fits_is_taken(store: Callable[..., Path]) -> None:
    library = store()
    assert find() == library


def test_it_is_left_aside_like_other_objects(store: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    store()
    monkeypatch.setenv("PYKERNELS_SHIPPED", "0")
    with pytest.raises(BuildError, match=r"^no C\+\+ compiler is on the PATH \[PK500\]$"):
        find()


@pytest.mark.parametrize(
    ("made_for", "problem"),
    [
        ({"OneFlow": "0.9.0"}, "some_registrar.so is made for OneFlow 0.9.0, and this is 0.8.0"),
        ({"Python": "3.9"}, "some_registrar.so is made for Python 3.9, and this is 3.10"),
        ({"machine": "riscv64"}, "some_registrar.so is made for machine riscv64, and this is "),
        ({"libc": "glibc 99.0"}, "some_registrar.so is made for libc glibc 99.0, and this is glibc "),
        (
            {"sources": "others"},
            "some_registrar.so is compiled from the registrar of pykernels 0.0.9, and that of pykernels "
            f"{pykernels.__version__} differs",
        ),
        ({"framework": "mxnet"}, "compiled has none"),
    ],
)
def test_what_does_not_fit_is_compiled_or_refused(
    store: Callable[..., Path], made_for: dict[str, str], problem: str
) -> None:
    library = store(**made_for)
    assert find_library("oneflow", {"OneFlow": "0.8.0", "Python": "3.10"}, lambda: library / "compiled") != library
    with pytest.raises(BuildError, match="^no C") as caught:
        find()
    assert problem in str(caught.value)
    assert "to build the registrar for OneFlow 0.8.0 with Python 3.10" in str(caught.value)
    assert "install a wheel of the package that is built with OneFlow 0.8.0 with Python 3.10" in str(caught.value)


def test_a_damaged_registrar_is_reported(store: Callable[..., Path]) -> None:
    library = store()
    library.write_bytes(b"other code")
    with (
        pytest.warns(PykernelsWarning, match="some_registrar.so is damaged: install its package again"),
        pytest.raises(BuildError, match="some_registrar.so is damaged"),
    ):
        find()


def test_a_manifest_that_cannot_be_read_is_passed_over(store: Callable[..., Path]) -> None:
    store().with_name("manifest.json").write_text("[]")
    with pytest.raises(BuildError, match=r"^no C\+\+ compiler is on the PATH \[PK500\]$"):
        find()


def test_an_older_c_library_is_no_obstacle(store: Callable[..., Path]) -> None:
    library = store(libc="glibc 2.5")
    assert find() == library


def test_the_error_of_the_compiler_is_reported_unchanged(store: Callable[..., Path]) -> None:
    store(OneFlow="0.9.0")

    def compile_library() -> Path:
        raise CompileFailed("it does not compile", "error: here")

    with pytest.raises(CompileFailed, match=r"^it does not compile \[PK501\]:\nerror: here$"):
        find_library("oneflow", {"OneFlow": "0.8.0", "Python": "3.10"}, compile_library)


def test_what_cannot_be_loaded_is_an_error_of_ours(tmp_path: Path) -> None:
    (tmp_path / "registrar.so").write_bytes(b"no library")
    with pytest.raises(LoadError, match="the registrar does not fit what is installed: .*registrar.so"):
        registrar_build.open_library(tmp_path / "registrar.so")


@pytest.fixture
def carried(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str] | None]:
    """For which frameworks a wheel gets registrars, with these options; None if none is built."""

    def build(*options: str) -> list[str] | None:
        found = []

        def build_wheel(
            project: object, kernels: object, registrars: Sequence[RegistrarLibrary], *rest: object, cpu: str
        ) -> Path:
            found.append([library.framework for library in registrars])
            return tmp_path

        monkeypatch.setattr("pykernels.tools.ship.wheel.build_wheel", build_wheel)
        cli.main(["build", "--wheel", str(package), "--dtype", "float32", "--jobs", "1", *options])
        return found[0] if found else None

    return build


@pytest.mark.thorough
def test_which_registrars_go_in_is_chosen(carried: Callable[..., list[str] | None]) -> None:
    assert carried() == registrar_libraries.installed_registrars()
    assert carried("--frameworks", "onnxruntime", "onnxruntime") == ["onnxruntime"]
    assert carried("--frameworks") == []


def test_a_registrar_that_cannot_be_built_is_left_out_unless_asked_for(
    carried: Callable[..., list[str] | None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(framework: str) -> None:
        raise LoadError(f"{framework} is of another version")

    monkeypatch.setattr("pykernels.tools.commands.build.build_library", refuse)
    assert carried() == []
    installed = registrar_libraries.installed_registrars()[0]
    assert f"no registrar for {installed}: {installed} is of another version" in capsys.readouterr().err
    assert carried("--frameworks", "oneflow") is None
    assert "oneflow is of another version" in capsys.readouterr().err


def test_code_for_this_processor_needs_what_it_has() -> None:
    flags = machine.flags_needed("native")
    assert set(flags) <= machine.processor_flags()
    if sys.platform == "linux" and "x86" in str(machine.platform.machine()):
        assert "sse2" in flags and "fpu" not in flags
    assert machine.flags_needed("x86-64-v3") == ["avx2", "fma", "bmi2"]
