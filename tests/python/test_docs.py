"""Every example of README and docs runs as it is written, and prints what the page says that it prints.

The `python` blocks of a page are one program, run from top to bottom. A `text` block right behind one of them is what
that block prints.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```\n(?=(\n```text\n(.*?)^```\n)?)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """One block of a page."""

    line: int
    code: str
    prints: str | None


def examples(page: Path) -> list[Example]:
    """The Python blocks of a page, from top to bottom."""
    text = page.read_text(encoding="utf-8")
    return [
        Example(text.count("\n", 0, found.start()) + 2, found[2], found[4])
        for found in FENCED.finditer(text)
        if found[1] == "python"
    ]


def named(page: Path) -> str:
    """The name of a page in the repository."""
    return page.relative_to(ROOT).as_posix()


def rows(printed: str) -> list[str]:
    """Lines as a reader sees them: no empty ones at the ends, no blanks behind."""
    return [line.rstrip() for line in printed.strip("\n").splitlines()]


def test_examples_are_found_where_they_are_written() -> None:
    found = {named(page): examples(page) for page in PAGES}
    assert len(found["README.md"]) == 1
    assert len(found["docs/tutorial/stream.md"]) >= 6
    assert len(found["docs/explanation/windows.md"]) >= 6
    assert sum(example.prints is not None for page in found.values() for example in page) >= 40


def takes_spark(page: Path) -> bool:
    """Whether an example of a page takes Spark."""
    return any("pyspark" in block.code for block in examples(page))


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=named(page), marks=[pytest.mark.spark] * takes_spark(page)) for page in PAGES]
)
def test_examples_of_a_page_run_and_print_what_it_says(
    page: Path, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = examples(page)
    if takes_spark(page):
        request.getfixturevalue("spark")  # the page's `getOrCreate` gives this one
    monkeypatch.chdir(tmp_path)
    program: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks:
        printed = io.StringIO()
        # compiled as that line of the page, so that a traceback points at it
        code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, program)
        if block.prints is not None:
            assert rows(printed.getvalue()) == rows(block.prints), f"{named(page)}, line {block.line}"
    for saved in tmp_path.glob("*.svg"):
        assert saved.read_text() in shown(page), f"{named(page)}: the page does not show {saved.name}"


def shown(page: Path) -> set[str]:
    """The pictures of a page, without the style that `tools/pictures.py` adds."""
    names = re.findall(r"!\[[^\]]*\]\((.*?\.svg)\)", page.read_text(encoding="utf-8"))
    style = re.compile(r"<style>\n\[style.*?</style>\n ", re.DOTALL)
    return {style.sub("", (page.parent / name).read_text(encoding="utf-8")) for name in names}


def test_every_finding_is_a_row_of_the_table() -> None:
    scripts = sorted(path.stem for path in (ROOT / "findings").glob("*.sh"))
    rows = re.findall(r"^\| \[(\w+)\]\(\1\.sh\) \|", (ROOT / "findings" / "README.md").read_text(), re.MULTILINE)
    assert sorted(rows) == scripts
    assert len(scripts) >= 10


def test_the_files_of_a_smoke_test_are_there() -> None:
    files = runpy.run_path(str(ROOT / "tools" / "versions.py"))["SMOKE"]
    assert files
    assert [name for name in files if not (ROOT / name).is_file()] == []
