"""`left_out("emit")` on streams: the law of conservation, and what each record that is left out says.

`make soak` plays more seeds (a sixth of WINDROW_STREAMS).
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.conservation import REASONS, conserves
from ..oracle.ends import lasting_stream
from ..scenes import at

SOON = 100
LONG = int(os.environ.get("WINDROW_STREAMS", "12000")) // 6
FIRST = int(os.environ.get("WINDROW_FIRST_SEED", str(SOON)))
SCHEMA = pa.schema(
    {
        "user": pa.string(),
        "ts": pa.timestamp("us"),
        "number": pa.int64(),
        "gap": pa.duration("us"),
        "tick": pa.bool_(),
        "tie": pa.int64(),
    }
)


def play(seeds: range) -> Counter[str]:
    return sum(map(conserves, seeds), Counter[str]())


def test_every_record_is_in_a_window_or_comes_back() -> None:
    found = play(range(SOON))
    assert all(found[reason] >= 3 for reason in (*REASONS, "refused") if reason != "bad_end"), found


def test_every_record_that_lasts_is_in_a_window_or_comes_back() -> None:
    found = sum((conserves(seed, lasting_stream) for seed in range(SOON // 2)), Counter[str]())
    assert all(found[reason] >= 3 for reason in ("late", "bad_gap", "bad_end", "ahead")), found


@pytest.mark.soak
def test_every_record_of_many_streams_is_in_a_window_or_comes_back(soaked: Callable[[str], None]) -> None:
    found = play(range(FIRST, FIRST + LONG))
    soaked(f"{LONG} streams conserve their records; left out: {dict(found)}")


def test_without_columns_a_stream_says_why_and_when() -> None:
    windows = wr.SessionWindows.with_gap("5 minutes", grace="0 minutes")

    def definition(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(windows).left_out("emit").agg(n=wr.count())

    stream = StreamDriver(definition, SCHEMA)
    assert stream.pipe(user="ann", ts=at(0)) == []
    stream.pipe(user="bob", ts=at(30))
    [late] = stream.pipe(user="ann", ts=at(1))
    assert (late.kind, late.key, late.values["reason"], late.values["time"]) == (
        "left_out",
        {"user": "ann"},
        "late",
        at(1),
    )
    assert late.values["late_by"] == timedelta(minutes=24)
    assert "record" not in late.values


def driver(windows: Any, *, late: Any = "drop", emit: Any = "close", **options: Any) -> StreamDriver:
    wall_clock = options.pop("wall_clock", None)

    def definition(data: Any) -> Any:
        query = wr.group_by(data, "user", time="ts", tick="tick", **options).windowed_by(windows)
        query = query.emit(emit).late(late).left_out("emit", columns=["number"])
        return (query if wall_clock is None else query.max_ahead("1 hour")).agg(n=wr.count())

    return StreamDriver(definition, SCHEMA, wall_clock=wall_clock)


def gone(changes: Any) -> list[tuple[Any, ...]]:
    """Records left out as (number, reason, minutes that it lacked, minutes of stream time after 8)."""
    found = []
    for change in changes:
        if change.kind == "left_out":
            minute = timedelta(minutes=1)
            values = change.values
            late_by, judged = values["late_by"], values["stream_time"]
            found.append(
                (
                    values["record"]["number"],
                    values["reason"],
                    None if late_by is None else late_by / minute,
                    None if judged is None else (judged - at(0)) / minute,
                )
            )
    return found


SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")


def test_a_change_of_a_record_has_its_key_its_window_and_its_time() -> None:
    stream = driver(wr.SlidingWindows.with_time_difference("10 minutes", grace="2 minutes"), emit="update")
    stream.pipe(user="ann", ts=at(52), number=1)
    (change,) = stream.pipe(user="bob", ts=at(30), number=2)
    assert (change.kind, change.key, change.window, change.time) == (
        "left_out",
        {"user": "bob"},
        (at(20), at(30)),
        at(30),
    )
    assert set(change.values) == {"time", "reason", "late_by", "stream_time", "record"}
    (change,) = stream.pipe(user="bob", number=3)
    assert (change.window, change.time) == ((None, None), None)
    (change,) = stream.pipe(user="bob", ts=at(52), number=4)
    assert (change.kind, change.values) == ("upsert", {"n": 1})


def test_a_restart_may_add_the_ledger_and_take_it_away() -> None:
    def plain(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts", tick="tick").windowed_by(SESSIONS).agg(n=wr.count())

    stream = StreamDriver(plain, SCHEMA)
    stream.pipe(user="ann", ts=at(20))
    stream = driver(SESSIONS).restore(stream.snapshot())
    assert gone(stream.pipe(user="bob", ts=at(3), number=2)) == [(2, "late", 11, 20)]
    stream = StreamDriver(plain, SCHEMA).restore(stream.snapshot())
    assert stream.pipe(user="bob", ts=at(3)) == []
    assert stream.counters["late"] == 2


def test_a_value_that_is_null_as_in_kafka_is_a_reason_of_the_driver() -> None:
    def definition(data: Any) -> Any:
        windows = wr.SlidingWindows.with_time_difference("10 seconds", grace="2 seconds")
        query = wr.group_by(data, "user", time="ts").windowed_by(windows)
        return query.left_out("emit", columns=["user"]).agg(total=wr.sum("number"))

    stream = StreamDriver(definition, SCHEMA, value="number")
    (change,) = stream.pipe(user="ann", ts=at(0))
    assert change.values["reason"] == "null_value"


def test_the_numbers_of_rows_continue_over_the_steps_of_a_large_batch() -> None:
    draw = random.Random(5)
    rows = 150_000  # more than two steps of the core
    minutes = [60.0, *(draw.choice([58, 3]) for _ in range(rows))]
    users = ["ann", *(draw.choice(["bob", "cid", None]) for _ in range(rows))]
    table = pa.table(
        {
            "user": pa.array(users, pa.string()),
            "ts": pa.array([at(minute) for minute in minutes], pa.timestamp("us")),
            "number": pa.array(range(rows + 1)),
            "gap": pa.nulls(rows + 1, pa.duration("us")),
            "tick": pa.nulls(rows + 1, pa.bool_()),
        }
    )
    stream = driver(SESSIONS)
    found = {number: reason for number, reason, *_ in gone(stream.pipe_batch(table, rows=rows + 1))}
    expected = {
        number: "null_key" if user is None else "late"
        for number, (user, minute) in enumerate(zip(users, minutes, strict=True))
        if user is None or minute == 3
    }
    assert found == expected
