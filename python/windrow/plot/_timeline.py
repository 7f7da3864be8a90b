"""`timeline`: the events of some keys, their windows, what was late, and when windows close."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow._arguments.errors import bad_type, bad_value
from windrow._inspection.query import trace
from windrow.plot import _drawing as drawing
from windrow.plot import _style as style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from windrow._query.windowed import WindowedData

_MOST_KEYS = 12
_MOST_RECORDS = 1_000
_ENDINGS = (".svg", ".png", ".pdf")


class Timeline:
    """A picture of the windows of some keys; a notebook shows it as it is. Made by `timeline`.

    Attributes:
        figure: the picture as matplotlib's `Figure`, which you may change.
    """

    def __init__(self, figure: Figure, title: str) -> None:
        """Of a figure."""
        self.figure = figure
        self._title = title

    @property
    def svg(self) -> str:
        """The picture as SVG: the same text whenever it is made by the same version of matplotlib."""
        return self._rendered("svg").decode()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture as the file's name says: `.svg`, `.png` or `.pdf`.

        Raises:
            ValueError: another ending.
            OSError: the file cannot be written.
        """
        ending = Path(path).suffix.lower()
        if ending not in _ENDINGS:
            raise bad_value("path", os.fspath(path), f"a file that ends with {', '.join(_ENDINGS)}")
        Path(path).write_bytes(self._rendered(ending[1:]))

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return self.svg

    def _rendered(self, kind: str) -> bytes:
        written = io.BytesIO()
        style.render(self.figure, written, kind, self._title)
        return written.getvalue()


def timeline(events: object, windowed: WindowedData[Any], keys: object, *, stream: bool | None = None) -> Timeline:
    """Draws some keys: their events, the windows that hold them, late records, and when windows close.

    A session is followed by its gap: an event up to the end of the gap joins. A sliding window has a round end next to
    an event that is just outside it, such as one just before its start.

    If the windows have a `grace`, the rows of in-process data are read as a stream, in their order. The picture
    then has the stream time at which each window closes, late events with the stream time when they came, and the
    windows that refused an event. The rows are a batch, in which nothing is late, in three cases: without a grace, of a
    Spark DataFrame, whose rows have no order, and of sessions with `max_duration` or `end_when`.
    `windrow.explain_record` says the same in words.

    Args:
        events: the data, of any kind that `group_by` takes, with the columns of the query. Only the rows of these keys
            are collected from a Spark DataFrame. A streaming DataFrame is refused, because it has no end: read its
            source as a batch.
        windowed: the result of `windowed_by`.
        keys: a key, or a list of at most 12: values of the key column, tuples for several. Scalars of pyarrow are
            values, too.
        stream: True reads the rows as a stream, False as a batch; None chooses as above.

    Returns:
        The picture: a notebook shows it, `save("sessions.svg")` writes it, and `svg` is its text.

    Raises:
        ImportError: matplotlib is not installed; the message says how to install it.
        ValueError: no key or more than 12, no records or more than 1,000, or `stream` with windows without a grace,
            with `max_duration` or `end_when`, or with a Spark DataFrame.
        TypeError: not windowed, a cogroup, a streaming DataFrame, or a key of another type than its column.

    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> clicks = pa.table({"user": ["ann"] * 3, "ts": [datetime(2026, 1, 1, 8, minute) for minute in (0, 5, 11)]})
    >>> sessions = wr.group_by(clicks, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    >>> picture = timeline(clicks, sessions, keys=["ann"])
    >>> picture.svg.startswith("<?xml")
    True
    """
    drawing.check_matplotlib()
    wanted = keys if isinstance(keys, list) else [keys]
    if not wanted:
        raise bad_value("keys", keys, f"1 to {_MOST_KEYS} keys")
    if len(wanted) > _MOST_KEYS:
        raise bad_value("keys", f"{len(wanted)} keys", f"at most {_MOST_KEYS}, as a picture of more cannot be read")
    if events is None:
        raise bad_type("events", events, "the data that is windowed")
    traced = trace(events, windowed, wanted, stream, _MOST_RECORDS, argument="keys")
    if not traced.records:
        raise bad_value("keys", keys, "keys that have records in the events")
    title = str(windowed.windows)
    return Timeline(drawing.drawn(traced, title), title)
