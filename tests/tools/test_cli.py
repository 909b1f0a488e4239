"""The command line, run as users run it: in a process of its own, outside the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from messages import frames
from process import CHECKOUT, program, python, run

import pykernels
from pykernels.base import paths
from pykernels.tools import cli
from pykernels.tools.commands import completion

SHIPPED = [folder.name for folder in paths.OPS.iterdir() if folder.is_dir()]


def command(*arguments: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return python("-W", "error", "-m", "pykernels", *arguments, cwd=cwd, **environment)


def contents(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def test_version(tmp_path: Path) -> None:
    done = command("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"pykernels {pykernels.__version__}\n")


def test_no_command_says_how_to_use_it(tmp_path: Path) -> None:
    done = command(cwd=tmp_path)
    assert done.returncode == 2
    assert "usage: pykernels" in done.stderr
    assert "COMMAND" in done.stderr


def test_new_writes_three_files_and_a_test_and_says_what_to_do_next(tmp_path: Path) -> None:
    done = command("new", "twice", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    files = contents(tmp_path)
    assert sorted(files) == [
        "ops/test_twice.py",
        *(f"ops/twice/twice_{part}" for part in ("cpp_def.cpp", "py_api.py", "py_kernel.py")),
    ]
    for file in files:
        assert f"wrote {file}: " in done.stdout
    assert "python -m pykernels check ops/twice\n" in done.stdout
    assert 'twice = pykernels.load_ops()["twice"].api.twice\n    y = twice(x)\n' in done.stdout


def test_new_elsewhere_says_where_to_load_from(tmp_path: Path) -> None:
    done = command("new", "twice", "--path", "some/where", cwd=tmp_path)
    assert (tmp_path / "some/where/twice/twice_py_kernel.py").is_file()
    assert "check some/where/twice\n" in done.stdout
    assert 'pykernels.load_ops("some/where")["twice"]' in done.stdout


def test_a_new_op_works_as_it_is(tmp_path: Path) -> None:
    command("new", "twice", cwd=tmp_path)
    done = program(
        """
        import numpy as np
        import pykernels

        pykernels.load_ops()
        import mxnet as mx

        x = np.array([[-1.0, 0.0, 3.0]], np.float32)
        y = pykernels.list_ops()["twice"].api.twice(x, scale=2.0)
        assert y.dtype == np.float32 and y.tolist() == [[2, 0, 18]], y

        a = mx.nd.array(x)
        a.attach_grad()
        with mx.autograd.record():
            b = mx.nd.Custom(a, op_type="twice", scale=2.0)
        b.backward(mx.nd.array([[1.0, 1.0, 10.0]]))
        assert b.asnumpy().tolist() == y.tolist()
        assert a.grad.asnumpy().tolist() == [[-4, 0, 120]]
        """,
        cwd=tmp_path,
    )
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("two words", "letters, digits and underscores, beginning with a letter (such as 'two_words')"),
        ("2nd", "'2nd' cannot be the name of an op"),
        ("../x", "cannot be the name of an op"),
        ("größe", "(such as 'gr__e')"),
        ("", "'' cannot be the name of an op"),
        ("lambda", "'lambda' cannot be the name of an op: it is a Python keyword (try 'lambda_op')"),
        ("np", "'np' cannot be the name of an op: the written files use this name (try 'np_op')"),
        ("relu", "ships an op 'relu' already"),
    ],
)
def test_new_refuses_names_that_cannot_be(
    name: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", name]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("pykernels: ") and message in output.err
    assert list(tmp_path.iterdir()) == []


def test_new_never_overwrites(tmp_path: Path) -> None:
    command("new", "twice", cwd=tmp_path)
    (tmp_path / "ops/twice/twice_py_kernel.py").write_text("# mine\n")
    before = contents(tmp_path)
    done = command("new", "twice", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "pykernels: ops/twice already exists; choose another name, or remove it first [PK100]\n"
    assert contents(tmp_path) == before


def test_new_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "ops").write_text("a file, where the folder should be")
    done = command("new", "twice", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "pykernels: the op folder ops/twice cannot be written: Not a directory [PK100]\n"


def test_list_shows_the_shipped_ops_and_those_of_the_current_directory(tmp_path: Path) -> None:
    command("new", "twice", cwd=tmp_path)
    done = command("list", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    # A line that continues a long row begins with an empty cell.
    rows = {line.split()[1]: line for line in done.stdout.splitlines() if re.match("│ [^ ]", line)}
    assert sorted(rows) == sorted([*SHIPPED, "twice"])
    assert "leaky_relu_forward(x, *, alpha: float = 0.01) -> y" in rows["leaky_relu"]
    assert "shipped" in rows["leaky_relu"] and "yes" in rows["leaky_relu"]
    assert "twice_forward(x, *, scale: " in rows["twice"]
    assert "ops/twice" in rows["twice"]


@pytest.mark.thorough
def test_list_of_a_path_shows_what_is_there_alone(tmp_path: Path) -> None:
    command("new", "once", "--path", "here", cwd=tmp_path)
    command("new", "twice", "--path", "here", cwd=tmp_path)
    for path, expected in (("here", {"once", "twice"}), ("here/twice", {"twice"})):
        done = command("list", path, cwd=tmp_path)
        assert {line.split()[1] for line in done.stdout.splitlines() if line.startswith("│")} == expected


@pytest.mark.thorough
def test_list_shows_an_op_without_gradient(tmp_path: Path) -> None:
    command("new", "twice", "--no-grad", cwd=tmp_path)
    done = command("list", "ops", cwd=tmp_path)
    (row,) = (line for line in done.stdout.splitlines() if line.startswith("│"))
    assert [cell.strip() for cell in row.split("│")][3] == "no"


@pytest.mark.thorough
def test_list_shows_a_broken_folder_beside_the_good_ones(tmp_path: Path) -> None:
    command("new", "bad_kernel", cwd=tmp_path)
    command("new", "bad_definition", cwd=tmp_path)
    command("new", "incomplete", cwd=tmp_path)
    command("new", "twice", cwd=tmp_path)
    ops = tmp_path / "ops"
    (ops / "bad_kernel/bad_kernel_py_kernel.py").write_text("def forward(args):\n    return (\n")
    (ops / "bad_definition/bad_definition_cpp_def.cpp").write_text("int x = y;\n")
    (ops / "incomplete/incomplete_py_api.py").unlink()
    done = command("list", "ops", cwd=tmp_path)
    assert done.returncode == 1
    rows = {line.split()[1]: line for line in done.stdout.splitlines() if line.startswith("│")}
    assert "twice_forward(x" in rows["twice"]
    for name in ("bad_kernel", "bad_definition", "incomplete"):
        assert "broken, see below" in rows[name]
        assert f"pykernels: {name}: " in done.stderr
    assert "bad_kernel_py_kernel.py:2: syntax error" in done.stderr
    assert "bad_definition_cpp_def.cpp:1" in done.stderr
    assert "incomplete_py_api.py is missing" in done.stderr
    assert frames(done.stderr) == []


@pytest.mark.thorough
def test_list_shows_both_folders_of_one_name(tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "ops/relu", tmp_path / "ops/relu")
    done = command("list", cwd=tmp_path)
    assert done.returncode == 1
    reported = f"pykernels: relu: two folders define the op 'relu': {paths.OPS / 'relu'} (of pykernels itself) and "
    assert reported in done.stderr


def test_list_of_a_folder_that_is_not_there(tmp_path: Path) -> None:
    done = command("list", "./nowhere", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "pykernels: folder nowhere does not exist [PK100]\n"


def test_whoever_reads_may_stop(tmp_path: Path) -> None:
    done = run(
        ["bash", "-c", '"$0" -m pykernels describe --quick relu dense tanh | true', sys.executable],
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        cwd=tmp_path,
    )
    assert done.stderr == ""


def test_colours_are_for_terminals_and_can_be_turned_off(tmp_path: Path) -> None:
    def told_at_a_terminal(**environment: str) -> str:
        terminal, end = os.openpty()
        try:
            run(
                [sys.executable, "-m", "pykernels", "list", "./nowhere"],
                env={**os.environ, "PYTHONPATH": str(CHECKOUT), "TERM": "xterm", **environment},
                cwd=tmp_path,
                stderr=end,
            )
            return os.read(terminal, 4096).decode()
        finally:
            os.close(terminal)
            os.close(end)

    red = "\x1b[1;31mpykernels:"
    assert red in told_at_a_terminal()
    shown = told_at_a_terminal(NO_COLOR="1")
    assert "folder nowhere does not exist [PK100]" in shown and red not in shown


def test_a_shell_completes_commands_and_options(tmp_path: Path) -> None:
    done = command("completion", "bash", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "completion.sh").write_text(done.stdout)
    asked = """
        source completion.sh
        COMP_WORDS=(pykernels che) COMP_CWORD=1; _shtab_pykernels; echo "${COMPREPLY[@]}"
        COMP_WORDS=(pykernels bench --js) COMP_CWORD=2; _shtab_pykernels; echo "${COMPREPLY[@]}"
        COMP_WORDS=(pykernels explain drop) COMP_CWORD=2; _shtab_pykernels; echo "${COMPREPLY[@]}"
        COMP_WORDS=(pykernels run comp) COMP_CWORD=2; _shtab_pykernels; echo "${COMPREPLY[@]}"
        COMP_WORDS=(pykernels check --only forms shap) COMP_CWORD=4; _shtab_pykernels; echo "${COMPREPLY[@]}"
    """
    completed = run(["bash", "-c", asked], cwd=tmp_path)
    assert completed.stdout.split() == ["check", "--json", "dropout", "completion.sh", "shapes"]


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_every_shell_gets_a_script(shell: str, tmp_path: Path) -> None:
    assert "pykernels" in command("completion", shell, cwd=tmp_path).stdout


def test_an_unknown_shell_is_refused(tmp_path: Path) -> None:
    done = command("completion", "fish", cwd=tmp_path)
    assert done.returncode == 2
    assert "invalid choice: 'fish' (choose from 'bash', 'zsh', 'tcsh')" in done.stderr


def test_starts_without_importing_anything_slow(tmp_path: Path) -> None:
    done = program(
        """
        import json, sys
        from pykernels.tools.cli import main
        main(["new", "twice"])
        print(json.dumps(list(sys.modules)))
        """,
        cwd=tmp_path,
    )
    modules = json.loads(done.stdout.splitlines()[-1])
    assert "pykernels.tools.cli" in modules
    assert [name for name in ("mxnet", "numba", "llvmlite", "scipy", "rich.console") if name in modules] == []


@pytest.mark.parametrize(
    ("arguments", "usage", "message"),
    [
        (["list", "--bogus"], "pykernels list", "unrecognized arguments: --bogus"),
        (["cache", "relu"], "pykernels cache", "unrecognized arguments: relu"),
        (
            ["bench", "dense", "--shape", "data=64,32", "weight=16,32"],
            "pykernels bench",
            "unrecognized arguments: weight=16,32; write one flag for each: --shape weight=16,32",
        ),
        (["warmup", "--jobs", "0"], "pykernels warmup", "argument --jobs: '0' is not a positive integer"),
        (["check", "--jobs", "x"], "pykernels check", "argument --jobs: 'x' is not a positive integer"),
        (["bench", "--sizes", "inf"], "pykernels bench", "argument --sizes: 'inf' is not a positive integer"),
    ],
)
def test_unknown_arguments_show_the_usage_of_the_command(
    arguments: list[str], usage: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    reported = capsys.readouterr().err
    assert ended.value.code == 2
    assert reported.startswith(f"usage: {usage} ") and reported.endswith(f"{usage}: error: {message}\n")


def test_list_takes_names_as_other_commands_do(tmp_path: Path) -> None:
    done = command("list", "relu", cwd=tmp_path)
    assert done.returncode == 0 and re.findall(r"\w+\(.*\) -> \w+", done.stdout) == ["relu_forward(x) -> y"]
    assert "op 'relux' does not exist (folder relux does not exist); did you mean 'relu'?" in (
        command("list", "relux", cwd=tmp_path).stderr
    )
