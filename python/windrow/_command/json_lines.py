"""Windows as JSON Lines: one object a line, with `window` as an object of `start` and `end`."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_ROWS = 10_000


def json_lines(table: pa.Table) -> Iterator[bytes]:
    """The rows as text. Times are ISO 8601, durations are seconds, bytes are Base64, NaN and infinities text."""
    names = [json.dumps(name, ensure_ascii=False) for name in table.column_names]
    for batch in table.to_batches(max_chunksize=_ROWS):
        columns = [
            [f"{name}: {text}" for text in _texts(array)] for name, array in zip(names, batch.columns, strict=True)
        ]
        yield "".join(f"{{{', '.join(row)}}}\n" for row in zip(*columns, strict=True)).encode()


def _texts(array: Any) -> list[str]:
    """The values as JSON. Timestamps do not become Python objects, which have no nanoseconds."""
    if pa.types.is_timestamp(array.type):
        times: Any = pc.replace_substring(array.cast(pa.string()), " ", "T")
        return [_json(text) for text in times.to_pylist()]
    if pa.types.is_struct(array.type) and array.type.num_fields:
        names = [json.dumps(array.type.field(place).name) for place in range(array.type.num_fields)]
        fields = [_texts(pc.struct_field(array, [place])) for place in range(len(names))]
        rows = zip(array.is_valid().to_pylist(), zip(*fields, strict=True), strict=True)
        return [_object(zip(names, row, strict=True)) if is_valid else "null" for is_valid, row in rows]
    return [_json(value) for value in array.to_pylist()]


def _object(fields: Any) -> str:
    return f"{{{', '.join(f'{name}: {text}' for name, text in fields)}}}"


def _json(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        value = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_json(each) for each in value)}]"
    if isinstance(value, dict):
        return _object((json.dumps(name, ensure_ascii=False), _json(each)) for name, each in value.items())
    if isinstance(value, datetime | date | time):
        value = value.isoformat()
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        value = b64encode(value).decode()
    return json.dumps(value, ensure_ascii=False)
