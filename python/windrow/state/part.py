"""A state of some of its windows: what the core restores, of pages that are not all.

A head names every page of its state, and all have to be there. So windows that were picked from pages become one page,
and a head is written that names this page only; all else that it says stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from windrow.ipc import ipc_stream
from windrow.state.xxh3 import xxh3_64

_CHECKSUM = b"windrow.checksum"
_STATE = b"windrow.state"
_BLANK = b"xxh3:" + b"." * 16
_OTHER = b"xxh3:" + b"0" * 16


def part_of(head: bytes, pages: Sequence[bytes], start: int | None, end: int | None) -> list[bytes]:
    """The pages of a state of those windows that reach to a start and begin up to an end, in ticks."""
    rows = [_rows(page) for page in pages]
    windows = pa.concat_tables([table.filter(_in_time(table, start, end)) for table in rows]) if rows else None
    top = _rows(head)
    known = dict(top.schema.metadata or {})
    state = json.loads(known[_STATE])
    state["pages"] = {"0": [1]} if windows is not None and windows.num_rows else {}
    sealed = [_seal(top, {**known, _STATE: json.dumps(state).encode()})]
    if windows is not None and windows.num_rows:
        place = {b"windrow.segment": b"0", b"windrow.run": b"0", b"windrow.number": b"0"}
        sealed.append(_seal(windows, {**(rows[0].schema.metadata or {}), **place}))
    return sealed


def _rows(page: bytes) -> pa.Table:
    with pa.ipc.open_stream(page) as reader:
        rows = reader.read_all()
    # Whether a column has nulls is not the same in all pages; names may be there twice.
    fields = [field.with_nullable(True) for field in rows.schema]
    return pa.Table.from_arrays(rows.columns, schema=pa.schema(fields).with_metadata(rows.schema.metadata))


def _in_time(windows: pa.Table, start: int | None, end: int | None) -> pa.Array[pa.BooleanScalar]:
    """Which rows may be asked for; the core decides."""
    place = {name: number for number, name in enumerate(windows.schema.names)}  # the last of a name: keys come first
    is_session = (windows.schema.metadata or {})[b"windrow.page"] == b"sessions"
    first, last = (windows.column(place[name]) for name in ("start", "end" if is_session else "start"))
    spans: Iterable[tuple[Any, Any]] = zip(first.to_pylist(), last.to_pylist(), strict=True)
    asked = [(start is None or ends >= start) and (end is None or starts <= end) for starts, ends in spans]
    return pa.array(asked, pa.bool_())


def _seal(rows: pa.Table, metadata: dict[bytes, bytes]) -> bytes:
    """Rows as one batch, with a checksum in their metadata: of all bytes, its own digits read as dots."""
    blank, other = (_written(rows, {**metadata, _CHECKSUM: digits}) for digits in (_BLANK, _OTHER))
    place = next(at for at, (one, two) in enumerate(zip(blank, other, strict=True)) if one != two)
    digits = f"{xxh3_64(blank):016x}".encode()
    return blank[:place] + digits + blank[place + len(digits) :]


def _written(rows: pa.Table, metadata: dict[bytes, bytes]) -> bytes:
    (batch,) = rows.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=rows.schema)]
    written: bytes = ipc_stream(batch.replace_schema_metadata(metadata)).to_pybytes()
    return written
