"""``python -m pykernels run``: what a program sees and does is what it sees and does when Python itself runs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from messages import frames
from process import CHECKOUT, python

SURROUNDINGS = """
import atexit, pickle, sys

class Local:
    pass

print(sys.argv, __name__, __file__, __spec__, __cached__ is None, __loader__.get_filename("__main__"))
print(sys.path, sys.modules["__main__"].Local is Local)
print(type(pickle.loads(pickle.dumps(Local()))) is Local)
print([name for name in sys.modules if name in ("oneflow", "mxnet")])
annotated: "no future here" = 1
print(__annotations__)
atexit.register(lambda: print("at exit", sys.argv[1:], Local))
"""
PROGRAMS = {
    "surroundings": SURROUNDINGS,
    "exit code": "import sys; sys.exit(3)",
    "exit text": "raise SystemExit('stopped')",
    "error": "def divide(n):\n    return 1 / n\n\ndivide(0)\n",
    "our error": "import pykernels\npykernels.load_ops('nowhere')\n",
    "missing module": "import no_such_module",
    "syntax error": "x = = 1\n",
    "hook": "import sys\nsys.excepthook = lambda *error: print('hooked', error[0])\nraise KeyError(1)\n",
    "helper beside it": "import helper; print(helper.__file__)",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "scripts" / "package").mkdir(parents=True)
    (tmp_path / "scripts" / "helper.py").write_text("")
    return tmp_path


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_is_run_as_python_does(place: Path, name: str) -> None:
    (place / "scripts" / "script.py").write_text(PROGRAMS[name])
    arguments = ("scripts/script.py", "-m", "x", "--help", "--", "-v")
    expected = python(*arguments, cwd=place)
    done = python("-m", "pykernels", "run", *arguments, cwd=place)
    assert (done.returncode, done.stdout, done.stderr) == (expected.returncode, expected.stdout, expected.stderr)
    assert done.stdout or done.stderr or done.returncode == 3


def test_a_script_behind_a_link_finds_what_lies_beside_it(place: Path) -> None:
    (place / "scripts" / "script.py").write_text(PROGRAMS["helper beside it"])
    (place / "link.py").symlink_to("scripts/script.py")
    done = python("-m", "pykernels", "run", "link.py", cwd=place)
    assert (done.returncode, done.stdout) == (0, f"{place}/scripts/helper.py\n"), done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_module_is_run_as_python_does(place: Path, name: str) -> None:
    (place / "scripts" / "package" / "inner.py").write_text(
        PROGRAMS[name].replace("__spec__", "__spec__.name").replace('"__main__")', "__spec__.name)")
    )
    arguments = ("-m", "package.inner", "-m", "x", "--help", "--", "-v")
    expected = python(*arguments, cwd=place / "scripts")
    done = python("-m", "pykernels", "run", *arguments, cwd=place / "scripts")
    assert (done.returncode, done.stdout) == (expected.returncode, expected.stdout), done.stderr
    assert done.stderr.splitlines()[-1:] == expected.stderr.splitlines()[-1:]
    is_ours = [Path(file).is_relative_to(CHECKOUT / "pykernels/commands") for file in frames(done.stderr)]
    assert not any(is_ours) and "runpy.py" not in [Path(file).name for file in frames(done.stderr)]


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    done = python("-m", "pykernels", "run", "absent.py", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        1,
        "pykernels: absent.py is neither a script nor a program [PK100]\n",
    )
    done = python("-m", "pykernels", "run", "-m", "absent", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "ImportError: No module named absent\n")
    done = python("-m", "pykernels", "run", cwd=tmp_path)
    assert done.returncode == 2
    assert "usage: pykernels run [-h] (SCRIPT | PROGRAM | -m MODULE) [ARGUMENT ...]" in done.stderr
    assert "give a script, or a module with -m" in done.stderr


def test_a_program_is_run_as_it_is(tmp_path: Path) -> None:
    done = python("-m", "pykernels", "run", "sh", "-c", 'echo "$0 $1"; exit 3', "--help", "-v", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (3, "--help -v\n", "")


@pytest.mark.parametrize("name", [sys.executable, "python"])
def test_a_python_runs_scripts_as_this_one_does(tmp_path: Path, name: str) -> None:
    (tmp_path / "script.py").write_text("import sys, popxl\nprint(popxl.__name__, sys.argv)\n")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = python("-m", "pykernels", "run", name, "script.py", "--x", cwd=tmp_path, PATH=path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "pykernels.vendors.popxl ['script.py', '--x']\n"
