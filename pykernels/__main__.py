"""Run the command line: ``python -m pykernels``."""

from __future__ import annotations

import sys

from pykernels.tools.cli import main

# Spawned processes import this module, too.
if __name__ == "__main__":
    sys.exit(main())
