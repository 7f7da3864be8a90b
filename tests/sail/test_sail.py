"""On Sail each query gives the rows of the same query in this process, and what Sail lacks is refused at the call."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Observation, SparkSession
from pyspark.sql import functions as F

import windrow as wr
import windrow.state

START = datetime(2026, 1, 1, tzinfo=UTC)
ROWS, USERS, FILES = 12_000, 200, 4
SCHEMA = pa.schema(
    {
        "user": pa.string(),
        "place": pa.string(),
        "ts": pa.timestamp("us", "UTC"),
        "gap": pa.duration("us"),
        "amount": pa.float64(),
        "items": pa.int64(),
        "kind": pa.string(),
        "big": pa.bool_(),
        "id": pa.int64(),
        "note": pa.binary(),
        "parts": pa.struct({"a": pa.list_(pa.int64()), "b": pa.string()}),
    }
)


def events(seed: int = 7) -> pa.Table:
    """Records of many users in no order, with equal times, and nulls in every column but `big` and `id`."""
    chance = random.Random(seed)

    def some(value: Any, rate: float = 0.05) -> Any:
        return None if chance.random() < rate else value

    rows = [
        {
            "user": some(f"u{chance.randrange(USERS)}"),
            "place": some(chance.choice(["a", "b", ""])),
            "ts": some(START + timedelta(seconds=30 * chance.randrange(3 * 2880)), 0.01),
            "gap": some(timedelta(minutes=chance.randrange(-1, 90)), 0.02),
            "amount": some(chance.randrange(-8000, 8000) / 8),  # sums of eighths are exact in any order
            "items": some(chance.randrange(1000)),
            "kind": some(chance.choice(["view", "buy", "log out"])),
            "big": chance.random() < 0.3,
            "id": number,
            "note": some(chance.randbytes(chance.randrange(60))),
            "parts": some({"a": [number % 3, None], "b": some("x")}),
        }
        for number in range(ROWS)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


def joined(older: list[int], later: list[int]) -> list[int]:
    return older + later


IDS = wr.aggregate(list, lambda held, row: [*held, row.id], joined, schema="array<bigint>", columns=["id"])
ITEMS = wr.aggregate(int, lambda held, row: held + (row.items or 0), int.__add__, schema="bigint", columns=["items"])
SESSIONS = wr.SessionWindows.with_gap("30 minutes")
DYNAMIC = wr.SessionWindows.with_dynamic_gap("gap")
SLIDING = wr.SlidingWindows.with_time_difference("30 minutes")
RULES = wr.SessionWindows.with_gap(
    "3 hours",
    end_when="big",
    max_records=5,
    cut_on=["place"],
    cut_at="00:00",
    zone="Europe/Madrid",
    max_duration="4 hours",
)
AGGREGATES = {
    "n": wr.count(),
    "total": wr.sum("amount"),
    "mean": wr.mean("items"),
    "least": wr.min("kind"),
    "first": wr.first("id"),
    "last": wr.last("parts"),
    "ids": wr.collect_list("id"),
    "notes": wr.collect_list("note"),
    "kinds": wr.count_distinct("kind"),
    "median": wr.percentile("items", 0.5),
    "dearest": wr.max_by("id", "items"),
    "longest": wr.max("gap"),
    "range": wr.max("items") - wr.min("items"),
    "large": wr.count().where("big"),
}


def windowed(data: Any, windows: Any, *keys: str) -> Any:
    return wr.group_by(data, *(keys or ("user",)), time="ts", tie="id").windowed_by(windows)


def cogrouped(data: Any) -> Any:
    inputs = {name: wr.group_by(data, "user", time="ts", tie="id") for name in ("one", "two")}
    return wr.cogroup(**inputs).windowed_by(SESSIONS)


def over_lengths(data: Any) -> Any:
    windows = wr.SlidingWindows.with_time_difference("3 hours")
    return windowed(data, windows).with_columns(
        n=wr.count().over("1 hour"), total=wr.sum("amount").over("30 minutes", closed="left"), all=wr.count()
    )


CASES: dict[str, Callable[[Any], Any]] = {
    "sessions": lambda data: windowed(data, SESSIONS).agg(**AGGREGATES),
    "sessions of several keys": lambda data: windowed(data, SESSIONS, "items", "place", "note").agg(n=wr.count()),
    "sessions of few keys": lambda data: windowed(data, wr.SessionWindows.with_gap("30 seconds"), "kind").agg(
        n=wr.count(), ids=wr.collect_list("id")
    ),
    "one shard": lambda data: windowed(data, SESSIONS).shards(1).agg(n=wr.count(), last=wr.last("id")),
    "many shards": lambda data: windowed(data, SESSIONS).shards(150).agg(n=wr.count(), last=wr.last("id")),
    "dynamic gaps": lambda data: windowed(data, DYNAMIC).agg(**AGGREGATES),
    "rules": lambda data: windowed(data, RULES).agg(n=wr.count(), why=wr.ended_by(), name=wr.window_id()),
    "sliding": lambda data: windowed(data, SLIDING).agg(**AGGREGATES),
    "flat": lambda data: windowed(data, SESSIONS).flat().agg(n=wr.count()),
    "updates": lambda data: windowed(data, SESSIONS).late("emit").agg(n=wr.count()),
    "functions": lambda data: windowed(data, SESSIONS).agg(ids=IDS, n=wr.count(), most=wr.reduce("items", max)),
    "functions over sliding windows": lambda data: (
        wr.group_by(data, "user", time="ts").windowed_by(SLIDING).agg(items=ITEMS)
    ),
    "functions of results": lambda data: windowed(data, SESSIONS).agg(
        items=wr.sum("items").then(lambda n: n, schema="bigint")
    ),
    "rows of sessions": lambda data: windowed(data, SESSIONS).with_columns(n=wr.count(), at=wr.position()),
    "rows of dynamic gaps": lambda data: windowed(data, DYNAMIC).flat().with_columns(n=wr.count()),
    "rows over lengths": over_lengths,
    "left out": lambda data: (
        windowed(data, SESSIONS).left_out("emit", columns=["id", "parts"]).agg(n=wr.count(), ids=wr.collect_list("id"))
    ),
    "left out of dynamic gaps": lambda data: windowed(data, DYNAMIC).left_out("emit", columns=["id"]).agg(ids=IDS),
    "cogroup": lambda data: cogrouped(data).agg(n=wr.count("one.id"), ids=wr.collect_list("two.id")),
    "rows of a cogroup": lambda data: cogrouped(data).with_columns(n=wr.count("two.id")),
}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return events()


@pytest.fixture(scope="module")
def files(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records in several files of several row groups."""
    folder = tmp_path_factory.mktemp("events")
    rows = ROWS // FILES
    for number in range(FILES):
        pq.write_table(table.slice(number * rows, rows), folder / f"{number}.parquet", row_group_size=700)
    return folder


@pytest.fixture(scope="module")
def frame(sail: SparkSession, table: pa.Table) -> Any:
    """The records in several partitions, each in many Arrow batches."""
    return sail.createDataFrame(table).repartition(5)


def rows(result: Any) -> list[str]:
    """The rows of a result of Spark or of this process, in an order of their own."""
    found = result if isinstance(result, pa.Table) else result.toArrow()
    return sorted(str({name: plain(value) for name, value in row.items()}) for row in found.to_pylist())


def plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value


@pytest.mark.parametrize("case", CASES)
def test_rows_are_those_of_this_process(frame: Any, table: pa.Table, case: str) -> None:
    here, there = CASES[case](table), CASES[case](frame)
    assert there.columns == here.column_names
    wanted = rows(here)
    assert rows(there) == wanted
    assert len(wanted) > 3


def test_empty_data_has_no_windows_and_one_record_has_one(frame: Any) -> None:
    assert CASES["sessions"](frame.limit(0)).count() == 0
    one = frame.where("user IS NOT NULL AND ts IS NOT NULL").limit(1)
    assert [row["n"] for row in CASES["sessions"](one).collect()] == [1]
    assert CASES["functions"](frame.limit(0)).count() == 0


def test_expressions_give_what_columns_give(frame: Any, table: pa.Table) -> None:
    third = pc.subtract(table["items"], pc.multiply(pc.divide(table["items"], 7), 7))
    columns = {"third": third, "twice": pc.multiply(table["items"], 2), "some": pc.greater(table["items"], 500)}
    columns["later"] = pc.add(table["ts"], pa.scalar(timedelta(seconds=7)))
    here = wr.group_by(pa.table(columns), "third", time="later").windowed_by(SESSIONS)
    there = wr.group_by(frame, (F.col("items") % 7).alias("third"), time=F.col("ts") + F.expr("INTERVAL 7 SECONDS"))
    got = there.windowed_by(SESSIONS).agg(n=wr.count().where("items > 500"), total=wr.sum(F.col("items") * 2))
    assert rows(got) == rows(here.agg(n=wr.count().where("some"), total=wr.sum("twice")))


def test_scans_give_what_tables_give(sail: SparkSession, files: Path, table: pa.Table) -> None:
    wanted = {name: rows(CASES[name](table)) for name in ("sessions", "functions", "rows of sessions", "left out")}
    for name, of_table in wanted.items():
        assert rows(CASES[name](wr.scan_parquet(sail, str(files)))) == of_table, name
        assert rows(CASES[name](wr.scan(sail, ds.dataset(files)))) == of_table, name
    assert rows(CASES["sessions"](sail.read.parquet(str(files)))) == wanted["sessions"]
    filtered = wr.scan_parquet(sail, str(files), filter=pc.field("items") > 500)
    assert rows(CASES["sessions"](filtered)) == rows(CASES["sessions"](table.filter(pc.field("items") > 500)))


@pytest.mark.parametrize("windows", [SESSIONS, DYNAMIC, SLIDING], ids=["sessions", "dynamic gaps", "sliding"])
def test_a_daily_job_closes_the_windows_of_one_query(
    sail: SparkSession, frame: Any, table: pa.Table, windows: Any, tmp_path: Path
) -> None:
    aggregates = {"n": wr.count(), "total": wr.sum("amount"), "ids": wr.collect_list("id")}
    if windows is SESSIONS:
        aggregates["python"] = IDS
    closed, still_open, left = list[str](), None, list[int]()
    for number in range(3):
        day = frame.where(F.date_diff("ts", F.lit(START.date())) == number)
        run = windowed(day, windows).advance(still_open, to=START + timedelta(days=number + 1), **aggregates)
        run.still_open.write.parquet(str(tmp_path / f"{number}"))
        still_open = sail.read.parquet(str(tmp_path / f"{number}"))
        closed += rows(run.closed)
        left.append(still_open.where("window IS NOT NULL").count())
    empty = windowed(frame.limit(0), windows).advance(still_open, to=START + timedelta(days=9), **aggregates)
    assert sorted(closed + rows(empty.closed)) == rows(windowed(table, windows).agg(**aggregates))
    assert min(left) > 0


def test_keys_are_removed_from_open_windows(frame: Any) -> None:
    day = frame.where(F.col("ts") < F.lit(START + timedelta(days=1)))
    opened = windowed(day, wr.SessionWindows.with_gap("1 day")).advance(
        None, to=START + timedelta(days=1), n=wr.count()
    )
    users = {row["user"] for row in opened.still_open.where("window IS NOT NULL").collect()}
    left = windrow.state.without_keys(opened.still_open, user=["u1", "u2"])
    later = windowed(frame.limit(0), wr.SessionWindows.with_gap("1 day")).advance(left, to="2026-01-09", n=wr.count())
    assert {row["user"] for row in later.closed.collect()} == users - {"u1", "u2"}
    assert {"u1", "u2"} <= users


def test_a_record_is_explained_as_in_this_process(frame: Any, table: pa.Table) -> None:
    at = next(row["ts"] for row in table.to_pylist() if row["user"] == "u5" and row["ts"] is not None)
    explained = wr.explain_record(windowed(frame, SESSIONS), "u5", at)
    assert explained == wr.explain_record(windowed(table, SESSIONS), "u5", at)
    assert "in the session" in explained


def test_declared_columns_need_no_answer_from_the_server(frame: Any, table: pa.Table) -> None:
    declared = {"schema": "user string, ts timestamp, id bigint", "streaming": False}
    grouped = wr.group_by(frame, "user", time="ts", tie="id", **declared)
    got = grouped.windowed_by(SESSIONS).agg(n=wr.count(), last=wr.last("id"))
    assert rows(got) == rows(windowed(table, SESSIONS).agg(n=wr.count(), last=wr.last("id")))


def test_a_failing_function_is_reported_with_its_record(frame: Any) -> None:
    failing = wr.aggregate(int, lambda held, row: held // 0, max, schema="bigint", columns=["items"])
    with pytest.raises(Exception, match='aggregate "x": add failed for the record at 2026-01-0'):
        windowed(frame, SESSIONS).agg(x=failing).collect()


def test_what_sail_lacks_is_refused_by_name_at_the_call(sail: SparkSession, frame: Any, files: Path) -> None:
    stream = sail.readStream.format("rate").load()
    observed = "observation: got 'an observation on Sail .*; allowed: .*; Sail lacks DataFrame.observe"
    for query in (windowed(frame, SESSIONS), cogrouped(frame), windowed(wr.scan_parquet(sail, str(files)), SLIDING)):
        for observation in (wr.Observation(), Observation("counted")):
            with pytest.raises(ValueError, match=observed):
                query.observe(observation)
    of_stream = "data: got 'a streaming DataFrame of Sail .*; allowed: batch only, as Sail lacks transformWithState"
    for declared in ({}, {"schema": "value bigint, timestamp timestamp", "streaming": True}):
        with pytest.raises(ValueError, match=of_stream):
            wr.group_by(stream, "value", time="timestamp", **declared)
    for call in (windrow.state.read, windrow.state.open_windows, windrow.state.offsets):
        with pytest.raises(
            ValueError, match="spark: got 'a session of Sail .*; allowed: a session of Spark; Sail lacks"
        ):
            call(sail, "checkpoint")
    with pytest.raises(ValueError, match="spark: got 'a session of Sail"):
        windrow.state.fetch(sail, "checkpoint", "ann")
