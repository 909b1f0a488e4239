"""``python -m pykernels``."""

from __future__ import annotations

import sys

from pykernels.cli import main

sys.exit(main())
