"""Windows as JSON Lines: one object a line, with `window` as an object of `start` and `end`."""

from __future__ import annotations

import json
import math
import re
from base64 import b64encode
from collections.abc import Iterator
from datetime import time
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.duration import TIME_UNITS

_ROWS = 10_000

EXACT = 10**15
"""Numbers of this size have all their digits in a float."""


def json_lines(table: pa.Table) -> Iterator[bytes]:
    """The rows as text. Times are ISO 8601, durations are seconds, bytes are Base64, NaN and infinities text.

    Raises `ValueError` for a time that `check_years` refuses.
    """
    names = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
    for batch in table.to_batches(max_chunksize=_ROWS):
        columns = [
            [f"{name}: {text}" for text in _texts(column, array)]
            for column, name, array in zip(table.column_names, names, batch.columns, strict=True)
        ]
        yield "".join(f"{{{', '.join(row)}}}\n" for row in zip(*columns, strict=True)).encode()


def check_years(column: str, times: Any) -> None:
    """Raises `ValueError` for dates or timestamps whose years do not have four digits. Then few can read their text."""
    bounds = pc.min_max(times)
    for bound in (bounds["min"], bounds["max"]):
        text: str | None = bound.cast(pa.string()).as_py()
        if text is not None and not re.match(r"\d{4}-", text):  # Arrow has no text at all for some of them
            allowed = "the years 0 to 9999 in CSV and JSON Lines, or Parquet, as with --out windows.parquet"
            raise ValueError(f"--out: column {column!r}: got a time beyond ISO 8601; allowed: {allowed}")


def values_of(column: Any) -> Any:
    """The values of an extension type: UUIDs as text, others as Arrow stores them."""
    kind = column.type
    if not isinstance(kind, pa.BaseExtensionType):
        return column
    if kind.extension_name == "arrow.uuid":
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())
    stored = values_of(column.cast(kind.storage_type))
    return stored.cast(pa.bool_()) if kind.extension_name == "arrow.bool8" else stored


def _texts(column: str, array: Any) -> list[str]:
    """The values as JSON. Times do not become Python objects, which have no nanoseconds."""
    array = values_of(array)
    kind = array.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        check_years(column, array)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind) or kind == pa.time64("ns"):
        times: Any = pc.replace_substring(array.cast(pa.string()), " ", "T")
        return [_json(text) for text in times.to_pylist()]
    if pa.types.is_duration(kind):
        return [_seconds(count, TIME_UNITS[kind.unit].per_second) for count in array.cast(pa.int64()).to_pylist()]
    if pa.types.is_dictionary(kind):
        return _texts(column, array.dictionary_decode())
    if pa.types.is_struct(kind) and kind.num_fields:
        names = [kind.field(place).name for place in range(kind.num_fields)]
        fields = [_texts(f"{column}.{name}", pc.struct_field(array, [place])) for place, name in enumerate(names)]
        rows = zip(array.is_valid().to_pylist(), zip(*fields, strict=True), strict=True)
        names = [json.dumps(name) for name in names]
        return [_object(zip(names, row, strict=True)) if is_valid else "null" for is_valid, row in rows]
    if pa.types.is_map(kind):
        keys, items = (_texts(column, _within(array, entries)) for entries in (array.keys, array.items))
        return _lists(array, [f"[{key}, {item}]" for key, item in zip(keys, items, strict=True)])
    if isinstance(kind, pa.ListType | pa.LargeListType):
        return _lists(array, _texts(column, _within(array, array.values)))
    if pa.types.is_fixed_size_list(kind):
        return _texts(column, array.cast(pa.list_(kind.value_field)))
    return [_json(value) for value in array.to_pylist()]


def _seconds(count: int | None, parts: int) -> str:
    """A count of parts of a second as seconds, with all digits."""
    if count is None or abs(count) <= EXACT:
        return _json(None if count is None else count / parts)
    return f"{Decimal(count) / parts:f}"


def _within(array: Any, elements: Any) -> Any:
    """The elements between the first and the last offset. A slice of a column has all of them."""
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return elements.slice(first, last - first)


def _lists(array: Any, texts: list[str]) -> list[str]:
    """The lists of a column, from the texts of its elements."""
    bounds = pc.subtract(array.offsets, array.offsets[0]).to_pylist()
    lists = (f"[{', '.join(texts[start:end])}]" for start, end in pairwise(bounds))
    return [text if is_valid else "null" for is_valid, text in zip(array.is_valid().to_pylist(), lists, strict=True)]


def _object(fields: Any) -> str:
    return f"{{{', '.join(f'{name}: {text}' for name, text in fields)}}}"


def _json(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        value = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, time):
        value = value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        value = b64encode(value).decode()
    return json.dumps(value, ensure_ascii=False)
