"""The site: every page is in its navigation, it is built without a warning, and examples of docstrings are code."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]
QUIET = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
API = ("group_by", "SessionWindows.with_gap", "SlidingWindows.with_time_difference", "WindowedData.agg", "reduce")


def tool(name: str) -> ModuleType:
    """A module of `tools`."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=QUIET)
    assert ran.returncode == 0, ran.stderr
    assert "WARNING" not in ran.stderr
    return place


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert listed == pages
    assert len(pages) >= 15


def test_the_site_has_pages_and_names(site: Path) -> None:
    pages = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert {"index.html", "tutorial/batch/index.html", "reference/api/queries/index.html"} <= set(pages)
    whole = "".join(text for name, text in pages.items() if name.startswith("reference/api/"))
    for name in API:
        assert f'id="windrow.{name}"' in whole or re.search(rf'id="windrow\.[\w.]*{re.escape(name)}"', whole), name
    assert "<blockquote" not in whole  # what `>>>` is without a fence
    assert whole.count("&gt;&gt;&gt;") > 100


def test_links_that_leave_the_docs_lead_to_the_repository(site: Path) -> None:
    text = (site / "reference" / "recorded-runs" / "index.html").read_text(encoding="utf-8")
    assert 'href="https://github.com/windrow/windrow/blob/main/tests/recorded/README.md"' in text
    text = (site / "performance" / "index.html").read_text(encoding="utf-8")
    assert 'href="https://github.com/windrow/windrow/blob/main/benches/README.md"' in text


def test_examples_are_fenced() -> None:
    text = "Adds.\n\n>>> 1 + 1\n2\n\nMore.\n\n```text\n>>> stays\n```\n\n>>> last"
    assert tool("docstring_examples").fenced(text) == (
        "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.\n\n```text\n>>> stays\n```\n\n```pycon\n>>> last\n```"
    )
