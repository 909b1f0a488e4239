"""The native registrar for PyTorch: a shared object, built once for an installed PyTorch."""

from __future__ import annotations

import ctypes
import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykernels.base import abi, paths
from pykernels.base.errors import BuildError, LoadError
from pykernels.build import cache, toolchain
from pykernels.frameworks.installed import find_package
from pykernels.frameworks.registrar_host import OPTIMIZED, build_host, host_parts
from pykernels.frameworks.registrar_libraries import find_library, open_library
from pykernels.load.requests import LoadFn, reporting

if TYPE_CHECKING:
    from pykernels.frameworks.torch.layout import Layout

__all__ = ["VERSIONS", "Registrar", "build", "versions"]

# The versions with whose C++ interface the registrar is tested.
_FIRST, _LAST = (2, 9), (2, 15)
#: The same in words.
VERSIONS = f"{'.'.join(map(str, _FIRST))} to {'.'.join(map(str, _LAST))}"
# As in registry/torch/kernels.h.
_SYMBOLIC_PREFIX = "_symbolic_"
_FLAGS = (
    *OPTIMIZED,
    "-std=c++20",
    # For PyTorch's own threads, which are OpenMP's.
    "-fopenmp",
    # PyTorch's own headers are full of warnings.
    "-w",
)


def versions() -> dict[str, str]:
    """What the registrar is made for: the installed PyTorch.

    Raises
    ------
    LoadError
        PyTorch is not installed, or of a version that the registrar is not made for.
    """
    if find_package("torch") is None:
        raise LoadError("PyTorch is not installed: pip install 'pykernels[torch]'")
    version = importlib.metadata.version("torch")
    if not _FIRST <= tuple(map(int, version.split(".")[:2])) <= _LAST:
        raise LoadError(f"the registrar is made for PyTorch {VERSIONS}, not {version}")
    return {"PyTorch": version}


def build() -> Path:
    """The registrar for the installed PyTorch: from a package of ops that carries it, or compiled, unless cached.

    Raises
    ------
    LoadError
        As `versions`.
    BuildError
        There is no compiler, it fails, or headers are missing.
    CacheError
        The cache cannot be written.
    """
    wanted, package = versions(), find_package("torch")
    assert package is not None
    return find_library("torch", wanted, lambda: _compile(package, wanted["PyTorch"]))


def _compile(package: Path, version: str) -> Path:
    headers, ours = package / "include", paths.CPP_DEFS / "include"
    if not (headers / "torch" / "library.h").exists():
        raise BuildError(f"{headers} lacks torch/library.h: is this PyTorch's wheel?")
    parts = sorted((paths.REGISTRY / "torch").glob("*.cpp"))
    return toolchain.build_shared(
        "torch_registrar",
        [paths.REGISTRY / "torch.cpp"],
        kind="registrars",
        flags=(*_FLAGS, f"-I{ours}", f"-isystem{headers}", f"-fmacro-prefix-map={package}={package.name}"),
        include=(paths.REGISTRY,),
        objects=[build_host],
        libraries=_libraries(package / "lib"),
        key=(version, host_parts(), cache.digest([*parts, *sorted((ours / "pykernels").glob("*.h"))])),
    )


def _libraries(folder: Path) -> list[str]:
    # Without a path to find them at run time: PyTorch has loaded them by then, wherever it is installed.
    # PyTorch's own OpenMP, and not the compiler's beside it.
    openmp = [f"-l:{found.name}" for found in sorted(folder.glob("lib*omp*.so*"))[:1]]
    return [f"-L{folder}", "-ltorch_cpu", "-lc10", *openmp, "-Wl,--as-needed"]


class Registrar:
    """A loaded registrar.

    Parameters
    ----------
    library : Path
        What `build` gives.
    services : abi.Services
        Where kernels come from.
    load : callable
        Called with the name of an op type when it is first wanted; has to `load` it.

    Raises
    ------
    LoadError
        It is not made for the PyTorch that is imported.
    """

    def __init__(self, library: Path, services: abi.Services, load: Callable[[str], None]) -> None:
        # The registrar keeps pointers to both for as long as the process lives.
        self._services = services
        self._load = LoadFn(reporting(load))
        self._functions = open_library(library)
        self._functions.pykernels_torch_init(ctypes.byref(services), self._load)

    def load(self, layout: Layout, number: int) -> None:
        """Make an op the one of its type.

        Parameters
        ----------
        layout : Layout
            Of an op whose definition stays valid as long as the process lives.
        number : int
            The number under which `services` resolves its kernels.
        """
        op = layout.op
        self._call(
            self._functions.pykernels_torch_load,
            op.name.encode(),
            ctypes.c_void_p(op.definition.address),
            op.index,
            -1 if op.gradient is None else op.gradient,
            ctypes.c_int64(number),
            layout.takes_is_train,
        )

    def define(self, layout: Layout, library: str, name: str) -> None:
        """Have PyTorch know an op type as ``library::name``, or by another schema than it did.

        Raises
        ------
        LoadError
            PyTorch does not take the schema, or has an op of that name.
        """
        texts = (layout.op.name, library, name, f"{name}{layout.schema}")
        self._call(self._functions.pykernels_torch_define, *(text.encode() for text in texts))

    def infer_with(self, qualified: str, fake: Callable[..., Any]) -> Any:
        """Have the registrar call `fake` with tensors that have no data and whose sizes are symbols.

        It does as long as what is returned lives. `registry/torch/meta.cpp` infers from numbers.
        """
        import torch  # which the rest of this module is there without, for whoever only builds

        library, _, name = qualified.partition("::")
        symbolic = torch.library.Library(f"{_SYMBOLIC_PREFIX}{library}", "FRAGMENT")
        symbolic.impl(name, fake, "Meta")
        return symbolic

    def unload(self, op_type: str) -> None:
        """Forget an op type, so that it is loaded again when it is next wanted."""
        self._functions.pykernels_torch_unload(op_type.encode())

    def _call(self, function: Callable[..., int], *args: object) -> None:
        error = ctypes.create_string_buffer(abi.ERROR_SIZE)
        if function(*args, error, ctypes.c_size_t(abi.ERROR_SIZE)):
            raise LoadError(f"an op cannot be entered into PyTorch: {error.value.decode(errors='replace')}")
