"""Type stubs of ops, read by mypy: right uses of ops pass, and wrong ones are errors where they are."""

from __future__ import annotations

import os
import re
import sys
import textwrap
from pathlib import Path

import pytest
from process import CHECKOUT, run

from pykernels.base.abi import AttrType
from pykernels.define.declared import Argument, Attribute
from pykernels.tools import cli, stubs

pytest.importorskip("mypy")

USE = """
    from __future__ import annotations

    from typing import TYPE_CHECKING

    import numpy as np

    import pykernels

    if TYPE_CHECKING:
        from all_ops import LeakyReluApi, Ops

    ops: Ops = pykernels.load_ops()
    x = np.ones(3, np.float32)
    right = ops["leaky_relu"].api.leaky_relu(x, alpha=0.1)
    reveal_type(right)
    boxes, count = ops["nms"].api.nms(x, x, max_output=3)
    schema: str = ops["leaky_relu"].forward.schema()
    one: pykernels.OpModule[LeakyReluApi] = pykernels.custom_op_module("leaky_relu").py_api()
    one.api.leaky_relu(x)
    pykernels.list_ops()["any"].api.any_function(1)
    ops["leaky_relu"].api.leaky_relu(x, alpha="steep")  # 21
    ops["leaky_relu"].api.leaky_relu("x")  # 22
    ops["leaky_relu"].api.leaky(x)  # 23
    ops["leaky"]  # 24
    one.api.leaky_relu(x, 1, 2)  # 25
"""
ERRORS = """
    21: error: Argument "alpha" to "leaky_relu" of "LeakyReluApi" has incompatible type "str"; expected "float"
    22: error: Value of type variable "_T" of "leaky_relu" of "LeakyReluApi" cannot be "str"
    23: error: "LeakyReluApi" has no attribute "leaky"
    24: error: No overload variant of "__getitem__" of "Ops" matches argument type "str"
    25: error: Too many arguments for "leaky_relu" of "LeakyReluApi"
"""
API = '''
    from __future__ import annotations

    import functools
    from pathlib import Path
    from typing import Any

    import numpy as np
    import pykernels

    LIMIT = 3
    _described = pykernels.user_op_builder("many").Op("many_forward").Output("y").Function("a", "b")
    described = pykernels.user_op_builder("many").Op("many_forward").Output("y").Function("a", "b")


    class Own:
        pass


    def plain(a, *, axes=(0, 1), dtype=np.int8, weights=None) -> "str | None":
        """With a \\\\ and of
        two lines."""
        return pykernels.user_op_builder("many").Build().InferAndTryRun().SoleOutputBlob()


    def several(b: Any, xs, /, *rest: int, own: Own, file: Path, **more: str) -> Any:
        def inner():
            return 1

        if rest:
            return pykernels.user_op_builder("many").Build().InferAndTryRun().RemoteBlobList()
        return pykernels.user_op_builder("many").Build().InferAndTryRun().RemoteBlobList()


    def fast(a, maybe=None):
        return _described(a, a)


    def unknown(a, b):
        return [a, b]


    @functools.cache
    def cached(a):
        return a


    def sample_inputs(elements, dtype):
        return {}
'''
MEMBERS = '''
    LIMIT: Any
    @staticmethod
    def described(a: _T, b: _T, /, **attributes: Any) -> _T: ...
    Own: Any
    @staticmethod
    def plain(a: _Tensor, *, axes: Sequence[int]=(0, 1), dtype: DTypeLike=..., weights: {weights}=None) -> str | None:
        """With a \\\\ and of
        two lines.
        """
    @staticmethod
    def several(b: _T, xs: Sequence[_T], /, *rest: int, own: Any, file: Path, **more: str) -> tuple[_T, ...]: ...
    @staticmethod
    def fast(a: _T, maybe: _T | None=None) -> _T: ...
    @staticmethod
    def unknown(a: _Tensor, b: _Tensor) -> Any: ...
    cached: Any
'''


def mypy(file: Path, *search: Path) -> str:
    """What mypy prints of a program, without its path."""
    done = run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--follow-imports=silent",
            "--cache-dir",
            file.parent / "cache",
            file.name,
        ],
        cwd=file.parent,
        env={**os.environ, "MYPYPATH": os.pathsep.join(map(str, (*search, CHECKOUT)))},
    )
    assert not done.stderr, done.stderr
    return done.stdout.replace(f"{file.name}:", "")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where programs are, and mypy's cache."""
    return tmp_path_factory.mktemp("programs")


@pytest.mark.thorough
def test_shipped_ops_used_rightly_and_wrongly(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stub = place / "typings/all_ops.pyi"
    assert cli.main(["stubgen", "-o", str(stub)]) == 0
    assert capsys.readouterr().out.startswith(f"wrote {stub}: batch_norm, ")
    assert "    Slope for numbers that are not positive" in stub.read_text()
    program = place / "program.py"
    program.write_text(textwrap.dedent(USE).lstrip())
    message = mypy(program, stub.parent)
    revealed, *errors = [line for line in message.splitlines() if ": note: " not in line or "Revealed" in line][:-1]
    assert 'Revealed type is "numpy.ndarray[' in revealed and "32Bit" in revealed
    assert [re.sub(r"  \[[\w-]+\]$", "", line) for line in errors] == textwrap.dedent(ERRORS).split("\n")[1:-1]
    # What a checker takes for right runs.
    names = {"__name__": "program"}
    exec(compile(program.read_text().partition("reveal_type")[0], program, "exec"), names)


@pytest.mark.thorough
def test_a_package_has_types_of_itself(place: Path) -> None:
    assert cli.main(["new", "gain", "--package", "typed_ops", "--attr", "by:int64=2", "--path", str(place)]) == 0
    package = place / "typed_ops/typed_ops"
    assert (package / "py.typed").exists()
    program = place / "user.py"
    program.write_text("import typed_ops\n\nreveal_type(typed_ops.gain)\n")
    message = mypy(program, package.parent)
    # Versions of mypy write type variables in other ways.
    assert re.search(r"\(x: _T[^,]*, by: int =\) -> _T", message) and "Success" in message, message
    written = (package / stubs.FILE).read_text()
    assert cli.main(["stubgen", str(package)]) == 0
    assert (package / stubs.FILE).read_text() == written


def test_all_that_an_api_file_may_have() -> None:
    types = {"axes": AttrType.SHAPE, "dtype": AttrType.DTYPE, "weights": AttrType.LIST_FLOAT}
    attributes = [Attribute(name, type_) for name, type_ in types.items()]
    inputs = [Argument("a"), Argument("b"), Argument("xs", 2, True), Argument("maybe", optional=True)]
    text = stubs.stub_text([stubs.StubOp("many", textwrap.dedent(API), inputs, attributes)])
    assert text.partition("class ManyApi(Protocol):")[2].partition("\nclass Ops")[0] == MEMBERS.format(
        weights="Sequence[float] | None"
    )
    assert "from numpy.typing import DTypeLike\nfrom pykernels import OpModule\nfrom pathlib import Path\n" in text
    compile(text, "stub", "exec")


@pytest.mark.thorough
def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["new", "gain", "--path", str(tmp_path)]) == 0
    assert cli.main(["stubgen", str(tmp_path / "gain")]) == 1
    assert (
        f"{tmp_path / 'gain'} is an op folder; give the folder that contains it, or a file " in capsys.readouterr().err
    )
    (tmp_path / stubs.FILE).write_text("x: int\n")
    assert cli.main(["stubgen", str(tmp_path)]) == 1
    assert (
        f"{tmp_path / stubs.FILE} exists and was not written by stubgen; choose another file" in capsys.readouterr().err
    )
    with pytest.raises(SystemExit):
        cli.main(["stubgen"])
    assert "give a folder of op folders, or the file to write with -o" in capsys.readouterr().err
