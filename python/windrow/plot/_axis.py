"""The axis of times, and texts that fit into a width."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from windrow._inspection.trace import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SECONDS = 100
"""Where the axis is shorter, its times have seconds and their fractions."""
_LETTER = 0.085
_BETWEEN = 0.25
"""The width of a letter, rounded up, and what is between two times, in inches."""


def shortened(text: str, inches: float) -> str:
    """The text in bold letters, without its middle where it is longer than this."""
    if _inches(text) <= inches:
        return text
    least, most = 0, len(text)
    while most - least > 1:
        letters = (least + most) // 2
        least, most = (letters, most) if _inches(_without_middle(text, letters)) <= inches else (least, letters)
    return _without_middle(text, least)


def _without_middle(text: str, letters: int) -> str:
    behind = letters // 3
    return f"{text[: letters - behind]}…{text[len(text) - behind :]}"


def _inches(text: str) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    measured: Any = text_to_path.get_text_width_height_descent(text, FontProperties(weight="bold", size=_size()), False)
    return float(measured[0]) / 72


def _size() -> float:
    from matplotlib import rcParams

    return float(rcParams["font.size"])


def time_axis(axes: Axes, trace: Trace, inch: float, side: float) -> None:
    """Times below the picture, with the name of the time column and its zone.

    An inch is `inch` days. The picture extends `side` inches beyond both ends of the axis.
    """
    from matplotlib import dates

    untyped: Any = dates
    left, right = axes.get_xlim()
    if (right - left) * 86_400 < _SECONDS:
        _fine(axes, left, right, inch, side)
    else:
        locator = untyped.AutoDateLocator(minticks=4, maxticks=12)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))
    zone = "" if trace.time.type.tz is None else f" ({trace.time.type.tz})"
    axes.set_xlabel(f"{trace.time.name}{zone}", loc="left")
    axes.yaxis.set_visible(False)
    for spine in ("top", "left", "right"):
        axes.spines[spine].set_visible(False)


def _fine(axes: Axes, left: float, right: float, inch: float, side: float) -> None:
    """Ticks at whole steps of a second, with every digit: 09:00:00.5. All their text is in the picture."""
    from matplotlib.ticker import FixedFormatter, FixedLocator

    day = math.floor(left)
    start, length = (left - day) * 86_400, (right - left) * 86_400
    step, digits = next(
        (step, max(0, -power))
        for power in range(-6, 3)
        for step in (10.0**power, 2 * 10.0**power, 5 * 10.0**power)
        if length / step * (_letters(max(0, -power)) * _LETTER + _BETWEEN) * inch < right - left
    )
    # whole numbers of steps, because floats of days have no exact microseconds
    counts = range(math.ceil(start / step), math.floor((start + length) / step) + 1)
    microseconds = [round(count * step * 1_000_000) for count in counts]
    texts = {day + each / 86_400_000_000: _clock(each, digits) for each in microseconds}
    half = (_letters(digits) * _LETTER / 2 - side) * inch
    texts = {place: text for place, text in texts.items() if left + half < place < right - half}
    formatter = FixedFormatter(list(texts.values()))
    date = datetime(1970, 1, 1) + timedelta(days=day)
    formatter.set_offset_string(f"{date:%Y-%b-%d}")
    axes.xaxis.set_major_locator(FixedLocator(list(texts)))
    axes.xaxis.set_major_formatter(formatter)


def _letters(digits: int) -> int:
    """The length of a time of day with these digits of a second."""
    return len("09:00:00") + (digits + 1 if digits else 0)


def _clock(microseconds: int, digits: int) -> str:
    time = datetime(1970, 1, 1) + timedelta(microseconds=microseconds)
    fraction = f"{time.microsecond:06}"[:digits]
    return f"{time:%H:%M:%S}{'.' if fraction else ''}{fraction}"
