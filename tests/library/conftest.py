from __future__ import annotations

import sys
from pathlib import Path

# Small models, and op folders for tests.
sys.path += [str(Path(__file__).parent.parent / "onnx"), str(Path(__file__).parent.parent / "mxnet")]
