"""The pages of a driver in addition to those of its operators, if it has sources, a wall clock or a history.

| `windrow.page` | one row is | columns |
|---|---|---|
| `driver` | a source, in the order of their numbers from 0 on | the source columns, in the user's types |
| `task` | one page of the operator of a source | `source` (int64), its number; `page` (binary) |

Both are Arrow IPC streams. `windrow.checksum` is sha256 of all bytes, its own digits read as dots. The
metadata of the page `driver` are `windrow.specification`, the sources in the definition; `windrow.counters`, what the
operators do not count: records that `max_ahead` left out, and computed results that do not fit; and `windrow.start`,
the open windows with which the stream began.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from windrow._arguments.errors import changed_query
from windrow._executor.batches import ipc_stream
from windrow._executor.tasks import Source
from windrow._plan.plan import Stream

DRIVER = "driver"
"""The name of the page `driver`."""

_TASK = "task"
_FORMAT = "1"
_CHECKSUM = re.compile(rb"sha256:[0-9a-f]{64}")
_DOTS = b"sha256:" + b"." * 64
_TASK_FIELDS: list[tuple[str, pa.DataType]] = [("source", pa.int64()), ("page", pa.binary())]


class SavedState(NamedTuple):
    """The pages of a state, read.

    Attributes:
        sources: the sources, by their numbers.
        counters: what the operators do not count, by the name of its counter.
        start: the open windows with which the stream began; None for none.
        pages: the pages of the operators, with the number of the source where the page says it.
    """

    sources: list[Source]
    counters: Mapping[str, int]
    start: str | None
    pages: list[tuple[int | None, bytes]]


def driver_page(stream: Stream, sources: Sequence[Source], counters: Mapping[str, int], start: str | None) -> bytes:
    """The page `driver`."""
    columns = [
        pa.array([source[place] for source in sources], field.type) for place, field in enumerate(_fields(stream))
    ]
    values = {"specification": _specification(stream), "counters": dict(counters), "start": start}
    texts = {name: json.dumps(value) for name, value in values.items()}
    return _sealed(DRIVER, columns, pa.schema([field.with_nullable(True) for field in _fields(stream)]), texts)


def task_page(number: int, page: bytes) -> bytes:
    """A page of the operator of a source."""
    return _sealed(_TASK, [pa.array([number], pa.int64()), pa.array([page], pa.binary())], pa.schema(_TASK_FIELDS), {})


def read(pages: Iterable[bytes], stream: Stream) -> SavedState:
    """Reads pages. An operator reads all pages except `driver` and `task`.

    Raises:
        ValueError: a page is damaged, missing, of another version or of a definition with other sources.
    """
    heads, plain = list[pa.RecordBatch](), list[tuple[int | None, bytes]]()
    for page in pages:
        match _kind(page):
            case "driver":
                heads.append(_opened(page))
            case "task":
                row = _opened(page).to_pylist()[0]
                plain.append((row["source"], row["page"]))
            case _:
                plain.append((None, bytes(page)))
    if not heads and not stream.source:
        if any(number is not None for number, _ in plain):
            raise _broken("the page of the driver is missing")
        return SavedState([], {}, None, plain)
    if len(heads) != 1:
        raise _broken("a state of sources has one page of the driver")
    text = heads[0].schema.metadata
    saved, counters, start = (
        json.loads(text[f"windrow.{name}".encode()]) for name in ("specification", "counters", "start")
    )
    specification = _specification(stream)
    if saved != specification:
        raise _broken(changed_query(_in_words(saved), _in_words(specification)))
    columns = [column.to_pylist() for column in heads[0].columns]
    return SavedState(list(zip(*columns, strict=True)), counters, start, plain)


def _fields(stream: Stream) -> Sequence[pa.Field[pa.DataType]]:
    """The source columns."""
    return stream.fields[: len(stream.source)]


def _in_words(specification: Mapping[str, Any]) -> dict[str, object]:
    """A specification as users write it."""
    columns = [f"{name} ({kind})" for name, kind in specification["source"].items()]
    return {"source": ", ".join(columns) or None, "stream_time": specification.get("stream_time", "source")}


def _specification(stream: Stream) -> dict[str, Any]:
    columns = {field.name: str(field.type) for field in _fields(stream)}
    return {"source": columns, "stream_time": stream.stream_time} if columns else {"source": {}}


def _sealed(kind: str, columns: list[pa.Array[Any]], schema: pa.Schema, texts: Mapping[str, str]) -> bytes:
    metadata = {"checksum": _DOTS.decode(), "format": _FORMAT, "page": kind, **texts}
    labelled = schema.with_metadata({f"windrow.{name}": text for name, text in metadata.items()})
    page = ipc_stream(pa.RecordBatch.from_arrays(columns, schema=labelled)).to_pybytes()
    return page.replace(_DOTS, _digest(page), 1)


def _kind(page: bytes) -> str | None:
    try:
        metadata = pa.ipc.open_stream(pa.py_buffer(page)).schema.metadata or {}
    except (pa.ArrowException, ValueError, OSError):  # an operator says what is wrong with it
        return None
    return str(metadata.get(b"windrow.page", b""), "utf-8", "replace")


def _opened(page: bytes) -> pa.RecordBatch:
    """The rows of a page that is as it was written."""
    page = bytes(page)
    match = _CHECKSUM.search(page)
    if match is None or _digest(_CHECKSUM.sub(_DOTS, page, count=1)) != match[0]:
        raise _broken("its checksum does not match its bytes: it is damaged")
    reader = pa.ipc.open_stream(pa.py_buffer(page))
    version = reader.schema.metadata.get(b"windrow.format")
    if version != _FORMAT.encode():
        written = "none" if version is None else version.decode("utf-8", "replace")
        raise _broken(f"it has format {written}, and this version of windrow reads format {_FORMAT}")
    return reader.read_next_batch()


def _digest(dotted: bytes) -> bytes:
    return b"sha256:" + hashlib.sha256(dotted).hexdigest().encode()


def _broken(reason: str) -> ValueError:
    return ValueError(f"page: {reason}")
