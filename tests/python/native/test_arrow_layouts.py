"""Layouts of Arrow columns: chunks with their own dictionaries, list views, types whose values have no width."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..scenes import EIGHT

GAP = wr.SessionWindows.with_gap("5 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("5 minutes")


def rows(**columns: Any) -> pa.Table:
    """One row a minute."""
    length = len(next(iter(columns.values())))
    times = pa.array([EIGHT + timedelta(minutes=minute) for minute in range(length)], pa.timestamp("us"))
    return pa.table({"user": pa.array([1] * length), "ts": times, **columns})


def joined(first: str, row: dict[str, Any]) -> str:
    return first + row["v"]


# Dictionaries: each chunk has 120 values that no other has, as many as the indices of one dictionary distinguish


def chunks(count: int = 3) -> pa.Table:
    """`count` chunks of 120 rows with a dictionary each."""
    tables = []
    for chunk in range(count):
        values = pa.array([f"{chunk}-{value}" for value in range(120)])
        column = pa.DictionaryArray.from_arrays(pa.array(range(120), pa.int8()), values)
        tables.append(rows(v=column, nested=pa.ListArray.from_arrays(pa.array(range(121), pa.int32()), column)))
    return pa.concat_tables(tables)


@pytest.mark.parametrize("windows", [GAP, SLIDING])
@pytest.mark.parametrize("key", ["v", "nested"])
def test_dictionaries_of_chunks_are_one_column_of_keys(windows: Any, key: str) -> None:
    result = wr.group_by(chunks(), key, time="ts").windowed_by(windows).count()
    assert len(set(map(str, result[key].to_pylist()))) == 360


@pytest.mark.parametrize("value", ["v", "nested"])
def test_dictionaries_of_chunks_are_one_column_of_values(value: str) -> None:
    table = chunks()
    sessions = wr.group_by(table, "user", time="ts").windowed_by(GAP)
    (found,) = sessions.agg(all=wr.collect_set(value), n=wr.count(value)).to_pylist()
    assert (found["n"], len(found["all"])) == (360, 360)


@pytest.mark.parametrize("count", [3, 700])
def test_python_functions_get_the_values_of_all_dictionaries(count: int) -> None:
    table = chunks(count)
    sessions = wr.group_by(table, "v", time="ts").windowed_by(GAP)
    found = sessions.agg(text=wr.reduce("v", lambda one, other: one), first=wr.first("v"))
    assert found["text"].to_pylist() == found["first"].to_pylist() == found["v"].to_pylist()
    assert sorted(found["v"].to_pylist()) == sorted(
        f"{chunk}-{value}" for chunk in range(count) for value in range(120)
    )


def test_categories_of_parquet_row_groups_and_of_two_files_are_read(tmp_path: Any) -> None:
    names = [f"name {number:03}" for number in range(240)]
    for file, part in (("a", names[:120]), ("b", names[120:])):
        frame = pd.DataFrame({"v": pd.Categorical(part * 10), "ts": pd.to_datetime([EIGHT] * 1200), "user": 1})
        pq.write_table(pa.Table.from_pandas(frame), tmp_path / f"{file}.parquet", row_group_size=120)
    table = ds.dataset(tmp_path).to_table()
    narrow = pa.dictionary(pa.int8(), pa.string())
    parts = [pa.array(chunk.to_pylist()).dictionary_encode().cast(narrow) for chunk in table["v"].chunks]
    table = table.set_column(table.column_names.index("v"), "v", pa.chunked_array(parts))
    found = wr.group_by(table, "v", time="ts").windowed_by(GAP).count()
    assert dict(zip(found["v"].to_pylist(), found["count"].to_pylist(), strict=True)) == dict.fromkeys(names, 10)


def test_a_driver_takes_batches_with_dictionaries_of_their_own() -> None:
    table = chunks()
    windows = wr.SessionWindows.with_gap("5 minutes", grace="1 day")

    def definition(data: Any) -> Any:
        return wr.group_by(data, "v", time="ts").windowed_by(windows).agg(n=wr.count(), low=wr.min("v"))

    driver = StreamDriver(definition, table.schema)
    driver.pipe_batch(table)
    driver.finish()
    found = driver.read_table()
    assert sorted(found["low"].to_pylist()) == sorted(set(table["v"].to_pylist()))


def test_no_keys_can_be_chosen_that_make_the_table_of_keys_slow() -> None:
    # they cancel the numbers that a hash without a secret begins with
    first, second = (number.to_bytes(8, "little") for number in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03))
    count = 40_000

    def elapsed(keys: list[bytes]) -> float:
        table = pa.table({"k": pa.array(keys, pa.binary()), "ts": pa.array([EIGHT] * count, pa.timestamp("us"))})
        start = time.perf_counter()
        assert wr.group_by(table, "k", time="ts").windowed_by(GAP).threads(1).count().num_rows == count
        return time.perf_counter() - start

    plain = elapsed([number.to_bytes(15, "little") for number in range(count)])
    assert elapsed([first + number.to_bytes(7, "little") for number in range(count)]) < 1 + 20 * plain
    assert elapsed([first + number.to_bytes(8, "little") + second for number in range(count)]) < 1 + 20 * plain


# List views and runs


def views(kind: Any, codes: list[int], offsets: list[int] | None = None, sizes: list[int] | None = None) -> Any:
    """Three lists of one name each, by dictionary code; the codes need not be valid."""
    names = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(["a", "b", "c"]), safe=False)
    own = pa.int64() if kind is pa.LargeListViewArray else pa.int32()
    buffers = [pa.array(numbers, own).buffers()[1] for numbers in (offsets or [2, 0, 1], sizes or [1, 1, 1])]
    of = pa.large_list_view if kind is pa.LargeListViewArray else pa.list_view
    return pa.Array.from_buffers(of(names.type), 3, [None, *buffers], children=[names])


KINDS = [pa.ListViewArray, pa.LargeListViewArray]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chunked", [1, 2])
def test_list_views_are_values(kind: Any, chunked: int) -> None:
    table = pa.concat_tables([rows(v=views(kind, [0, 1, 2]))] * chunked)
    (found,) = wr.group_by(table, "user", time="ts").windowed_by(GAP).agg(v=wr.collect_set("v")).to_pylist()
    assert sorted(found["v"]) == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chunked", [1, 2])
@pytest.mark.parametrize(
    "broken",
    [
        {"codes": [0, 9, 2]},
        {"codes": [0, 1, 2], "offsets": [0, 3, 1]},
        {"codes": [0, 1, 2], "offsets": [0, -1, 1]},
        {"codes": [0, 1, 2], "sizes": [1, 1, 3]},
        {"codes": [0, 1, 2], "sizes": [1, -1, 1]},
    ],
    ids=str,
)
def test_list_views_that_point_astray_are_an_error(kind: Any, chunked: int, broken: dict[str, list[int]]) -> None:
    table = pa.concat_tables([rows(v=views(kind, **broken))] * chunked)
    sessions = wr.group_by(table, "user", time="ts").windowed_by(GAP)
    for aggregate in (wr.first("v"), wr.collect_list("v"), wr.reduce("v", lambda one, other: other)):
        with pytest.raises(ValueError, match='column "v": it has an index or an offset that points beyond its values'):
            sessions.agg(v=aggregate)


def test_elements_that_no_list_shows_are_looked_at_only_where_they_are_unpacked() -> None:
    offsets = [pa.array(numbers, pa.int32()).buffers()[1] for numbers in ([1, 0, 1], [1, 1, 1], [0, 1, 1, 2])]
    bytes_of_three = [None, pa.array([0, 1, 2, 3], pa.int32()).buffers()[1], pa.py_buffer(b"ab\xff")]
    names = pa.Array.from_buffers(pa.string(), 3, bytes_of_three)
    view = pa.Array.from_buffers(pa.list_view(pa.string()), 3, [None, *offsets[:2]], children=[names])
    plain = pa.Array.from_buffers(pa.list_(pa.string()), 3, [None, offsets[2]], children=[names])
    for column in (view, plain):
        (found,) = wr.group_by(rows(v=column), "user", time="ts").windowed_by(GAP).agg(v=wr.last("v")).to_pylist()
        assert found["v"] == ["b"]
    codes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 9], pa.int32()), pa.array(["a", "b"]), safe=False)
    view = pa.Array.from_buffers(pa.list_view(codes.type), 3, [None, *offsets[:2]], children=[codes])
    plain = pa.Array.from_buffers(pa.list_(codes.type), 3, [None, offsets[2]], children=[codes])
    for column in (view, plain):
        with pytest.raises(ValueError, match='column "v": it has an index or an offset that points beyond its values'):
            wr.group_by(rows(v=column), "user", time="ts").windowed_by(GAP).agg(v=wr.last("v"))


def test_runs_of_values_that_point_astray_are_an_error() -> None:
    names = pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int32()), pa.array(["a"]), safe=False)
    kind, ends = pa.run_end_encoded(pa.int32(), names.type), pa.array([1, 3], pa.int32())
    runs = pa.Array.from_buffers(kind, 3, [None], children=[ends, names])
    with pytest.raises(ValueError, match='column "v": it has an index or an offset that points beyond its values'):
        wr.group_by(rows(v=runs), "user", time="ts").windowed_by(GAP).agg(v=wr.first("v"))


# Types whose values have no width


WIDTHLESS: dict[str, pa.Array[Any]] = {
    "bytes": pa.array([b"", b"", b""], pa.binary(0)),
    "struct": pa.array([{}, {}, {}], pa.struct([])),
    "list of bytes": pa.array([[b""], [], None], pa.list_(pa.binary(0))),
    "list of structs": pa.array([[{}], [], None], pa.list_(pa.struct([]))),
    "struct of bytes": pa.array([{"a": b""}] * 3, pa.struct({"a": pa.binary(0)})),
    "lists of no elements": pa.array([[], [], []], pa.list_(pa.int64(), 0)),
}


@pytest.mark.parametrize("name", WIDTHLESS)
@pytest.mark.parametrize("windows", [GAP, SLIDING])
def test_values_without_a_width_are_no_keys(name: str, windows: Any) -> None:
    with pytest.raises(TypeError, match="keys: column 'v' has type .*; allowed: "):
        wr.group_by(rows(v=WIDTHLESS[name]), "v", time="ts").windowed_by(windows).count()


@pytest.mark.parametrize("name", WIDTHLESS)
@pytest.mark.parametrize("windows", [GAP, SLIDING])
def test_values_without_a_width_are_not_aggregated(name: str, windows: Any) -> None:
    windowed = wr.group_by(rows(v=WIDTHLESS[name]), "user", time="ts").windowed_by(windows)
    for aggregate in (wr.count("v"), wr.first("v"), wr.collect_list("v"), wr.reduce("v", lambda one, other: other)):
        with pytest.raises(TypeError, match='aggregate "x".*column "v" has type .*; allowed: .*a width'):
            windowed.agg(x=aggregate)
    assert windowed.count().num_rows > 0


@pytest.mark.soak
def test_short_batches_next_to_one_of_nearly_two_gib_are_joined_separately() -> None:
    wide = pa.array([b"x" * (2**31 - 100)], pa.binary())
    short = [rows(v=pa.array([b"y" * 60], pa.binary())) for _ in range(10)]
    table = pa.concat_tables([*short, rows(v=wide), *short])
    found = wr.group_by(table, "user", time="ts").windowed_by(GAP).agg(n=wr.count("v"))
    assert found["n"].to_pylist() == [21]


# States whose names look like what a page begins with


@pytest.mark.parametrize("name", ["xxh3:{}", "xxh3:................{}", "xxh3:................"])
def test_a_state_is_read_back_with_any_names_of_aggregates(name: str) -> None:
    schema = pa.schema({"user": pa.int64(), "ts": pa.timestamp("us"), "amount": pa.int64()})
    names = list(dict.fromkeys(name.format(number) for number in range(200)))

    def definition(data: Any) -> Any:
        windows = wr.SessionWindows.with_gap("5 minutes", grace="1 hour")
        return wr.group_by(data, "user", time="ts").windowed_by(windows).agg(**dict.fromkeys(names, wr.sum("amount")))

    driver = StreamDriver(definition, schema)
    driver.pipe(user=1, ts=EIGHT, amount=3)
    again = StreamDriver(definition, schema).restore(driver.snapshot())
    (final,) = again.finish()
    assert final.values == dict.fromkeys(names, 3)
