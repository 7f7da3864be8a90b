"""Pictures of long keys, single instants and many events: all text has room, and none of it misleads."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import windrow as wr
from windrow.plot import Timeline

from .test_plot import FIVE, NINE, bars, boxes, events, shown, texts


def drawn_texts(picture: Timeline) -> list[tuple[str, Bbox]]:
    """All texts, and where they are in a picture of width 1 and height 1."""
    picture.figure.draw_without_rendering()
    renderer = picture.figure._get_renderer()  # type: ignore[attr-defined]
    whole = picture.figure.bbox
    found = [text for text in picture.figure.findobj(Text) if text.get_text() and text.get_visible()]
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in found]
    return [(text, Bbox(box.get_points() / [whole.width, whole.height])) for text, box in boxes]


def assert_inside(picture: Timeline) -> None:
    found = drawn_texts(picture)
    assert len(found) > 5
    for text, box in found:
        assert box.x0 > -0.001, text
        assert box.x1 < 1.001, text


def tick_texts(picture: Timeline) -> list[str]:
    (axes,) = picture.figure.axes
    picture.figure.draw_without_rendering()
    return [label.get_text() for label in axes.get_xticklabels()]


@pytest.mark.parametrize("letter", ["a", "W", "i", "é"])
def test_long_keys_lose_their_middle_and_fit(letter: str) -> None:
    """Keys with the same begin differ in the picture."""
    keys = [f"{letter * 200}/{end}" for end in ("one", "two")]
    picture = shown(events([(keys[0], 0), (keys[1], 3)]), FIVE, keys)
    assert_inside(picture)
    names = [text for text in texts(picture) if text.startswith("user ")]
    assert [name[-5:] for name in names] == ["/one'", "/two'"]
    assert all("…" in name and name.startswith(f"user '{letter * 20}") for name in names)


@pytest.mark.parametrize("key", ["Smith, John, Jr.", "x, $y$ & <z>", "a" * 40])
def test_a_key_with_commas_or_dollars_is_shown_as_it_is(key: str) -> None:
    assert f"user '{key}'" in texts(shown(events([(key, 0)]), FIVE, key))


@pytest.mark.parametrize(
    ("unit", "gap"), [("s", "1 second"), ("us", "1 microsecond"), ("us", "10 milliseconds"), ("ns", "1 microsecond")]
)
def test_an_axis_around_a_single_instant(unit: str, gap: str) -> None:
    table = pa.table({"user": ["ann"] * 3, "ts": pa.array([NINE] * 3, pa.timestamp("us")).cast(pa.timestamp(unit))})
    picture = shown(table, wr.SessionWindows.with_gap(gap), "ann")
    ticks = tick_texts(picture)
    assert 3 <= len(ticks) <= 8
    assert "09:00:00.0" in ticks
    assert all(re.fullmatch(r"0(8:59:59|9:00:0\d)\.\d", tick) for tick in ticks), ticks
    assert_inside(picture)
    assert bars(picture) == []
    assert len(boxes(picture)) == 1


@pytest.mark.parametrize(
    ("seconds", "one"),
    [(0.0005, "09:00:00.0002"), (0.05, "09:00:00.02"), (3.0, "09:00:01.0"), (12.0, "09:00:04"), (59.0, "09:00:20")],
)
def test_an_axis_of_less_than_a_minute_has_whole_steps(seconds: float, one: str) -> None:
    times = pa.array([NINE, NINE + timedelta(seconds=seconds)], pa.timestamp("us"))
    picture = shown(pa.table({"user": ["ann"] * 2, "ts": times}), wr.SessionWindows.with_gap("1 microsecond"), "ann")
    ticks = tick_texts(picture)
    assert one in ticks, ticks
    assert len({len(tick) for tick in ticks}) == 1
    assert 3 <= len(ticks) <= 8
    assert_inside(picture)


@pytest.mark.parametrize("windows", [FIVE, wr.SlidingWindows.with_time_difference("10 minutes")])
def test_a_picture_of_many_events_has_faint_dots_and_counts_only_in_bars(windows: Any) -> None:
    picture = shown(events([("ann", 2 * place + 6 * (place // 8)) for place in range(300)]), windows, "ann")
    (axes,) = picture.figure.axes
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert len(dots) == 300
    assert len({line.get_ydata()[0] for line in dots}) == 1
    assert {line.get_alpha() for line in dots} == {0.5}
    assert picture.figure.get_size_inches()[1] < 6
    assert not any("joined" in text or "left" in text or "round" in text for text in texts(picture))
    found = boxes(picture)
    if windows is FIVE:
        assert len({(box.y0, box.y1) for box in found}) == 1
    assert len(found) > 20
    for label in axes.texts:
        if label.get_text().isdigit():
            width = axes.transData.inverted().transform_bbox(label.get_window_extent()).width
            assert any(box.x0 < label.get_position()[0] < box.x1 and box.width > width for box in found)


@pytest.mark.parametrize("many", [1, 40, 41])
def test_up_to_forty_events_are_large(many: int) -> None:
    picture = shown(events([("ann", minute) for minute in range(many)]), FIVE, "ann")
    (axes,) = picture.figure.axes
    alphas = {line.get_alpha() for line in axes.lines if line.get_marker() == "o"}
    assert alphas == ({None} if many <= 40 else {0.5})


@pytest.mark.parametrize("grace", ["1 minute", "2 days"])
def test_a_legend_and_a_title_are_inside(grace: str) -> None:
    windows = wr.SlidingWindows.with_time_difference(
        "10 minutes", grace=grace, resolution="1 minute", retention="9 days"
    )
    assert_inside(shown(events([("ann", 40), ("ann", 52), ("ann", 44), ("ann", 30)]), windows, "ann"))
