"""Pages of drivers and tables of open windows in format 1 are read and continued (`tests/vectors`).

A saved state names its query by a hash of JSON, which stays what it was, byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from windrow import state
from windrow._executor.stream.query import StreamQuery, shipment_of
from windrow._executor.stream.returned_records import core_plan
from windrow._native import Operator, read_clock
from windrow.testing._definition import plan_of

from ..harness import vector_files as files
from ..harness.vectors import QUERIES
from ..test_docs import ROOT

RUNS = [name for name, query in QUERIES.items() if query.is_run]
WRITERS = sorted(place.name for place in (files.FOLDER / "tables").iterdir())
DRIVERS = [name for name, query in QUERIES.items() if not query.gives_records]


def rows_of(writer: str, name: str) -> pa.Table:
    return pq.read_table(files.FOLDER / "tables" / writer / f"{name}.parquet")


def test_each_pyspark_has_files() -> None:
    versions = {path.stem for path in (ROOT / "tests" / "versions").glob("spark-*.txt")}
    assert set(WRITERS) == {"this-process", *versions}
    written = {path.relative_to(files.FOLDER).as_posix() for path in files.FOLDER.rglob("*") if path.is_file()}
    streams = {f"{version}/{name}.tar.gz" for version in versions - {"spark-3.5"} for name in QUERIES}
    tables = {f"tables/{writer}/{name}.parquet" for writer in WRITERS for name in RUNS}
    whole = {f"expected/{name}.parquet" for name in QUERIES} | {f"driver/{name}.zip" for name in DRIVERS}
    pages = {path for path in written if path.startswith("pages/")}
    others = {"records.parquet", "history/begun.parquet", "opened/paced.zip", "stored.jsonl"}
    assert written == streams | tables | whole | pages | others


def late_and_left_out(data: Any) -> Any:
    windowed = QUERIES["sliding"].windowed(data, tick="tick").left_out("emit", columns=["word"])
    return windowed.late("emit").agg(rows=wr.count())


def short(data: Any) -> Any:
    windows = wr.SessionWindows.with_gap("1500 nanoseconds", grace="2500 nanoseconds")
    return wr.group_by(data, time="ts").windowed_by(windows).overflow("null").agg(rows=wr.count())


OTHERS = {"late_and_left_out": late_and_left_out, "short": short}
"""Queries with further fields in their text."""


def stored(name: str) -> str:
    """The text of a query in a checkpoint, without the bytes of schemas."""
    query, schema = QUERIES.get(name), files.records().schema
    kinds = {"ts": pa.timestamp("ns")} if name == "short" else {}
    schema = pa.schema([field.with_type(kinds.get(field.name, field.type)) for field in schema])
    if query is None:
        shipment = shipment_of(plan_of(OTHERS[name], schema), ())
    elif query.is_cogroup:
        both = {"clicks": schema, "orders": schema}
        shipment = shipment_of(plan_of(lambda clicks, orders: query.stream([clicks, orders]), both), ())
    elif query.gives_records:
        plan = query.windowed(schema.empty_table(), tick="tick")._plan(query.aggregates, rows=True)
        shipment = shipment_of(core_plan(plan, schema), (), record_result=schema, records=len(schema))
    else:
        shipment = shipment_of(plan_of(query.stream, schema), ())
    return re.sub(r'"(schema|accumulators)": "[^"]+"', r'"\1": ""', StreamQuery(shipment).stored)


@pytest.mark.parametrize("name", [*QUERIES, *OTHERS])
def test_a_query_has_the_text_of_its_checkpoints(name: str) -> None:
    lines = map(json.loads, (files.FOLDER / "stored.jsonl").read_text(encoding="utf-8").splitlines())
    assert stored(name) == {line["name"]: line["stored"] for line in lines}[name]


@pytest.mark.parametrize("name", DRIVERS)
def test_a_driver_continues_pages(name: str) -> None:
    query, (pages, given) = QUERIES[name], files.read_pages(files.FOLDER / "driver" / f"{name}.zip")
    driver = files.driver(name).restore(pages)
    assert driver.counters["windows_open"] > 0
    files.feed(query, driver, range(files.STORED, files.BATCHES))
    assert driver.counters["late"] == (8 if query.end is None else 0)
    rows = [*files.before(name), given, driver.read_table()]
    assert files.outcome(query, rows) == files.outcome(query, [files.expected(name)])


def test_a_driver_continues_open_windows_at_a_pace() -> None:
    query, ((table,), given) = QUERIES["paced"], files.read_pages(files.FOLDER / "opened" / "paced.zip")
    opened = pq.read_table(pa.py_buffer(table))
    assert state.clock(opened).batch == 0
    driver = files.driver("paced", opened)
    files.feed(query, driver, range(files.STORED, files.BATCHES))
    assert files.outcome(query, [given, driver.read_table()]) == files.outcome(query, [files.expected("paced")])


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_run_continues_a_table(writer: str, name: str) -> None:
    """In two runs, so that a table of today has windows of an earlier one."""
    query, (closed, opened) = QUERIES[name], files.apart(rows_of(writer, name))
    assert state.clock(opened) == state.Clock(files.MIDDLE, 0)
    given, to = [closed], files.MIDDLE
    for end in (files.LATER, files.END):
        rows = files.selected(query, files.between(query, to, end))
        run = query.windowed(rows, grace=None).advance(opened, to=end, **query.aggregates)
        given.append(run.closed)
        opened, to = run.still_open, end
    assert opened.num_rows == 1
    assert files.outcome(query, given) == files.outcome(query, [files.expected(name)])


@pytest.mark.parametrize("kind", ["clock", "window"])
def test_a_table_of_a_later_format_is_refused_and_named(kind: str) -> None:
    query, (_, opened) = QUERIES["functions"], files.apart(rows_of("this-process", "functions"))
    is_clock = [time is not None for time in opened["stream_time"].to_pylist()]
    states: list[Any] = opened["state"].to_pylist()
    place = is_clock.index(kind == "clock")
    assert states[place][:3] == b"WR\x01"
    states[place] = b"WR\x02" + states[place][3:]
    later = opened.set_column(opened.column_names.index("state"), "state", pa.array(states, pa.binary()))
    with pytest.raises(ValueError, match="its `state` has format 2, and this version of windrow reads format 1"):
        query.windowed(files.whole(query)[:0], grace=None).advance(later, to=files.END, **query.aggregates)


def later(page: bytes) -> bytes:
    """A page of a driver with the next version of its format, and a checksum that is right."""
    reader, dots = pa.ipc.open_stream(page), b"sha256:" + b"." * 64
    metadata: dict[Any, Any] = {**(reader.schema.metadata or {}), b"windrow.format": b"2", b"windrow.checksum": dots}
    schema = reader.schema.with_metadata(metadata)
    written = pa.BufferOutputStream()
    with pa.ipc.new_stream(written, schema) as stream:
        stream.write_batch(reader.read_next_batch().replace_schema_metadata(metadata))
    dotted = written.getvalue().to_pybytes()
    return dotted.replace(dots, b"sha256:" + hashlib.sha256(dotted).hexdigest().encode(), 1)


def test_a_page_of_a_driver_of_a_later_format_is_refused_and_named() -> None:
    pages, _ = files.read_pages(files.FOLDER / "driver" / "sources.zip")
    kinds = [(pa.ipc.open_stream(page).schema.metadata or {})[b"windrow.page"] for page in pages]
    place = kinds.index(b"driver")
    pages[place] = later(pages[place])
    with pytest.raises(ValueError, match="page: it has format 2, and this version of windrow reads format 1"):
        files.driver("sources").restore(pages)


SPECS = [json.loads(line) for line in (ROOT / "tests" / "vectors" / "state-queries.jsonl").read_text().splitlines()]

COLUMNS = {
    "user": pa.large_string(),
    "place": pa.dictionary(pa.int8(), pa.string()),
    "at": pa.timestamp("us", "Europe/Berlin"),
    "pause": pa.duration("ms"),
    "day": pa.date32(),
    "done": pa.bool_(),
    "begins": pa.bool_(),
    "tick": pa.bool_(),
    "seq": pa.int64(),
    "input": pa.int32(),
    "x": pa.int16(),
    "y": pa.float32(),
    "price": pa.decimal128(9, 2),
    "blob": pa.binary(4),
    "pair": pa.struct({"left": pa.uint8(), "right": pa.list_(pa.time32("s"))}),
    "pairs": pa.map_(pa.string(), pa.int32()),
}


def written(spec: dict[str, Any]) -> dict[str, str]:
    """The JSON and its hash in the head of a state and in a table of open windows."""
    unit: Any = "ns" if spec.get("nanoseconds") else "us"
    schema = pa.schema({**COLUMNS, "ts": pa.timestamp(unit, "UTC")})
    operator = Operator(json.dumps(spec), schema)
    head = pa.ipc.open_stream(operator.pages()[0]).schema.metadata or {}
    opened = json.loads(read_clock(operator.open_windows(0, 0)[1]))
    return {
        "state": head[b"windrow.specification"].decode(),
        "hash": head[b"windrow.fingerprint"].decode(),
        "open": opened["specification"],
        "hash of open windows": opened["fingerprint"],
    }


def test_all_kinds_of_queries_are_there() -> None:
    said = [json.loads(vector["state"]) for vector in SPECS]
    assert {query["windows"]["kind"] for query in said} == {"session", "sliding"}
    assert len({name for query in said for name in query}) == 19


@pytest.mark.parametrize("vector", SPECS, ids=lambda vector: vector["name"])
def test_the_query_of_a_state_is_written_as_it_was(vector: dict[str, Any]) -> None:
    expected = {name: text for name, text in vector.items() if name not in ("name", "spec")}
    assert written(vector["spec"]) == expected
