"""Draws a trace with matplotlib: without pyplot or global state, and with the same SVG every time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.duration import TIME_UNITS
from windrow._inspection.text import Text, counted
from windrow._inspection.trace import Record, Trace, Window
from windrow.plot._axis import shortened, time_axis
from windrow.plot._layout import FEW, Band, bands, bounds, far_end, gap_end
from windrow.plot._style import BAR, CLOSE, DASHED, EVENT, LATE, LINE, ON_BAR, SMALL, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# All lengths are inches.
_WIDTH = 8.0  # of the picture
_SIDE = 0.12  # left and right of the times
_NAME = 0.34  # the height of a key's name
_LINE = 0.28  # from there to the line of records
_BELOW = 0.2  # from the line to the lanes
_LANE = 0.32  # the height of a lane of windows
_LANES = 12.0  # the height of all lanes: many are thinner
_DENSE_LANES = 3.0  # the same where a key has many records
_TEXT_LANE = 0.2  # the lowest lane that has room for text
_BETWEEN = 0.12  # between two keys
_TITLE = 0.36  # above all
_AXIS = 0.6  # for the times
_LEGEND = 0.225  # the height of a line of the legend
_LETTER = 0.092  # the width of a letter, rounded up
_ABOVE = 0.1  # from a line to the text above it
_APART = 0.08  # between a bar and an event that it does not hold
_LEAST = 0.06  # the width of a bar
_OWN_GAPS = 3  # lines below the records, of how long they last and of their own gaps
_OWN_GAP = 0.06  # between two of these lines
_SPAN = 3.5  # the width of the line of how long a record lasts, in points
_FAINT = 0.5  # how much of a dot is seen where there are more


def check_matplotlib() -> None:
    """Raises `ImportError` with the package to install where matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError("windrow.plot needs matplotlib: pip install matplotlib") from error


def drawn(trace: Trace, title: str) -> Figure:
    """The picture of a trace, a band for each key."""
    from matplotlib.figure import Figure

    first, last = bounds(trace, bands(trace, 0))
    second = TIME_UNITS[trace.time.type.unit].per_second
    is_instant = len({record.time for record in trace.records}) == 1 and last - first <= second
    wide = max(last - first, 2 * second if is_instant else second // 1000, 1)
    rows = bands(trace, wide // 100)
    lanes = sum(band.lanes for band in rows)
    is_dense = any(len(band.records) > FEW for band in rows)
    lane = min(_LANE, (_DENSE_LANES if is_dense else _LANES) / lanes)
    own_gaps = _OWN_GAPS * _OWN_GAP if any(map(_has_length, trace.records)) else 0
    above = _NAME + _LINE + _BELOW + own_gaps
    tall = lane * lanes + (above + _BETWEEN) * len(rows)
    with styled():
        figure = Figure()
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_title(shortened(title, _WIDTH - 2 * _SIDE))
        scale = _Scale(trace)
        margin = wide * 3 / 100 + (wide - (last - first)) / 2
        left, right = scale.days([math.floor(first - margin), math.ceil(last + margin)])
        axes.set_xlim(left, right)
        axes.set_ylim(tall, 0)
        drawing = _Drawing(axes, trace, scale, (right - left) / (_WIDTH - 2 * _SIDE), lane)
        top = 0.0
        for band in rows:
            drawing.band(band, top, top + above)
            top += above + lane * band.lanes + _BETWEEN
        time_axis(axes, trace, (right - left) / (_WIDTH - 2 * _SIDE), _SIDE)
        legend = drawing.legend(figure)
        whole = tall + _TITLE + _AXIS + legend
        figure.set_size_inches(_WIDTH, whole)
        axes.set_position((_SIDE / _WIDTH, (_AXIS + legend) / whole, 1 - 2 * _SIDE / _WIDTH, tall / whole))
    return figure


class _Scale:
    """Times in days since 1970, as matplotlib has them, in the zone of the time column."""

    def __init__(self, trace: Trace) -> None:
        self._type = trace.time.type
        self._day = 86_400 * TIME_UNITS[self._type.unit].per_second

    def days(self, ticks: Sequence[int]) -> list[float]:
        times: Any = pa.array(ticks, pa.int64())
        if self._type.tz is not None:
            times = pc.local_timestamp(times.cast(self._type)).cast(pa.int64())
        return [time / self._day for time in times.to_pylist()]


class _Drawing:
    """The marks of a picture, and which kinds of them there are. An inch is `inch` days, a lane `lane` inches high."""

    def __init__(self, axes: Axes, trace: Trace, scale: _Scale, inch: float, lane: float) -> None:
        self._axes = axes
        self._trace = trace
        self._scale = scale
        self._inch = inch
        self._lane = lane
        self._text = Text(trace.time)
        self._kinds: dict[str, Any] = {}

    def band(self, band: Band, top: float, lanes: float) -> None:
        """The name of a key, its records on a line, its windows in lanes below."""
        name = shortened(self._trace.keys[band.key], _WIDTH - 2 * _SIDE)
        self._axes.text(
            0, top + _NAME / 2, name, transform=self._axes.get_yaxis_transform(), va="center", fontweight="bold"
        )
        line = top + _NAME + _LINE
        self._axes.axhline(line, color=LINE, linewidth=0.8, zorder=1)
        self._times(band, line)
        if self._trace.lengths.difference is None:
            self._distances(band, line)
        elif len(band.records) <= FEW:
            times = self._scale.days([record.time for record in band.records])
            bottom = lanes + self._lane * band.lanes
            self._axes.vlines(times, line, bottom, colors=LINE, linestyles=":", linewidth=0.8, zorder=1)
        ends = [band.records[0].time - 1] * _OWN_GAPS if band.records else []
        for record in band.records:
            self._record(record, line, is_dense=len(band.records) > FEW)
            if _has_length(record):
                place = next((place for place, end in enumerate(ends) if end < record.time), ends.index(min(ends)))
                ends[place] = record.reach
                self._length(record, line + 0.1 + _OWN_GAP * place)
        free = [float("-inf")] * band.lanes
        for window, lane in band.windows:
            self._window(window, lanes + self._lane * (lane + 0.5), band, free[lane])
            (free[lane],) = self._scale.days([far_end(self._trace, window)])

    def _times(self, band: Band, line: float) -> None:
        """The time of each event above it, if there is room for all."""
        times = sorted({record.time for record in band.records})
        texts = [self._text.time(time).split(" ")[-1].removesuffix(":00") for time in times]
        room = max(len(text) for text in texts) * _LETTER * self._inch if texts else 0
        places = self._scale.days(times)
        left, right = self._axes.get_xlim()
        beyond = room / 2 + _SIDE * self._inch
        if all(other - one > room for one, other in pairwise([left - beyond, *places, right + beyond])):
            for x, text in zip(places, texts, strict=True):
                self._axes.text(x, line - _ABOVE, text, ha="center", va="bottom", fontsize=SMALL)

    def _distances(self, band: Band, line: float) -> None:
        """How far neighbours are apart, and whether that joins or splits them, if there is room."""
        sessions = {row: window for window, _ in band.windows for row in window.rows}
        latest = band.records[0].last if band.records else 0
        for one, other in pairwise(band.records):
            latest = max(latest, one.last)
            if one.row not in sessions or other.row not in sessions or latest > other.time:
                continue
            left, right = self._scale.days([latest, other.time])
            is_joined = sessions[one.row] is sessions[other.row]
            text = f"{self._text.length(other.time - latest)}: {'joined' if is_joined else 'split'}"
            if right - left > (len(text) + 6) * _LETTER * self._inch:
                x = (left + right) / 2
                self._axes.text(x, line - _ABOVE, text, ha="center", va="bottom", fontsize=SMALL)

    def _record(self, record: Record, y: float, *, is_dense: bool) -> None:
        (x,) = self._scale.days([record.time])
        judgement = self._trace.judgements.get(record.row)
        in_window = any(record.row in window.rows for window in self._trace.windows)
        if judgement is not None and judgement.late and judgement.stream_time is not None:
            self._met(x, judgement.stream_time, y)
            self._cross("late event, and the stream time when it came", x, y, LATE, is_dense=is_dense)
        elif record.left_out is not None:
            reason = {"null_ties": "null tie", "bad_gaps": "bad gap", "bad_ends": "bad end"}[record.left_out]
            self._cross(f"event left out: {reason}", x, y, LINE, is_dense=is_dense)
        elif not in_window:
            style = {"color": LATE, "markersize": 7, "markerfacecolor": "none"}
            self._mark("event in no window: all had closed", x, y, marker="o", **style)
        else:
            style = {"markersize": 4, "markeredgewidth": 0, "alpha": _FAINT} if is_dense else {"markersize": 7}
            self._mark("event", x, y, marker="o", color=EVENT, **style)

    def _met(self, x: float, stream_time: int, y: float) -> None:
        """A line to the stream time when a late record came."""
        (met,) = self._scale.days([stream_time])
        self._axes.plot([x, met], [y, y], color=LATE, linestyle=DASHED, zorder=2)
        self._axes.plot([met], [y], marker="|", color=LATE, markersize=9, zorder=2)

    def _length(self, record: Record, y: float) -> None:
        """How long a record lasts, and how far its own gap reaches."""
        if record.last > record.time:
            span = self._scale.days([record.time, record.last])
            (handle,) = self._axes.plot(span, [y, y], color=EVENT, linewidth=_SPAN, solid_capstyle="butt", zorder=3)
            self._kinds.setdefault("how long an event lasts", handle)
        if record.gap is not None:
            self._gap([record.last, record.reach], y, "an event's own gap")

    def _gap(self, times: Sequence[int], y: float, kind: str) -> None:
        """How far a gap reaches."""
        ends = self._scale.days(times)
        (handle,) = self._axes.plot(ends, [y, y], color=LINE, solid_capstyle="butt", zorder=2)
        self._axes.plot(ends[1:], [y], marker="|", color=LINE, markersize=6, zorder=2)
        self._kinds.setdefault(kind, handle)

    def _window(self, window: Window, y: float, band: Band, free: float) -> None:
        """The bar of a window, its gap and its close time; its lane is free from a time on."""
        left, right = self._bar(window, y, band)
        if self._lane >= _TEXT_LANE:
            self._label(window, band, (free, left, right), y)
        reach = gap_end(self._trace, window)
        if reach > window.end:
            self._gap([window.end, reach], y, "gap: an event up to its end joins")
        if self._trace.lengths.grace is not None:
            from_, close = self._scale.days([reach, far_end(self._trace, window)])
            self._axes.plot([max(from_, right), close], [y, y], color=CLOSE, linestyle=DASHED, zorder=2)
            self._mark(
                "the window closes when stream time passes this", close, y, marker="|", color=CLOSE, markersize=9
            )
        for record in band.refusals.get((window.start, window.end), ()):
            x, closes = self._scale.days([record.time, window.closes])
            stream_time = self._trace.judgements[record.row].stream_time
            if not window.rows and stream_time is not None:
                self._met(closes, stream_time, y)
            self._cross("event that came after the window closed", x, y, LATE)

    def _bar(self, window: Window, y: float, band: Band) -> tuple[float, float]:
        """The bar of a window. Its end is round if an event just outside it is too close to see."""
        from matplotlib.patches import PathPatch

        start, end = self._scale.days([window.start, window.end])
        apart = min(_APART * self._inch, (end - start) / 8) if len(band.records) <= FEW else 0
        others = self._scale.days([record.time for record in band.records if record.row not in window.rows])
        is_open = any(start - apart < time < start for time in others), any(end < time < end + apart for time in others)
        left, right = start + apart * is_open[0], end - apart * is_open[1]
        least = _LEAST * self._inch
        if right - left < least:
            left, right = (start + end - least) / 2, (start + end + least) / 2
        shape = _outline(left, right, y, self._lane * 0.32, [apart * side for side in is_open])
        if window.rows:
            kind = "session" if self._trace.lengths.difference is None else "sliding window"
            bar = PathPatch(shape, facecolor=BAR, edgecolor=BAR, zorder=3)
        else:
            kind = "window not made: it would be closed already"
            bar = PathPatch(shape, facecolor="none", edgecolor=LATE, linestyle=DASHED, zorder=3)
        self._kinds.setdefault(kind, self._axes.add_patch(bar))
        if any(is_open):
            self._kinds.setdefault(_ROUND, PathPatch(shape, facecolor=BAR, edgecolor=BAR))
        return left, right

    def _label(self, window: Window, band: Band, bar: tuple[float, float, float], y: float) -> None:
        """The text of a bar, or the number of its events alone, in the bar or before it, if there is room."""
        free, left, right = bar
        side = _side(self._trace, window, band)
        count = counted(len(window.rows), "event") if window.rows else "refused"
        number = f"{len(window.rows)}" if window.rows else ""
        style: dict[str, Any] = {"va": "center_baseline", "fontsize": SMALL, "zorder": 4}
        for text in (f"{side}: {count}" if side else count, number):
            if right - left > (len(text) + 1) * _LETTER * self._inch:
                color = ON_BAR if window.rows else LATE
                self._axes.text((left + right) / 2, y, text, ha="center", color=color, **style)
                return
        if len(band.records) <= FEW and left - free > (len(number) + 1) * _LETTER * self._inch:
            self._axes.text(left - 0.04 * self._inch, y, number, ha="right", **style)

    def _cross(self, kind: str, x: float, y: float, color: str, *, is_dense: bool = False) -> None:
        size, edge = (4, 1.2) if is_dense else (7, 2)
        self._mark(kind, x, y, marker="x", color=color, markersize=size, markeredgewidth=edge)

    def _mark(self, kind: str, x: float, y: float, **style: Any) -> None:
        (handle,) = self._axes.plot([x], [y], linestyle="none", zorder=5, **style)
        self._kinds.setdefault(kind, handle)

    def legend(self, figure: Figure) -> float:
        """The kinds of marks that are there, at the bottom; its height in inches."""
        from matplotlib.legend_handler import HandlerPatch
        from matplotlib.patches import PathPatch

        def rounded(*, width: float, height: float, **_: object) -> Any:
            return PathPatch(_outline(0, width, height / 2, height / 2, [height / 2, 0]))

        names = list(self._kinds)
        half = -(-len(names) // 2)
        letters = sum(max(map(len, part), default=0) for part in (names[:half], names[half:]))
        columns = 2 if (letters + 8) * _LETTER < _WIDTH else 1
        handlers = {self._kinds.get(_ROUND): HandlerPatch(patch_func=rounded)}
        figure.legend(
            list(self._kinds.values()),
            names,
            loc="lower left",
            bbox_to_anchor=(0, 0),
            ncols=columns,
            handlelength=1.4,
            columnspacing=1.6,
            handler_map=handlers,
        )
        return _LEGEND * -(-len(self._kinds) // columns)


_ROUND = "round end: does not hold the event there"


def _has_length(record: Record) -> bool:
    """Whether a record lasts, or has a gap of its own."""
    return record.gap is not None or record.last > record.time


def _side(trace: Trace, window: Window, band: Band) -> str:
    """Whether a sliding window ends with an event, its left window, or begins after one, its right window."""
    lengths = trace.lengths
    if lengths.difference is None:
        return ""
    late = {row for row, judgement in trace.judgements.items() if judgement.late}
    times = {lengths.floored(record.time) for record in band.records if record.row not in late}
    is_side = {"left": window.end in times, "right": window.start - lengths.resolution in times}
    return " and ".join(side for side, holds in is_side.items() if holds)


def _outline(left: float, right: float, y: float, half: float, depths: Sequence[float]) -> Any:
    """A bar with its two sides: straight, or round to a depth."""
    from matplotlib.path import Path

    top, bottom = y - half, y + half
    inner = left + depths[0], right - depths[1]
    points = [
        *((inner[0], top), (inner[1], top), (right + depths[1], y), (inner[1], bottom)),
        *((inner[0], bottom), (left - depths[0], y), (inner[0], top)),
    ]
    line, curve = Path.LINETO, Path.CURVE3
    return Path(points, [Path.MOVETO, line, curve, curve, line, curve, curve])
