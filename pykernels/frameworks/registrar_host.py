"""The C++ that all registrars share, compiled once."""

from __future__ import annotations

from pathlib import Path

from pykernels.base import paths
from pykernels.build import cache, toolchain

__all__ = ["OLD_STRINGS", "OPTIMIZED", "build_host", "host_parts"]

#: How registrars are optimized: calls take as long as with -O2, which takes a quarter longer to compile. The loops that
#: add results to large arrays need vectors.
OPTIMIZED = ("-O1", "-finline-small-functions", "-ftree-vectorize")
#: The C++ library's strings as they were before 2011, which OneFlow's and MXNet's libraries have. Where the C++ library
#: has no others, this changes nothing.
OLD_STRINGS = "-D_GLIBCXX_USE_CXX11_ABI=0"
_SOURCE = paths.REGISTRY / "host.cpp"


def build_host(*flags: str) -> Path:
    """The object to link a registrar with that is compiled with these flags.

    Raises
    ------
    CompileFailed
        The compiler refused it.
    BuildError
        There is no compiler.
    CacheError
        The cache cannot be written.
    """
    return toolchain.build_object(
        "host",
        _SOURCE,
        kind="registrars",
        flags=(*OPTIMIZED, *flags),
        include=(paths.CPP_DEFS / "include", paths.REGISTRY),
        key=(host_parts(),),
    )


def host_parts() -> str:
    """What tells the versions of the object apart."""
    return cache.digest([_SOURCE, *sorted((paths.REGISTRY / "host").glob("*.cpp"))])
