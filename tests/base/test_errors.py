"""The kinds of errors and their codes, their page, and what messages say: what is wrong, where, and what to do."""

from __future__ import annotations

import ast
import copy
import functools
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import generated
import numpy as np
import pytest
import write_errors
from messages import code_of, frames
from process import CHECKOUT

import pykernels
from pykernels.base import errors, refusals
from pykernels.tools import cli

KINDS = {name: each for name, each in vars(errors).items() if hasattr(each, "code")}
REFUSALS = {name: each for name, each in vars(refusals).items() if hasattr(each, "code") and name not in KINDS}
PAGE = CHECKOUT / "docs/errors.md"


def test_each_kind_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in KINDS.values()]
    assert all(re.fullmatch(r"PK\d{3}", code) for code in codes)
    assert len(set(codes)) == len(codes)
    assert all(issubclass(kind, (errors.PykernelsError, errors.PykernelsWarning)) for kind in KINDS.values())
    assert {name for name in KINDS if not hasattr(pykernels, name)} == set()


def test_codes_stay_the_same() -> None:
    # Whoever has searched for one, or filters logs by it, relies on them: add, never change.
    assert {
        "LoadError": "PK100",
        "ClashError": "PK101",
        "PackageError": "PK102",
        "DefinitionError": "PK200",
        "KernelError": "PK300",
        "CallError": "PK400",
        "BuildError": "PK500",
        "CompileFailed": "PK501",
        "CacheError": "PK600",
        "PykernelsWarning": "PK900",
    }.items() <= {name: kind.code for name, kind in KINDS.items()}.items()


@pytest.mark.parametrize("name", KINDS)
def test_each_message_has_its_code_behind_the_first_line(name: str) -> None:
    kind, given = KINDS[name], ("what is wrong", "what was printed") if name == "CompileFailed" else ("what is wrong",)
    error = kind(*given)
    first = str(error).splitlines()[0]
    assert first in (f"what is wrong [{kind.code}]", f"what is wrong [{kind.code}]:") and code_of(error) == kind.code
    for same in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(same) is kind and str(same) == str(error) and vars(same) == vars(error)


def test_a_message_that_is_made_of_another_has_the_code_of_what_is_raised() -> None:
    inner = errors.DefinitionError("first line\n  int x = y;")
    assert str(errors.CallError(f"outer: {inner}")) == "outer: first line [PK400]\n  int x = y;"
    assert code_of(RuntimeError(str(inner))) == "PK200"


def test_codes_of_c_plus_plus_are_those_of_the_classes() -> None:
    kinds = re.findall(r"^  k(\w+) = (\d+),$", (CHECKOUT / "registry/host/error.h").read_text(), re.M)
    assert {name: KINDS[name].code for name, _ in kinds} == {name: f"PK{int(code):03}" for name, code in kinds}
    assert len(kinds) == 5
    # Headers that include none of ours write it themselves, and say whose it is.
    written = {
        (kind, code)
        for path in (CHECKOUT / "registry").rglob("*.h")
        for kind, code in re.findall(r"with a (\w+)'s code\.\n.*\n.*\[(PK\d+)\]", path.read_text())
    }
    assert written == {("KernelError", errors.KernelError.code)}


def test_the_page_is_what_the_classes_say() -> None:
    path, text = generated.page(write_errors.__file__, write_errors.section())
    assert path.read_text() == text, "run: python docs/write_errors.py"
    for kind in KINDS.values():
        assert f"\n### {kind.code}\n" in PAGE.read_text()


# ---- every message


@functools.cache
def _messages() -> list[tuple[str, str, bool]]:
    """Of every error that is made in the sources: where, its text with {} for what is filled in, whether it is all."""
    found = []
    for path in sorted((CHECKOUT / "pykernels").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in {**KINDS, **REFUSALS}
                and node.args
            ):
                text = _text(node.args[0])
                if text is not None:
                    found.append((f"{path.relative_to(CHECKOUT)}:{node.lineno}", *text))
    return found


def _text(node: ast.expr) -> tuple[str, bool] | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value, False
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
        return "".join(map(str, parts)), "{}" in parts
    return None


def test_messages_are_found() -> None:
    assert len(_messages()) > 250


def test_every_message_names_what_it_is_about() -> None:
    # By what is filled in; or it is about one thing that has a name: an option, a function, a program.
    named = re.compile(r"\w+\.\w+|--\w|\w+\(|'\w+'|matplotlib|hypothesis|PyTorch|OneFlow|objcopy|GNU|its result|^\w+: ")
    # The definition's path stands before what its methods raise.
    nameless = {"list_outputs names no output, nor list_auxiliary_states an input to write into"}
    assert [text for _, text, filled in _messages() if not (filled or named.search(text) or text in nameless)] == []


def test_no_message_is_vague_or_ends_like_a_sentence() -> None:
    vague = re.compile(r"\b(invalid|illegal|oops|unknown error|unexpected error|something went wrong|bad)\b", re.I)
    assert [(where, text) for where, text, _ in _messages() if vague.search(text)] == []
    # Others are made of them, and codes follow.
    assert [(where, text) for where, text, _ in _messages() if text.endswith((".", "!", " "))] == []
    assert [(where, text) for where, text, _ in _messages() if "  " in text] == []


@pytest.mark.thorough
def test_what_is_raised_to_users_is_of_our_kinds() -> None:
    """Nothing raises a bare Exception, and what is raised besides our kinds is Python's own for its purpose."""
    allowed = {
        # For those who are called by Python or a framework, which expect them.
        *("TypeError", "ValueError", "IndexError", "AssertionError", "OSError", "argparse.ArgumentTypeError"),
        "StopIteration",
    }
    # Nothing but the text of one of ours, or a name.
    passed_on = {"RuntimeError(str(error))", "RuntimeError(str(refusal))", "AttributeError(name)"}
    ours = {*KINDS, *REFUSALS}
    for path in (CHECKOUT / "pykernels").rglob("*.py"):
        ours |= {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)}
    found = set()
    for path in (CHECKOUT / "pykernels").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                name = ast.unparse(node.exc.func)
                is_known = name.split(".")[-1] in ours or name in allowed or ast.unparse(node.exc) in passed_on
                if name[0].isupper() and not is_known:
                    found.add(f"{path.relative_to(CHECKOUT)}:{node.lineno}: {name}")
    assert found == set()


# ---- messages as users meet them: what, where, what to do


def _op(folder: Path, **files: str) -> Path:
    """A new op ``gain`` in `folder`, with other files."""
    assert cli.main(["new", "gain", "--path", str(folder)]) == 0
    for part, text in files.items():
        ending = "cpp" if part == "cpp_def" else "py"
        (folder / f"gain/gain_{part}.{ending}").write_text(text)
    return folder / "gain"


def _call(folder: Path, *arguments: object, **attributes: object) -> object:
    module = pykernels.load_ops(folder)["gain"]
    try:
        return module.api.gain(*arguments, **attributes)
    finally:
        pykernels.unload_ops("gain")


X = np.ones(3, np.float32)
KERNEL = "def forward(args, *, scale):\n    {}\n\n\ndef backward(args, *, scale):\n    return args[0]\n"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("files", "arguments", "kind", "message"),
    [
        ({"py_kernel": "def forward(args:\n"}, (X,), errors.LoadError, ["syntax error", "gain_py_kernel.py:1:"]),
        ({"py_api": "import nowhere\n"}, (X,), errors.LoadError, ["No module named 'nowhere'", "gain_py_api.py:1:"]),
        ({"cpp_def": "int x = y;\n"}, (X,), errors.DefinitionError, ["'y' was not declared", "gain_cpp_def.cpp:1:"]),
        (
            {"cpp_def": '#include "oneflow/core/framework/framework.h"\n'},
            (X,),
            errors.DefinitionError,
            ["gain_cpp_def.cpp registers no op", "REGISTER_USER_OP"],
        ),
        (
            {"py_kernel": KERNEL.format("return None")},
            (X,),
            errors.KernelError,
            ["returned None", "gain_py_kernel.py:1:", "Return the output array"],
        ),
        (
            {"py_kernel": KERNEL.format("return args[0].sum()")},
            (X,),
            errors.KernelError,
            ["gain_py_kernel.py:1:", "output 'y'"],
        ),
        (
            {"py_kernel": KERNEL.format("return args[0]").replace("*, scale", "*, scal")},
            (X,),
            errors.KernelError,
            ["takes the attribute 'scal'", "gain_py_kernel.py:1:", "scale"],
        ),
        ({}, ([1.0, 2.0],), errors.CallError, ["is a list, not an array of NumPy", "np.asarray makes an array"]),
        ({}, ("text",), errors.CallError, ["is a str", "op 'gain_forward'", "NumPy"]),
        ({}, (X, "large"), errors.CallError, ["'large' is not", "'scale' of op gain_forward", "double"]),
        ({}, (X.astype("M8[s]"),), errors.CallError, ["datetime64", "the dtypes are"]),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_what_users_get_wrong(
    tmp_path: Path,
    files: dict[str, str],
    arguments: tuple[object, ...],
    kind: type[errors.PykernelsError],
    message: list[str],
) -> None:
    folder = _op(tmp_path, **files)
    with pytest.raises(kind) as raised:
        _call(folder, *arguments)
    assert type(raised.value) is kind
    assert [part for part in message if part not in str(raised.value)] == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("file", "old", "new", "kind", "message"),
    [
        (
            "cpp_def.cpp",
            'REGISTER_USER_OP("',
            "REGISTER_USER_OP(",
            errors.DefinitionError,
            '{file}:5: unterminated argument list invoking macro "REGISTER_USER_OP"; a quote or a bracket is ',
        ),
        (
            "cpp_def.cpp",
            "x, dy -> dx",
            "xx, dy -> dx",
            errors.DefinitionError,
            "{file}: gain_cpp_def.cpp:10: Backward: 'xx' is no input or output of op gain_forward, and ",
        ),
        (
            "cpp_def.cpp",
            '.Attr<double>("scale", 1.0)',
            '.Attr<long double>("scale", 1.0)',
            errors.DefinitionError,
            "{file}:8: static assertion failed: an attribute is int32_t, ",
        ),
        (
            "py_api.py",
            '.Function("x"',
            '.Function("xs"',
            errors.CallError,
            "op 'gain_forward' has no input 'xs'; its inputs are x ({folder}/gain_cpp_def.cpp:5)",
        ),
        (
            "py_api.py",
            '"gain_forward"',
            '"gain_foward"',
            errors.CallError,
            "op 'gain_foward' is not loaded; did you mean 'gain_forward'? The loaded ops are: ",
        ),
    ],
)
def test_slips_in_the_files_of_an_op(
    tmp_path: Path, file: str, old: str, new: str, kind: type[errors.PykernelsError], message: str
) -> None:
    folder = _op(tmp_path)
    path = folder / f"gain_{file}"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(kind) as raised:
        _call(folder, X)
    assert str(raised.value).startswith(message.format(file=path, folder=folder))


@pytest.mark.thorough
def test_why_a_kernel_runs_as_python_names_its_own_file(tmp_path: Path) -> None:
    for place in ("one", "other"):  # which share what is in the cache
        text = KERNEL.format("return [args[0]][::-1][0] if json.dumps([1]) else 0")
        folder = _op(tmp_path / place, py_kernel=f"import json\n\n\n{text}")
        with pytest.warns(errors.PykernelsWarning, match=f"because numba: {folder}/gain_py_kernel.py:5: "):
            _call(folder, X)


def test_the_code_stands_behind_the_first_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = _op(tmp_path, cpp_def="int x = y;\n")
    for command in (["list"], ["describe", "--quick"], ["explain"], ["bench", "--sizes", "4"]):
        assert cli.main([command[0], str(folder), *command[1:]]) == 1
        message = capfd.readouterr().err
        assert message.startswith("pykernels: gain: ") and not frames(message)
        assert message.splitlines()[0].endswith("[PK200]") and "int x = y;" in message.splitlines()[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pykernels.load_ops(3), "ops are loaded from folders, given by their paths, not from 3"),
        (lambda: pykernels.load_ops(__file__), f"{__file__} is a file, not a folder"),
        (lambda: pykernels.user_op_builder("a").Op(3).Build(), "the name of an op is a string, not 3"),
        (lambda: pykernels.register(type), "takes the name of an operator, as in @pykernels.register('sigmoid'), not "),
        (lambda: pykernels.register(""), "takes the name of an operator, as in @pykernels.register('sigmoid'), not ''"),
    ],
)
def test_arguments_of_other_types_are_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(errors.PykernelsError) as raised:
        call()
    assert message in str(raised.value) and code_of(raised.value) == raised.value.code


def test_names_and_values_of_other_types_are_refused_in_a_line(tmp_path: Path) -> None:
    _op(tmp_path)
    pykernels.load_ops(tmp_path)
    try:
        builder = pykernels.user_op_builder("a").Op("gain_forward")
        with pytest.raises(TypeError, match="op 'gain_forward': the name of an input or output is a string, not 3"):
            builder.Input(3, [X]).Build()
        with pytest.raises(errors.CallError) as raised:
            pykernels.user_op_builder("a").Op("gain_forward").Input("x", [X]).Attr("scale", np.ones((99, 9))).Build()
    finally:
        pykernels.unload_ops("gain")
    assert "which array([[1., 1., " in str(raised.value) and "... is not: it is not a number [PK400]" in str(
        raised.value
    )
    assert len(str(raised.value).splitlines()) == 1 and len(str(raised.value)) < 250


def test_a_clash_names_both_folders(tmp_path: Path) -> None:
    one, other = _op(tmp_path / "one"), _op(tmp_path / "other")
    with pytest.raises(errors.ClashError) as raised:
        pykernels.load_ops(one, other)
    assert str(one) in str(raised.value) and str(other) in str(raised.value) and "Rename one" in str(raised.value)


def test_the_command_line_prints_the_code_behind_the_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["list", str(tmp_path / "nowhere")]) == 1
    assert capsys.readouterr().err == f"pykernels: folder {tmp_path / 'nowhere'} does not exist [PK100]\n"
