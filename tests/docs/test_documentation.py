"""README and docs: every code block is run, in order, in a directory that is not the checkout."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from codeblocks import Block, blocks
from process import CHECKOUT, python, run
from quick import thorough

PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]
# The pages whose examples need the environment of PyTorch and JAX; the others run in that of OneFlow.
_NEEDED = {"jax": "jax", "neuron": "torch", "pytorch": "torch"}
# Those that users begin with.
FIRST = PAGES[:1]
# What MXNet, OneFlow and PyTorch log: of the network and the GPU that a machine does not have, of torchvision.
_LOGS = re.compile(r"^(\[\d\d:\d\d:\d\d\]|W\d{8}|E\d{8} \S+ +\d+ cuda_\S+|libibverbs|W\d{4} .*torchvision) .*\n", re.M)


def test_there_are_pages() -> None:
    assert {page.stem for page in PAGES} >= {"README", "index", "writing_an_op", "command_line", "mxnet", "cache"}


@pytest.mark.parametrize(
    "page",
    [*FIRST, *thorough(*(page for page in PAGES if page not in FIRST))],
    ids=lambda page: page.name,
)
def test_examples_do_what_the_page_says(page: Path, tmp_path: Path) -> None:
    needed = _NEEDED.get(page.stem, "oneflow")
    spec = importlib.util.find_spec(needed)
    # A folder of tests is found, too, but has no origin.
    if spec is None or spec.origin is None:
        pytest.skip(f"its examples need {needed}, which is not installed; `make test` runs them in another environment")
    output = ""
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        if block.file is not None:
            file = tmp_path / block.file
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        elif block.language == "text":
            assert block.text.strip() == _without_the_directory(output, tmp_path), where
        else:
            done = _run(block, tmp_path)
            assert done.returncode == 0, f"{where}:\n{done.stdout}{done.stderr}"
            assert _LOGS.sub("", done.stderr) == "", where
            output = done.stdout


def _run(block: Block, cwd: Path) -> subprocess.CompletedProcess[str]:
    if block.language == "python":
        (cwd / "example.py").write_text(block.text)
        return python("example.py", cwd=cwd)
    assert block.language == "sh", f"a block of {block.language} is neither run nor a file"
    commands = [line for line in block.text.splitlines() if not _is_make(line)]
    # In an environment that users have activated, `python` is its own.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return run(
        ["bash", "-euc", "\n".join(commands)],
        cwd=cwd,
        env={
            **os.environ,
            "PATH": path,
            "PYTHONPATH": str(CHECKOUT),
            "COLUMNS": "120",
            # What users put into their home stays out of ours.
            "HOME": str(cwd),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
            "XDG_DATA_HOME": str(cwd / "share"),
        },
    )


def _is_make(line: str) -> bool:
    """Whether a line runs make: for one of our targets, which the tests of the Makefile's parts cover."""
    found = re.fullmatch(r"make (\w+)", line)
    if found:
        assert re.search(rf"^{found[1]}:", (CHECKOUT / "Makefile").read_text(), re.M), f"no make target {found[1]}"
    return found is not None


def _without_the_directory(output: str, directory: Path) -> str:
    lines = (line.rstrip() for line in output.replace(f"{directory}/", "").strip().splitlines())
    return "\n".join(lines)


def test_the_first_screen_shows_a_kernel_that_ships() -> None:
    kernel = (CHECKOUT / "ops/sigmoid/sigmoid_py_kernel.py").read_text()
    # The derived second derivative is left out.
    assert kernel[: kernel.index("\n\n# Derived")] in [block.text for block in blocks(PAGES[0])]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(r"`((?:tests|benchmarks|examples|pykernels|registry|cpp_defs)/[\w./]+)`", page.read_text())
    # The map leaves out the folder of the package.
    in_package = re.findall(r"`(?!tests/)(\w+/[\w/]+\.py)`", page.read_text()) if page.stem == "how_it_works" else []
    for file in [*(CHECKOUT / name for name in named), *(CHECKOUT / "pykernels" / name for name in in_package)]:
        assert file.exists(), f"{page.name}: {file}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", prose):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
