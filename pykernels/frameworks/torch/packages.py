"""Register ops before AOTInductor loads a package, whose machine code finds them by name only if they are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def register_before_loading(register: Callable[[], None]) -> None:
    """Call a function whenever a package is about to be loaded."""
    original = torch._C._aoti.AOTIModelPackageLoader

    class AOTIModelPackageLoader(original):  # type: ignore[misc, valid-type]
        """PyTorch's loader, after ops are registered."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            register()
            super().__init__(*args, **kwargs)

    torch._C._aoti.AOTIModelPackageLoader = AOTIModelPackageLoader
