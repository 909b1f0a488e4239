"""``python -m pykernels``."""

from __future__ import annotations

import sys

from pykernels.tools.cli import main

# A process that is spawned imports this module as well.
if __name__ == "__main__":
    sys.exit(main())
