"""The files of `tests/vectors/version-1`: records, and what each query gives, stores and leaves open.

```text
 batch 0   batch 1   batch 2 │ batch 3   batch 4     of a stream, which is stored after three
 ──────────────┬─────────────┴───────────────────▶ time
             MIDDLE                                  where a table of open windows is stored
```

| file | what |
|---|---|
| `records.parquet` | the records; `late` ones are late on every stream |
| `expected/QUERY.parquet` | what a batch gives over all records that are not late |
| `history/QUERY.parquet` | what a stream begins with |
| `driver/QUERY.zip` | the pages of a `StreamDriver`, and the rows that it had given |
| `opened/QUERY.zip` | the open windows of a stream whose updates have a pace, and the rows that it had given |
| `spark-VERSION/QUERY.tar.gz` | the checkpoint of a stream of this PySpark, and the rows that it had given |
| `tables/WRITER/QUERY.parquet` | the rows of a run of `advance` up to `MIDDLE`: those closed, and those open |
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windrow.testing import StreamDriver

from .streams import applied
from .vectors import QUERIES, Query

FOLDER = Path(__file__).resolve().parents[2] / "vectors" / "version-1"
DDL = (
    "batch int, user string, device struct<id: int, os: string>, part int, input int, ts timestamp, at timestamp, "
    "n bigint, x double, price decimal(9,2), word string, pause interval day to second, starts boolean, done boolean, "
    "seq bigint, tick boolean, late boolean"
)
START = datetime(2026, 5, 4, 9, tzinfo=UTC)
MIDDLE, LATER, END = START + timedelta(minutes=90), START + timedelta(minutes=130), START + timedelta(hours=9)
BATCHES, STORED = 5, 3
"""How many micro-batches a stream has, and after how many it is stored."""
GIVEN = "given.parquet"
"""The rows that a stream had given before it was stored."""


@cache
def records() -> pa.Table:
    """All records."""
    return pq.read_table(FOLDER / "records.parquet")


def selected(query: Query, rows: pa.Table) -> Any:
    """Records as the query takes them: for a cogroup a table for each input."""
    return [rows.filter(pc.equal(rows["input"], number)) for number in range(2)] if query.is_cogroup else rows


def whole(query: Query) -> pa.Table:
    """The records of a batch: all that are not late, and no ticks."""
    rows = records().filter(pc.invert(records()["tick"]))
    return rows.filter(pc.invert(rows["late"])) if query.time == "ts" else rows


def between(query: Query, start: datetime, end: datetime) -> pa.Table:
    """The records of a batch from `start` on and before `end`."""
    rows, (first, last) = whole(query), (pa.scalar(time, pa.timestamp("us", "UTC")) for time in (start, end))
    return rows.filter(pc.and_(pc.greater_equal(rows["ts"], first), pc.less(rows["ts"], last)))


def batch(query: Query, number: int) -> pa.Table:
    """The records and ticks of a micro-batch. The history is not among them, nor late records that end in time."""
    rows = records().filter(pc.equal(records()["batch"], number))
    rows = rows if query.end is None else rows.filter(pc.invert(rows["late"]))
    if query.begins:
        rows = rows.filter(pc.or_(rows["late"], pc.greater_equal(rows["ts"], pa.scalar(MIDDLE, rows["ts"].type))))
    return rows


def expected(name: str) -> pa.Table:
    """What a query gives over all records."""
    return pq.read_table(FOLDER / "expected" / f"{name}.parquet")


def apart(rows: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The closed windows and the open ones of a run."""
    closed, opened = (rows.filter(pc.equal(rows["status"], status)) for status in ("closed", "open"))
    return closed.drop_columns(["stream_time", "state", "status"]), opened


def history(name: str) -> pa.Table:
    """The open windows with which a stream begins."""
    return apart(pq.read_table(FOLDER / "history" / f"{name}.parquet"))[1]


def before(name: str) -> list[pa.Table]:
    """The windows that closed before a stream began."""
    place = FOLDER / "history" / f"{name}.parquet"
    return [apart(pq.read_table(place))[0]] if place.exists() else []


def driver(name: str, opened: pa.Table | None = None) -> StreamDriver:
    """A new driver of a query, which may begin with open windows."""
    query, schema = QUERIES[name], records().schema
    if query.is_cogroup:
        inputs = {"clicks": schema, "orders": schema}
        return StreamDriver(lambda clicks, orders: query.stream([clicks, orders]), inputs)
    opened = history(name) if query.begins else opened
    return StreamDriver(lambda data: query.stream(data, opened), schema)


def feed(query: Query, driver: StreamDriver, numbers: Iterable[int]) -> None:
    """Gives micro-batches to a driver."""
    for number in numbers:
        rows = batch(query, number).combine_chunks()
        for name, part in zip(("clicks", "orders"), selected(query, rows), strict=True) if query.is_cogroup else ():
            driver.pipe_batch(part, input=name)
        if not query.is_cogroup:
            driver.pipe_batch(rows)


def outcome(query: Query, given: Iterable[pa.Table]) -> list[tuple[Any, ...]]:
    """The rows of a result, without an order; updates are applied."""
    rows = [row for table in given for row in table.to_pylist()]
    if any("op" in row for row in rows):
        rows = list(applied(rows, query.keys).values())
    return sorted((tuple(plain(name, value) for name, value in row.items()) for row in rows), key=repr)


def plain(name: str, value: Any) -> Any:
    """A value without the last digits of floats, and without an order of sets. A batch closes its last sessions not."""
    if name == "why":
        return "gap" if value == "open" else value
    if isinstance(value, datetime):  # Parquet files of Spark have no zones, and pyarrow reads them in nanoseconds
        return value.replace(tzinfo=None).isoformat()
    if isinstance(value, timedelta):  # they are numbers there
        return value // timedelta(microseconds=1)
    if isinstance(value, float):
        return float(f"{value:.9g}") + 0.0
    if isinstance(value, list):
        values = [plain(name, each) for each in value]
        return sorted(values, key=repr) if name == "set" else values
    if isinstance(value, dict):
        return {key: plain(name, each) for key, each in value.items()}
    return value


def write(table: pa.Table, file: Any) -> None:
    """Writes a table as Parquet, small."""
    pq.write_table(table, file, compression="zstd")


def bytes_of(table: pa.Table) -> bytes:
    """A table as Parquet."""
    written = io.BytesIO()
    write(table, written)
    return written.getvalue()


def write_pages(place: Path, pages: Iterable[bytes], given: pa.Table) -> None:
    """Writes the pages of a driver, and what it had given."""
    place.parent.mkdir(parents=True, exist_ok=True)
    files = {f"{number}.arrows": page for number, page in enumerate(pages)} | {GIVEN: bytes_of(given)}
    with zipfile.ZipFile(place, "x", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)


def read_pages(place: Path) -> tuple[list[bytes], pa.Table]:
    """Reads what `write_pages` wrote."""
    with zipfile.ZipFile(place) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    return [page for name, page in files.items() if name != GIVEN], pq.read_table(pa.py_buffer(files[GIVEN]))


def write_checkpoint(place: Path, checkpoint: Path, given: pa.Table) -> None:
    """Packs a checkpoint, and what its query had given. `PLACE` is in the place of the path of its folder.

    Hadoop's checksums are left out, as paths are replaced.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    files = {f"checkpoint/{name}": content for name, content in _contents(checkpoint).items()}
    own, files = str(checkpoint.parent).encode(), files | {GIVEN: bytes_of(given)}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(files.items()):
            content = content.replace(own, PLACE)
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    with place.open("xb") as file:
        file.write(gzip.compress(packed.getvalue(), mtime=0))


PLACE = b"/windrow/vectors"
"""Spark stores absolute paths."""


def _contents(folder: Path) -> Mapping[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".crc"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def read_checkpoint(place: Path, folder: Path) -> tuple[Path, pa.Table]:
    """Unpacks a checkpoint into a folder. Returns its path, and what its query had given."""
    with gzip.open(place) as unzipped, tarfile.open(fileobj=unzipped) as archive:
        for entry in archive:
            file = archive.extractfile(entry)
            assert file is not None
            path = folder / entry.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.read().replace(PLACE, str(folder).encode()))
    return folder / "checkpoint", pq.read_table(folder / GIVEN)
