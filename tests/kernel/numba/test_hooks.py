"""Hooks into private parts of numba and the text of LLVM IR: a test for each, under its name.

`hooks.HOOKS` says what a hook relies on. Its test takes the hook away and shows what a kernel loses: without a required
hook it runs as Python, without an optional one its LLVM IR lacks a mark. The results are the same.
"""

from __future__ import annotations

import ast
import configparser
import dataclasses
import json
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import build, kernel_of, plain, run
from process import CHECKOUT, program

from pykernels.kernel.emit import target
from pykernels.kernel.facts import PYTHON
from pykernels.kernel.numba import hooks

X = np.random.default_rng(0).standard_normal((40, 50))
LOOP = "def forward(args, outs):\n    (x,), (y,) = args, outs\n    y[:] = 0\n    "
WHOLE = "def forward(args):\n    (x,) = args\n    return "
HOOK_OF = {f"test_{name.rpartition('.')[2]}": name for name in hooks.HOOKS}


def computed(folder: Path, text: str) -> tuple[str, str | None, np.ndarray, str]:
    """The form of a kernel, what went wrong in it, what it computes, and its LLVM IR before LLVM optimises it."""
    kernel = kernel_of(folder / uuid.uuid4().hex, f"# {uuid.uuid4()}\n{text}")
    codes: list[str] = []
    optimise, y = target.optimise, np.zeros_like(X)

    def look(module: Any, **options: Any) -> None:
        codes.append(str(module))
        optimise(module, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target, "optimise", look)
        built = build(kernel, [X], [y])
    said = run(built, [X], [y])
    if said is None:
        np.testing.assert_allclose(y, plain(kernel, [X], [y])[0], rtol=1e-12)
    return built.facts.form, said, y, "".join(codes)


# ---- required: without it, a kernel runs as Python


@pytest.fixture
def needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Callable[..., None]:
    """Checks that a kernel is compiled with the hook, and runs as Python where numba lacks a name, with one result."""
    hook = HOOK_OF[request.function.__name__]

    def check(text: str, name: str) -> None:
        assert hooks.HOOKS[hook].is_required and name in hooks.HOOKS[hook].names
        form, said, result, _ = computed(tmp_path, text)
        assert form != PYTHON
        monkeypatch.delattr(name)
        monkeypatch.setattr(hooks, "_missing", hooks._missing.__wrapped__)
        with pytest.warns(match=f"has no {name}, which .* relies on"):
            form, in_python, expected, _ = computed(tmp_path, text)
        assert form == PYTHON
        assert (said is None) == (in_python is None)
        np.testing.assert_allclose(result, expected, rtol=1e-12)

    return check


def test_target(needs: Callable[..., None]) -> None:
    needs(WHOLE + "np.sort(x)", "numba.core.compiler.compile_extra")


def test_memory_safety(needs: Callable[..., None]) -> None:
    needs(LOOP + "y[np.argsort(x[0]) * 0 + 40] = 1", "numba.np.arrayobj.reshape_unchecked")


def test_given_outputs(needs: Callable[..., None]) -> None:
    needs(LOOP + "np.add(x, np.sort(x)[:, :3], y)", "numba.core.base.BaseContext.make_array")


def test_flat(needs: Callable[..., None]) -> None:
    needs(
        LOOP + "for i in range(9):\n        y.flat[i] = x.flat[x.size + i]", "numba.np.arrayobj.iternext_numpy_getitem"
    )


def test_ranges(needs: Callable[..., None]) -> None:
    body = "n = -(2**62)\n    for i in range(2**62, n * 2 + 1):\n        y[0, 0] += i"
    needs(LOOP + body, "numba.core.imputils.Registry")


def test_reshaping(needs: Callable[..., None]) -> None:
    needs(WHOLE + "np.sort(x[:0].reshape((2**32, 2**32)))", "numba.np.arrayobj.populate_array")


def test_numpy_operations(needs: Callable[..., None]) -> None:
    body = "a = np.array([-(2**63)])\n    for i in range(1):\n        y[0, i] = (a // -1)[i]"
    needs(LOOP + body, "numba.core.base.BaseContext.get_ufunc_info")


def test_numpy_numbers(needs: Callable[..., None]) -> None:
    body = "a = np.array([200], np.uint8)\n    for i in range(1):\n        y[0, i] = a[i] + a[i]"
    needs(LOOP + body, "numba.np.numpy_support.as_dtype")


def test_functions(needs: Callable[..., None]) -> None:
    needs(LOOP + "for i in range(40):\n        y[i] = np.argmax(x[i])", "numba.np.unsafe.ndarray.to_fixed_tuple")


@pytest.mark.filterwarnings("ignore:.*calls of Python:pykernels.PykernelsWarning")
def test_calling(needs: Callable[..., None]) -> None:
    needs(WHOLE + "np.linalg.matrix_power(x[:, :40], -1)[:, :1] * x", "numba.core.typing.templates.AbstractTemplate")


def test_inlining(needs: Callable[..., None]) -> None:
    body = "parts = [i * 2 for i in range(len(x))]\n    (z,) = outs\n    z[:] = len(parts)"
    needs(LOOP + body, "numba.core.ir_utils.remove_dead_extensions")


def test_unbound(needs: Callable[..., None]) -> None:
    needs(
        LOOP + "for i in range(len(x) - 40):\n        last = x[i]\n    y[:] = last", "numba.core.compiler.run_frontend"
    )


def test_compiler_locks(needs: Callable[..., None]) -> None:
    needs(WHOLE + "np.sort(x)", "numba.core.compiler_lock.global_compiler_lock._lock")


# ---- optional: without it, the code of a kernel lacks what it is marked by


@pytest.fixture
def loses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Callable[..., None]:
    """Checks that the code of a kernel is marked by the hook, but not where it is off, and computes the same."""
    hook = HOOK_OF[request.function.__name__]

    def check(text: str, mark: str) -> None:
        form, _, result, code = computed(tmp_path, text)
        assert form != PYTHON and mark in code
        without = dataclasses.replace(hooks.HOOKS[hook], names=("numba.gone",))
        monkeypatch.setitem(hooks.HOOKS, hook, without)  # type: ignore[arg-type]
        assert not without.is_required and not hooks.is_on(hook)
        form, _, expected, code = computed(tmp_path, text)
        assert form != PYTHON and mark not in code
        np.testing.assert_allclose(result, expected, rtol=1e-12)

    return check


def test_counting(loses: Callable[..., None]) -> None:
    loses(WHOLE + "np.sort(x)[::-1]", "@pk_arena_of_thread")


def test_reductions(loses: Callable[..., None]) -> None:
    body = "for i in range(40):\n        total = 0.0\n        for j in range(50):\n            total += x[i, j]"
    loses(LOOP + body + "\n        y[i] = total", " reassoc ")


def test_fast_math(loses: Callable[..., None]) -> None:
    loses("FAST_MATH = True\n" + WHOLE + "np.sort(x) * 3 + 1", " contract ")


def test_loop_math(loses: Callable[..., None]) -> None:
    loses(WHOLE + "np.exp(np.sort(x))", "@pk_exp_double")


def test_output_reuse(loses: Callable[..., None]) -> None:
    loses(WHOLE + "np.roll(np.sort(x), 1)", "@pk_lend")


def test_unchecked(loses: Callable[..., None]) -> None:
    loses(LOOP + "for i in range(int(x.max())):\n        y[i, 3] = x[i, 5]", "281474976710656")  # the most iterations


# ---- optional, for whatever a process compiles: it is off in another one


@pytest.fixture
def loses_for_good(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[..., None]:
    """As `loses`, for a hook that is set up once for a process."""
    hook = HOOK_OF[request.function.__name__]

    def check(text: str, mark: str, form: str = "") -> None:
        compiled, _, result, code = computed(tmp_path, text)
        assert compiled != PYTHON and mark in code
        without = f"hooks.HOOKS[{hook!r}] = dataclasses.replace(hooks.HOOKS[{hook!r}], names=('numba.gone',))"
        (given,) = elsewhere(tmp_path, without, text)
        assert given["form"] == (form or compiled) and (form == PYTHON or mark not in given["code"])
        np.testing.assert_allclose(result, given["result"], rtol=1e-12)

    return check


def elsewhere(folder: Path, setup: str, *texts: str) -> list[dict[str, Any]]:
    """What `computed` finds in a process of its own."""
    code = f"""
        import dataclasses, json, sys, warnings
        from pathlib import Path
        sys.path[:0] = {sys.path!r}
        from pykernels.kernel.numba import hooks
        {setup}
        import test_hooks
        warnings.simplefilter("ignore")
        for text in {texts!r}:
            form, said, result, code = test_hooks.computed(Path.cwd(), text)
            assert said is None, said
            print(json.dumps(dict(form=form, code=code, result=result.tolist())))
        """
    return list(map(json.loads, program(code, cwd=folder).stdout.splitlines()))


@pytest.mark.thorough
def test_assignments(loses_for_good: Callable[..., None]) -> None:
    loses_for_good(LOOP + "y[:, 1:] = x[:, :-1]", "@pk_copy")


def test_broadcasting(loses_for_good: Callable[..., None]) -> None:
    body = "z = np.sort(x).reshape((5, 8, 50)) + x[:8]\n    y[:] = z.reshape((40, 50))"
    loses_for_good(LOOP + body, "pk__KernelImpl")


@pytest.mark.thorough
def test_references(tmp_path: Path) -> None:
    hook = "hooks.HOOKS['llvm_ir.references']"
    without = f"{hook} = dataclasses.replace({hook}, names=('numba.gone',))"
    (given,) = elsewhere(tmp_path, without, WHOLE + "np.sort(x)")
    assert given["form"] != PYTHON
    assert "pykernels.kernel.numba.llvm_ir.references" in sys.modules


# ---- all of them


def test_every_hook_has_a_test() -> None:
    assert set(HOOK_OF) - set(globals()) == set()


@pytest.mark.thorough
def test_another_version_of_numba(tmp_path: Path) -> None:
    texts = (
        LOOP + "for i in range(40):\n        for j in range(50):\n            y[i, 0] += np.exp(x[i, j])",
        WHOLE + "np.sort(x)[::-1] + np.roll(x, 1)",
        LOOP + "y[:, 1:] = np.stack((x[0], x[1]))[0, :-1]",
    )
    found = elsewhere(tmp_path, "hooks.OLDEST, hooks.NEXT = (0, 0), (0, 1)", *texts)
    assert PYTHON not in {each["form"] for each in found}
    for mark in ("@pk_arena", " reassoc ", "@pk_exp", "@pk_lend", "pk__KernelImpl"):
        assert not any(mark in each["code"] for each in found)


def test_another_version_of_numba_that_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "OLDEST", (0, 0))
    monkeypatch.setattr(hooks, "NEXT", (0, 1))
    monkeypatch.setattr("pykernels.kernel.numba.llvm_ir.passes.optimise", lambda: None)
    with pytest.warns(match=r"fails: TypeError: .* pykernels is tested with numba >= 0\.68"):
        computed(tmp_path, WHOLE + "np.sort(x)")


def test_a_version_of_llvmlite_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("llvmlite.binding.create_pass_builder")
    monkeypatch.setattr(hooks, "_missing", hooks._missing.__wrapped__)
    too_old, missing = r"llvmlite 0\.\d+\.\d+ is too old", r"has no llvmlite\.binding\.create_pass_builder"
    for body, reason in {"x + 1": too_old, "x - x.max()": too_old, "np.sort(x)": missing}.items():
        with pytest.warns(match=f"runs as Python.* {reason}"):
            computed(tmp_path, WHOLE + body)


def test_the_range_is_declared() -> None:
    configuration = configparser.ConfigParser()
    configuration.read(CHECKOUT / "setup.cfg")
    assert hooks.RANGE in configuration["options"]["install_requires"].splitlines()
    assert hooks.state() == ""


# Documented for extensions, or used by everyone who writes one.
_DOCUMENTED = ("numba", "numba.types", "numba.extending", "numba.core.errors", "numba.core.cgutils")


def _private_names(file: Path) -> Iterator[str]:
    """The private names of numba and llvmlite that a file uses."""
    tree, modules = ast.parse(file.read_text()), dict[str, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            modules |= {each.asname or each.name: each.name for each in node.names}
    used = {(node.value.id, node.attr) for node in ast.walk(tree) if _is_member(node)}  # type: ignore[attr-defined]
    names = {f"{modules[module]}.{name}" for module, name in used if module in modules}
    names |= {name for short, name in modules.items() if short not in {module for module, _ in used}}
    for name in names:
        module = name.rpartition(".")[0]
        is_private = module.startswith("numba") or name.startswith(("llvmlite.ir.instructions", "llvmlite.binding.ffi"))
        if is_private and not name.startswith("numba.types") and module not in _DOCUMENTED:
            yield name


def _is_member(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)


def _is_within(one: str, other: str) -> bool:
    """Whether one name is a member of the other, or the other way round, or both are one."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


def test_private_names_stand_in_the_table() -> None:
    package = CHECKOUT / "pykernels"
    ours = package / "kernel" / "numba"
    required = {name for hook in hooks.HOOKS.values() if hook.is_required for name in hook.names}
    for file in sorted(package.rglob("*.py")):
        allowed = set()
        if file.is_relative_to(ours):
            hook = hooks.HOOKS.get(".".join(file.relative_to(ours).with_suffix("").parts))
            allowed = required | set(hook.names if hook else ())
        unlisted = {name for name in _private_names(file) if not any(_is_within(each, name) for each in allowed)}
        assert unlisted == set(), file
