"""Layouts of Arrow columns: chunks with their own dictionaries, types whose values have no width."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..scenes import EIGHT, all_at

GAP = wr.SessionWindows.with_gap("5 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("5 minutes")


def rows(**columns: Any) -> pa.Table:
    """One row a minute."""
    length = len(next(iter(columns.values())))
    return pa.table({"user": [1] * length, "ts": pa.array(all_at(*range(length)), pa.timestamp("us")), **columns})


# Dictionaries: each chunk has 120 values that no other has, as many as the indices of one dictionary distinguish


def chunks(count: int = 3) -> pa.Table:
    """`count` chunks of 120 rows with a dictionary each."""
    tables = []
    for chunk in range(count):
        values = pa.array([f"{chunk}-{value}" for value in range(120)])
        column = pa.DictionaryArray.from_arrays(pa.array(range(120), pa.int8()), values)
        tables.append(rows(v=column, nested=pa.ListArray.from_arrays(pa.array(range(121), pa.int32()), column)))
    return pa.concat_tables(tables)


@pytest.mark.parametrize("name", ["v", "nested"])
def test_dictionaries_of_chunks_are_one_column_of_keys_and_of_values(name: str) -> None:
    for windows in (GAP, SLIDING):
        result = wr.group_by(chunks(), name, time="ts").windowed_by(windows).count()
        assert len(set(map(str, result[name].to_pylist()))) == 360
    sessions = wr.group_by(chunks(), "user", time="ts").windowed_by(GAP)
    (found,) = sessions.agg(all=wr.collect_set(name), n=wr.count(name)).to_pylist()
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
def test_values_without_a_width_are_no_keys_and_not_aggregated(name: str, windows: Any) -> None:
    table = rows(v=WIDTHLESS[name])
    with pytest.raises(TypeError, match="keys: column 'v' has type .*; allowed: "):
        wr.group_by(table, "v", time="ts").windowed_by(windows).count()
    windowed = wr.group_by(table, "user", time="ts").windowed_by(windows)
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
