"""`--timeline KEY`: a picture of the events and windows of some keys."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.errors import bad_value
from windrow._inspection.keys import Key, numbers
from windrow._query.grouped import group_by
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows
from windrow.plot import Timeline, timeline

ENDINGS = (".svg", ".png", ".pdf")


def picture(
    reader: pa.RecordBatchReader,
    windows: SessionWindows | SlidingWindows,
    texts: Sequence[str | None],
    *,
    keys: list[str],
    order: Mapping[str, Any],
) -> Timeline:
    """A picture of the keys given in `texts`. Rows of other keys are read but not kept.

    `order` has the columns of the time, the end and the tie.
    """
    fields = [reader.schema.field(key) for key in keys]
    wanted = [_key(text, fields) for text in texts]

    def picked(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.filter(pc.is_valid(numbers(wanted, [pa.chunked_array([batch.column(key)]) for key in keys])))

    batches = [part for part in map(picked, reader) if part.num_rows]
    events = pa.Table.from_batches(batches, schema=reader.schema)
    if not events.num_rows:
        shown = ", ".join(str(text) for text in texts)
        raise bad_value("--timeline", shown, "keys that have records in the files")
    windowed = group_by(events, keys, **order).windowed_by(windows)
    try:
        values = [tuple(column[0] for column in key.columns) for key in wanted]
        return timeline(events, windowed, [value if len(keys) > 1 else value[0] for value in values])
    except ValueError as error:
        raise ValueError(str(error).replace("keys: ", "--timeline: ", 1)) from None


def check_out(path: str) -> None:
    """Raises `ValueError` if no picture can be written to this path."""
    if not path.lower().endswith(ENDINGS):
        raise bad_value("--timeline-out", path, f"a file that ends with {', '.join(ENDINGS)}")
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise bad_value("--timeline-out", path, "a file in a folder that exists")


def _key(text: str | None, fields: Sequence[pa.Field[Any]]) -> Key:
    """The key that a text names. Values of several key columns are a line of CSV."""
    names = ",".join(field.name for field in fields)
    parts = [] if text is None else [text] if len(fields) == 1 else next(csv.reader([text]), [])
    if text is None or len(parts) != len(fields):
        several = "; a value with a comma in double quotes" if len(fields) > 1 else ""
        raise bad_value("--timeline", text, f"a value of each key column, separated by commas: {names}{several}")
    cells = [_cell(text, part, each) for part, each in zip(parts, fields, strict=True)]
    return pa.RecordBatch.from_arrays(cells, names=[field.name for field in fields])


def _cell(text: str, part: str, field: pa.Field[Any]) -> pa.Array[Any]:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    try:
        if pa.types.is_time(kind):  # Arrow reads texts of times only
            return pa.array([f"1970-01-01 {part}"]).cast(pa.timestamp(kind.unit)).cast(kind)
        return pa.array([part]).cast(kind)
    except pa.ArrowException:
        raise bad_value("--timeline", text, f"a value of key column {field.name!r}, which holds {kind}") from None
