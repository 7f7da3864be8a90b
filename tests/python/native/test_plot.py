"""Pictures: bars where brute force has windows, marks for what was late, the same SVG every time."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pyarrow as pa
import pytest
from matplotlib.patches import Rectangle

import windrow as wr
from windrow.plot import Timeline, timeline

from ..oracle.records import Record
from ..oracle.sessions import sessions
from ..oracle.sliding import sliding

ROOT = Path(__file__).resolve().parents[3]
NINE = datetime(2026, 5, 4, 9)
FIVE = wr.SessionWindows.with_gap("5 minutes")


def events(rows: list[tuple[str, float]], **columns: Any) -> pa.Table:
    """Events as (user, minutes past nine)."""
    times = [NINE + timedelta(minutes=minute) for _, minute in rows]
    return pa.table({"user": [user for user, _ in rows], "ts": pa.array(times, pa.timestamp("ms")), **columns})


def shown(table: pa.Table, windows: Any, keys: Any, **how: Any) -> Timeline:
    return timeline(table, wr.group_by(table, "user", time="ts").windowed_by(windows), keys, **how)


def minutes(day: float) -> float:
    """What matplotlib has for a time, in minutes past nine."""
    return round((day - (NINE - datetime(1970, 1, 1)) / timedelta(days=1)) * 24 * 60, 3)


def bars(picture: Timeline) -> list[tuple[float, float]]:
    """The windows that are wider than the least width of a bar, as (start, end) in minutes past nine."""
    (axes,) = picture.figure.axes
    left, right = axes.get_xlim()
    rectangles = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    wide = [patch for patch in rectangles if patch.get_width() > (right - left) * 0.0061]
    return sorted((minutes(patch.get_x()), minutes(patch.get_x() + patch.get_width())) for patch in wide)


def texts(picture: Timeline) -> list[str]:
    tree = ElementTree.fromstring(picture.svg)
    return [text for element in tree.iter() if element.tag.endswith("text") and (text := "".join(element.itertext()))]


SCATTERED = [("ann", 0), ("ann", 11), ("bob", 3), ("ann", 5), ("ann", 8.5), ("ann", 30), ("bob", 4), ("ann", 33)]


def test_bars_of_sessions_are_where_brute_force_has_them() -> None:
    expected = []
    for user in ("ann", "bob"):
        records = [Record((user,), round(minute * 1000)) for key, minute in SCATTERED if key == user]
        expected += [(start / 1000, end / 1000) for start, end, _ in sessions(records, 5000)]
    assert bars(shown(events(SCATTERED), FIVE, ["ann", "bob"])) == sorted(expected)
    assert len(expected) == 3


def test_bars_of_sliding_windows_are_where_brute_force_has_them() -> None:
    nine = (NINE - datetime(1970, 1, 1)) // timedelta(milliseconds=1)
    records = [Record(("ann",), nine + round(minute * 60_000)) for key, minute in SCATTERED if key == "ann"]
    minute = 60_000
    expected = [
        (round((start - nine) / minute, 3), round((end - nine) / minute, 3))
        for start, end, _ in sliding(records, 10 * minute, 1)
    ]
    found = bars(shown(events(SCATTERED), wr.SlidingWindows.with_time_difference("10 minutes"), "ann"))
    assert found == sorted(expected)
    assert len(found) == 10


def test_no_bar_covers_another() -> None:
    (axes,) = shown(events(SCATTERED), wr.SlidingWindows.with_time_difference("10 minutes"), ["ann", "bob"]).figure.axes
    boxes = [patch.get_bbox() for patch in axes.patches if isinstance(patch, Rectangle)]
    assert len(boxes) >= 12
    for place, one in enumerate(boxes):
        for other in boxes[:place]:
            apart = one.x1 < other.x0 or other.x1 < one.x0
            assert (
                apart or max(one.y0, one.y1) < min(other.y0, other.y1) or max(other.y0, other.y1) < min(one.y0, one.y1)
            )


def test_what_a_picture_says() -> None:
    picture = shown(events(SCATTERED), FIVE, ["ann", "bob"])
    found = texts(picture)
    assert {"SessionWindows.with_gap('5 minutes')", "user 'ann'", "user 'bob'", "event", "ts"} <= set(found)
    assert sorted(text for text in found if text.isdigit()) == ["2", "2", "4"]
    assert not {text for text in found if text.startswith(("late", "closes"))}


def late_marks(picture: Timeline) -> list[float]:
    (axes,) = picture.figure.axes
    return [minutes(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == "x"]


def test_late_records_and_close_times_of_a_stream() -> None:
    """```text
    gap 5, grace 1      ann 0, bob 12: stream time; ann 5 is late, ann 6 is on the bound
    ```
    """
    table, windows = (
        events([("ann", 0), ("bob", 12), ("ann", 5), ("ann", 6)]),
        wr.SessionWindows.with_gap("5 minutes", grace="1 minute"),
    )
    picture = shown(table, windows, "ann")
    assert late_marks(picture) == [5]
    (axes,) = picture.figure.axes
    closes = sorted(minutes(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == "|")
    assert closes == [6, 12, 12]  # of 0, of 6, and the stream time that 5 met
    assert {"late, up to the stream time that it met", "closes when stream time is past this"} <= set(texts(picture))
    batch = shown(table, windows, "ann", stream=False)
    assert late_marks(batch) == []
    assert bars(batch) == [(0, 6)]


def test_gaps_of_their_own_and_bad_ones() -> None:
    pauses = pa.array(
        [None if gap is None else timedelta(minutes=gap) for gap in (2, 2, 2, 20, None)], pa.duration("ms")
    )
    table = events([("ann", 25), ("ann", 5), ("ann", 20), ("ann", 0), ("ann", 10)], pause=pauses)
    picture = shown(table, wr.SessionWindows.with_dynamic_gap("pause"), "ann")
    assert bars(picture) == [(0, 20)]
    assert late_marks(picture) == [10]
    assert {"an event's own gap", "left out: a bad gap"} <= set(texts(picture))


def test_a_record_that_all_its_windows_refused() -> None:
    windows = wr.SlidingWindows.with_time_difference("10 minutes", grace="1 minute")
    table = events([("ann", 0), ("ann", 5), ("bob", 20), ("ann", 11)])
    assert "in no window: they were closed" in texts(shown(table, windows, "ann"))


def test_times_are_shown_in_the_zone_of_their_column() -> None:
    times = pa.array([NINE, NINE + timedelta(minutes=5)], pa.timestamp("us", "America/New_York"))
    picture = shown(pa.table({"user": ["ann", "ann"], "ts": times}), FIVE, "ann")
    assert bars(picture) == [(-240, -235)]
    assert "ts (America/New_York)" in texts(picture)


def test_the_same_svg_every_time_whatever_the_style() -> None:
    table = events(SCATTERED)
    first = shown(table, FIVE, ["ann"]).svg
    with mpl.rc_context({"svg.hashsalt": None, "font.size": 30, "axes.facecolor": "black", "svg.fonttype": "path"}):
        assert shown(table, FIVE, ["ann"]).svg == first
    assert shown(table, FIVE, ["ann"])._repr_svg_() == first
    assert "<dc:date>" not in first


@pytest.mark.parametrize(("ending", "begins"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_files(ending: str, begins: bytes, tmp_path: Path) -> None:
    picture = shown(events(SCATTERED), FIVE, ["ann"])
    for name in ("one", "two"):
        picture.save(tmp_path / f"{name}{ending}")
    assert (tmp_path / f"one{ending}").read_bytes().startswith(begins)
    assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()
    with pytest.raises(ValueError, match="allowed: a file that ends with .svg, .png, .pdf"):
        picture.save(tmp_path / "one.gif")


def test_what_is_wrong() -> None:
    table = events(SCATTERED)
    for keys, told in (
        ([], "1 to 12 keys"),
        (["ann"] * 13, "13 keys"),
        (["eve"], "keys of which the events have records"),
    ):
        with pytest.raises(ValueError, match=told):
            shown(table, FIVE, keys)
    with pytest.raises(TypeError, match="keys: got 5"):
        shown(table, FIVE, [5])
    with pytest.raises(TypeError, match="events: got None"):
        timeline(None, wr.group_by(table, "user", time="ts").windowed_by(FIVE), "ann")
    with pytest.raises(TypeError, match="windowed: got"):
        timeline(table, table, "ann")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="time: got 'ts'"):
        timeline(table.drop_columns("ts"), wr.group_by(table, "user", time="ts").windowed_by(FIVE), "ann")
    with pytest.raises(ValueError, match="keys with at most 1,000 records together"):
        shown(events([("ann", 0)] * 1001), FIVE, "ann")


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"windrow.plot takes matplotlib: pip install 'windrow\[plot\]'"):
        shown(events(SCATTERED), FIVE, "ann")


def test_the_package_imports_no_matplotlib() -> None:
    code = "import sys, windrow; windrow.plot.timeline; print('matplotlib' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"


def tool() -> ModuleType:
    """`tools/pictures.py`, as a module."""
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "tools" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pictures_of_the_docs_are_made_by_this_package(tmp_path: Path) -> None:
    made = tool()
    made.main(tmp_path)
    assert len(made.PICTURES) >= 5
    for name in made.PICTURES:
        assert (tmp_path / name).read_text() == (ROOT / "docs" / "pictures" / name).read_text(), (
            f"{name}: make pictures"
        )
