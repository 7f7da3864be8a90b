"""A look into the state of a streaming query: its open windows, and those of one key."""

from __future__ import annotations

import operator
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import windrow as wr
import windrow.state
from windrow.testing import StreamDriver

from ..harness.spark_scenes import SetConf
from ..harness.streams import Folder, Run, applied, play, source, start
from ..oracle.sliding import world
from ..scenes import EPOCH, MIDNIGHT, utc

pytestmark = pytest.mark.needs("streams")

TICK = timedelta(milliseconds=1)
SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("amount", pa.int64()),
        ("part", pa.int32()),
        ("pause", pa.duration("us")),
        ("tick", pa.bool_()),
    ]
)
DDL = "user string, ts timestamp, amount bigint, part int, pause interval day to second, tick boolean"
GRACE = timedelta(minutes=5)
SPAN = timedelta(minutes=3)
KINDS: dict[str, Any] = {
    "sessions": wr.SessionWindows.with_gap("3 minutes", grace="5 minutes"),
    "dynamic gaps": wr.SessionWindows.with_dynamic_gap("pause", grace="5 minutes"),
    "sliding": wr.SlidingWindows.with_time_difference("3 minutes", grace="5 minutes", resolution="1 millisecond"),
}
USERS = ["ann", "bob", "cem", ""]
Bounds = tuple[datetime, datetime]


def events(seed: int, count: int = 60) -> list[dict[str, Any]]:
    """Records of a few users, up to four minutes out of order."""
    draw = random.Random(seed)
    return [
        {
            "user": draw.choice(USERS),
            "ts": MIDNIGHT + timedelta(milliseconds=draw.randint(number * 30_000, number * 30_000 + 240_000)),
            "amount": draw.randint(1, 99),
            "part": draw.randrange(2),
            "pause": timedelta(minutes=draw.choice([1, 2, 3, 7])),
        }
        for number in range(count)
    ]


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, SCHEMA)


def ticks(time: datetime) -> int:
    return (time - EPOCH) // TICK


def windows_of(kind: str, rows: list[dict[str, Any]], now: datetime) -> list[Bounds]:
    """The windows of one key's records that are open at a stream time, by brute force.

    ```text
        ├x···x··┤   ├x··┤      records with their gaps: what touches is one session, due after its last reach and grace
    ```
    """
    if kind == "sliding":
        found = world([ticks(row["ts"]) for row in rows], SPAN // TICK, 1)
        spans = sorted((EPOCH + first * TICK, EPOCH + last * TICK) for first, last in found)
        return [span for span in spans if span[1] + GRACE >= now]
    sessions: list[list[datetime]] = []
    for row in sorted(rows, key=lambda row: row["ts"]):
        reach = row["ts"] + (SPAN if kind == "sessions" else row["pause"])
        if sessions and row["ts"] <= sessions[-1][2]:
            sessions[-1][1:] = [row["ts"], max(reach, sessions[-1][2])]
        else:
            sessions.append([row["ts"], row["ts"], reach])
    return [(first, last) for first, last, reach in sessions if reach + GRACE >= now]


def expected(kind: str, rows: list[dict[str, Any]], now: datetime, by: tuple[str, ...] = ("user",)) -> dict[Any, Any]:
    """Of each open window its number of records and the sum of their amounts."""
    found = {}
    for key in {tuple(row[column] for column in by) for row in rows}:
        own = [row for row in rows if tuple(row[column] for column in by) == key]
        for first, last in windows_of(kind, own, now):
            amounts = [row["amount"] for row in own if first <= row["ts"] <= last]
            found[*key, first, last] = (len(amounts), sum(amounts))
    return found


def by_window(rows: list[dict[str, Any]], by: tuple[str, ...] = ("user",)) -> dict[Any, Any]:
    """Rows of `read` and `fetch` in the form of `expected`."""
    found = {}
    for row in rows:
        bounds = [bound.replace(tzinfo=UTC) for bound in row["window"].values()]
        name = (*(row[column] for column in by), *bounds)
        assert name not in found
        found[name] = (row["n"], row["spend"])
    return found


def read(spark: SparkSession, checkpoint: Path) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in windrow.state.read(spark, checkpoint).collect()]


AGGREGATES = {"n": wr.count(), "spend": wr.sum("amount")}
FUNCTIONS = {"n": wr.count(), "spend": wr.reduce("amount", operator.add)}


@pytest.mark.parametrize(
    ("kind", "mode", "aggregates"),
    [
        ("sessions", "close", AGGREGATES),
        ("dynamic gaps", "update", AGGREGATES),
        ("sliding", "close", FUNCTIONS),
    ],
    ids=["sessions", "dynamic gaps, update mode", "sliding, with a Python function"],
)
def test_open_windows_are_those_of_the_records_so_far(
    spark: SparkSession, tmp_path: Path, kind: str, mode: Any, aggregates: dict[str, Any]
) -> None:
    rows = events(3)

    def query(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(KINDS[kind]).emit(mode).shards(2).agg(**aggregates)

    play(spark, tmp_path, [table(rows[:40]), table(rows[40:])], query, DDL)
    now = max(row["ts"] for row in rows)
    checkpoint = tmp_path / "checkpoint"
    frame = windrow.state.read(spark, checkpoint)
    shown = query(source(spark, Folder(tmp_path / "in"), DDL)).drop("op")
    assert [field.dataType for field in frame.schema][:-1] == [field.dataType for field in shown.schema]
    assert frame.columns == [*shown.columns, "stream_time"]
    found = [row.asDict(recursive=True) for row in frame.collect()]
    brute = expected(kind, rows, now)
    assert by_window(found) == brute
    assert len(brute) < len(expected(kind, rows, utc(-1000)))  # some are closed
    assert {row["stream_time"].replace(tzinfo=UTC) for row in found} == {now}

    driver = StreamDriver(query, SCHEMA)
    driver.pipe_batch(table(rows), rows=1)
    if kind == "sliding":  # of one key also those that have closed and are kept
        stored = driver.windows.fetch("ann").to_pylist()
        assert {name for name in brute if name[0] == "ann"} < set(by_window(stored))
    else:
        stored = driver.sessions.fetch("ann").to_pylist()
        assert by_window(driver.sessions.all().to_pylist()) == brute
    fetched = windrow.state.fetch(spark, checkpoint, "ann")
    assert fetched.column_names == frame.columns
    assert by_window(fetched.to_pylist()) == by_window(stored)
    bounds = [(row["window"]["end"], row["window"]["start"]) for row in fetched.to_pylist()]
    assert bounds == sorted(bounds)
    assert len(bounds) > 1
    last, first = bounds[len(bounds) // 2]
    earliest = first if kind == "sliding" else last
    one = windrow.state.fetch(spark, checkpoint, "ann", earliest, first, backward=True)
    assert [tuple(row["window"].values()) for row in one.to_pylist()] == [(first, last)]


def test_sources_show_windows_and_times_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    rows = events(4)
    slow = [{**row, "ts": row["ts"] - timedelta(hours=5)} if row["part"] else row for row in rows]

    def query(data: DataFrame) -> DataFrame:
        grouped = wr.group_by(data, "user", "tick", time="ts", source="part").windowed_by(KINDS["sessions"])
        return grouped.shards(2).agg(**AGGREGATES)

    play(spark, tmp_path, [table(slow)], query, DDL)
    brute, times = {}, {}
    for part in (0, 1):
        own = [row for row in slow if row["part"] == part]
        times[part] = max(row["ts"] for row in own)
        brute |= expected("sessions", own, times[part], ("user", "part"))
    found = read(spark, tmp_path / "checkpoint")
    assert list(found[0]) == ["user", "tick", "window", "n", "spend", "part", "stream_time"]
    assert by_window(found, ("user", "part")) == brute
    assert {(row["part"], row["stream_time"].replace(tzinfo=UTC)) for row in found} == set(times.items())
    own = {name: value for name, value in brute.items() if name[0] == "bob"}
    keys: list[Any] = [("bob", None), {"tick": None, "user": "bob"}]
    forward, backward = (
        windrow.state.fetch(spark, tmp_path / "checkpoint", key, backward=backward).to_pylist()
        for key, backward in zip(keys, (False, True), strict=True)
    )
    assert by_window(forward, ("user", "part")) == own
    assert {name[1] for name in own} == {0, 1}
    assert backward == forward[::-1]
    assert windrow.state.fetch(spark, tmp_path / "checkpoint", ("bob", True)).num_rows == 0
    for key in ("bob", ("bob",), ("bob", None, 1), {"user": "bob"}):
        with pytest.raises(ValueError, match="key: got .*; allowed: a tuple of the values of 'user', 'tick', or"):
            windrow.state.fetch(spark, tmp_path / "checkpoint", key)
    with pytest.raises(ValueError, match="key: got .*; allowed: a key with a value that is not null"):
        windrow.state.fetch(spark, tmp_path / "checkpoint", (None, None))


def test_a_query_is_looked_into_while_it_runs(spark: SparkSession, tmp_path: Path) -> None:
    folder, rows, checkpoint = Folder(tmp_path / "in"), events(5), tmp_path / "c"
    result = wr.group_by(source(spark, folder, DDL), "user", time="ts").windowed_by(KINDS["sessions"]).shards(2)
    with pytest.raises(ValueError, match=r"checkpoint: got .*; allowed: the checkpointLocation of a streaming query"):
        windrow.state.read(spark, checkpoint)
    folder.add(table(rows[:30]))
    running = start(result.agg(**AGGREGATES), Run(), checkpoint, processingTime="0 seconds")
    try:
        running.processAllAvailable()
        before = windrow.state.read(spark, checkpoint)
        first = expected("sessions", rows[:30], max(row["ts"] for row in rows[:30]))
        assert by_window([row.asDict(recursive=True) for row in before.collect()]) == first
        folder.add(table(rows[30:]))
        running.processAllAvailable()
        last = expected("sessions", rows, max(row["ts"] for row in rows))
        assert first != last
        assert by_window(read(spark, checkpoint)) == last
        assert by_window([row.asDict(recursive=True) for row in before.collect()]) == first  # as it was
        bob = windrow.state.fetch(spark, checkpoint, "bob").to_pylist()
        assert by_window(bob) == {name: value for name, value in last.items() if name[0] == "bob"}
    finally:
        running.stop()
        running.awaitTermination()


def test_what_is_not_a_state_of_windrow_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "in")
    folder.add(table(events(6, 5)))
    data = source(spark, folder, DDL)
    start(data.dropDuplicates(["user"]).select("user"), Run(), tmp_path / "other").awaitTermination()
    with pytest.raises(ValueError, match=r"operator: got 0; allowed: one of windrow: operator 0 in .* is dedupe"):
        windrow.state.read(spark, tmp_path / "other")
    windowed = wr.group_by(data, "user", time="ts").windowed_by(KINDS["sessions"]).shards(2)
    start(windowed.agg(**AGGREGATES), Run(), tmp_path / "c").awaitTermination()
    with pytest.raises(ValueError, match=r"operator: got 1; allowed: the number of a stateful operator .*: 0"):
        windrow.state.read(spark, tmp_path / "c", operator=1)
    for wrong, argument in (
        ({"spark": None}, "spark"),
        ({"checkpoint": 7}, "checkpoint"),
        ({"operator": "0"}, "operator"),
        ({"key": 7}, "key: column 'user'"),
        ({"start": 7}, "start"),
        ({"end": 7}, "end"),
        ({"backward": None}, "backward"),
    ):
        aggregates: dict[str, Any] = {"spark": spark, "checkpoint": str(tmp_path / "c"), "key": "ann"}
        with pytest.raises(TypeError, match=f"^{argument}: got "):
            windrow.state.fetch(**{**aggregates, **wrong})


def test_a_session_needs_no_settings_to_look(spark: SparkSession, tmp_path: Path) -> None:
    def query(data: DataFrame) -> DataFrame:
        return wr.group_by(data, "user", time="ts").windowed_by(KINDS["sessions"]).shards(2).agg(**AGGREGATES)

    rows = events(7, 20)
    play(spark, tmp_path, [table(rows)], query, DDL)
    plain = spark.newSession()
    plain.conf.set(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
    )
    found = read(plain, tmp_path / "checkpoint")
    assert by_window(found) == expected("sessions", rows, max(row["ts"] for row in rows))


@pytest.mark.slow
@pytest.mark.needs("repartitioned state")
@pytest.mark.parametrize(
    ("kind", "mode", "partitions", "later"),
    [("sessions", "update", 8, 3), pytest.param("sliding", "close", 4, 2, marks=pytest.mark.soak)],
)
def test_a_stream_continues_after_spark_repartitions_its_state(
    spark: SparkSession, tmp_path: Path, set_conf: SetConf, kind: str, mode: Any, partitions: int, later: int
) -> None:
    set_conf("spark.sql.shuffle.partitions", str(partitions))
    rows = events(51)
    end = {**rows[0], "user": "end", "ts": MIDNIGHT + timedelta(hours=5)}

    def query(data: Any) -> Any:
        windowed = wr.group_by(data, "user", time="ts").windowed_by(KINDS[kind]).emit(mode).shards(6)
        return windowed.agg(n=wr.count(), spend=wr.reduce("amount", operator.add))

    run, checkpoint = play(spark, tmp_path, [table(rows[:40])], query, DDL), tmp_path / "checkpoint"
    opened = read(spark, checkpoint)
    spark._streamingCheckpointManager.repartition(str(checkpoint), later)
    stored = spark.read.format("state-metadata").load(str(checkpoint))
    assert {row.numPartitions for row in stored.collect()} == {later}
    assert by_window(read(spark, checkpoint)) == by_window(opened)
    play(spark, tmp_path, [table([*rows[40:], end])], query, DDL, run=run)
    found = [*applied(run.rows, ["user"]).values()] if mode == "update" else run.rows
    assert by_window([row for row in found if row["user"] != "end"]) == expected(kind, rows, MIDNIGHT)
    assert {row["n"] for row in run.rows} > {1}
    assert opened
