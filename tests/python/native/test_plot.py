"""Pictures: bars where brute force has windows, marks for what was late, the same SVG every time."""

from __future__ import annotations

import itertools
import json
import re
import sys
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pyarrow as pa
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import PathPatch
from matplotlib.transforms import Bbox

import windrow as wr
from windrow.plot import Timeline, timeline
from windrow.plot import _style as style

from ..oracle.records import Record
from ..oracle.sessions import sessions
from ..oracle.sliding import sliding
from .test_site import ROOT, tool

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


def boxes(picture: Timeline, *, made: bool = True) -> list[Bbox]:
    """The bars of windows that were made, or of those that were not."""
    (axes,) = picture.figure.axes
    patches = [
        patch for patch in axes.patches if isinstance(patch, PathPatch) and (patch.get_facecolor()[3] > 0) is made
    ]
    return [patch.get_path().get_extents() for patch in patches]


def bars(picture: Timeline, *, made: bool = True) -> list[tuple[float, float]]:
    """The windows that are wider than the least width of a bar, as (start, end) in minutes past nine."""
    (axes,) = picture.figure.axes
    left, right = axes.get_xlim()
    wide = [box for box in boxes(picture, made=made) if box.width > (right - left) * 0.0085]
    return sorted((minutes(box.x0), minutes(box.x1)) for box in wide)


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
        ((start - nine) / minute, (end - nine) / minute, [(record.time - nine) / minute for record in members])
        for start, end, members in sliding(records, 10 * minute, 1)
    ]
    found = bars(shown(events(SCATTERED), wr.SlidingWindows.with_time_difference("10 minutes"), "ann"))
    assert len(found) == 10
    times = sorted(minute for key, minute in SCATTERED if key == "ann")
    for (left, right), (start, end, members) in zip(found, sorted(expected), strict=True):
        assert (left, right) == pytest.approx((start, end), abs=0.6)
        assert [time for time in times if left <= time <= right] == sorted(members)


def test_a_bar_has_a_distance_from_the_event_just_before_it_and_a_round_end() -> None:
    """```text
    difference 10      ann 0     ann 5          the right window of 0 starts at 0.000017, and does not hold 0
    ```
    """
    picture = shown(events([("ann", 0), ("ann", 5)]), wr.SlidingWindows.with_time_difference("10 minutes"), "ann")
    (left, _), (right, end) = bars(picture)[1], bars(picture)[2]
    assert (left, end) == (-5, 10)
    assert 0.1 < right < 0.5
    assert {"left: 1 event", "left: 2 events", "right: 1 event"} <= set(texts(picture))
    assert "round end: does not hold the event there" in texts(picture)


def test_no_bar_covers_another() -> None:
    windows = wr.SlidingWindows.with_time_difference("10 minutes")
    found = boxes(shown(events(SCATTERED), windows, ["ann", "bob"]))
    assert len(found) >= 12
    for one, other in itertools.combinations(found, 2):
        apart = one.x1 < other.x0 or other.x1 < one.x0
        assert apart or one.ymax < other.ymin or other.ymax < one.ymin


def test_what_a_picture_says() -> None:
    picture = shown(events(SCATTERED), FIVE, ["ann", "bob"])
    found = texts(picture)
    assert {"SessionWindows.with_gap('5 minutes')", "user 'ann'", "user 'bob'", "event", "ts"} <= set(found)
    assert {"4 events", "19 minutes: split", "gap: an event up to its end joins"} <= set(found)
    assert sorted(text for text in found if text.isdigit()) == ["2", "2"]
    assert not {text for text in found if text.startswith(("late", "the window closes"))}


def late_marks(picture: Timeline) -> list[float]:
    (axes,) = picture.figure.axes
    return [minutes(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == "x"]


def caps(picture: Timeline) -> list[float]:
    """Where gaps end, windows close, and which stream time late records met."""
    (axes,) = picture.figure.axes
    return sorted(minutes(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == "|")


def test_an_event_exactly_the_gap_later_joins_and_one_a_minute_later_splits() -> None:
    """```text
    gap 5       0 ── 5        5 of 0: joined         [0, 5], its gap ends at 10
                     5 ── 11  6: split               [11], its gap ends at 16
    ```
    """
    picture = shown(events([("ann", 0), ("ann", 5), ("ann", 11)]), FIVE, "ann")
    assert {"5 minutes: joined", "6 minutes: split", "2 events"} <= set(texts(picture))
    assert caps(picture) == [10, 16]


def test_a_window_that_refused_an_event() -> None:
    """```text
    difference 10, grace 2     40, 52, 44: [34, 44] closes at 46, stream time is 52     30 is late as a whole
    ```
    """
    windows = wr.SlidingWindows.with_time_difference("10 minutes", grace="2 minutes", resolution="1 minute")
    picture = shown(events([("ann", 40), ("ann", 52), ("ann", 44), ("ann", 30)]), windows, "ann")
    assert bars(picture, made=False) == [(34, 44)]
    assert bars(picture) == [(30, 40), (41, 51), (42, 52), (45, 55)]
    assert sorted(late_marks(picture)) == [30, 30, 44]  # on the line, in [30, 40] and in [34, 44]
    assert caps(picture) == [42, 46, 52, 52, 53, 54, 57]  # the windows close, and twice the stream time
    assert {"left: refused", "window not made: it would be closed already"} <= set(texts(picture))


def test_late_records_and_close_times_of_a_stream() -> None:
    """```text
    gap 5, grace 1      ann 0, bob 12: stream time; ann 5 is late, ann 6 is on the bound
    ```
    """
    table = events([("ann", 0), ("bob", 12), ("ann", 5), ("ann", 6)])
    windows = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
    picture = shown(table, windows, "ann")
    assert late_marks(picture) == [5]
    assert caps(picture) == [5, 6, 11, 12, 12]  # gap and close time of 0 and of 6, and the stream time that 5 met
    said = {"late event, and the stream time when it came", "the window closes when stream time passes this"}
    assert said <= set(texts(picture))
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
    assert {"an event's own gap", "event left out: bad gap"} <= set(texts(picture))


def test_a_record_that_all_its_windows_refused() -> None:
    windows = wr.SlidingWindows.with_time_difference("10 minutes", grace="1 minute")
    table = events([("ann", 0), ("ann", 5), ("bob", 20), ("ann", 11)])
    assert "event in no window: all had closed" in texts(shown(table, windows, "ann"))


def test_times_are_shown_in_the_zone_of_their_column() -> None:
    times = pa.array([NINE, NINE + timedelta(minutes=5)], pa.timestamp("us", "America/New_York"))
    picture = shown(pa.table({"user": ["ann", "ann"], "ts": times}), FIVE, "ann")
    assert bars(picture) == [(-240, -235)]
    assert "ts (America/New_York)" in texts(picture)


def luminance(colour: str) -> float:
    """The relative luminance of WCAG 2."""
    channels = [
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in to_rgb(colour)
    ]
    return sum(weight * channel for weight, channel in zip((0.2126, 0.7152, 0.0722), channels, strict=True))


@pytest.mark.parametrize("name", ["INK", "LINE", "EVENT", "BAR", "LATE", "CLOSE"])
def test_every_colour_can_be_seen_on_a_light_page_and_on_a_dark_one(name: str) -> None:
    light = luminance(getattr(style, name))
    assert 1.05 / (light + 0.05) >= 3
    assert (light + 0.05) / (luminance("#1e2129") + 0.05) >= 3
    assert 1.05 / (luminance(style.BAR) + 0.05) >= 4.5  # white text on a bar


def test_the_same_svg_every_time_with_any_style() -> None:
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
    for keys, message in (
        ([], "1 to 12 keys"),
        (["ann"] * 13, "13 keys"),
        (["eve"], "keys that have records in the events"),
    ):
        with pytest.raises(ValueError, match=message):
            shown(table, FIVE, keys)
    with pytest.raises(TypeError, match="keys: column 'user': got 5"):
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
    with pytest.raises(ImportError, match=r"windrow\.plot needs matplotlib: pip install matplotlib$"):
        shown(events(SCATTERED), FIVE, "ann")


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`tools/pictures.py`, as a module."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    return tool("pictures")


def test_the_pictures_of_the_docs_are_made_by_this_package(pictures: ModuleType, tmp_path: Path) -> None:
    pictures.main(tmp_path)
    assert set(pictures.PICTURES) == {path.name for path in (ROOT / "docs" / "pictures").iterdir()}
    for name in pictures.PICTURES:
        drawn = (tmp_path / name).read_text()
        assert drawn == (ROOT / "docs" / "pictures" / name).read_text(), f"{name}: make pictures"


def test_every_picture_is_on_a_page_with_a_text_that_says_what_one_sees(pictures: ModuleType) -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    shown = [
        (name, words)
        for page in pages
        for words, name in re.findall(r"!\[([^\]]*)\]\([\w./]*pictures/([\w-]+\.svg)\)", page.read_text("utf-8"))
    ]
    assert {name for name, _ in shown} == set(pictures.PICTURES)
    assert not [name for name, words in shown if len(words.split()) < 5]


def test_the_bars_of_speed_are_the_figures_of_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme[readme.index("## Speed") : readme.index("## More")]
    measured = json.loads((ROOT / "benches" / "speed.json").read_text(encoding="utf-8"))
    bars = [(peer, str(ratio)) for group in measured for peer, ratio in group["ratios"].items()]
    rows = re.findall(r"^\| ([^,|]+).*\| ([\d.]+) \N{MULTIPLICATION SIGN} as fast \|$", section, re.MULTILINE)
    assert [(peer.replace("`", "").strip(), ratio) for peer, ratio in rows] == bars
    assert {ratio for _, ratio in bars if float(ratio) < 1}  # one row where windrow is behind
    for group in measured:
        assert {group["date"], group["commit"]} <= set(re.findall(r"[\w-]+", section)), group
        assert group["data"] in section
