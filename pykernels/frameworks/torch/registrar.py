"""The native registrar for PyTorch: a shared object that is compiled once for the installed PyTorch."""

from __future__ import annotations

import ctypes
import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pykernels.base import abi
from pykernels.base.errors import BuildError, LoadError
from pykernels.frameworks.installed import find_package
from pykernels.frameworks.registrar_build import NEW_STRINGS, compile_registrar, open_library
from pykernels.load.requests import LoadFn, reporting

if TYPE_CHECKING:
    from pykernels.frameworks.torch.layout import Layout

# The oldest and newest versions with whose C++ interface the registrar is tested.
_FIRST, _LAST = (2, 9), (2, 15)
#: The same as text.
VERSIONS = f"{'.'.join(map(str, _FIRST))} to {'.'.join(map(str, _LAST))}"
# As in registry/torch/kernels.h.
_SYMBOLIC_PREFIX = "_symbolic_"
_FLAGS = (
    "-std=c++20",
    # PyTorch's threads are OpenMP's.
    "-fopenmp",
    # PyTorch's own headers are full of warnings.
    "-w",
)


def versions() -> dict[str, str]:
    """Return the version that the registrar is built for: that of the installed PyTorch.

    Raises
    ------
    LoadError
        PyTorch is not installed, or the registrar does not support its version.
    """
    if find_package("torch") is None:
        raise LoadError("PyTorch is not installed: pip install 'pykernels[torch]'")
    version = importlib.metadata.version("torch")
    if not _FIRST <= tuple(map(int, version.split(".")[:2])) <= _LAST:
        raise LoadError(f"the registrar is made for PyTorch {VERSIONS}, not {version}")
    return {"PyTorch": version}


def compile_library() -> Path:
    """Compile the registrar for the installed PyTorch, unless the cache has it.

    Raises
    ------
    LoadError
        As for `versions`.
    BuildError
        There is no compiler, it fails, or headers are missing.
    CacheError
        The cache cannot be written.
    """
    version, package = versions()["PyTorch"], find_package("torch")
    assert package is not None
    headers = package / "include"
    if not (headers / "torch" / "library.h").exists():
        raise BuildError(f"{headers} lacks torch/library.h: is this PyTorch's wheel?")
    return compile_registrar(
        "torch",
        flags=(*_FLAGS, f"-isystem{headers}", f"-fmacro-prefix-map={package}={package.name}"),
        strings=NEW_STRINGS,
        libraries=_libraries(package / "lib"),
        key=(version,),
    )


def _libraries(folder: Path) -> list[str]:
    # No run-time search path is needed: PyTorch loads these libraries first, wherever it is installed.
    # Link PyTorch's own OpenMP, not the compiler's.
    openmp = [f"-l:{found.name}" for found in sorted(folder.glob("lib*omp*.so*"))[:1]]
    return [f"-L{folder}", "-ltorch_cpu", "-lc10", *openmp, "-Wl,--as-needed"]


class Registrar:
    """A loaded registrar.

    Parameters
    ----------
    library : Path
        Its file.
    services : abi.Services
        The callbacks that resolve kernels.
    load : callable
        Called with the name of an op type when it is first needed; must call `load` for it.

    Raises
    ------
    LoadError
        The library does not fit the imported PyTorch.
    """

    def __init__(self, library: Path, services: abi.Services, load: Callable[[str], None]) -> None:
        # The registrar keeps pointers to both as long as the process lives.
        self._services = services
        self._load = LoadFn(reporting(load))
        self._functions = open_library(library)
        self._functions.pykernels_torch_init(ctypes.byref(services), self._load)

    def load(self, layout: Layout, kernel_id: int) -> None:
        """Set the op of an op type.

        Parameters
        ----------
        layout : Layout
            The layout of an op whose definition stays valid as long as the process lives.
        kernel_id : int
            The id by which `services` resolves its kernel.
        """
        op = layout.op
        self._call(
            self._functions.pykernels_torch_load,
            op.name.encode(),
            ctypes.c_void_p(op.definition.address),
            op.index,
            -1 if op.gradient is None else op.gradient,
            ctypes.c_int64(kernel_id),
            layout.takes_is_train,
        )

    def define(self, layout: Layout, library: str, name: str) -> None:
        """Register an op type with PyTorch as ``library::name``, or register it again with another schema.

        Raises
        ------
        LoadError
            PyTorch rejects the schema, or already has an op of that name.
        """
        texts = (layout.op.name, library, name, f"{name}{layout.schema}")
        self._call(self._functions.pykernels_torch_define, *(text.encode() for text in texts))

    def infer_with(self, qualified: str, fake: Callable[..., Any]) -> Any:
        """Make the registrar call `fake` for tensors without data whose sizes are symbols.

        This lasts as long as the returned object lives. `registry/torch/meta.cpp` infers from numeric sizes.
        """
        import torch  # not at the top, since building the registrar does not import PyTorch

        library, _, name = qualified.partition("::")
        symbolic = torch.library.Library(f"{_SYMBOLIC_PREFIX}{library}", "FRAGMENT")
        symbolic.impl(name, fake, "Meta")
        return symbolic

    def unload(self, op_type: str) -> None:
        """Forget an op type, so that it is loaded again when it is next needed."""
        self._functions.pykernels_torch_unload(op_type.encode())

    def _call(self, function: Callable[..., int], *args: object) -> None:
        error = ctypes.create_string_buffer(abi.ERROR_SIZE)
        if function(*args, error, ctypes.c_size_t(abi.ERROR_SIZE)):
            raise LoadError(f"an op cannot be entered into PyTorch: {error.value.decode(errors='replace')}")
