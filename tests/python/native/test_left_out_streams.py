"""`left_out("emit")` on streams: the law of conservation, and what each record that is left out says."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import pyarrow as pa

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.conservation import REASONS, conserved_scenario, played
from ..harness.steps import LocalStream
from ..oracle.ends import lasting_stream
from ..oracle.micro_batch_generator import streaming_scenario
from ..scenes import at

SCHEMA = pa.schema({"user": pa.string(), "ts": pa.timestamp("us"), "number": pa.int64()})
SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
SLIDING = wr.SlidingWindows.with_time_difference("10 minutes", grace="2 minutes")


def test_every_record_is_in_a_window_or_comes_back() -> None:
    """The simulation plays the same law with faults. Here each reason comes."""
    found = Counter[str]()
    for seed in range(200):
        scenario = (lasting_stream if seed % 3 == 0 else streaming_scenario)(seed)
        start = partial(LocalStream, shards=1 + seed % 5, seed=seed)
        found += played(conserved_scenario(scenario, seed), seed, start)
    assert all(found[reason] >= 3 for reason in (*REASONS, "refused")), found


def driver(windows: Any, *columns: str, emit: Any = "close") -> StreamDriver:
    def definition(data: Any) -> Any:
        query = wr.group_by(data, "user", time="ts").windowed_by(windows).emit(emit)
        return query.left_out("emit", columns=list(columns) or None).agg(n=wr.count())

    return StreamDriver(definition, SCHEMA)


def reasons(changes: Any) -> dict[int, str]:
    """Why each record was left out, by its number."""
    return {c.values["record"]["number"]: c.values["reason"] for c in changes if c.kind == "left_out"}


def test_a_change_of_a_record_has_its_key_its_window_and_its_time() -> None:
    stream = driver(SLIDING, "number", emit="update")
    stream.pipe(user="ann", ts=at(52), number=1)
    (change,) = stream.pipe(user="bob", ts=at(30), number=2)
    assert (change.kind, change.key, change.time) == ("left_out", {"user": "bob"}, at(30))
    assert change.window == (at(20), at(30))
    assert set(change.values) == {"time", "reason", "late_by", "stream_time", "record"}
    assert change.values["late_by"] == timedelta(minutes=10)
    (change,) = stream.pipe(user="bob", number=3)
    assert (change.window, change.time) == ((None, None), None)
    (change,) = stream.pipe(user="bob", ts=at(52), number=4)
    assert (change.kind, change.values) == ("upsert", {"n": 1})


def test_without_columns_a_change_has_no_record() -> None:
    stream = driver(SESSIONS)
    stream.pipe(user="bob", ts=at(30))
    (change,) = stream.pipe(user="ann", ts=at(1))
    assert set(change.values) == {"time", "reason", "late_by", "stream_time"}


def test_a_restart_may_add_the_ledger_and_take_it_away() -> None:
    def plain(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(SESSIONS).agg(n=wr.count())

    stream = StreamDriver(plain, SCHEMA)
    stream.pipe(user="ann", ts=at(20))
    stream = driver(SESSIONS, "number").restore(stream.snapshot())
    assert reasons(stream.pipe(user="bob", ts=at(3), number=2)) == {2: "late"}
    stream = StreamDriver(plain, SCHEMA).restore(stream.snapshot())
    assert stream.pipe(user="bob", ts=at(3)) == []
    assert stream.counters["late"] == 2


def test_a_value_that_is_null_as_in_kafka_is_a_reason_of_the_driver() -> None:
    def definition(data: Any) -> Any:
        query = wr.group_by(data, "user", time="ts").windowed_by(SLIDING)
        return query.left_out("emit", columns=["user"]).agg(total=wr.sum("number"))

    (change,) = StreamDriver(definition, SCHEMA, value="number").pipe(user="ann", ts=at(0))
    assert change.values["reason"] == "null_value"


def test_the_numbers_of_rows_continue_over_the_steps_of_a_large_batch() -> None:
    draw = random.Random(5)
    rows = 150_000  # more than two steps of the core
    minutes = [60.0, *(draw.choice([58, 3]) for _ in range(rows))]
    users = ["ann", *(draw.choice(["bob", "cid", None]) for _ in range(rows))]
    times = pa.array([at(minute) for minute in minutes], SCHEMA.field("ts").type)
    table = pa.table([pa.array(users), times, range(rows + 1)], schema=SCHEMA)
    expected = {
        number: "null_key" if user is None else "late"
        for number, (user, minute) in enumerate(zip(users, minutes, strict=True))
        if user is None or minute == 3
    }
    assert reasons(driver(SESSIONS, "number").pipe_batch(table, rows=rows + 1)) == expected
