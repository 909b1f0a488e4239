"""Sphinx: ``make docs`` builds the site into ``build/docs``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import pykernels

project = "pykernels"
author = "the pykernels authors"
release = pykernels.__version__
html_title = f"pykernels {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
# Headings of all pages can be linked to, as on code hosting sites.
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
# What stands between single backticks in docstrings is a Python name.
default_role = "py:obj"

html_theme = "furo"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e4f", "color-brand-content": "#0b6e4f"},
    "dark_css_variables": {"color-brand-primary": "#5fd3a6", "color-brand-content": "#5fd3a6"},
}
