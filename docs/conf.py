"""Sphinx: ``make docs`` builds the site into ``build/docs``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import pykernels

project = "pykernels"
author = "the pykernels authors"
copyright = author
release = pykernels.__version__
html_title = f"pykernels {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
# Give every heading an anchor, as code hosting sites do.
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
# Copy code without prompts and printed output.
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"
# Single backticks in docstrings mark Python names.
default_role = "py:obj"

html_theme = "furo"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e4f", "color-brand-content": "#0b6e4f"},
    "dark_css_variables": {"color-brand-primary": "#5fd3a6", "color-brand-content": "#5fd3a6"},
}


def _show_file_names(app, page, source):
    """Give a block that is a file (``<!-- file: ops/a/a.py -->``) its name as a caption."""
    source[0] = re.sub(
        r"^<!-- file: (\S+) -->\n```(\w+)\n", r"```{code-block} \2\n:caption: \1\n\n", source[0], flags=re.M
    )


def setup(app):
    app.connect("source-read", _show_file_names)
