"""`explain_record`: explains a record by its neighbours, their gaps, and when its window closes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow._arguments.errors import bad_type, bad_value
from windrow._inspection.explained_session import session_lines
from windrow._inspection.explained_sliding import sliding_lines
from windrow._inspection.query import trace
from windrow._inspection.text import Text, counted, key_text
from windrow._inspection.trace import Record, Trace
from windrow._query.windowed import WindowedData
from windrow._windows.sliding import SlidingWindows
from windrow.testing._values import cell_of

_MOST = 50_000


def explain_record(windowed: WindowedData[Any], key: object, at: object, *, stream: bool | None = None) -> str:
    """Explains why a record is in its window, or late: its neighbours, the gaps between them, and when the window
    closes.

    If the windows have a `grace`, data in this process is read as a stream: row by row, in the order of the rows (or by
    `order=`, if `group_by` has one). The stream time of earlier rows judges each row, as in Kafka Streams, so late
    records show. `max_ahead` has no effect, because there is no wall clock. The rows are a batch, in which nothing is
    late, in three cases: the windows have no grace, the data is a Spark DataFrame (its rows have no order), or the
    sessions have `max_duration` or `end_when` (streams do not support them).

    Args:
        windowed: the result of `windowed_by`. This call consumes a reader that can be read once.
        key: the value of the key column, a tuple for several, or None for a query without keys.
        at: the time of the record, as a value of the time column or as ISO 8601 text.
        stream: True reads the rows as a stream, False as a batch; None chooses as above.

    Returns:
        Lines of text for the record. A stream has a paragraph for each record at that time, because they may differ.

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
    time = _ticks(at, traced.time)
    records = [record for record in traced.records if record.time == time]
    if not records:
        raise _no_record(at, traced, time)
    if traced.stream:
        paragraphs = [_lines(traced, record, text, 1) for record in records]
    else:  # records of one time share their windows, except those left out
        alike = [[record for record in records if record.bad_gap is bad] for bad in (False, True)]
        paragraphs = [_lines(traced, each[0], text, len(each)) for each in alike if each]
    return "\n\n".join("\n".join(lines) for lines in paragraphs)


def _lines(traced: Trace, record: Record, text: Text, alike: int) -> list[str]:
    row = f", row {record.row:,}" if traced.stream else ""
    others = f" ({counted(alike, 'record')} of this time)" if alike > 1 else ""
    head = f"{key_text(traced.keys, record.key)} at {text.time(record.time)}{row}{others}"
    if record.bad_gap:
        return [head, "  left out: its own gap is null, zero or negative (bad_gaps)"]
    lines = sliding_lines if isinstance(traced.windows_of, SlidingWindows) else session_lines
    return [head, *(f"  {line}" for line in lines(traced, record, text))]


def _ticks(at: object, time: pa.Field[Any]) -> int:
    if isinstance(at, str):
        try:
            return int(pa.scalar(at).cast(time.type).cast(pa.int64()).as_py())
        except pa.ArrowInvalid as error:
            raise bad_value("at", at, f"a time in ISO 8601, as {time.type} shows it ({error})") from None
    cells = cell_of("at", at, time.type)
    if cells.null_count:
        raise bad_type("at", at, "the time of a record")
    return int(cells.cast(pa.int64())[0].as_py())


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
