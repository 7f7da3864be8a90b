"""Wrong input raises at the call, as ValueError or TypeError, and names argument, value and what is allowed."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
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


def with_op_as(name: str) -> Any:
    return grouped(data=DATA.append_column(name, DATA["op"])).windowed_by(GAP)


def with_fields(name: str) -> Any:
    return grouped(data=DATA.append_column("fields", pa.array([{name: 1}, {name: 2}]))).windowed_by(GAP)


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


PREFIX = r"allowed: a name that does not begin with 'windrow\.'"
REFUSED: dict[str, Callable[..., Any]] = {
    "TypeError: data: got None, a NoneType; allowed: a Spark DataFrame": lambda: grouped(data=None),
    r"TypeError: data: got \[1\], a list": lambda: grouped(data=[1]),
    "ValueError: data: got .x.parquet.; .*no such file": lambda: grouped(data=Path("x.parquet")),
    "TypeError: data: got GroupedData, which is grouped already": lambda: grouped(data=grouped()),
    "TypeError: data: got WindowedData, which is grouped already": lambda: grouped(data=sessions()),
    "TypeError: data: got .*DataFrameGroupBy": lambda: grouped(data=pd.DataFrame({"user_id": [1]}).groupby("user_id")),
    "TypeError: data: got": lambda: grouped(data=pl.from_arrow(DATA).group_by("op")),
    "ValueError: keys: got 'op'; allowed: each key column once": lambda: grouped("op", "op"),
    r"TypeError: keys: got \['op'\], a list": lambda: grouped([["op"], "op"]),
    r"ValueError: keys: got \[\]; allowed: key columns; .* one series": lambda: grouped([]),
    r"ValueError: keys: got 'user'; .*\(did you mean 'user_id'\?\)": lambda: grouped("user"),
    "ValueError: did you mean 'user_id'": lambda: grouped("USER_ID"),
    "ValueError: keys: got 'zzz'; allowed: a column of the data, which has": lambda: grouped("zzz"),
    r"ValueError: keys: got 'place.user'; .* \(the struct 'place' has the fields 'user_id'": lambda: grouped(
        "place.user"
    ),
    r"ValueError: data \(did you mean 'user_id'\?\), which": lambda: grouped("op.user_id"),
    "ValueError: the struct 'a.b' has the fields": lambda: grouped(
        "a.b.c", data=DATA.append_column("a.b", DATA["place"])
    ),
    "TypeError: keys: column 'marks' has type map<.*; allowed: booleans, .* lists and structs of these": lambda: (
        grouped("marks")
    ),
    "TypeError: keys: column 'user_id' has type list<item: map<": lambda: grouped(
        data=pa.table({"user_id": pa.nulls(1, pa.list_(MAP)), "ts": pa.nulls(1, US)})
    ),
    "TypeError: keys: column 'user_id' has type struct<>; .* day-time intervals .* at least one field": lambda: grouped(
        data=pa.table({"user_id": pa.array([{}], pa.struct([]))})
    ),
    "ValueError: time: got 'tss'.*did you mean 'ts'": lambda: grouped(time="tss"),
    "TypeError: time: got None, a NoneType; allowed: the name": lambda: grouped(time=None),
    "TypeError: time: column 'amount' has type double; allowed: a timestamp": lambda: grouped(time="amount"),
    "ValueError: tick: got 'tik'.*did you mean 'tick'": lambda: grouped(tick="tik"),
    "TypeError: tick: column 'amount' has type double; allowed: a boolean": lambda: grouped(tick="amount"),
    "ValueError: source: got 'partitio'": lambda: grouped(source="partitio"),
    "ValueError: source: got 'nope'": lambda: grouped(source=["op", "nope"]),
    "TypeError: source: got 5, an int; allowed: the name of": lambda: grouped(source=5),
    "TypeError: source: got 5, an int": lambda: grouped(source=[5]),
    "ValueError: source: got 'op'; allowed: each source column once": lambda: grouped(source=("op", "op")),
    "TypeError: data: got .*; allowed: a Spark DataFrame": lambda: grouped(data=pd.Series([1])),
    "TypeError: keys: column 'user_id' cannot be read as Arrow data .*; allowed: a column of one type": lambda: grouped(
        data=pd.DataFrame({"user_id": [1, "x"], "ts": pd.to_datetime([0, 1])})
    ),
    "TypeError: keys: column 'user_id' cannot be read as Arrow data .*too large.*; allowed: a col": lambda: grouped(
        data=pd.DataFrame({"user_id": [2**70], "ts": pd.to_datetime([0])})
    ),
    "TypeError: keys: column 'user_id' cannot be read as Arrow data .*tuples.*; allowed: a column": lambda: grouped(
        data=pd.DataFrame({"user_id": pd.Categorical([(1, 2)]), "ts": pd.to_datetime([0])})
    ),
    "TypeError: keys: column 'user_id' cannot be read as Arrow data": lambda: grouped(
        data=pl.DataFrame({"user_id": pl.Series([1], dtype=pl.Int128)})
    ),
    "TypeError: source: column 'amount' has type double; allowed: strings or integers": lambda: grouped(
        source=("op", "amount")
    ),
    "TypeError: order: column 'amount' has type double; allowed: integers": lambda: grouped(order="amount"),
    "ValueError: order: got 'offset'": lambda: grouped(order="offset"),
    "ValueError: order: got 'partition'; allowed: None with stream_time=": lambda: grouped(
        order="partition", stream_time="slowest"
    ),
    "ValueError: stream_time: got 'fastest'; allowed: 'source' or 'slowest'": lambda: grouped(stream_time="fastest"),
    r"TypeError: windows: got '5 minutes', a str; allowed: SessionWindows.with_gap\(...\) or with": lambda: (
        grouped().windowed_by("5 minutes")
    ),
    "TypeError: windows: got SessionWindows, a class; allowed": lambda: grouped().windowed_by(wr.SessionWindows),
    "TypeError: windows: got": lambda: grouped().windowed_by(wr.SessionWindows.with_gap),
    "ValueError: keys: got 'window'": lambda: grouped("window").windowed_by(GAP).count(),
    r"ValueError: when: got 'updates'; allowed: 'close' or 'update' \(did you mean 'update'\?\)": lambda: (
        sessions().emit("updates")
    ),
    "ValueError: when: got None; allowed: 'close' or 'update'": lambda: sessions().emit(None),
    r"ValueError: when: got \['close'\]": lambda: sessions().emit(["close"]),
    "ValueError: keys: got 'op'": lambda: grouped("op").windowed_by(GAP).emit("update"),
    "ValueError: count: got 0; allowed: 1 to 65,536": lambda: sessions().shards(0),
    "ValueError: count: got 65537; allowed: 1 to 65,536": lambda: sessions().shards(65_537),
    "ValueError: count: got 0; allowed: 1 to 1,024": lambda: sessions().threads(0),
    "ValueError: count: got 1025; allowed: 1 to 1,024": lambda: sessions().threads(1_025),
    "TypeError: count: got '2'": lambda: sessions().threads("2"),
    "TypeError: count: got 1.5, a float": lambda: sessions().shards(1.5),
    "TypeError: count: got True, a bool": lambda: sessions().shards(True),
    "TypeError: observation: got 'counters'": lambda: sessions().observe("counters"),
    "ValueError: aggregates: got none; allowed: one or more": lambda: sessions().agg(),
    r"TypeError: aggregate .n.: got .*write windrow.count\(...\)": lambda: sessions().agg(n=wr.count),
    r"TypeError: ; write windrow.sum\(...\)": lambda: sessions().agg(n=sum),
    r"TypeError: windrow.count\(\); functions of Python go into .*aggregate\(...\)$": lambda: sessions().agg(n=len),
    "TypeError: Python go into": lambda: sessions().agg(n=wr.Aggregate),
    r"ValueError: ^aggregate .n.: count: got '\*'; .* \(count\(\) without one counts all rec": lambda: sessions().agg(
        n=wr.count("*")
    ),
    "ValueError: ^aggregate .n.: reduce: got 'zzz'; allowed: a column": lambda: sessions().agg(n=wr.reduce("zzz", max)),
    "ValueError: ^aggregate .n.: aggregate: got 'zzz'; allowed: a column": lambda: sessions().agg(
        n=wr.aggregate(int, max, max, schema="bigint", columns=["zzz"])
    ),
    "TypeError: aggregate .n.: got 'count', a str": lambda: sessions().agg(n="count"),
    "ValueError: .s.: sum: got 'amout'.*'amount'": lambda: sessions().agg(s=wr.sum("amout")),
    "TypeError: ^Aggregate: got 'sum', a str; allowed: a function that makes aggregates, such as windrow.sum": lambda: (
        wr.Aggregate("sum")
    ),
    "ValueError: aggregates: got 'user_id'; .*a key has this one": lambda: sessions().agg(user_id=wr.count()),
    "ValueError: a key has": lambda: sessions().agg(USER_ID=wr.count()),
    "ValueError: the column of windows": lambda: sessions().agg(window=wr.count()),
    "ValueError: aggregates: got 'op'": lambda: sessions().emit("update").agg(op=wr.count()),
    "ValueError: aggregates: got 'N'; .*the aggregate 'n' has this one": lambda: sessions().agg(
        n=wr.count(), N=wr.count()
    ),
    r"TypeError: sum\(column=\): got 1, an int": lambda: wr.sum(1),
    r"TypeError: min_by\(by=\): got None": lambda: wr.min_by("amount", None),
    "TypeError: ignore_nulls": lambda: wr.first("amount", ignore_nulls="no"),
    "TypeError: positional": lambda: wr.first("amount", True),
    "TypeError: spark: got SparkSession, a class": lambda: wr.configure(SparkSession),
    "TypeError: spark: got 'spark', a str": lambda: wr.configure("spark"),
    # Arrow's interface would cut a name at a null character
    r"ValueError: aggregates: got 'a\\x00b'; allowed: a name without": lambda: sessions().agg(**{"a\0b": wr.count()}),
    r"ValueError: got 'v\\x00x'; allowed: a name without": lambda: with_op_as("v\0x").agg(b=wr.sum("v\0x")),
    r"ValueError: got 'x\\x00y'; allowed: a name without": lambda: with_fields("x\0y").agg(n=wr.first("fields")),
    f"ValueError: data: got 'windrow.row'; {PREFIX}": lambda: with_op_as("windrow.row").count(),
    f"ValueError: data: got 'Windrow.series'; {PREFIX}": lambda: with_op_as("Windrow.series").count(),
    f"ValueError: aggregates: got 'windrow.row'; {PREFIX}": lambda: sessions().agg(**{"windrow.row": wr.count()}),
    f"ValueError: keys: got 'Windrow.series'; {PREFIX}": lambda: grouped(
        pl.col("op").alias("Windrow.series"), data=pl.from_arrow(DATA)
    ),
}


@pytest.mark.parametrize("error", REFUSED)
def test_wrong_input_raises_at_the_call(error: str) -> None:
    kind, _, message = error.partition(": ")
    with pytest.raises(getattr(builtins, kind), match=message):
        REFUSED[error]()


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
    for frozen, name in ((first, "options"), (first.options, "shards"), (grouped(), "time"), (wr.count(), "_call")):
        with pytest.raises(FrozenInstanceError):
            setattr(frozen, name, None)


def test_an_op_key_and_an_op_aggregate_are_allowed_where_there_is_no_op_column() -> None:
    assert grouped("op").windowed_by(GAP).emit("close").count().column_names == ["op", "window", "count"]
    assert sessions().agg(op=wr.count()).column_names == ["user_id", "window", "op"]


def test_odd_names_that_are_not_used_or_only_look_alike_are_taken() -> None:
    assert with_op_as("op\0x").agg(s=wr.sum("op"))["s"].to_pylist() == [1, 2]
    alike = pa.table({"ts": DATA["ts"], "windrow": pa.array([{"key": 1}, {"key": 1}]), "windrows": [3, 4]})
    found = grouped("windrow.key", data=alike).windowed_by(GAP).agg(windrow=wr.sum("windrows"))
    assert found.select(["key", "windrow"]).to_pylist() == [{"key": 1, "windrow": 7}]
    for keys in ((), ("user_id",)):
        windowed = wr.group_by(pl.from_arrow(DATA), *keys, time="ts").windowed_by(GAP)
        twice = wr.sum((pl.col("op") * 2).alias("windrow.series"))
        assert sorted(windowed.agg(twice=twice)["twice"]) == ([2, 4] if keys else [6])


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
    first = ["min", "max", "collect_set", "mode", "top_k", "approx_count_distinct", "funnel", "funnel_times", "path"]
    others = {"min_by": [1], "max_by": [1], "count_distinct": [0, 1, 2]}
    assert {name: at for name, at in compared.items() if at} == {key: [0] for key in first} | others
    with pytest.raises(ValueError, match='function: there is no aggregate "smallest"'):
        compares("smallest", 0)
