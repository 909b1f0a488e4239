"""The frameworks that ops run in: one record each, and a package of `pykernels.frameworks` for it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from pykernels.base.paths import PACKAGE

__all__ = ["FRAMEWORKS", "Framework"]


@dataclass(frozen=True)
class Framework:
    """A framework.

    Attributes
    ----------
    package, title : str
        ``torch``, ``PyTorch``.
    install : str
        How it is installed.
    versions : tuple of str
        What the versions begin with that ops are tested with.
    """

    package: str
    title: str
    install: str
    versions: tuple[str, ...]

    def has(self, part: str) -> bool:
        """Whether the framework's package has a module of this name: plugin, registrar, check or bench."""
        return (PACKAGE / "frameworks" / self.package / f"{part}.py").is_file()

    def module(self, part: str) -> Any:
        """Import a module of the framework's package."""
        return importlib.import_module(f"pykernels.frameworks.{self.package}.{part}")


#: By package.
FRAMEWORKS = {
    each.package: each
    for each in (
        Framework("numpy", "NumPy", "pip install numpy", ("1.", "2.")),
        Framework("mxnet", "MXNet", "pip install 'pykernels[mxnet]' (Python 3.10)", ("1.9.",)),
        Framework("oneflow", "OneFlow", "pip install 'pykernels[oneflow]' (Python 3.10)", ("0.8.", "0.9.")),
        Framework("torch", "PyTorch", "pip install 'pykernels[torch]'", tuple(f"2.{minor}." for minor in range(9, 16))),
        Framework("onnxruntime", "ONNX Runtime", "pip install 'pykernels[onnx]'", ("1.",)),
    )
}
