"""Folders that are loaded before and after PyTorch, edited and unloaded, and collections that name their library."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from folders import PROP_WITH_ATTRIBUTE, TIMES, TIMES_ATTRIBUTE, write_op
from process import program

import pykernels
from pykernels.base.errors import LoadError


@pytest.fixture
def changing(backend: str, enter: Callable[..., Any]) -> Iterator[Callable[[], Any]]:
    """Enters the op ``changing`` as it is now."""
    yield lambda: enter("changing")
    if "changing" in pykernels.list_ops():
        pykernels.unload_ops("changing")


def test_an_edited_folder(tmp_path: Path, changing: Callable[[], Any]) -> None:
    x = torch.ones(2, requires_grad=True)
    pykernels.load_ops(write_op(tmp_path, "changing", TIMES.format(factor=2)))
    op = changing()
    assert op(x).tolist() == [2, 2]
    write_op(tmp_path, "changing", TIMES.format(factor=3))
    pykernels.reload("changing")
    new = changing()
    # Whoever holds on to the operator has the new one, too.
    assert new(x).tolist() == op(x).tolist() == [3, 3]
    new(x).sum().backward()
    assert x.grad.tolist() == [3, 3]


def test_a_folder_that_gets_an_attribute(tmp_path: Path, changing: Callable[[], Any]) -> None:
    pykernels.load_ops(write_op(tmp_path, "changing", TIMES.format(factor=2)))
    old = changing()
    assert old(torch.ones(2)).tolist() == [2, 2]
    write_op(tmp_path, "changing", TIMES_ATTRIBUTE, PROP_WITH_ATTRIBUTE)
    pykernels.reload("changing")
    new = changing()
    assert new(torch.ones(2), by=5).tolist() == [5, 5]
    assert "int by=7" in str(new.default._schema)
    assert old(torch.ones(2)).tolist() == [7, 7]


def test_a_shape_that_changes_is_inferred_anew(tmp_path: Path, changing: Callable[[], Any]) -> None:
    definition = """
        import pykernels


        class Prop(pykernels.CustomOpProp):
            def infer_shape(self, in_shape):
                return in_shape, [[{}]], []
    """
    kernel = "import numpy as np\n\ndef forward(args):\n    return np.zeros({}, args[0].dtype)\n"
    kernel += "\ndef backward(args):\n    return args[0]\n"
    for size in (3, 4):
        folder = write_op(tmp_path, "changing", kernel.format(size), definition.format(size))
        pykernels.load_ops(folder)
        op = changing()
        with torch._subclasses.FakeTensorMode():
            assert op(torch.ones(2)).shape == (size,)
        assert op(torch.ones(2)).shape == (size,)


def test_an_unloaded_op_is_reported(tmp_path: Path, changing: Callable[[], Any], ops: Any) -> None:
    pykernels.load_ops(write_op(tmp_path, "changing", TIMES.format(factor=2)))
    op = changing()
    x = torch.ones(2, requires_grad=True)
    y = op(x)
    pykernels.unload_ops("changing")
    if op.default.namespace == "pykernels":
        with pytest.raises(AttributeError, match="op 'changing' is not loaded"):
            _ = ops.changing
        with pytest.raises(RuntimeError, match="op 'changing_forward' is not loaded"):
            op(x)
    assert y.tolist() == [2, 2]


@pytest.mark.thorough
@pytest.mark.parametrize("first", ["pykernels", "torch"])
def test_the_order_of_imports_does_not_matter(tmp_path: Path, first: str) -> None:
    lines = ["import pykernels; pykernels.load_ops()", "import torch"]
    done = program(
        "\n".join(
            [
                *(lines if first == "pykernels" else lines[::-1]),
                "print(torch.ops.pykernels.relu(torch.tensor([-1., 2])))",
            ]
        ),
        cwd=tmp_path,
    )
    assert done.stdout.strip() == "tensor([0., 2.])"


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "collection"
    folder.mkdir()
    write_op(folder, "triple", TIMES.format(factor=3), PROP_WITH_ATTRIBUTE.replace("by: int = 7", ""))
    yield folder
    if "triple" in pykernels.list_ops():
        pykernels.unload_ops("triple")


def test_a_collection_that_names_its_library(collection: Path) -> None:
    (collection / "pykernels.cfg").write_text("[collection]\nlibrary = of_a_collection\n")
    pykernels.load_ops(collection)
    x = torch.ones(2, requires_grad=True)
    for library in (torch.ops.of_a_collection, torch.ops.pykernels):
        library.triple(x).sum().backward()
        assert "triple" in dir(library)
    assert x.grad.tolist() == [6, 6]
    assert torch.ops.of_a_collection.triple_backward.default.namespace == "of_a_collection"
    torch.library.opcheck(torch.ops.of_a_collection.triple.default, (torch.ones(2, requires_grad=True),))
    with pytest.raises(AttributeError, match="op 'relu' is not loaded; the loaded ops are: triple"):
        _ = torch.ops.of_a_collection.relu


def test_a_library_that_has_ops_of_its_own(collection: Path) -> None:
    with torch.library._scoped_library("mixed_library", "FRAGMENT") as theirs:
        theirs.define("theirs(Tensor x) -> Tensor")
        theirs.impl("theirs", lambda x: x + 1, "CPU")
        (collection / "pykernels.cfg").write_text("[collection]\nlibrary = mixed_library\n")
        pykernels.load_ops(collection)
        assert torch.ops.mixed_library.theirs(torch.ones(1)).tolist() == [2]
        assert torch.ops.mixed_library.triple(torch.ones(1)).tolist() == [3]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("library = my_ops\n", "pykernels.cfg cannot be read: .*no section headers"),
        ("[collection]\nlibrary = my ops\n", r"pykernels.cfg: library = 'my ops' is not a Python identifier"),
        ("[collection]\nlibrary = aten\n", "library = 'aten' is PyTorch's own"),
    ],
)
def test_a_library_that_cannot_be(collection: Path, text: str, told: str) -> None:
    (collection / "pykernels.cfg").write_text(text)
    with pytest.raises(LoadError, match=told):
        pykernels.load_ops(collection)
    assert "triple" not in pykernels.list_ops()


def test_two_ops_of_one_name(collection: Path) -> None:
    # Names of its own, since PyTorch keeps what other tests have entered.
    write_op(collection, "twin", TIMES.format(factor=3), PROP_WITH_ATTRIBUTE.replace("by: int = 7", ""))
    write_op(collection, "twin_backward", TIMES.format(factor=4), PROP_WITH_ATTRIBUTE.replace("by: int = 7", ""))
    pykernels.load_ops(collection)
    try:
        told = "torch.ops.pykernels.twin_backward would be both op type 'twin_backward' and 'twin_backward_forward'"
        with pytest.raises(LoadError, match=told):
            _ = torch.ops.pykernels.twin
    finally:
        pykernels.unload_ops("twin", "twin_backward")


def test_an_op_that_pytorch_has_already(collection: Path) -> None:
    with torch.library._scoped_library("taken_library", "FRAGMENT") as theirs:
        theirs.define("triple(Tensor x) -> Tensor")
        (collection / "pykernels.cfg").write_text("[collection]\nlibrary = taken_library\n")
        pykernels.load_ops(collection)
        with pytest.raises(LoadError, match=r"cannot be torch.ops.taken_library.triple: PyTorch has one there"):
            _ = torch.ops.pykernels.triple


#: Without a compiler, and with a PyTorch that the registrar is not made for.
NO_REGISTRAR = {
    "no C++ compiler": ("", "no-such-compiler", r"\$CXX names 'no-such-compiler', which is not on the PATH"),
    "another PyTorch": (
        "version = importlib.metadata.version\n"
        'importlib.metadata.version = lambda name: "3.1.0" if name == "torch" else version(name)\n',
        "",
        r"the registrar is made for PyTorch 2\.9 to 2\.\d+, not 3\.1\.0",
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("prepare, compiler, why", NO_REGISTRAR.values(), ids=NO_REGISTRAR)
def test_without_the_registrar(tmp_path: Path, prepare: str, compiler: str, why: str) -> None:
    """The same operator, through Python; a warning says so, once."""
    write_op(tmp_path, "twice", TIMES.format(factor=2))
    done = program(
        f"import importlib.metadata\n{prepare}"
        """
import torch, pykernels
pykernels.load_ops("twice")
x = torch.tensor([1.0, -2.0], requires_grad=True)
y = torch.ops.pykernels.twice(x)
torch.ops.pykernels.twice(y).sum().backward()
print(y.tolist(), x.grad.tolist(), torch.ops.pykernels.twice.default._schema)
""",
        cwd=tmp_path,
        CXX=compiler,
        PYKERNELS_CACHE=str(tmp_path / "cache"),
    )
    assert done.stdout == "[2.0, -4.0] [4.0, 4.0] pykernels::twice(Tensor data) -> Tensor\n"
    told = r"PykernelsWarning: ops of PyTorch are called through Python, which takes about ten times as long"
    assert len(re.findall(rf"{told}.*: {why}", done.stderr)) == 1


def test_help_of_an_operator_shows_its_schema_and_docstring() -> None:
    pykernels.load_ops()
    operator = torch.ops.pykernels.leaky_relu
    text = pydoc.plain(pydoc.render_doc(operator))
    assert "pykernels::leaky_relu(Tensor x, float alpha=0.01) -> Tensor" in text
    assert "Slope for numbers that are not positive" in text
    assert str(inspect.signature(operator)) == "(x: Tensor, alpha: float = 0.01)"
    assert "pykernels::leaky_relu_backward(" in torch.ops.pykernels.leaky_relu_backward.__doc__
    assert operator(torch.tensor([-1.0]), alpha=0.5).item() == -0.5
