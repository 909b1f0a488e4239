"""Build and call the native registrar for JAX: a handler of XLA's typed foreign function interface."""

from __future__ import annotations

import ctypes
import importlib.metadata
from collections.abc import Callable
from pathlib import Path

from pykernels.base import abi
from pykernels.base.errors import BuildError, LoadError
from pykernels.base.frameworks import FRAMEWORKS
from pykernels.define.definition import OpDef
from pykernels.frameworks.installed import find_package
from pykernels.frameworks.registrar_build import NEW_STRINGS, compile_registrar, open_library
from pykernels.load.requests import LoadFn, reporting

#: The name of the handler in compiled programs, also in exported ones.
TARGET = "pykernels"


def versions() -> dict[str, str]:
    """Return the version that the registrar is built for: that of the installed jaxlib.

    Raises
    ------
    LoadError
        JAX is not installed, or the registrar does not support its version.
    """
    known = FRAMEWORKS["jax"]
    if find_package("jax") is None or find_package("jaxlib") is None:
        raise LoadError(f"JAX is not installed: {known.install}")
    version = importlib.metadata.version("jaxlib")
    if not version.startswith(known.versions):
        raise LoadError(f"the registrar is made for JAX {'*, '.join(known.versions)}*, not {version}")
    return {"jaxlib": version}


def compile_library() -> Path:
    """Compile the registrar for the installed jaxlib, unless the cache has it.

    Raises
    ------
    LoadError
        As for `versions`.
    BuildError
        There is no compiler, it fails, or headers are missing.
    CacheError
        The cache cannot be written.
    """
    version, package = versions()["jaxlib"], find_package("jaxlib")
    assert package is not None
    headers = package / "include"
    if not (headers / "xla" / "ffi" / "api" / "ffi.h").exists():
        raise BuildError(f"{headers} lacks xla/ffi/api/ffi.h: is this jaxlib's wheel?")
    return compile_registrar(
        "jax",
        flags=("-O2", f"-isystem{headers}", f"-fmacro-prefix-map={package}={package.name}"),
        strings=NEW_STRINGS,
        key=(version,),
    )


class Registrar:
    """A loaded registrar, entered into XLA.

    Parameters
    ----------
    library : Path
        Its file.
    services : abi.Services
        The callbacks that resolve kernels.
    load : callable
        Called with the name of an op type when a program needs it; must call `load` for it.

    Raises
    ------
    LoadError
        The library does not fit the imported JAX.
    """

    def __init__(self, library: Path, services: abi.Services, load: Callable[[str], None]) -> None:
        # Not at the top, since building the registrar does not import JAX.
        import jax
        from jaxlib import xla_client

        # The registrar keeps pointers to both as long as the process lives.
        self._services = services
        self._load = LoadFn(reporting(load))
        self._functions = open_library(library)
        self._functions.pk_jax_init(ctypes.byref(services), self._load)
        about_calls = {}
        for name in ("type_id", "type_info"):
            function = getattr(self._functions, f"pk_jax_{name}")
            function.restype = ctypes.c_void_p
            about_calls[name] = jax.ffi.pycapsule(function())
        # Before JAX starts, it keeps types and handlers for later, and then it registers the handlers first. Handlers
        # need their types, so let the types be registered at once.
        xla_client.register_custom_type_handler("cpu", xla_client._xla.register_custom_type)
        jax.ffi.register_ffi_type(f"{TARGET}_call", about_calls, platform="cpu")
        handlers = {name: getattr(self._functions, f"pk_jax_{name}") for name in ("instantiate", "execute")}
        stages = {name: jax.ffi.pycapsule(handler) for name, handler in handlers.items()}
        jax.ffi.register_ffi_target(TARGET, stages, platform="cpu")

    def load(self, op: OpDef, kernel_id: int) -> None:
        """Set the op of an op type, for programs that are compiled from now on.

        Parameters
        ----------
        op : OpDef
            Its definition must stay loaded as long as the process.
        kernel_id : int
            The id by which `services` resolves its kernel.
        """
        self._functions.pk_jax_load(
            op.name.encode(),
            ctypes.c_void_p(op.definition.address),
            op.index,
            -1 if op.gradient is None else op.gradient,
            ctypes.c_int64(kernel_id),
        )

    def unload(self, op_type: str) -> None:
        """Forget an op type, so that the next program that needs it loads it again."""
        self._functions.pk_jax_unload(op_type.encode())
