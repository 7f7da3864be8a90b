"""The picture of a trace, by matplotlib: no pyplot, no state of its own, the same SVG every time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from windrow._inspection.text import key_text
from windrow._inspection.trace import Key, Record, Trace, Window
from windrow.plot._layout import Band, bands, bounds, far_end

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK = "#1f2933"
_GREY = "#7b8794"
_LINE = "#cbd2d9"
_BAR = "#9fd8cb"
_EDGE = "#1d7a68"
_LATE = "#c81e1e"
_CLOSE = "#b7791f"
_STYLE = {
    "font.size": 9.0,
    "font.family": "DejaVu Sans",
    "svg.fonttype": "none",
    "svg.hashsalt": "windrow",
    "text.color": _INK,
    "axes.edgecolor": _LINE,
    "xtick.color": _INK,
    "axes.labelcolor": _INK,
}
_WIDTH = 9.0  # inches, of the whole picture
_RECORDS = 0.42  # inches, the height of a line of records
_LANE = 0.26  # inches, the height of a lane of windows
_BETWEEN = 0.22  # inches, between two keys
_TITLE = 0.32  # inches, above all
_AXIS = 0.5  # inches, for the times
_LEGEND = 0.2  # inches, the height of a line of the legend
_COLUMNS = 2  # of the legend
_GAPS = 3  # lines below the records, of their own gaps
_DAY = {"s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}


def check_matplotlib() -> None:
    """Raises `ImportError` with the name of the extra where matplotlib is not installed."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError("windrow.plot takes matplotlib: pip install 'windrow[plot]'") from error


@contextmanager
def _style() -> Iterator[None]:
    """The style of a picture, whatever that of the session is."""
    from matplotlib import style

    with style.context(["default", _STYLE]):
        yield


def render(figure: Figure, written: BinaryIO, kind: str, title: str) -> None:
    """Writes a picture as SVG, PNG or PDF, without a date."""
    dates = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    with _style():
        figure.savefig(written, format=kind, dpi=150, metadata={"Title": title, **dates[kind]})


def drawn(trace: Trace, keys: Sequence[Key], title: str) -> Figure:
    """The picture of a trace, a band for each key."""
    from matplotlib.figure import Figure

    first, last = bounds(trace)
    wide = max(last - first, 1)
    rows = bands(trace, keys, wide // 100)
    tall = sum(_RECORDS + _LANE * band.lanes + _BETWEEN for band in rows)
    with _style():
        figure = Figure()
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_title(title, loc="left", fontsize=9.5)
        scale = _Scale(trace)
        margin = max(wide * 3 // 100, 1)
        left, right = scale.days([first - margin, last + margin])
        axes.set_xlim(left, right)
        axes.set_ylim(tall, 0)
        drawing = _Drawing(axes, trace, scale, right - left)
        top = _BETWEEN / 2
        for band in rows:
            drawing.band(band, top)
            top += _RECORDS + _LANE * band.lanes + _BETWEEN
        _time_axis(axes, trace)
        legend = drawing.legend(figure)
        whole = tall + _TITLE + _AXIS + legend
        figure.set_size_inches(_WIDTH, whole)
        axes.set_position((0.13, (_AXIS + legend) / whole, 0.85, tall / whole))
    return figure


class _Scale:
    """Times in days since 1970, as matplotlib has them, in the zone of the time column."""

    def __init__(self, trace: Trace) -> None:
        self._type = trace.time.type
        self._day = _DAY[self._type.unit]

    def days(self, ticks: Sequence[int]) -> list[float]:
        times: Any = pa.array(ticks, pa.int64())
        if self._type.tz is not None:
            times = pc.local_timestamp(times.cast(self._type)).cast(pa.int64())
        return [time / self._day for time in times.to_pylist()]


class _Drawing:
    """The marks of a picture, and which kinds of them there are."""

    def __init__(self, axes: Axes, trace: Trace, scale: _Scale, wide: float) -> None:
        self._axes = axes
        self._trace = trace
        self._scale = scale
        self._wide = wide
        self._kinds: dict[str, Any] = {}

    def band(self, band: Band, top: float) -> None:
        """The records of a key on a line, its windows in lanes below."""
        line = top + _RECORDS / 2
        self._axes.axhline(line, color=_LINE, linewidth=0.8, zorder=1)
        name = key_text(self._trace.keys, band.key).replace(", ", "\n")
        self._axes.text(
            -0.01, line, name, transform=self._axes.get_yaxis_transform(), ha="right", va="center", fontsize=9
        )
        ends = [band.records[0].time - 1] * _GAPS if band.records else []
        for record in band.records:
            self._record(record, line)
            if record.gap is not None:
                place = next((place for place, end in enumerate(ends) if end < record.time), ends.index(min(ends)))
                ends[place] = record.time + record.gap
                self._gap(record, line + 0.07 + 0.05 * place)
        for window, lane in band.windows:
            self._window(window, top + _RECORDS + _LANE * (lane + 0.5), line)

    def _record(self, record: Record, y: float) -> None:
        (x,) = self._scale.days([record.time])
        judgement = self._trace.judgements.get(record.row)
        in_window = any(record.row in window.rows for window in self._trace.windows)
        if judgement is not None and judgement.late and judgement.stream_time is not None:
            (met,) = self._scale.days([judgement.stream_time])
            self._axes.plot([x, met], [y, y], color=_LATE, linewidth=0.9, linestyle=(0, (2, 2)), zorder=2)
            self._axes.plot([met], [y], marker="|", color=_LATE, markersize=7, linestyle="none", zorder=2)
            self._mark(
                "late, up to the stream time that it met",
                x,
                y,
                marker="x",
                color=_LATE,
                markersize=6,
                markeredgewidth=1.6,
            )
        elif record.bad_gap:
            self._mark("left out: a bad gap", x, y, marker="x", color=_GREY, markersize=6, markeredgewidth=1.6)
        elif not in_window:
            self._mark(
                "in no window: they were closed", x, y, marker="o", color=_LATE, markersize=6, markerfacecolor="white"
            )
        else:
            self._mark("event", x, y, marker="o", color=_INK, markersize=5)

    def _gap(self, record: Record, y: float) -> None:
        """How far a record reaches by its own gap."""
        ends = self._scale.days([record.time, record.time + (record.gap or 0)])
        (handle,) = self._axes.plot(ends, [y, y], color=_GREY, linewidth=1.1, solid_capstyle="butt", zorder=2)
        self._axes.plot(ends[1:], [y], marker="|", color=_GREY, markersize=5, linestyle="none", zorder=2)
        self._kinds.setdefault("an event's own gap", handle)

    def _window(self, window: Window, y: float, line: float) -> None:
        from matplotlib.patches import Rectangle

        start, end = self._scale.days([window.start, window.end])
        height, least = _LANE * 0.62, self._wide * 0.006
        wide = max(end - start, least)
        left = start if end - start >= least else (start + end - wide) / 2
        bar = Rectangle((left, y - height / 2), wide, height, facecolor=_BAR, edgecolor=_EDGE, linewidth=1.0, zorder=3)
        self._axes.add_patch(bar)
        kind = "sliding window" if self._trace.lengths.difference is not None else "session"
        self._kinds.setdefault(f"{kind}, with the number of its events", bar)
        self._count(window, (left, wide), y)
        if self._trace.lengths.grace is not None:
            (close,) = self._scale.days([far_end(self._trace, window)])
            self._axes.plot([left + wide, close], [y, y], color=_CLOSE, linewidth=0.9, linestyle=(0, (3, 2)), zorder=2)
            handle = self._axes.plot(
                [close], [y], marker="|", color=_CLOSE, markersize=9, markeredgewidth=1.6, linestyle="none", zorder=3
            )
            self._kinds.setdefault("closes when stream time is past this", handle[0])

    def _count(self, window: Window, bar: tuple[float, float], y: float) -> None:
        left, wide = bar
        inside = wide > self._wide * 0.03
        x = left + wide / 2 if inside else left - self._wide * 0.004
        self._axes.text(
            x,
            y,
            f"{len(window.rows)}",
            ha="center" if inside else "right",
            va="center_baseline",
            fontsize=7.5,
            zorder=4,
        )

    def _mark(self, kind: str, x: float, y: float, **style: Any) -> None:
        (handle,) = self._axes.plot([x], [y], linestyle="none", zorder=4, **style)
        self._kinds.setdefault(kind, handle)

    def legend(self, figure: Figure) -> float:
        """The kinds of marks that are there, at the bottom; its height in inches."""
        figure.legend(
            list(self._kinds.values()),
            list(self._kinds),
            loc="lower left",
            bbox_to_anchor=(0.12, 0),
            ncols=_COLUMNS,
            frameon=False,
            fontsize=8,
            handlelength=1.4,
            columnspacing=1.6,
        )
        return _LEGEND * -(-len(self._kinds) // _COLUMNS)


def _time_axis(axes: Axes, trace: Trace) -> None:
    from matplotlib import dates

    untyped: Any = dates
    locator = untyped.AutoDateLocator(minticks=4, maxticks=9)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))
    zone = "" if trace.time.type.tz is None else f" ({trace.time.type.tz})"
    axes.set_xlabel(f"{trace.time.name}{zone}", loc="left", fontsize=8.5)
    axes.yaxis.set_visible(False)
    for side in ("top", "left", "right"):
        axes.spines[side].set_visible(False)
