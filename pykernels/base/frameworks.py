"""List the frameworks that ops run in: one record each, and a package of `pykernels.frameworks` for it."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from typing import Any

from pykernels.base.paths import PACKAGE


@dataclass(frozen=True)
class Framework:
    """A framework that ops run in."""

    #: Such as ``torch`` and ``PyTorch``.
    package: str
    title: str
    #: The command that installs it.
    install: str
    #: The prefixes of the versions that ops are tested with.
    versions: tuple[str, ...]

    def has(self, part: str) -> bool:
        """Return whether the framework's package has a module of this name, such as plugin or tracing."""
        return (PACKAGE / "frameworks" / self.package / f"{part}.py").is_file()

    def module(self, part: str) -> Any:
        """Import a module of the framework's package."""
        return importlib.import_module(f"pykernels.frameworks.{self.package}.{part}")


# MXNet's metadata asks for a NumPy that no Python from 3.13 on has.
_INSTALL_MXNET = (
    "pip install 'pykernels[mxnet]'"
    if sys.version_info < (3, 13)
    else "pip install requests; pip install --no-deps mxnet==1.9.1"
)
#: The frameworks by package name.
FRAMEWORKS = {
    each.package: each
    for each in (
        Framework("numpy", "NumPy", "pip install numpy", ("1.", "2.")),
        Framework("mxnet", "MXNet", _INSTALL_MXNET, ("1.9.",)),
        Framework("oneflow", "OneFlow", "pip install 'pykernels[oneflow]' (Python 3.10)", ("0.8.", "0.9.")),
        Framework("torch", "PyTorch", "pip install 'pykernels[torch]'", tuple(f"2.{minor}." for minor in range(9, 16))),
        Framework("jax", "JAX", "pip install 'pykernels[jax]' (Python 3.11 or newer)", ("0.10.", "0.11.")),
        Framework("onnxruntime", "ONNX Runtime", "pip install 'pykernels[onnx]'", ("1.",)),
    )
}
