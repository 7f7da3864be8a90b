"""Rules for sessions give the sessions of the oracle: in this process, through Spark's two steps, and on streams."""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from dataclasses import replace
from datetime import datetime, time, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow._native import Query
from windrow.testing import StreamDriver

from ..harness.examples import usually
from ..harness.shuffle import after_a_shuffle, blocks, folded_after_a_shuffle, merged
from ..oracle.session_rules import Row, Rules, Session, sessions
from .test_cut_sessions import listed

SECOND = 10**6
KEYS = st.sampled_from(["ann", "bob"])
NEAR = st.integers(0, 40)
ZONES = {"Europe/Madrid": 1_774_746_000, "Africa/Cairo": 1_776_978_000, "America/Havana": 1_793_505_600, None: 0}
"""Zones, and an instant in seconds near which their clock changes."""

SCHEMA = pa.schema(
    {
        "user": pa.string(),
        "ts": pa.timestamp("us", "UTC"),
        "seq": pa.int64(),
        "out": pa.bool_(),
        "login": pa.bool_(),
        "camp": pa.string(),
        "place": pa.float64(),
        "id": pa.int64(),
        "until": pa.timestamp("us", "UTC"),
    }
)
VALUES = st.tuples(st.sampled_from([None, "a", "a", "b"]), st.sampled_from([None, 1.5, 1.5]))
MAYBE = st.sampled_from([None, False, False, False, True])


@st.composite
def rows_of_stream(draw: st.DrawFn) -> list[Row]:
    """Rows of two keys, near each other in time; all of them last until an end, or none."""
    ties = st.integers(-2, 3) if draw(st.booleans()) else st.just(0)
    values = VALUES if draw(st.booleans()) else st.just(("a", None))
    row = st.builds(Row, KEYS, NEAR.map(lambda at: at * SECOND), ties, MAYBE, MAYBE, values)
    rows = draw(st.lists(row, max_size=30))
    if draw(st.booleans()):
        return rows
    lengths = draw(st.lists(st.integers(0, 12), min_size=len(rows), max_size=len(rows)))
    return [replace(row, end=row.time + length * SECOND) for row, length in zip(rows, lengths, strict=True)]


@st.composite
def rules_of_stream(draw: st.DrawFn) -> Rules:
    """A gap, and any rules that need no column."""
    rule = st.none() | st.integers(1, 12)
    longest = draw(rule)
    return Rules(
        gap=draw(st.integers(0, 15)) * SECOND,
        max_duration=None if longest is None else longest * SECOND,
        max_records=draw(st.none() | st.integers(1, 5)),
        cut_at=draw(st.none() | st.builds(time, st.just(0), st.just(0), st.integers(0, 40))),
    )


def table_of(rows: list[Row], time_type: pa.DataType) -> pa.Table:
    """The rows as a table; a row's place is its id."""
    values = [row.values or (None, None) for row in rows]
    columns = {
        "user": [row.key for row in rows],
        "ts": pa.array([row.time for row in rows], pa.int64()).cast(time_type),
        "seq": [row.tie for row in rows],
        "out": [row.ends for row in rows],
        "login": [row.begins for row in rows],
        "camp": [camp for camp, _ in values],
        "place": [place for _, place in values],
        "id": range(len(rows)),
        "until": pa.array([row.last for row in rows], pa.int64()).cast(time_type),
    }
    schema = schema_of(time_type)
    return pa.table({name: pa.array(column, schema.field(name).type) for name, column in columns.items()})


def schema_of(time_type: pa.DataType) -> pa.Schema:
    return pa.schema([field.with_type(time_type) if field.name in ("ts", "until") else field for field in SCHEMA])


def grouped(data: Any, rows: list[Row], tie: str | None = "seq") -> Any:
    """The rows by key, with ends if they have any."""
    end = "until" if any(row.end is not None for row in rows) else None
    return wr.group_by(data, "user", time="ts", tie=tie, end=end)


def windows_of(rules: Rules, **others: Any) -> wr.SessionWindows:
    longest = None if rules.max_duration is None else timedelta(microseconds=rules.max_duration)
    return wr.SessionWindows.with_gap(
        timedelta(microseconds=rules.gap),
        max_duration=longest,
        end_when="out",
        start_when="login",
        cut_on=["camp", "place"],
        cut_at=rules.cut_at,
        zone=rules.zone,
        max_records=rules.max_records,
        **others,
    )


AGGREGATES = {
    "n": wr.count(),
    "ids": wr.collect_list("id"),
    "first": wr.first("seq"),
    "last": wr.last("seq"),
    "why": wr.ended_by(),
    "number": wr.window_id(),
    "mean": wr.sum("id") / wr.count(),
}


def shown(answer: pa.Table) -> Counter[tuple[Any, ...]]:
    """Each session with its rows, without the order of those of one time and tie."""
    return Counter(map(_session, answer.to_pylist()))


def _session(row: Any) -> tuple[Any, ...]:
    bounds = _micros(row["window"]["start"]), _micros(row["window"]["end"])
    return (row["user"], *bounds, tuple(sorted(row["ids"])), row["why"], row["first"], row["last"])


def _micros(moment: datetime) -> int:
    return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)) // timedelta(microseconds=1)


def wanted(rows: list[Row], found: list[Session]) -> Counter[tuple[Any, ...]]:
    ids: dict[int, int] = {id(row): place for place, row in enumerate(rows)}
    counted = Counter[tuple[Any, ...]]()
    for session in found:
        rows_of = tuple(sorted(ids[id(row)] for row in session.rows))
        ties = session.rows[0].tie, session.rows[-1].tie
        counted[(session.key, *session.bounds, rows_of, session.ended_by, *ties)] += 1
    return counted


def own(rows: list[Row]) -> list[Row]:
    """The same rows, each an object of its own."""
    return [replace(row) for row in rows]


@usually(140)
@given(rows_of_stream(), rules_of_stream(), st.integers(1, 4), st.lists(st.integers(0, 30), max_size=3), st.booleans())
def test_oracle_batches_give_the_sessions_of_the_rules(
    rows: list[Row], rules: Rules, shards: int, cuts: list[int], tied: bool
) -> None:
    """Without a tie, records of one time stay together."""
    rows = [replace(row, tie=row.tie if tied else 0) for row in rows]
    table, expected = table_of(rows, pa.timestamp("us")), wanted(rows, sessions(rows, rules))
    windowed = grouped(table, rows, "seq" if tied else None).windowed_by(windows_of(rules)).shards(shards)
    answer = windowed.agg(**AGGREGATES)
    assert shown(answer) == expected
    assert len(set(answer["number"].to_pylist())) == answer.num_rows
    assert shown(after_a_shuffle(windowed._plan(AGGREGATES), table, cuts)) == expected
    joined = wr.aggregate(list, listed, operator.add, schema="array<bigint>", columns=["id"])
    folded = {"ids": joined, "first": wr.first("seq"), "last": wr.last("seq"), "why": wr.ended_by()}
    assert shown(windowed.agg(**folded)) == expected
    assert shown(folded_after_a_shuffle(windowed._plan(folded), table, cuts)) == expected


@usually(40)
@given(rows_of_stream(), rules_of_stream(), st.randoms(use_true_random=False))
def test_oracle_every_row_with_its_session_and_place(rows: list[Row], rules: Rules, random: Any) -> None:
    rows = [replace(row, tie=place) for place, row in enumerate(rows)]
    random.shuffle(rows)
    table = table_of(rows, pa.timestamp("us"))
    windowed = grouped(table, rows).windowed_by(windows_of(rules))
    aggregates = {
        "position": wr.position(),
        "number": wr.session_number(),
        "why": wr.ended_by(),
        "path": wr.path("seq"),
    }
    here = windowed.with_columns(**aggregates)
    assert here.select(table.column_names).replace_schema_metadata(None).equals(table)
    query = Query.rows_with_windows(windowed._plan(aggregates, rows=True).spec.text, table.schema)
    expected, of_key = {}, Counter[str]()
    for session in sessions(rows, rules):
        of_key[session.key] += 1
        ties = [row.tie for row in session.rows]
        for place, row in enumerate(session.rows, start=1):
            expected[row.tie] = (place, of_key[session.key], session.ended_by, ties)
    for answer in (here, merged(query, blocks(query, table, random.choices(range(30), k=2)))):
        found = [(row["seq"], *(row[name] for name in aggregates)) for row in answer.to_pylist()]
        assert len(found) == len(rows)
        assert {seq: tuple(values) for seq, *values in found} == expected


@usually(60)
@given(st.sampled_from(list(ZONES)), st.integers(0, 86_399), st.lists(st.integers(0, 96), max_size=40), st.data())
def test_oracle_days_end_where_a_clock_says_so_when_summer_time_begins_and_ends(
    zone: str | None, at: int, hours: list[int], data: st.DataObject
) -> None:
    at = data.draw(st.sampled_from([0, 3600, 7200, 9000, at]))
    clock = time(at // 3600, at // 60 % 60, at % 60)
    rules = Rules(gap=10**13, cut_at=clock, zone=zone)
    offset = data.draw(st.integers(-1, 1))
    rows = [Row("ann", (ZONES[zone] + (hour - 48) * 1800) * SECOND + offset) for hour in hours]
    table = table_of(rows, pa.timestamp("us", None if zone is None else "UTC"))
    windows = wr.SessionWindows.with_gap(timedelta(microseconds=10**13), cut_at=clock, zone=zone)
    answer = wr.group_by(table, "user", time="ts").windowed_by(windows).agg(**AGGREGATES)
    assert shown(answer) == wanted(rows, sessions(rows, rules))


def test_a_session_that_ended_in_the_clocks_second_hour_is_the_one_before_it() -> None:
    times = [datetime(2026, 10, 24, 23), *(datetime(2026, 10, 25, *at) for at in ((0, 0), (0, 30), (1, 0), (1, 30)))]
    table = pa.table({"user": ["ann"] * 5, "ts": pa.array(times, pa.timestamp("us", "UTC"))})
    windows = wr.SessionWindows.with_gap("3 hours", cut_at="02:30", zone="Europe/Madrid")  # 00:30 and 01:30 UTC
    answer = wr.group_by(table, "user", time="ts").windowed_by(windows).agg(n=wr.count(), why=wr.ended_by())
    assert sorted(zip(answer["n"].to_pylist(), answer["why"].to_pylist(), strict=True)) == [(2, "cut_at"), (3, "open")]


def driver_of(rows: list[Row], rules: Rules, grace: int, every: dict[str, Any]) -> StreamDriver:
    windows = windows_of(rules, grace=timedelta(microseconds=grace))

    def query(data: Any) -> Any:
        return grouped(data, rows).windowed_by(windows).agg(**every)

    return StreamDriver(query, schema_of(pa.timestamp("us")))


@usually(60)
@given(rows_of_stream(), rules_of_stream(), st.integers(0, 30), st.sets(st.integers(0, 30), max_size=3))
def test_oracle_a_stream_gives_the_sessions_of_the_records_that_are_not_late(
    rows: list[Row], rules: Rules, grace: int, restarts: set[int]
) -> None:
    driver = driver_of(rows, rules, grace * SECOND, AGGREGATES)
    found, in_time, latest = list[Any](), list[Row](), -1
    for place, row in enumerate(own(rows)):
        if place in restarts:
            driver = driver_of(rows, rules, grace * SECOND, AGGREGATES).restore(driver.snapshot())
        camp, where = row.values
        moment, until = (datetime(1970, 1, 1) + timedelta(microseconds=time) for time in (row.time, row.last))
        made = {"user": row.key, "ts": moment, "until": until, "seq": row.tie, "out": row.ends, "login": row.begins}
        found += driver.pipe(**made, camp=camp, place=where, id=len(in_time))
        latest = max(latest, row.time)
        if row.time >= latest - grace * SECOND:
            in_time.append(row)
    assert driver.counters["late"] == len(rows) - len(in_time)
    final = final_sessions(sessions(in_time, rules, last="gap"), rules, latest - grace * SECOND)
    closed = [{**change.values, **change.key, "window": change.window._asdict()} for change in found]
    assert Counter(map(_session, closed)) == wanted(in_time, final)
    assert len({session["number"] for session in closed}) == len(closed)


def final_sessions(found: list[Session], rules: Rules, close: int) -> list[Session]:
    """The sessions that a record before the close time ended, or whose reach is before it."""
    final = []
    for session, after in itertools.zip_longest(found, found[1:]):
        _, end = session.bounds
        ends_alone = session.ended_by in ("end_when", "max_records")
        is_cut = after is not None and after.key == session.key and after.bounds[0] < close
        if is_cut or (end if ends_alone else end + rules.gap) < close:
            final.append(session)
    return final


@usually(60)
@given(rows_of_stream(), rules_of_stream(), st.integers(0, 12), st.lists(st.integers(0, 60), max_size=4), st.data())
def test_oracle_runs_of_a_daily_job_with_a_grace_give_the_sessions_of_all_records(
    rows: list[Row], rules: Rules, grace: int, days: list[int], data: st.DataObject
) -> None:
    """Each record comes in the run of its day, or at most the grace later."""
    rows = own(rows)
    ends = [*sorted(day * SECOND for day in days), 10**12]
    delays = data.draw(st.lists(st.integers(0, grace), min_size=len(rows), max_size=len(rows)))
    windows, opened, found, came = windows_of(rules, grace=timedelta(seconds=grace)), None, list[Any](), -(10**12)
    for to in ends:
        arrived = [row for row, delay in zip(rows, delays, strict=True) if came <= row.time + delay * SECOND < to]
        table = table_of(arrived, pa.timestamp("us"))
        ids = pa.array([next(place for place, row in enumerate(rows) if row is one) for one in arrived], pa.int64())
        windowed = grouped(table.set_column(7, "id", ids), rows).windowed_by(windows)
        run = windowed.advance(opened, to=datetime(1970, 1, 1) + timedelta(microseconds=to), **AGGREGATES)
        opened, came = run.still_open, to
        found += run.closed.to_pylist()
    assert Counter(map(_session, found)) == wanted(rows, sessions(rows, rules, last="gap"))


BAD = [
    ({"zone": "Europe/Madrid"}, "zone: got 'Europe/Madrid'; allowed: None without cut_at"),
    ({"cut_at": "24:00"}, "cut_at: got '24:00'"),
    ({"cut_at": 3}, "cut_at: got 3"),
    ({"cut_at": "00:00", "zone": "Mars/Olympus"}, "zone: got 'Mars/Olympus'"),
    ({"max_records": 0}, "max_records: got 0; allowed: an int from 1 to 9223372036854775807"),
    ({"max_records": 2**63}, "max_records: got 9223372036854775808; allowed: an int from 1 to 9223372036854775807"),
    ({"max_records": True}, "max_records: got True"),
    ({"cut_on": []}, "cut_on: got []"),
    ({"cut_on": ["camp", "camp"]}, "cut_on: got 'camp'; allowed: each column once"),
    ({"end_when": "camp"}, "end_when: column 'camp' has type string; allowed: a boolean, such as"),
    (
        {"end_when": "logout"},
        "end_when: got 'logout'; allowed: a column of the data (did you mean 'out'?), which has 'user', ",
    ),
    ({"start_when": "camp"}, "start_when: column 'camp' has type string; allowed: a boolean"),
    ({"start_when": "nowhere"}, "start_when: got 'nowhere'"),
    ({"cut_on": "nowhere"}, "cut_on: got 'nowhere'"),
    ({"cut_at": "00:00", "zone": "UTC"}, "zone: got 'UTC'; allowed: None, as the time column 'ts' has no zone"),
]


@pytest.mark.parametrize(("rule", "message"), BAD)
def test_a_rule_that_cannot_be_is_refused_at_the_call(rule: dict[str, Any], message: str) -> None:
    table = table_of([Row("ann", 0)], pa.timestamp("us"))
    with pytest.raises((TypeError, ValueError)) as refused:
        wr.group_by(table, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 minute", **rule))
    assert str(refused.value).startswith(message)


def test_a_zoned_time_needs_a_zone_and_a_tie_is_an_integer() -> None:
    table = table_of([Row("ann", 0)], pa.timestamp("us", "UTC"))
    with pytest.raises(ValueError, match="zone: got None; allowed: the time zone of cut_at"):
        wr.group_by(table, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 minute", cut_at="00:00"))
    with pytest.raises(TypeError, match="tie: column 'camp' has type string"):
        wr.group_by(table, "user", time="ts", tie="camp")
    sliding = wr.group_by(table, "user", time="ts").windowed_by(wr.SlidingWindows.with_time_difference("1 minute"))
    with pytest.raises(ValueError, match="ended_by"):
        sliding.agg(why=wr.ended_by())


def test_a_stream_refuses_updates_a_retention_and_an_end_without_rules() -> None:
    plain: dict[str, Any] = {"gap": "1 minute", "grace": "1 minute"}
    for options, emit, aggregate, message in (
        (
            {"max_records": 2},
            "update",
            wr.count(),
            r"emit: got 'update'; allowed: emit\('close'\) for sessions with rules",
        ),
        ({"max_records": 2, "retention": "1 hour"}, "close", wr.count(), "retention: got '1 hour'; allowed: None"),
        ({}, "close", wr.ended_by(), "ended_by"),
    ):
        windows = wr.SessionWindows.with_gap(**plain, **options)

        def query(data: Any, windows: Any = windows, emit: Any = emit, aggregate: Any = aggregate) -> Any:
            return wr.group_by(data, "user", time="ts").windowed_by(windows).emit(emit).agg(x=aggregate)

        with pytest.raises(ValueError, match=message):
            StreamDriver(query, SCHEMA)
