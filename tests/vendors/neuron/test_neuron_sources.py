"""What is read from the C++ files of Neuron's operators: their headers, and the functions they define; no PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykernels.build import toolchain
from pykernels.vendors.neuron.kernel_functions import defined_symbols, kernel_functions, rename
from pykernels.vendors.neuron.sources import dependencies


def test_what_a_file_depends_on(tmp_path: Path) -> None:
    files = {
        "kernel.cpp": '#include <torch/torch.h>\n#include "near.h"\n  # include <far.h>\n#include "absent.h"\n',
        "near.h": '#if 0\n#include "nearer.hpp"\n#endif\n#include "kernel.cpp"\n',
        "nearer.hpp": "",
        "folder/far.h": '#include "beside_far.h"\n',
        "folder/beside_far.h": "",
        "other/beside_far.h": "",
        "forced.h": "",
        "unused.h": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    def found(*flags: str) -> set[str]:
        return {str(file.relative_to(tmp_path)) for file in dependencies(tmp_path / "kernel.cpp", flags)}

    near = {"kernel.cpp", "near.h", "nearer.hpp"}
    assert found("-O3") == near
    far = near | {"folder/far.h", "folder/beside_far.h"}
    assert found(f"-I{tmp_path}/folder") == found("-isystem", f"{tmp_path}/folder") == far
    assert found("-include", f"{tmp_path}/forced.h") == near | {"forced.h"}


FUNCTIONS = """
namespace at { struct Tensor { ~Tensor(); }; }
namespace c10 { struct Scalar { ~Scalar(); }; }
namespace torch { using namespace at; using namespace c10; }
// void commented(const torch::Tensor& x) {}
torch::Tensor commented(const torch::Tensor& x) { return x; }
torch::Tensor by_value(torch::Tensor, torch::Tensor&, torch::Scalar, const torch::Scalar&, double, long) { return {}; }
torch::Tensor others(float, int, unsigned long, const double&, void (*)(int, long)) { return {}; }
extern "C" torch::Tensor plain() { return {}; }
namespace inner { torch::Tensor none() { return {}; } }
static void hidden() {}
void nothing() { hidden(); }
torch::Tensor& reference(torch::Tensor& x) { return x; }
const
unsigned long number() { return 1; }
torch::Tensor caller() { int i = 1; number(); return i
    ? commented({}) : by_value({}, *new torch::Tensor, {}, {}, 1, 1); }
template <class T> T generic() { return {}; }
template int generic<int>();
"""


@pytest.fixture
def compiled(tmp_path: Path) -> tuple[Path, Path]:
    source, made = tmp_path / "functions.cpp", tmp_path / "functions.o"
    source.write_text(FUNCTIONS)
    toolchain.run([*toolchain.compiler(), "-c", str(source), "-o", str(made)], what="functions.cpp")
    return source, made


def test_the_functions_of_a_file(compiled: tuple[Path, Path]) -> None:
    source, made = compiled
    found = {each.name: each for each in kernel_functions(defined_symbols([made]), [source])}
    assert {name: each.parameters for name, each in found.items()} == {
        "commented": "Tensor",
        "by_value": "Tensor, Tensor, Scalar, Scalar, double, int64_t",
        "others": "float, int, unsigned long, double const&, void (*)(int, long)",
        "plain": 'unknown, since it is extern "C"',
        "inner::none": "",
        "nothing": "",
        "reference": "Tensor",
        "number": "",
        "caller": "",
    }
    assert {name: each.result for name, each in found.items() if each.result} == {
        "nothing": "void",
        "reference": "torch::Tensor&",
        "number": "unsigned long",
    }


def test_symbols_are_called_otherwise(compiled: tuple[Path, Path], tmp_path: Path) -> None:
    _, made = compiled
    symbols = defined_symbols([made])
    (renamed,) = rename([made], list(symbols), tmp_path)
    assert list(defined_symbols([renamed])) == [f"torchneuron_kernel_{symbol}" for symbol in symbols]
