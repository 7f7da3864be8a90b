"""Wrong input raises at the call, as ValueError or TypeError, and names argument, value and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as dataset
import pytest
from pyspark.sql import SparkSession

import windrow as wr
from windrow._native import compares

US = pa.timestamp("us")
MAP = pa.map_(pa.string(), pa.int64())
DATA = pa.table(
    {
        "user_id": pa.array(["ann", "bob"]),
        "ts": pa.array([0, 1], US),
        "amount": pa.array([1.0, 2.0]),
        "tick": pa.array([False, None]),
        "tags": pa.array([["a"], []]),
        "marks": pa.nulls(2, MAP),
        "nothing": pa.nulls(2),
        "op": pa.array([1, 2]),
        "place": pa.array([{"user_id": "x"}, None]),
        "window": pa.array([1, 2]),
        "partition": pa.array([0, 0]),
    }
)
GAP = wr.SessionWindows.with_gap("5 minutes")


def grouped(*keys: Any, data: Any = DATA, time: Any = "ts", **options: Any) -> Any:
    """Grouped by the user unless the test says otherwise."""
    return wr.group_by(data, *(keys or ("user_id",)), time=time, **options)


def sessions() -> Any:
    """Windowed, and good so far."""
    return grouped().windowed_by(GAP)


def test_good_input_is_not_refused() -> None:
    for stream in ({"order": "op", "stream_time": "source"}, {"stream_time": "slowest"}):
        every = grouped("user_id", "partition", tick="tick", source=["partition"], **stream)
        windowed = (
            every.windowed_by(wr.SessionWindows.with_gap("5 minutes", retention="1 day"))
            .emit("update")
            .max_ahead("1 hour")
            .shards(3)
        )
        result = windowed.agg(n=wr.count(), s=wr.sum("amount"))
        assert result.column_names == ["user_id", "partition", "window", "n", "s", "op"]
        assert result["op"].to_pylist() == ["upsert", "upsert"]


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "no data": (lambda: grouped(data=None), TypeError, "data: got None, a NoneType; allowed: a Spark DataFrame"),
    "a list": (lambda: grouped(data=[1]), TypeError, r"data: got \[1\], a list"),
    "the name of a file": (lambda: grouped(data="x.parquet"), ValueError, "data: got 'x.parquet'; .*no such file"),
    "the path of a file": (
        lambda: grouped(data=Path("x.parquet")),
        ValueError,
        "data: got .x.parquet.; .*no such file",
    ),
    "a dataset": (
        lambda: grouped(data=dataset.dataset(DATA)),
        TypeError,
        r"data: got pyarrow\._dataset\.InMemoryDataset; allowed: data\.scanner\(\)\.to_reader\(\)$",
    ),
    "a scanner": (
        lambda: grouped(data=dataset.dataset(DATA).scanner()),
        TypeError,
        r"data: got pyarrow\._dataset\.Scanner; allowed: data\.to_reader\(\)$",
    ),
    "grouped twice": (lambda: grouped(data=grouped()), TypeError, "data: got GroupedData, which is grouped already"),
    "windowed twice": (lambda: grouped(data=sessions()), TypeError, "data: got WindowedData, which is grouped already"),
    "pandas grouped": (
        lambda: grouped(data=pd.DataFrame({"user_id": [1]}).groupby("user_id")),
        TypeError,
        "data: got .*DataFrameGroupBy",
    ),
    "polars grouped": (lambda: grouped(data=pl.from_arrow(DATA).group_by("op")), TypeError, "data: got"),  # type: ignore[union-attr]
    "a key twice": (lambda: grouped("op", "op"), ValueError, "keys: got 'op'; allowed: each key column once"),
    "keys in a list of lists": (lambda: grouped([["op"], "op"]), TypeError, r"keys: got \['op'\], a list"),
    "an empty list of keys": (lambda: grouped([]), ValueError, r"keys: got \[\]; allowed: key columns; .* one series"),
    "an unknown key": (lambda: grouped("user"), ValueError, r"keys: got 'user'; .*\(did you mean 'user_id'\?\)"),
    "a key in another case": (lambda: grouped("USER_ID"), ValueError, "did you mean 'user_id'"),
    "a key unlike any": (
        lambda: grouped("zzz"),
        ValueError,
        "keys: got 'zzz'; allowed: a column of the data, which has",
    ),
    "a field of a struct as key": (
        lambda: grouped("place.user"),
        ValueError,
        r"keys: got 'place.user'; .* \(the struct 'place' has the fields 'user_id'",
    ),
    "a field of no struct as key": (
        lambda: grouped("op.user_id"),
        ValueError,
        r"data \(did you mean 'user_id'\?\), which",
    ),
    "a field of a struct with a dot in its name": (
        lambda: grouped("a.b.c", data=DATA.append_column("a.b", DATA["place"])),
        ValueError,
        "the struct 'a.b' has the fields",
    ),
    "a map as key": (
        lambda: grouped("marks"),
        TypeError,
        "keys: column 'marks' has type map<.*; allowed: booleans, .* lists and structs of these",
    ),
    "a list of maps as key": (
        lambda: grouped(data=pa.table({"user_id": pa.nulls(1, pa.list_(MAP)), "ts": pa.nulls(1, US)})),
        TypeError,
        "keys: column 'user_id' has type list<item: map<",
    ),
    "an empty struct as key": (
        lambda: grouped(data=pa.table({"user_id": pa.array([{}], pa.struct([]))})),
        TypeError,
        r"keys: column 'user_id' has type struct<>; .* day-time intervals .* at least one field",
    ),
    "an unknown time": (lambda: grouped(time="tss"), ValueError, "time: got 'tss'.*did you mean 'ts'"),
    "no time at all": (lambda: grouped(time=None), TypeError, "time: got None, a NoneType; allowed: the name"),
    "a time of floats": (
        lambda: grouped(time="amount"),
        TypeError,
        "time: column 'amount' has type double; allowed: a timestamp",
    ),
    "an unknown tick": (lambda: grouped(tick="tik"), ValueError, "tick: got 'tik'.*did you mean 'tick'"),
    "a tick of floats": (
        lambda: grouped(tick="amount"),
        TypeError,
        "tick: column 'amount' has type double; allowed: a boolean",
    ),
    "an unknown source": (lambda: grouped(source="partitio"), ValueError, "source: got 'partitio'"),
    "an unknown second source": (lambda: grouped(source=["op", "nope"]), ValueError, "source: got 'nope'"),
    "a source that is a number": (lambda: grouped(source=5), TypeError, "source: got 5, an int; allowed: the name of"),
    "a source of numbers": (lambda: grouped(source=[5]), TypeError, "source: got 5, an int"),
    "a source twice": (
        lambda: grouped(source=("op", "op")),
        ValueError,
        "source: got 'op'; allowed: each source column once",
    ),
    "a pandas series": (lambda: grouped(data=pd.Series([1])), TypeError, "data: got .*; allowed: a Spark DataFrame"),
    "a polars series": (
        lambda: grouped(data=pl.Series([1])),
        TypeError,
        "data: got a Series; allowed: data of columns",
    ),
    "a column of mixed objects": (
        lambda: grouped(data=pd.DataFrame({"user_id": [1, "x"], "ts": pd.to_datetime([0, 1])})),
        TypeError,
        "keys: column 'user_id' cannot be read as Arrow data .*; allowed: a column of one type",
    ),
    "a column of integers that Arrow does not have": (
        lambda: grouped(data=pd.DataFrame({"user_id": [2**70], "ts": pd.to_datetime([0])})),
        TypeError,
        "keys: column 'user_id' cannot be read as Arrow data .*too large.*; allowed: a column of one type",
    ),
    "a column of categories that are tuples": (
        lambda: grouped(data=pd.DataFrame({"user_id": pd.Categorical([(1, 2)]), "ts": pd.to_datetime([0])})),
        TypeError,
        "keys: column 'user_id' cannot be read as Arrow data .*tuples.*; allowed: a column of one type",
    ),
    "a column that Arrow does not have": (
        lambda: grouped(data=pl.DataFrame({"user_id": pl.Series([1], dtype=pl.Int128)})),
        TypeError,
        "keys: column 'user_id' cannot be read as Arrow data",
    ),
    "a source of floats": (
        lambda: grouped(source=("op", "amount")),
        TypeError,
        "source: column 'amount' has type double; allowed: strings or integers",
    ),
    "an order of floats": (
        lambda: grouped(order="amount"),
        TypeError,
        "order: column 'amount' has type double; allowed: integers",
    ),
    "an unknown order": (lambda: grouped(order="offset"), ValueError, "order: got 'offset'"),
    "an order beside the slowest": (
        lambda: grouped(order="partition", stream_time="slowest"),
        ValueError,
        "order: got 'partition'; allowed: None with stream_time=",
    ),
    "an unknown stream time": (
        lambda: grouped(stream_time="fastest"),
        ValueError,
        "stream_time: got 'fastest'; allowed: 'source' or 'slowest'",
    ),
    "windows as words": (
        lambda: grouped().windowed_by("5 minutes"),
        TypeError,
        r"windows: got '5 minutes', a str; allowed: SessionWindows.with_gap\(...\) or with_dynamic_gap\(...\), or",
    ),
    "a class of windows": (
        lambda: grouped().windowed_by(wr.SessionWindows),
        TypeError,
        "windows: got SessionWindows, a class; allowed",
    ),
    "a method of windows": (lambda: grouped().windowed_by(wr.SessionWindows.with_gap), TypeError, "windows: got"),
    "a key called window": (lambda: grouped("window").windowed_by(GAP).count(), ValueError, "keys: got 'window'"),
    "an unknown emit word": (
        lambda: sessions().emit("updates"),
        ValueError,
        r"when: got 'updates'; allowed: 'close' or 'update' \(did you mean 'update'\?\)",
    ),
    "no emit word": (lambda: sessions().emit(None), ValueError, "when: got None; allowed: 'close' or 'update'"),
    "a list of emit words": (lambda: sessions().emit(["close"]), ValueError, r"when: got \['close'\]"),
    "a key called op": (lambda: grouped("op").windowed_by(GAP).emit("update"), ValueError, "keys: got 'op'"),
    "no shards": (lambda: sessions().shards(0), ValueError, "count: got 0; allowed: 1 to 65,536"),
    "too many shards": (lambda: sessions().shards(65_537), ValueError, "count: got 65537; allowed: 1 to 65,536"),
    "no threads": (lambda: sessions().threads(0), ValueError, "count: got 0; allowed: 1 to 1,024"),
    "too many threads": (lambda: sessions().threads(1_025), ValueError, "count: got 1025; allowed: 1 to 1,024"),
    "threads in words": (lambda: sessions().threads("2"), TypeError, "count: got '2'"),
    "half a shard": (lambda: sessions().shards(1.5), TypeError, "count: got 1.5, a float"),
    "true shards": (lambda: sessions().shards(True), TypeError, "count: got True, a bool"),
    "an observation here": (lambda: sessions().observe("counters"), TypeError, "observation: got 'counters'"),
    "no aggregate": (lambda: sessions().agg(), ValueError, "aggregates: got none; allowed: one or more"),
    "an aggregate not called": (
        lambda: sessions().agg(n=wr.count),
        TypeError,
        r"aggregate .n.: got .*write windrow.count\(...\)",
    ),
    "a function of Python's that windrow has": (
        lambda: sessions().agg(n=sum),
        TypeError,
        r"; write windrow.sum\(...\)",
    ),
    "a function that windrow does not have": (
        lambda: sessions().agg(n=len),
        TypeError,
        r"windrow.count\(\); functions of Python go into windrow.reduce\(...\) or windrow.aggregate\(...\)$",
    ),
    "a class as an aggregate": (lambda: sessions().agg(n=wr.Aggregate), TypeError, "Python go into"),
    "a star to count": (
        lambda: sessions().agg(n=wr.count("*")),
        ValueError,
        r"^aggregate .n.: count: got '\*'; .* \(count\(\) without one counts all records\), which has",
    ),
    "no column to reduce": (
        lambda: sessions().agg(n=wr.reduce("zzz", max)),
        ValueError,
        "^aggregate .n.: reduce: got 'zzz'; allowed: a column",
    ),
    "no column to aggregate": (
        lambda: sessions().agg(n=wr.aggregate(int, max, max, schema="bigint", columns=["zzz"])),
        ValueError,
        "^aggregate .n.: aggregate: got 'zzz'; allowed: a column",
    ),
    "an aggregate as a word": (lambda: sessions().agg(n="count"), TypeError, "aggregate .n.: got 'count', a str"),
    "an aggregate of no column": (
        lambda: sessions().agg(s=wr.sum("amout")),
        ValueError,
        ".s.: sum: got 'amout'.*'amount'",
    ),
    "an aggregate by a call of the class": (
        lambda: wr.Aggregate("sum"),  # type: ignore[arg-type]
        TypeError,
        "^Aggregate: got 'sum', a str; allowed: a function that makes aggregates, such as windrow.sum",
    ),
    "an aggregate called as a key": (
        lambda: sessions().agg(user_id=wr.count()),
        ValueError,
        "aggregates: got 'user_id'; .*a key has this one",
    ),
    "an aggregate called as a key in capitals": (lambda: sessions().agg(USER_ID=wr.count()), ValueError, "a key has"),
    "an aggregate called window": (lambda: sessions().agg(window=wr.count()), ValueError, "the column of windows"),
    "an aggregate called op": (
        lambda: sessions().emit("update").agg(op=wr.count()),
        ValueError,
        "aggregates: got 'op'",
    ),
    "two aggregates that differ in case": (
        lambda: sessions().agg(n=wr.count(), N=wr.count()),
        ValueError,
        "aggregates: got 'N'; .*the aggregate 'n' has this one",
    ),
    "a column that is no name": (lambda: wr.sum(1), TypeError, r"sum\(column=\): got 1, an int"),  # type: ignore[arg-type]
    "a by that is no name": (lambda: wr.min_by("amount", None), TypeError, r"min_by\(by=\): got None"),  # type: ignore[arg-type]
    "nulls ignored by a word": (lambda: wr.first("amount", ignore_nulls="no"), TypeError, "ignore_nulls"),  # type: ignore[arg-type]
    "nulls ignored by place": (lambda: wr.first("amount", True), TypeError, "positional"),  # type: ignore[misc]
    "a class of sessions": (lambda: wr.configure(SparkSession), TypeError, "spark: got SparkSession, a class"),  # type: ignore[arg-type]
    "no session of Spark": (lambda: wr.configure("spark"), TypeError, "spark: got 'spark', a str"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_input_raises_at_the_call(case: str) -> None:
    call, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("function", [wr.sum, wr.mean, wr.stddev, wr.variance, wr.stddev_pop, wr.var_pop])
def test_an_aggregate_that_is_not_defined_for_the_type_is_refused(function: Callable[[str], wr.Aggregate]) -> None:
    with pytest.raises(TypeError, match=r"column \"user_id\" has type string"):
        sessions().agg(x=function("user_id"))


def test_a_column_that_is_there_twice_is_ambiguous_only_when_it_is_named() -> None:
    twice = pa.table([DATA["user_id"], DATA["ts"], DATA["op"], DATA["op"]], names=["user_id", "ts", "x", "x"])
    assert grouped(data=twice).windowed_by(GAP).count().num_rows == 2
    for argument, call in {
        "keys": lambda: grouped("x", data=twice),
        "time": lambda: grouped(data=twice, time="x"),
        "aggregate .s.: sum": lambda: grouped(data=twice).windowed_by(GAP).agg(s=wr.sum("x")),
    }.items():
        with pytest.raises(ValueError, match=f"{argument}: got 'x'; .*2 columns of the data have this name"):
            call()


def test_a_stream_is_read_once() -> None:
    reader = DATA.to_reader()
    assert grouped(data=reader).windowed_by(GAP).count().num_rows == 2
    with pytest.raises(ValueError, match="data: got a stream that an earlier query has read"):
        grouped(data=reader).windowed_by(GAP).count()


def test_wrong_aggregates_leave_a_stream_unread() -> None:
    windowed = grouped(data=DATA.to_reader()).windowed_by(GAP)
    with pytest.raises(TypeError):
        windowed.agg(s=wr.sum("user_id"))
    assert windowed.count().num_rows == 2


def test_each_step_is_a_new_frozen_object() -> None:
    first = sessions()
    second = first.emit("update").shards(3)
    options = first.options, second.options
    assert [(chosen.op, chosen.shards) for chosen in options] == [(False, 32), (True, 3)]
    with pytest.raises(FrozenInstanceError):
        first.options = second.options
    with pytest.raises(FrozenInstanceError):
        first.options.shards = 3
    with pytest.raises(FrozenInstanceError):
        grouped().time = "x"
    with pytest.raises(FrozenInstanceError):
        wr.count()._call = wr.sum("amount")._call  # type: ignore[misc]


def test_an_op_key_and_an_op_aggregate_are_allowed_where_there_is_no_op_column() -> None:
    assert grouped("op").windowed_by(GAP).emit("close").count().column_names == ["op", "window", "count"]
    assert sessions().agg(op=wr.count()).column_names == ["user_id", "window", "op"]


def test_long_messages_stay_readable() -> None:
    wide = pa.table({f"column_{number}": pa.array([0], US) for number in range(500)})
    with pytest.raises(ValueError, match="and 480 more$") as raised:
        grouped("nope", data=wide)
    assert len(str(raised.value)) < 500


def test_the_core_knows_each_function_and_what_it_compares() -> None:
    aliases = {"avg", "stddev_samp", "var_samp"}
    elsewhere = {"count_if", "reduce", "aggregate", "apply", "window_id", "window_length", "position", "session_number"}
    core = set(wr.functions.__all__) - aliases - elsewhere
    compared = {name: [at for at in range(3) if compares(name, at)] for name in core}
    assert {name: at for name, at in compared.items() if at} == {
        "min": [0],
        "max": [0],
        "collect_set": [0],
        "mode": [0],
        "top_k": [0],
        "min_by": [1],
        "max_by": [1],
        "count_distinct": [0, 1, 2],
        "approx_count_distinct": [0],
        "funnel": [0],
        "funnel_times": [0],
        "path": [0],
    }
    with pytest.raises(ValueError, match='function: there is no aggregate "smallest"'):
        compares("smallest", 0)
