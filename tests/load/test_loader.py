"""Loading op folders: the chain of OneFlow's loader, collections, reloading, and what can be wrong with a folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from process import CHECKOUT, program

import pykernels
from pykernels.base.errors import CallError, DefinitionError, KernelError, LoadError
from pykernels.tools.new.sketch import sketch
from pykernels.tools.new.writing import write_op

X = np.array([-1.0, 2.0, 3.0], np.float32)


@pytest.fixture(autouse=True)
def nothing_stays_loaded() -> Iterator[None]:
    yield
    pykernels.unload_ops()


@pytest.fixture
def square(tmp_path: Path) -> Path:
    """A folder of one op, ``square(x, scale)``."""
    write_op(sketch("square"), tmp_path / "ops")
    return tmp_path / "ops" / "square"


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_the_chain_loads_an_op(square: Path) -> None:
    op = pykernels.custom_op_module("square", square.parent)
    assert op.py_api().cpp_def().py_kernel().build_load() is op
    np.testing.assert_array_equal(op.api.square(X, scale=2.0), 2 * X * X)


@pytest.mark.thorough
def test_the_folder_itself_may_be_given(square: Path) -> None:
    op = pykernels.custom_op_module("square", square).py_api().cpp_def().py_kernel()
    op.build_load()
    np.testing.assert_array_equal(op.api.square(X), X * X)


@pytest.mark.thorough
def test_each_step_is_optional(square: Path) -> None:
    only_definition = pykernels.custom_op_module("square", square).cpp_def().build_load()
    assert "square_forward" in only_definition.definition.ops
    with pytest.raises(LoadError, match=r"loaded without \.py_api\(\), so it has no square_py_api\.py"):
        _ = only_definition.api
    only_api = pykernels.custom_op_module("square", square).py_api().build_load()
    assert callable(only_api.api.square)
    only_kernel = pykernels.custom_op_module("square", square).py_kernel().build_load()
    assert "forward" in only_kernel.source.functions


@pytest.mark.thorough
def test_nothing_is_written_beside_the_files_or_in_the_working_directory(
    square: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    op = pykernels.custom_op_module("square", square).py_api().cpp_def().py_kernel().build_load()
    op.api.square(X)
    assert list(work.iterdir()) == []
    assert sorted(p.name for p in square.rglob("*")) == [
        "square_cpp_def.cpp",
        "square_py_api.py",
        "square_py_kernel.py",
    ]


@pytest.mark.parametrize("missing", ["square_cpp_def.cpp", "square_py_kernel.py", "square_py_api.py"])
def test_a_missing_file_is_named(square: Path, missing: str) -> None:
    (square / missing).unlink()
    with pytest.raises(LoadError, match=rf"op folder {square}: the file {missing}.* is missing"):
        pykernels.load_ops(square.parent)
    with pytest.raises(LoadError, match=f"{missing}.* is missing"):
        pykernels.custom_op_module("square", square).py_api().cpp_def().py_kernel().build_load()
    assert "square" not in pykernels.list_ops()


def test_a_path_that_is_not_utf8(square: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(square.parent) + b"/\xff"))
    folder.mkdir()
    square.rename(folder / "square")
    with pytest.raises(LoadError, match=r"op folder /.*/\\xff/square: the path is not UTF-8, so messages cannot"):
        pykernels.load_ops(folder)


@pytest.mark.parametrize("broken", ["square_py_kernel.py", "square_py_api.py"])
def test_a_syntax_error_in_python_is_reported_when_loading(square: Path, broken: str) -> None:
    (square / broken).write_text("x = 1\ndef forward(args:\n    pass\n")
    with pytest.raises(LoadError, match=rf"{square / broken}:2: syntax error"):
        pykernels.load_ops(square.parent)


@pytest.mark.thorough
def test_a_syntax_error_in_cpp_is_reported_when_built(square: Path) -> None:
    replace(square / "square_cpp_def.cpp", '"floating[...]")', '"floating[...]"')
    chain = pykernels.custom_op_module("square", square).py_api().cpp_def().py_kernel()
    with pytest.raises(DefinitionError, match=r"square_cpp_def\.cpp:\d+"):
        chain.build_load()
    op = pykernels.load_ops(square.parent)["square"]
    with pytest.raises(DefinitionError, match=r"square_cpp_def\.cpp:\d+"):
        op.api.square(X)


@pytest.mark.thorough
def test_a_kernel_that_disagrees_is_reported_with_file_and_line(square: Path) -> None:
    kernel = square / "square_py_kernel.py"
    original = kernel.read_text()

    def build() -> None:
        pykernels.custom_op_module("square", square).py_api().cpp_def().py_kernel().build_load()

    replace(kernel, "x, dy = args", "x, y, dy = args")
    with pytest.raises(
        KernelError, match=r"kernel\.py:\d+: backward takes 3 inputs out of 'args', but op.*has 2 \(x, dy"
    ):
        build()
    kernel.write_text(original.replace("scale", "factor"))
    with pytest.raises(KernelError, match=r"'factor', which op 'square_forward' does not define.*attributes are scale"):
        build()
    kernel.write_text(original.replace("def backward", "def back"))
    with pytest.raises(KernelError, match=r"function backward\(args\) is missing, which op 'square_backward' needs"):
        build()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("unpacked", "count"),
    [
        ("[x, y, dy] = args", 3),
        ("dy, = args", 1),
        ("x, *rest = args", None),
        ("x, dy = list(args)", None),
        ("x, dy = args if args else args", None),
    ],
)
def test_unpackings_are_counted_wherever_they_can_be(square: Path, unpacked: str, count: int | None) -> None:
    kernel = square / "square_py_kernel.py"
    kernel.write_text(
        f"def forward(args, *, scale):\n    return args[0]\n\n\ndef backward(args, *, scale):\n    {unpacked}\n"
    )
    chain = pykernels.custom_op_module("square", square).cpp_def().py_kernel()
    if count is None:
        chain.build_load()
        return
    with pytest.raises(KernelError, match=rf"kernel\.py:6: backward takes {count} inputs out of 'args'"):
        chain.build_load()


@pytest.mark.thorough
def test_op_types_must_carry_the_folders_name(square: Path) -> None:
    other = square.parent / "cube"
    other.mkdir()
    for file in square.iterdir():
        shutil.copy(file, other / file.name.replace("square", "cube"))
    with pytest.raises(DefinitionError, match=r"op 'square_forward' in the folder 'cube'.*cube_forward"):
        pykernels.custom_op_module("cube", other).cpp_def().py_kernel().build_load()


def test_shipped_ops_load_without_compiling_anything(tmp_path: Path) -> None:
    done = program(
        """
        import sys, pykernels
        from pathlib import Path
        print(sorted(pykernels.load_ops()))
        assert "numba" not in sys.modules and "mxnet" not in sys.modules
        """,
        cwd=tmp_path,
        PYKERNELS_CACHE=str(tmp_path / "cache"),
    )
    shipped = sorted(p.name for p in (CHECKOUT / "ops").iterdir() if p.is_dir())
    assert done.stdout.strip() == str(shipped)
    assert not (tmp_path / "cache").exists()


def test_where_ops_come_from(square: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_op(sketch("cube"), tmp_path / "elsewhere")
    monkeypatch.chdir(square.parent.parent)
    monkeypatch.setenv("PYKERNELS_PATH", str(tmp_path / "elsewhere"))
    found = pykernels.load_ops()
    assert {"square", "cube", "sigmoid"} <= set(found)
    assert set(found) == set(pykernels.list_ops())


def test_installed_packages_bring_ops(tmp_path: Path) -> None:
    write_op(sketch("cube"), tmp_path / "more_ops")
    (tmp_path / "more_ops" / "__init__.py").write_text("")
    info = tmp_path / "more_ops-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: more-ops\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pykernels.ops]\nmore = more_ops\n")
    text = f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import pykernels
        print(pykernels.load_ops()["cube"].path)
    """
    done = program(text, cwd=tmp_path)
    assert done.stdout.strip() == str(tmp_path / "more_ops" / "cube")


def test_places_that_hold_nothing_are_named(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match=f"folder {tmp_path}/nowhere does not exist"):
        pykernels.load_ops(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(LoadError, match=f"{tmp_path}/empty contains no op folder"):
        pykernels.load_ops(tmp_path / "empty")


def test_two_folders_of_one_name_are_both_named(square: Path, tmp_path: Path) -> None:
    write_op(sketch("square"), tmp_path / "other")
    with pytest.raises(LoadError, match=rf"two folders define the op 'square': {square} and {tmp_path}/other/square"):
        pykernels.load_ops(square.parent, tmp_path / "other")
    assert "square" not in pykernels.list_ops()
    pykernels.load_ops(square.parent)
    with pytest.raises(LoadError, match="unload_ops"):
        pykernels.load_ops(tmp_path / "other")
    pykernels.unload_ops("square")
    assert pykernels.load_ops(tmp_path / "other")["square"].path == tmp_path / "other" / "square"


@pytest.mark.thorough
def test_a_changed_folder_is_loaded_anew(square: Path) -> None:
    first = pykernels.load_ops(square.parent)["square"]
    np.testing.assert_array_equal(first.api.square(X), X * X)
    assert pykernels.reload() == {}
    assert pykernels.load_ops(square.parent)["square"] is first
    replace(square / "square_py_kernel.py", "scale * x * x", "scale * x * x * x")
    changed = pykernels.reload("square")["square"]
    np.testing.assert_array_equal(changed.api.square(X), X * X * X)
    replace(square / "square_cpp_def.cpp", '<double>("scale", 1.0)', '<double>("scale", 2.0)')
    replace(square / "square_py_api.py", "scale=1.0", "scale=2.0")
    again = pykernels.load_ops(square.parent)["square"]
    np.testing.assert_array_equal(again.api.square(X), 2 * X * X * X)


@pytest.mark.thorough
def test_a_change_that_does_not_parse_leaves_the_op_as_it_was(square: Path) -> None:
    op = pykernels.load_ops(square.parent)["square"]
    op.api.square(X)
    (square / "square_py_kernel.py").write_text("def forward(args:\n")
    with pytest.raises(LoadError, match="syntax error"):
        pykernels.reload()
    np.testing.assert_array_equal(op.api.square(X), X * X)


def test_an_unloaded_op_is_gone(square: Path) -> None:
    op = pykernels.load_ops(square.parent)["square"]
    pykernels.unload_ops("square")
    assert "square" not in pykernels.list_ops()
    with pytest.raises(CallError, match="op 'square_forward' is not loaded"):
        op.api.square(X)
    with pytest.raises(CallError, match="op 'square' is not loaded"):
        pykernels.unload_ops("square")


@pytest.mark.parametrize("name", ["", "2d", "a-b", "a/b", ".."])
def test_a_name_must_be_an_identifier(name: str, tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="not a Python identifier"):
        pykernels.custom_op_module(name, tmp_path)
