"""The documentation as a site: it builds without warnings, holds every page, and a browser shows it."""

from __future__ import annotations

import html
import importlib.util
import re
import shutil
import sys
from pathlib import Path

import pytest
from codeblocks import blocks
from process import CHECKOUT, run

import pykernels
import pykernels.onnx
import pykernels.testing

DOCS = CHECKOUT / "docs"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("furo") is None,
    reason="Sphinx and its theme are not installed; `make test` runs this in another environment",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("site")
    done = run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", DOCS, built])
    assert (done.returncode, done.stderr) == (0, "")
    return built


@pytest.mark.thorough
def test_every_page_is_there_and_can_be_reached_from_the_first(site: Path) -> None:
    first = (site / "index.html").read_text()
    for page in DOCS.glob("*.md"):
        assert (site / f"{page.stem}.html").is_file()
        assert f'href="{page.stem}.html"' in first or page.stem == "index", page.name


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed (Debian, Ubuntu: apt install chromium)")
def test_a_browser_shows_a_page_with_theme_and_picture(site: Path, tmp_path: Path) -> None:
    import matplotlib.image

    picture = tmp_path / "page.png"
    done = run(
        [
            str(BROWSER),
            *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1400,1000"),
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--screenshot={picture}",
            (site / "index.html").as_uri(),
        ],
    )
    assert done.returncode == 0, done.stderr
    image = (matplotlib.image.imread(picture)[..., :3] * 255).round().astype(int)
    assert image.shape == (1000, 1400, 3)
    bar, page = image[900, 20], image[990, 700]
    assert (page == 255).all() and not (bar == 255).all(), "the navigation has a ground of its own"
    green = (abs(image - (0x0B, 0x6E, 0x4F)).sum(axis=-1) < 8).mean()
    assert 0.01 < green < 0.2, "the two boxes in the middle of the diagram are there, in the colour of links"


def test_a_block_that_is_a_file_shows_its_name(site: Path) -> None:
    for page in DOCS.glob("*.md"):
        shown = (site / f"{page.stem}.html").read_text()
        captions = [html.unescape(each) for each in re.findall(r'caption-text">([^<]+)</span>', shown)]
        files = [block.file for block in blocks(page) if block.file is not None]
        assert [each for each in captions if "." in each] == files, page.name


def test_the_reference_has_every_public_name(site: Path) -> None:
    text = (site / "api.html").read_text()
    for module in (pykernels, pykernels.onnx, pykernels.testing, pykernels.errors):
        for name in set(module.__all__) - {"__version__", "errors", "fork"}:
            found = re.search(rf'id="pykernels\.(\w+\.)*{name}"', text)
            assert found, f"{module.__name__}.{name}"
    for name in (
        "call.builder.UserOpBuilder.Attr",
        "call.builder.UserOp.RemoteBlobList",
        "base.fork.synchronize",
        "base.fork.synchronized",
    ):
        assert f'id="pykernels.{name}"' in text
