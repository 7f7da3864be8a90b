"""`explain_record`: explains a record by its neighbours, their gaps, and when its window closes."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute

from windrow._arguments.errors import bad_type, bad_value
from windrow._arguments.instant import check_zone
from windrow._inspection.explained_session import session_lines
from windrow._inspection.explained_sliding import sliding_lines
from windrow._inspection.query import trace
from windrow._inspection.text import Text, counted
from windrow._inspection.trace import Record, Trace
from windrow._query.windowed import WindowedData
from windrow._windows.sliding import SlidingWindows
from windrow.testing._values import cell_of

pc: Any = pyarrow.compute  # its stubs know no column of any type

_MOST = 50_000
_LEFT_OUT = {
    "null_ties": "its tie is null",
    "bad_gaps": "its own gap is null, negative, or zero without end=",
    "bad_ends": "its end is null or before its time",
}
_OFFSET = re.compile(r"\d:\d{2}\S*(Z|[+-]\d{2}(:?\d{2})?)$", re.ASCII)
"""The zone after a time in ISO 8601."""


def explain_record(windowed: WindowedData[Any], key: object, at: object, *, stream: bool | None = None) -> str:
    """Explains why a record is in its window, or late: its neighbours, the gaps between them, and when the window
    closes.

    If the windows have a `grace`, in-process data is read as a stream: row by row, in the order of the rows (or by
    `order=`, if `group_by` has one). The stream time of earlier rows judges each row, as in Kafka Streams, so late
    records show. `max_ahead` has no effect, because there is no wall clock. The rows are a batch, in which nothing is
    late, in three cases: the windows have no grace, the data is a Spark DataFrame (its rows have no order), or the
    sessions have `max_duration` or `end_when` (this call knows these only in a batch).

    Args:
        windowed: the result of `windowed_by`. This call consumes a reader that can be read once.
        key: the value of the key column, a tuple for several, or None for a query without keys. A scalar of pyarrow is
            a value, too: Python has no times of day in nanoseconds.
        at: the time of the record, as a value of the time column or as text: ISO 8601, or as `show()` prints it. Text
            without a zone is in the zone of the column; for a Spark DataFrame it is in the session's time zone. A
            `datetime` of PySpark's rows, without a zone, is in the zone of this process.
        stream: True reads the rows as a stream, False as a batch; None chooses as above.

    Returns:
        Lines of text for the record, with times in the zone of the column, or of Spark's session. After 2037 a zone
        keeps its last offset here, also in `at`. Different records at that time have a paragraph each. On a stream
        every record at that time has one.

    Raises:
        ValueError: no record of the key has this time, the key has more than 50,000 records, or `stream` is True for
            windows without a grace, with `max_duration` or `end_when`, or for a Spark DataFrame.
        TypeError: not windowed, a cogroup, a streaming DataFrame, or a key or time that does not fit its column.

    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> clicks = pa.table({"user": ["ann"] * 3, "ts": [datetime(2026, 1, 1, 8, minute) for minute in (0, 5, 11)]})
    >>> sessions = wr.group_by(clicks, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    >>> print(wr.explain_record(sessions, "ann", datetime(2026, 1, 1, 8, 5)))
    user 'ann' at 2026-01-01 08:05:00
      in the session [2026-01-01 08:00:00, 2026-01-01 08:05:00], which has 2 records
      previous record: 2026-01-01 08:00:00, 5 minutes away, at most the gap of 5 minutes: one session
      next record: 2026-01-01 08:11:00, 6 minutes away, more than the gap of 5 minutes: the session ends here
    """
    traced = trace(None, windowed, [key], stream, _MOST, argument="key")
    text = Text(traced.time)
    zone = windowed.grouped.input.zone if traced.time.type.tz else None  # of a session of Spark
    if isinstance(at, str) and zone and not _OFFSET.search(at):
        check_zone("at", at, zone)
    if isinstance(at, datetime) and at.tzinfo is None and zone:
        at = at.astimezone()  # the zone of this process, as PySpark reads and shows it
    times = _ticks(at, traced.time)
    records = [record for record in traced.records if record.time in times]
    if not records:
        raise _no_record(at, traced, times[0])
    if traced.stream:
        paragraphs = [_lines(traced, record, text, 1) for record in records]
    else:
        same = dict[tuple[object, ...], list[Record]]()
        for record in records:
            within = tuple(place for place, window in enumerate(traced.windows) if record.row in window.rows)
            same.setdefault((times.index(record.time), record.left_out or "", record.last, within), []).append(record)
        paragraphs = [_lines(traced, each[0], text, len(each)) for _, each in sorted(same.items())]
    return "\n\n".join("\n".join(lines) for lines in paragraphs)


def _lines(traced: Trace, record: Record, text: Text, same: int) -> list[str]:
    row = f", row {record.row:,}" if traced.stream else ""
    others = f" ({counted(same, 'record')} of this time)" if same > 1 else ""
    until = f" to {text.time(record.last)}" if record.last != record.time else ""
    head = f"{traced.keys[record.key]} at {text.time(record.time)}{until}{row}{others}"
    if record.left_out is not None:
        return [head, f"  left out: {_LEFT_OUT[record.left_out]} ({record.left_out})"]
    lines = sliding_lines if isinstance(traced.windows_of, SlidingWindows) else session_lines
    return [head, *(f"  {line}" for line in lines(traced, record, text))]


def _ticks(at: object, time: pa.Field[Any]) -> list[int]:
    """The time in ticks; two if the text is of an hour that a zone has twice."""
    if isinstance(at, str):
        return _of_text(at, time.type)
    cells = cell_of("at", at, time.type)
    if cells.null_count:
        raise bad_type("at", at, "the time of a record")
    return [int(cells.cast(pa.int64())[0].as_py())]


def _of_text(text: str, kind: Any) -> list[int]:
    parsed = pa.array([text])
    try:
        if kind.tz is None or _OFFSET.search(text):
            times = [parsed.cast(kind)]
        else:
            local = parsed.cast(pa.timestamp(kind.unit))
            earliest = pc.assume_timezone(local, kind.tz, ambiguous="earliest", nonexistent="earliest")
            times = [earliest, pc.assume_timezone(local, kind.tz, ambiguous="latest", nonexistent="earliest")]
    except pa.ArrowInvalid as error:
        raise bad_value("at", text, f"a time in ISO 8601, as {kind} shows it ({error})") from None
    return list(dict.fromkeys(each.cast(pa.int64())[0].as_py() for each in times))


def _no_record(at: object, traced: Trace, time: int) -> ValueError:
    text = Text(traced.time)
    times = [record.time for record in traced.records]
    before, behind = (
        max((t for t in times if t < time), default=None),
        min((t for t in times if t > time), default=None),
    )
    near = " and ".join(text.time(each) for each in (before, behind) if each is not None)
    nearest = f"the nearest: {near}" if near else "it has none"
    return bad_value("at", str(at), f"the time of a record of this key; {nearest}")
