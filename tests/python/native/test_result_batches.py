"""`to_reader`: the result of `agg` in batches, of records that do not have to fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow._executor import blocks
from windrow.testing import StreamDriver

from ..harness.examples import usually
from ..harness.families import often, some
from ..harness.tables import (
    Call,
    arrow,
    assert_windows,
    by_dynamic_gap,
    by_sessions,
    by_sliding,
    in_batches,
    rows_of,
)
from ..scenes import TICK, all_at

AGGREGATES = {
    "n": Call("count"),
    "total": Call("sum", ("x",)),
    "values": Call("collect_list", ("x",)),
    "latest": Call("last", ("x",)),
}
WINDOWS = {
    "sessions": (wr.SessionWindows.with_gap(5 * TICK), by_sessions(5)),
    "dynamic gaps": (wr.SessionWindows.with_dynamic_gap("gap", max_gap=20 * TICK), by_dynamic_gap("gap", 20)),
    "sliding": (wr.SlidingWindows.with_time_difference(12 * TICK), by_sliding(12, 1)),
}


@st.composite
def events(draw: st.DrawFn) -> pa.Table:
    """Up to 40 events of a few keys, around 1970, in one or several batches."""
    row = st.tuples(
        often(st.sampled_from(["a", "b", "c" * 20])), often(st.integers(-20, 60)), often(st.integers(-9, 9))
    )
    columns = list(zip(*draw(some(row, 40)), strict=True)) or [[], [], []]
    gaps = [timedelta(microseconds=draw(st.integers(-2, 25))) for _ in columns[0]]
    table = pa.table(
        {
            "k": pa.array(columns[0], pa.string()),
            "ts": pa.array(columns[1], pa.int64()).cast(pa.timestamp("us")),
            "x": pa.array(columns[2], pa.int64()),
            "gap": pa.array(gaps, pa.duration("us")),
        }
    )
    return in_batches(table, draw(st.lists(st.integers(0, 40), max_size=3)))


@pytest.mark.parametrize("name", WINDOWS)
@pytest.mark.parametrize("in_memory", [0, 16 << 20], ids=["in a file", "in memory"])
def test_batches_hold_the_windows_of_the_oracle(name: str, in_memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_IN_MEMORY", in_memory or 1)
    windows, oracle = WINDOWS[name]

    @usually(60)
    @given(events(), st.integers(1, 5))
    def check(table: pa.Table, shards: int) -> None:
        query = wr.group_by(table, "k", time="ts").windowed_by(windows).shards(shards)
        aggregates = {name: aggregate.build(wr) for name, aggregate in AGGREGATES.items()}
        reader = query.to_reader(**aggregates)
        counted = wr.counters(reader)
        result = reader.read_all()
        assert_windows(rows_of(result, ["k"]), table, ["k"], oracle, AGGREGATES)
        whole = query.agg(**aggregates)
        assert result.schema == whole.schema
        assert wr.counters(whole) == counted | {"overflows": 0, "windows": result.num_rows}

    check()


def joined(held: str, row: Any) -> str:
    return held + row.word


WORDS = wr.aggregate(str, joined, lambda one, other: one + other, schema="string", columns=["word"])
EVENTS = pa.table(
    {
        "user": ["ann", "bob", "ann", None, "ann"],
        "ts": all_at(4, 0, 0, 7, 30),
        "word": ["b", "c", "a", "x", "d"],
    }
)
GAP = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")


def sessions(data: Any = EVENTS) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(GAP)


def test_python_functions_are_called_in_the_order_of_time() -> None:
    rows = sessions().to_reader(x=WORDS, n=wr.count()).read_all().to_pylist()
    assert sorted((row["user"], row["x"], row["n"]) for row in rows) == [
        ("ann", "ab", 2),
        ("ann", "d", 1),
        ("bob", "c", 1),
    ]


def test_a_call_warns_at_its_line_and_reads_everything() -> None:
    with pytest.warns(wr.LeftOut, match=r"1 of 5 records are left out \(null_keys 1\)") as caught:
        reader = sessions().to_reader(n=wr.count())
    assert [warning.filename for warning in caught] == [__file__]
    assert wr.counters(reader)["records"] == 5
    assert "windows" not in wr.counters(reader)


def test_an_overflow_is_raised_when_its_batch_is_read() -> None:
    large = pa.table({"user": ["ann"] * 2, "ts": [datetime(2026, 1, 1)] * 2, "n": [2**63 - 1, 1]})
    reader = sessions(large).to_reader(n=wr.sum("n"))
    with pytest.raises(OverflowError, match='"n"'):
        reader.read_all()


def test_another_library_reads_it_batch_by_batch(tmp_path: Path) -> None:
    frame = pl.from_arrow(sessions().to_reader(n=wr.count()))
    assert isinstance(frame, pl.DataFrame)
    assert sorted(frame["n"]) == [1, 1, 2]
    categories = EVENTS.set_column(0, "user", EVENTS["user"].dictionary_encode())
    reader = sessions(categories).to_reader(n=wr.count())
    with pq.ParquetWriter(tmp_path / "sessions.parquet", reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)
    written = pq.read_table(tmp_path / "sessions.parquet")
    assert sorted(zip(written["user"].to_pylist(), written["n"].to_pylist(), strict=True))[:2] == [
        ("ann", 1),
        ("ann", 2),
    ]
    assert wr.counters(written)["null_keys"] == 1


def test_what_it_does_not_take_is_refused() -> None:
    with pytest.raises(TypeError, match="aggregates by name, such as agg"):
        sessions().to_reader(wr.count())
    with pytest.raises(ValueError, match="aggregates: got none"):
        sessions().to_reader()
    with pytest.raises(TypeError, match="to_reader: got data that is not in this process"):
        StreamDriver(lambda data: sessions(data).to_reader(n=wr.count()), EVENTS.schema)


def test_records_in_no_order_that_fill_many_blocks_are_merged_in_the_order_of_time() -> None:
    random, rows, gap = np.random.default_rng(1), 1_300_000, 1000
    keys, times = random.integers(0, 100, rows), random.integers(0, 10**7, rows)
    table = pa.table({"key": keys, "ts": pa.array(times).cast(pa.timestamp("us"))})
    windowed = wr.group_by(table, "key", time="ts").windowed_by(wr.SessionWindows.with_gap(gap * TICK)).flat()
    result = windowed.shards(4).to_reader(n=wr.count()).read_all()
    result = result.sort_by([("key", "ascending"), ("window_start", "ascending")])
    order = np.lexsort((times, keys))
    keys, times = keys[order], times[order]
    starts = np.flatnonzero(np.r_[True, (np.diff(keys) > 0) | (np.diff(times) > gap)])
    ends = np.r_[starts[1:], rows] - 1
    assert result["key"].to_numpy().tolist() == keys[starts].tolist()
    assert result["window_start"].cast(pa.int64()).to_numpy().tolist() == times[starts].tolist()
    assert result["window_end"].cast(pa.int64()).to_numpy().tolist() == times[ends].tolist()
    assert result["n"].to_numpy().tolist() == (ends - starts + 1).tolist()


# What a reader raises while a query reads it

SCHEMA = pa.schema([("key", pa.int64()), ("ts", pa.timestamp("us")), ("x", pa.int64())])


class OwnError(Exception):
    """An exception of the user's own."""


def failing(raised: BaseException, batches: int) -> pa.RecordBatchReader:
    """A reader that raises after this many batches."""

    def made() -> Iterator[pa.RecordBatch]:
        for number in range(batches):
            times = pa.array([number], pa.timestamp("us"))
            yield pa.record_batch([pa.array([1]), times, pa.array([2])], schema=SCHEMA)
        raise raised

    return pa.RecordBatchReader.from_batches(SCHEMA, made())


def by_key(data: Any) -> Any:
    return wr.group_by(data, "key", time="ts").windowed_by(WINDOWS["sessions"][0])


def cogroup(data: Any) -> Any:
    table = pa.table([[1], pa.array([5], pa.timestamp("us")), [3]], schema=SCHEMA)
    inputs = {name: wr.group_by(side, "key", time="ts") for name, side in (("left", table), ("right", data))}
    return wr.cogroup(**inputs).windowed_by(GAP).agg(n=wr.count())


def nested(data: Any) -> Any:
    """A struct in a struct, whose batches are copied on their way (`windrow._executor.batches.rebased_stream`)."""
    inner = pa.struct([pa.field("a", pa.struct([pa.field("b", pa.int64())]))])
    schema = pa.schema([*SCHEMA, pa.field("s", inner)])

    def widened() -> Iterator[pa.RecordBatch]:
        for batch in data:
            structs = pa.array([{"a": {"b": 1}}] * batch.num_rows, inner)
            yield pa.RecordBatch.from_arrays([*batch.columns, structs], schema=schema)

    reader = pa.RecordBatchReader.from_batches(schema, widened())
    return by_key(reader).agg(s=wr.first("s"))


QUERIES: dict[str, Callable[[Any], Any]] = {
    "built in": lambda data: by_key(data).agg(x=wr.sum("x")),
    "Python function": lambda data: by_key(data).agg(x=wr.reduce("x", max)),
    "in batches": lambda data: by_key(data).to_reader(x=wr.sum("x")).read_all(),
    "cogroup": cogroup,
    "nested": nested,
}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("batches", [0, 1, 200])
@pytest.mark.parametrize("raised", [KeyboardInterrupt(), OwnError("no more"), SystemExit(3), StopAsyncIteration()])
def test_an_exception_of_a_reader_comes_out_as_the_object_that_was_raised(
    query: str, batches: int, raised: BaseException
) -> None:
    cause = raised.__cause__
    with pytest.raises(type(raised)) as caught:
        QUERIES[query](failing(raised, batches))
    assert caught.value is raised
    assert caught.value.__cause__ is cause
    assert caught.value.__context__ is None


def test_an_error_of_the_query_is_not_taken_for_one_of_the_reader() -> None:
    large = pa.table([[1, 1], pa.array([1, 1], pa.timestamp("us")), [2**63 - 1, 1]], schema=SCHEMA)
    with pytest.raises(OverflowError, match="x"):
        QUERIES["built in"](large.to_reader())


# The columns are those of `agg`, in the same types

MINUTES = [datetime(2026, 5, 4, 9, minute) for minute in (0, 1, 30)]
CATEGORIES = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), pa.array(["a", "b"]))
CHOSEN = {"first": wr.first("v"), "last": wr.last("v"), "n": wr.count("v"), "all": wr.collect_list("v")}


def query(data: Any, *keys: str) -> wr.WindowedData[Any]:
    return wr.group_by(data, *keys, time="ts").windowed_by(GAP)


def rows_as_text(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def same(windowed: wr.WindowedData[pa.Table], **aggregates: Any) -> pa.Table:
    """The result of `to_reader`, which is that of `agg`."""
    reader, whole = windowed.to_reader(**aggregates), windowed.agg(**aggregates)
    table = reader.read_all()
    table.validate(full=True)
    assert table.schema.equals(reader.schema)
    assert table.schema.equals(whole.schema)
    assert rows_as_text(table) == rows_as_text(whole)
    return table


def plain(kind: Any) -> Any:
    """A type of another library in the layout of pyarrow."""
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, plain(kind.value_type), kind.ordered)
    return pa.large_string() if str(kind) == "string_view" else kind


UUIDS = pa.array([UUID(int=number).bytes for number in (1, 2, 1)], pa.uuid())
COLUMNS: dict[str, pa.Array[Any]] = {
    "nulls": pa.nulls(3),
    "dictionary of nulls": pa.DictionaryArray.from_arrays(CATEGORIES.indices, pa.nulls(2)),
    "UUIDs": UUIDS,
    "dictionary of UUIDs": pa.DictionaryArray.from_arrays(CATEGORIES.indices, UUIDS[:2]),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_columns_of_arrow_have_the_types_of_agg(name: str, count: int) -> None:
    table = pa.table({"user": [1, 1, 1], "ts": MINUTES, "v": COLUMNS[name]}).slice(0, count)
    same(query(table, "user", "v").flat().emit("update"), **CHOSEN)
    same(query(table, "user"), reduced=wr.reduce("v", lambda one, _other: one))
    kept = same(query(table, "v"), **CHOSEN).schema.field("v").type
    assert pa.types.is_dictionary(kept) == name.startswith("dictionary")


def frames() -> dict[str, Any]:
    """Columns of the own types of other libraries."""
    columns: dict[str, Any] = {"user": [1, 1, 1], "ts": MINUTES}
    days = pd.Categorical.from_codes([0, 1, 0], ["mon", "tue", "wed"], ordered=True)
    polars = {
        "categories": pl.Series(["a", "b", None], dtype=pl.Categorical),
        "enum": pl.Series(["a", "b", "a"], dtype=pl.Enum(["b", "a", "c"])),
        "nulls": pl.Series([None] * 3),
        "strings": pl.Series(["a", "b", "a"]),
    }
    pandas = {
        "categories": pd.Categorical(["a", "b", None]),
        "ordered": days,
        "numbers": pd.Categorical([7, 8, 7]),
        "objects": [None, None, None],
        "arrow": pd.array(["a", "b", "a"], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))),
    }
    return {
        **{f"pandas {name}": pd.DataFrame({**columns, "v": column}) for name, column in pandas.items()},
        **{f"polars {name}": pl.DataFrame({**columns, "v": column}) for name, column in polars.items()},
        **{f"lazy {name}": pl.DataFrame({**columns, "v": column}).lazy() for name, column in polars.items()},
    }


@pytest.mark.parametrize("name", frames())
def test_columns_of_frames_have_the_types_of_agg(name: str) -> None:
    agree(frames()[name])


@pytest.mark.parametrize("kind", ["VARCHAR", "ENUM ('b', 'a', 'c')", "BLOB", "INTEGER"])
def test_columns_of_duckdb_have_the_types_of_agg(kind: str) -> None:
    table = duckdb.from_arrow(pa.table({"user": [1, 1, 1], "ts": MINUTES}))
    agree(table.project(f"*, CAST('{7 if kind == 'INTEGER' else 'a'}' AS {kind}) AS v"))


def agree(frame: Any) -> None:
    """Checks keys and chosen values of both results."""
    for windowed, names in ((query(frame, "v"), ["v", "first"]), (query(frame, "user"), ["user", "first"])):
        reader, whole = windowed.to_reader(**CHOSEN), arrow(windowed.agg(**CHOSEN))
        table = reader.read_all()
        assert table.select(names).schema.types == [plain(whole.schema.field(name).type) for name in names]
        assert rows_as_text(table.select([*names, "n"])) == rows_as_text(whole.select([*names, "n"]))


def test_expressions_have_the_types_of_agg() -> None:
    frame = pl.DataFrame({"ts": MINUTES, "v": ["a", "b", "a"]})
    windowed = query(frame, pl.col("v").cast(pl.Categorical))
    table = windowed.to_reader(first=wr.first(pl.col("v").cast(pl.Enum(["b", "a"])))).read_all()
    assert table.select(["v", "first"]).to_pylist() == [{"v": v, "first": v} for v in table["v"].to_pylist()]
    assert all(pa.types.is_dictionary(table.schema.field(name).type) for name in ("v", "first"))


def test_an_input_that_is_read_once_keeps_its_types() -> None:
    table = pa.table({"ts": MINUTES, "v": CATEGORIES})
    reader = query(table.to_reader(), "v").to_reader(first=wr.first("v"))
    assert reader.schema.equals(query(table, "v").agg(first=wr.first("v")).schema)


def test_cogroups_flat_bounds_and_updates_are_those_of_agg() -> None:
    left, right = (wr.group_by(EVENTS.slice(at, 3), "user", time="ts") for at in (0, 2))
    windowed = wr.cogroup(left=left, right=right).windowed_by(GAP).emit("update").flat()
    found = same(windowed, n=wr.count(), words=wr.count("left.word"))
    assert found.schema.names == ["user", "window_start", "window_end", "n", "words", "op"]


def test_a_cogroup_keeps_the_type_that_all_inputs_have() -> None:
    table = pa.table({"ts": MINUTES, "v": CATEGORIES})
    inputs = {name: wr.group_by(table, "v", time="ts") for name in ("a", "b")}
    found = same(wr.cogroup(**inputs).windowed_by(GAP), n=wr.count())
    assert found.schema.field("v").type == table.schema.field("v").type


@pytest.mark.parametrize("count", [127, 128, 129])
@pytest.mark.parametrize("index", [pa.int8(), pa.uint8(), pa.int16()], ids=str)
def test_dictionaries_of_chunks_may_need_a_wider_index(count: int, index: pa.DataType) -> None:
    halves = [range(100), range(100, count)]
    kind = pa.dictionary(index, pa.string())
    chunks = [pa.DictionaryArray.from_arrays(pa.array(range(len(half)), index), [*map(str, half)]) for half in halves]
    table = pa.table({"ts": pa.array([MINUTES[0]] * count), "v": pa.chunked_array(chunks, kind)})
    result = same(query(table, "v"), first=wr.first("v"))
    assert result.schema.field("v").type.index_type == (pa.int32() if index == pa.int8() and count > 128 else index)
    assert sorted(result["v"].to_pylist()) == sorted(map(str, range(count)))
