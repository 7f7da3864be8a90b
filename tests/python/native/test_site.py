"""The site: every page is in its navigation, it is built without a warning, and examples of docstrings are code."""

from __future__ import annotations

import html
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from windrow import functions

pytestmark = pytest.mark.slow

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


def words(part: str) -> str:
    """The text of HTML."""
    return html.unescape(re.sub(r"<[^>]+>", "", part))


def test_nothing_private_is_on_the_site(site: Path) -> None:
    pages = list((site / "reference" / "api").rglob("*.html"))
    assert len(pages) >= 8
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'id="windrow\.(?:[\w.]*\.)?_', text), page
        signatures = re.findall(r'doc-signature highlight">(.*?)</div>', text, re.DOTALL)
        for signature in map(words, signatures):
            assert not re.search(r"[(\s*]_\w+:", signature), signature
        assert "doc-label" not in text


def test_the_page_of_aggregates_begins_with_a_table_of_all_of_them(site: Path) -> None:
    text = (site / "reference" / "api" / "aggregates" / "index.html").read_text(encoding="utf-8")
    table = text[text.index("<table>") : text.index("</table>")]
    assert text.index("<table>") < text.index("doc-object")
    names = re.findall(r'href="#windrow\.functions\.(\w+)"', table)
    assert sorted(names) == sorted(functions.__all__)
    for name in names:
        assert f'id="windrow.functions.{name}"' in text


def test_the_home_page_begins_with_two_tabs_of_code_and_has_the_speed(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<label[^>]*>(\w+)</label>", text) == ["PySpark", "Polars"]
    tabs = text[text.index('class="tabbed-set') : text.index("<h2")]
    blocks = [words(block) for block in re.findall(r"<pre><span></span><code>(.*?)</code></pre>", tabs, re.DOTALL)]
    assert [block.partition(" ")[0] for block in blocks[::3]] == ["pip", "pip"]
    for code in blocks[1::3]:
        assert len([line for line in code.splitlines() if line and "import" not in line]) <= 10
    assert "session_window" in text[text.index('id="speed"') : text.index('id="where-to-go"')]


def test_items_of_lists_are_not_lines_of_a_paragraph(site: Path) -> None:
    """As behind an indented paragraph or table without an empty line; GitHub shows a list there, the site does not."""
    pages = {
        page: re.sub(r"<pre>.*?</pre>", "", page.read_text("utf-8"), flags=re.DOTALL) for page in site.rglob("*.html")
    }
    assert len(pages) >= 15
    found = {page: re.findall(r"^(?:\*|\d+\.) .*", text, re.MULTILINE) for page, text in pages.items()}
    assert not {page.parent.name: lines for page, lines in found.items() if lines}


def test_every_rule_has_its_number_on_the_site(site: Path) -> None:
    rules = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8").split("\n## ")[1:]
    shown = (site / "rules" / "index.html").read_text(encoding="utf-8").split("<h2 ")[1:]
    assert len(rules) == len(shown) >= 9
    for rule, section in zip(rules, shown, strict=True):
        numbers, depth, lists = re.findall(r"\n(\d+)\. ", rule), 0, [0]
        for tag in re.findall(r"<(/?[ou]l|li)\b", section):
            depth += {"ol": 1, "ul": 1, "/ol": -1, "/ul": -1}.get(tag, 0)
            lists[-1] += tag == "li" and depth == 1
            lists += [0] * (tag == "/ol" and depth == 0)
        assert [*map(str, range(1, lists[0] + 1))] == numbers, rule.partition("\n")[0]


def test_python_on_the_site_has_85_columns(site: Path) -> None:
    blocks = [
        words(block)
        for page in site.rglob("*.html")
        for block in re.findall(
            r'class="language-python[^"]*highlight">.*?<code>(.*?)</code>', page.read_text("utf-8"), re.DOTALL
        )
    ]
    assert len(blocks) > 50
    long = [line for block in blocks for line in block.splitlines() if len(line) > 85]
    assert len(long) < 30  # strings and comments, which the page wraps
    assert "pre-wrap" in (site / "stylesheets" / "site.css").read_text(encoding="utf-8")
    code = "rows = [" + ", ".join(f"('user {number}', {number})" for number in range(9)) + "]\n"
    assert max(map(len, tool("docs_code").formatted(code).splitlines())) <= 85
    assert tool("docs_code").formatted("x   = 1\n") == "x   = 1\n"
    with pytest.raises(ValueError, match="ruff cannot format"):
        tool("docs_code").formatted("x = = " + "1" * 90)


def test_pictures_are_transparent_and_follow_the_scheme_of_a_page(site: Path) -> None:
    pictures = list((site / "pictures").glob("*.svg"))
    assert len(pictures) >= 7
    for picture in pictures:
        text = picture.read_text(encoding="utf-8")
        assert "prefers-color-scheme: dark" in text
        assert not re.search(r'id="patch_1">\s*<path[^>]*style="fill: #', text), picture
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", text)]
        assert min(sizes) >= 10
    styles = (site / "stylesheets" / "site.css").read_text(encoding="utf-8")
    assert "color-scheme: dark" in styles


def test_files_outside_the_docs_are_named_by_their_paths(site: Path) -> None:
    text = words((site / "reference" / "recorded-runs" / "index.html").read_text(encoding="utf-8"))
    assert "tests/recorded/README.md shows how to record your own runs" in text
    text = words((site / "explanation" / "design" / "index.html").read_text(encoding="utf-8"))
    assert "rust/lib.rs and rust/core/mod.rs list the rooms" in text
    assert "one Arrow IPC stream (rust/format/README.md) of about" in text
    links = [link for page in site.rglob("*.html") for link in re.findall(r'href="([^"]+)"', page.read_text("utf-8"))]
    assert len(links) > 1000
    assert [link for link in links if re.search(r"benches/|tests/|rust/|github\.com/windrow", link)] == []


def test_examples_are_fenced() -> None:
    text = "Adds.\n\n>>> 1 + 1\n2\n\nMore.\n\n```text\n>>> stays\n```\n\n>>> last"
    assert tool("docstring_examples").fenced(text) == (
        "Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore.\n\n```text\n>>> stays\n```\n\n```pycon\n>>> last\n```"
    )
