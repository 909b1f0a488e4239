from __future__ import annotations

import sys
from pathlib import Path

# Small models.
sys.path.append(str(Path(__file__).parent.parent / "onnx"))
