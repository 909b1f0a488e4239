"""The layout of the package: which way its imports go, and what lies where."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from process import CHECKOUT, python

from pykernels.base.frameworks import FRAMEWORKS

PACKAGE = CHECKOUT / "pykernels"
# Packages that take long to load, or that not everyone has.
HEAVY = {
    "cppimport",
    "jax",
    "llvmlite",
    "matplotlib",
    "mxnet",
    "numba",
    "oneflow",
    "onnx",
    "onnxruntime",
    "rich",
    "scipy",
    "torch",
}
# What imports a module of ours in a function to start faster: the command line and pytest.
STARTS = ("pykernels.tools.commands.", "pykernels.pytest_plugin")
# What a kernel from the cache does without.
COMPILES = ("pykernels.kernel.expression", "pykernels.adjoint")


def test_imports_go_one_way() -> None:
    pytest.importorskip("importlinter")
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = python("-c", lint, "--no-cache", "--no-logo", cwd=CHECKOUT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_package_is_installed() -> None:
    configuration = configparser.ConfigParser()
    configuration.read(CHECKOUT / "setup.cfg")
    listed = set(configuration["options"]["packages"].split())
    found = {".".join(file.parent.relative_to(CHECKOUT).parts) for file in PACKAGE.rglob("__init__.py")}
    assert listed == found | {"pykernels.cpp_defs", "pykernels.ops", "pykernels.registry"}


def test_tests_lie_as_the_code_does() -> None:
    beside = {"docs", "helpers", "ops"}  # of what lies beside the package
    tests = CHECKOUT / "tests"
    folders = {file.parent.relative_to(tests) for file in tests.rglob("test_*.py")} - {Path()}
    assert [
        str(folder) for folder in folders if folder.parts[0] not in beside and not (PACKAGE / folder).is_dir()
    ] == []


def test_modules_of_tests_have_names_of_their_own() -> None:
    names = [file.name for file in (CHECKOUT / "tests").rglob("*.py") if file.name != "conftest.py"]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_few_names_lie_beside_the_packages() -> None:
    names = [path.name for path in PACKAGE.iterdir() if path.is_file()]
    assert len(names) <= 10, sorted(names)


@pytest.mark.parametrize("framework", sorted(FRAMEWORKS.keys() - {"numpy"}))
def test_frameworks_have_the_same_files(framework: str) -> None:
    folder = PACKAGE / "frameworks" / framework
    assert {"bench.py", "check.py", "registrar.py"} <= {path.name for path in folder.iterdir()}


def test_files_and_lines_are_short() -> None:
    folders = (PACKAGE, CHECKOUT / "registry", CHECKOUT / "cpp_defs")
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in {".py", ".cpp", ".h", ".hpp"}]
    lines = {str(file.relative_to(CHECKOUT)): file.read_text().splitlines() for file in files}
    assert [name for name, text in lines.items() if len(text) > 400] == []
    wide = [f"{name}: {line}" for name, text in lines.items() for line in text if len(line.partition("  # ")[0]) > 120]
    assert wide == []


def test_functions_import_only_what_is_heavy() -> None:
    trees = {".".join(_parts(path)): ast.parse(path.read_text()) for path in PACKAGE.rglob("*.py")}
    at_top = {name: {each for node in _top(tree.body) for each in _imported(node)} for name, tree in trees.items()}

    def is_heavy(name: str) -> bool:
        found, seen = [name], set()
        while found:
            each = found.pop()
            if each.partition(".")[0] in HEAVY:
                return True
            if each not in seen:
                seen.add(each)
                found += at_top.get(each, ())
        return False

    wrong = []
    for name, tree in trees.items():
        for node in set(ast.walk(tree)) - set(_top(tree.body)):
            own = {each for each in _imported(node) if each in trees and not each.startswith(COMPILES)}
            if own and not name.startswith(STARTS) and not any(map(is_heavy, own)):
                wrong.append(f"{name}:{node.lineno} imports {', '.join(sorted(own))}")
    assert not wrong


def test_gradient_plans_have_one_interpreter_in_cpp() -> None:
    registry = CHECKOUT / "registry"
    sources = [*registry.rglob("*.cpp"), *registry.rglob("*.h")]
    assert {path.parent.name for path in sources if "PlannedOp" in path.read_text()} == {"host"}


@pytest.mark.parametrize(
    ("written", "file"),
    [
        pytest.param(r"\.bindings\.values\(\)", "define/gradient_plan.py", id="interpreter of gradient plans"),
        pytest.param(r"\bscalars=tuple\(", "kernel/read/signature.py", id="specialization on numbers"),
        pytest.param(r"EMITTERS\[node\.", "kernel/emit/operands.py", id="emission of operands"),
        pytest.param(r"node: ast\.IfExp\) -> Any", "kernel/expression/evaluation.py", id="evaluator of syntax trees"),
    ],
)
def test_one_module_does_it(written: str, file: str) -> None:
    paths = [path for path in PACKAGE.rglob("*.py") if "vendors" not in path.parts]
    assert [str(path.relative_to(PACKAGE)) for path in paths if re.search(written, path.read_text())] == [file]


def test_frameworks_are_listed_once() -> None:
    listing = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            each = {child.value for child in ast.iter_child_nodes(node) if isinstance(child, ast.Constant)}
            if len(each & FRAMEWORKS.keys()) > 2:
                listing.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert listing == []


def _parts(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(CHECKOUT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, without those in functions, in classes and for types."""
    for node in body:
        yield node
        if isinstance(node, (ast.Try, ast.With)):
            yield from _top(node.body)


def _imported(node: ast.AST) -> Iterator[str]:
    """The modules that a statement imports; of ``from a import b`` both ``a`` and ``a.b``."""
    if isinstance(node, ast.Import):
        yield from (each.name for each in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from (node.module, *(f"{node.module}.{each.name}" for each in node.names))
