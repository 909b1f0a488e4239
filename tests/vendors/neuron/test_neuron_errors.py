"""Errors of Neuron libraries that are wrong: when they are built, registered and loaded."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import process
import pytest
import torch
from messages import code_of
from neuron_libraries import FOLDER, line_of, surface

from pykernels.base.errors import BuildError, DefinitionError, LoadError
from pykernels.vendors.neuron.loading import load, load_library

# What they are tried with takes long to compile.
pytestmark = pytest.mark.thorough

KERNEL = """
#include <torch/torch.h>
torch::Tensor twice_compute(const torch::Tensor& x) { return torch::mul(x, 2); }
"""
SHAPE = """
#include <torch/torch.h>
#include "torchneuron/register.h"
torch::Tensor twice_shape(const torch::Tensor& x) { return torch::empty(x.sizes(), x.scalar_type()); }
NEURON_LIBRARY(tiny, m) { m.def("twice", &twice_shape, "twice_compute"); }
"""
LOAD = """
import torch
from pykernels.base.errors import *
from pykernels.vendors.neuron.loading import load, load_library

def build(*kernels):
    return load("tiny", kernels, ["shape.cpp"], build_directory=".")
"""
CALL = "print(torch.ops.tiny.twice(torch.ones(2)))\n"
SHOWN = "tensor([2., 2.])\n"


def test_all_mistakes_in_definitions_are_reported_at_once() -> None:
    with pytest.raises(DefinitionError) as error:
        load("wrong", [FOLDER / "kernels.cpp"], [FOLDER / "wrong_shapes.cpp"])
    lines = str(error.value).replace(" [PK200]\n", "\n", 1).splitlines()
    assert code_of(error.value) == "PK200"

    def line(op: str, message: str, definition: str) -> str:
        return f"{line_of('wrong_shapes.cpp', definition)}operator '{op}': {message}"

    supported = "; supported are torch::Tensor, torch::Scalar, double and int64_t"
    assert lines[0].startswith(line("missing", "the kernel files define no function blen; they define ", '"blen");'))
    assert {"blend", "join", "same", "mistake"} <= set(lines[0].rpartition("they define ")[2].split(", "))
    assert lines[1:9] == [
        line(
            "joined",
            "the kernel function join takes (Tensor, Tensor), but the shape function takes (Tensor)",
            '&unary, "join");',
        ),
        line("scaled", f"parameter 2 of the shape function is of type float{supported}", '&with_float, "same");'),
        line("counted", f"parameter 2 of the shape function is of type int{supported}", '&with_int, "same");'),
        line(
            "listed",
            f"parameter 1 of the shape function is of type std::vector<at::Tensor>{supported}",
            '&with_list, "same");',
        ),
        line(
            "paired",
            "the shape function returns std::tuple<at::Tensor, at::Tensor>, it must return torch::Tensor",
            '&pair, "same");',
        ),
        line("summed", "the kernel function total returns float, it must return torch::Tensor", '"total");'),
        line(
            "c",
            'the kernel function without_types takes (unknown, since it is extern "C"), '
            "but the shape function takes (Tensor)",
            '"without_types");',
        ),
        line(
            "narrow",
            "the kernel function narrow takes (Tensor, float), but the shape function takes (Tensor, double)",
            '"narrow");',
        ),
    ]
    # In PyTorch's words.
    for op, definition in (("no name", '"no name", &unary, "same");'), ("once", '"once", &unary, "negate");')):
        assert sum(each.startswith(line(op, "", definition)) for each in lines) == 1
    assert lines[-1] == line("op10", "a library holds at most 10 operators", "// many")
    assert not hasattr(torch.ops.wrong, "joined")


def test_a_namespace_is_used_twice() -> None:
    surface()
    with pytest.raises(DefinitionError, match="namespace surface") as error:
        load("surface_again", [FOLDER / "kernels.cpp"], [FOLDER / "shapes.cpp"])
    assert str(error.value).startswith(line_of("shapes.cpp", "NEURON_LIBRARY(surface, m) {"))
    # Nothing has happened to the first.
    assert torch.ops.surface.negate(torch.ones(1)).tolist() == [-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"compute_srcs": ["absent.cpp"]}, "absent.cpp: the file does not exist; it is one of compute_srcs"),
        ({"shape_srcs": "shape.cpp"}, "shape_srcs must be a list of C\\+\\+ files, but is 'shape.cpp'"),
        ({"compute_srcs": []}, "compute_srcs must be a list of C\\+\\+ files, but is \\[\\]"),
        ({"name": "a/b"}, "name must be that of a file, lib<name>.so, but is 'a/b'"),
        ({"extra_cflags": "-O3"}, "extra_cflags must be a list of options, but is '-O3'"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    files = {"compute_srcs": [FOLDER / "kernels.cpp"], "shape_srcs": [FOLDER / "shapes.cpp"]}
    with pytest.raises(LoadError, match=message):
        load(**{"name": "other", **files, **arguments})


def test_a_stack_that_no_device_has() -> None:
    with pytest.raises(BuildError, match="-DSTACK_SIZE=500000: the largest stack of a device is 409600 bytes"):
        load("other", [FOLDER / "kernels.cpp"], [FOLDER / "shapes.cpp"], extra_cflags=["-DSTACK_SIZE=500000"])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files of a small library."""
    place = tmp_path_factory.mktemp("tiny")
    (place / "kernel.cpp").write_text(KERNEL)
    (place / "shape.cpp").write_text(SHAPE)
    (place / "other.cpp").write_text("int other() { return 1; }\n")
    return place


@pytest.fixture(scope="module")
def run(place: Path) -> Callable[..., str]:
    """Runs a program there, with a cache of its own that two processes have filled at the same time."""
    program = LOAD + 'build("kernel.cpp")\n' + CALL
    environment = {**os.environ, "PYTHONPATH": str(process.CHECKOUT), "PYKERNELS_CACHE": str(place / "cache")}
    both = [
        subprocess.Popen([sys.executable, "-c", program], cwd=place, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [(process.finish(one)[0], one.returncode) for one in both] == [(SHOWN, 0)] * 2

    def run(text: str, **changes: str) -> str:
        changes = {"PYKERNELS_CACHE": str(place / "cache"), **changes}
        return process.program(LOAD + text, cwd=place, **changes).stdout

    return run


def test_what_is_built_needs_no_compiler(run: Callable[..., str]) -> None:
    assert run('build("kernel.cpp")\n' + CALL, CXX="") == SHOWN
    message = run('try: build("kernel.cpp")\nexcept BuildError as e: print(e)', CXX="no-such-compiler")
    assert message.startswith("$CXX names 'no-such-compiler', which is not on the PATH. Install one")


def test_a_person_at_a_terminal_sees_what_is_going_on(place: Path, run: Callable[..., str]) -> None:
    (place / "new.cpp").write_text("int unheard_of() { return 1; }\n")
    ours, theirs = os.openpty()
    program = LOAD + 'try: build("new.cpp")\nexcept DefinitionError: pass'
    environment = {**os.environ, "PYTHONPATH": str(process.CHECKOUT), "PYKERNELS_CACHE": str(place / "cache")}
    done = process.run([sys.executable, "-c", program], cwd=place, env=environment, stderr=theirs)
    assert done.returncode == 0
    os.close(theirs)
    assert os.read(ours, 1000).decode() == "pykernels: compiling new.cpp for libtiny.so\r\n"
    os.close(ours)


def test_code_that_does_not_compile(place: Path, run: Callable[..., str]) -> None:
    (place / "broken.cpp").write_text("int one() { return 1; }\nint broken() { return nothing; }\n")
    message = run('try: build("broken.cpp")\nexcept CompileFailed as e: print(e)')
    assert message.startswith("broken.cpp:2: 'nothing' was not declared in this scope")
    (place / "undefined.cpp").write_text("int missing(int);\nint undefined() { return missing(1); }\n")
    message = run('try: build("kernel.cpp", "undefined.cpp")\nexcept CompileFailed as e: print(e)')
    assert message.startswith("undefined.cpp:")
    assert "undefined reference to `missing(int)'" in message.splitlines()[0]


def test_a_mistake_can_be_mended_without_a_new_process(run: Callable[..., str]) -> None:
    message = run(f'try: build("other.cpp")\nexcept DefinitionError as e: print(e)\nbuild("kernel.cpp")\n{CALL}')
    where = (
        "shape.cpp:5: operator 'twice': the kernel files define no function twice_compute; they define other [PK200]\n"
    )
    assert message == where + SHOWN


def test_what_is_loaded_has_not_changed(place: Path, run: Callable[..., str]) -> None:
    changed = run(
        f"""
from pathlib import Path
build("kernel.cpp")
build("kernel.cpp")
load_library("libtiny.so")
kernel = Path("kernel.cpp")
text = kernel.read_text()
kernel.write_text(text + "//")
try: build("kernel.cpp")
except LoadError as e: print(e)
kernel.write_text(text)
build("kernel.cpp")
try: build("kernel.cpp", "other.cpp")
except LoadError as e: print(e)
library = Path("libtiny.so").read_bytes()
Path("same.so").write_bytes(library)
load_library("same.so")
Path("libtiny.so").unlink()
Path("libtiny.so").write_bytes(library + b" ")
try: load_library("libtiny.so")
except LoadError as e: print(e)
Path("libtiny.so").unlink()
build("kernel.cpp")
{CALL}"""
    )
    again = "start Python again to use it [PK100]"
    assert changed.splitlines() == [
        f"kernel.cpp: the file has changed since libtiny.so was loaded: {again}",
        f"custom_op.load: the files or options of the library have changed since libtiny.so was loaded: {again}",
        f"libtiny.so: the library has changed since it was loaded: {again}",
        SHOWN.strip(),
    ]


def test_files_that_are_no_library_for_this_process(place: Path, run: Callable[..., str], tmp_path: Path) -> None:
    run('build("kernel.cpp")')
    content = (place / "libtiny.so").read_bytes()
    version = torch.__version__.encode()
    assert content.count(b'"' + version + b'"') == 1
    (tmp_path / "old.so").write_bytes(content.replace(b'"' + version + b'"', b'"' + b"1" * len(version) + b'"'))
    with pytest.raises(
        LoadError, match=rf"old.so: the library was built for PyTorch 1+, and this is {re.escape(torch.__version__)}"
    ):
        load_library(tmp_path / "old.so")
    none = "this is not a library that custom_op.load has built, or not all of it"
    for name, wrong, message in (
        ("text.so", b"text", none),
        ("cut.so", content[: len(content) // 2], none),
        ("damaged.so", content.replace(b"tiny", b"TINY"), "the library is damaged: build it again with custom_op.load"),
    ):
        (tmp_path / name).write_bytes(wrong)
        with pytest.raises(LoadError, match=f"{name}: {message}"):
            load_library(tmp_path / name)
    with pytest.raises(LoadError, match="absent.so: No such file or directory; custom_op.load builds a library"):
        load_library(tmp_path / "absent.so")


def test_a_directory_that_cannot_be_written(place: Path, run: Callable[..., str]) -> None:
    (place / "file").write_text("")
    message = run(
        'try: load("tiny", ["kernel.cpp"], ["shape.cpp"], build_directory="file/inside")\n'
        "except BuildError as e: print(e)"
    )
    assert message == f"{place}/file/inside/libtiny.so: the library cannot be written: Not a directory [PK500]\n"
