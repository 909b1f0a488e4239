"""Settings of a program, kept in the environment: programs that it starts inherit them."""

from __future__ import annotations

import os

#: The environment variable of `require_compiled`.
REQUIRE_COMPILED = "PYKERNELS_REQUIRE_COMPILED"


def require_compiled(required: bool = True) -> None:
    """Make it an error if a kernel, or a call in a kernel, would run as Python: for tests and continuous integration.

    A kernel that is built from now on, here or in programs that this one starts, then raises `BuildError` with the
    reason instead of a warning. ``PYKERNELS_REQUIRE_COMPILED=1`` in the environment does the same.
    """
    os.environ[REQUIRE_COMPILED] = "1" if required else "0"


def must_be_compiled() -> bool:
    """Return whether `require_compiled` is in effect."""
    return os.environ.get(REQUIRE_COMPILED, "0") not in ("", "0")
