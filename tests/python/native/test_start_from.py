"""A stream that begins with the open windows of a history gives what one gives whose first micro-batch is the history
(rules 1.10); what cannot begin with them.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow import state
from windrow._arguments.nested import nulls
from windrow.testing import StreamDriver

from ..harness.daily_jobs import half_hours, instant, pairs
from ..harness.micro_batch_tables import TIME, table_of
from ..harness.scenario_queries import ShownChange, by_key, definition, named, schemas, shown, splits, stream_rows
from ..harness.seeds import blocks
from ..harness.steps import LocalStream
from ..oracle.ends import lasting_stream
from ..oracle.micro_batch_generator import streaming_scenario
from ..oracle.micro_batches import COUNTED, MicroBatches
from ..oracle.scenario import Row
from ..oracle.streaming_scenario import StreamingScenario
from ..scenes import at

SEEDS, TOGETHER = 600, 50
COUNTERS = (*COUNTED, "ticks", "bad_ticks", "updates", "windows_closed")
SCHEMA = pa.schema({"user": pa.string(), "ts": pa.timestamp("us")})


def history_of(scenario: StreamingScenario, draw: random.Random) -> tuple[list[Row], int]:
    """The records of the first micro-batch, and a time at or after all of them. With an order they come by time."""
    rows = [row for row in scenario.batches[0] if not row.tick]
    times = [row.time for row in rows if row.time is not None]
    to = max(times, default=0) + draw.choice(
        [0, 0, 1, scenario.length, scenario.length + scenario.grace, 10 * scenario.length]
    )
    if scenario.ordered:
        rows.sort(key=lambda row: row.time or 0)
        rows = [dataclasses.replace(row, order=number - 1000) for number, row in enumerate(rows)]
    return rows, to


def still_open(scenario: StreamingScenario, rows: list[Row], to: int) -> pa.Table:
    """What a run up to `to` over these records leaves open."""

    def advanced(windowed: Any, values: Mapping[str, Any]) -> Any:
        return windowed.advance(None, to=instant(to, TIME), **values)

    query = definition(dataclasses.replace(scenario, emit="close", every_record=False), advanced)
    if scenario.inputs == 1:
        run = query(table_of(scenario, rows))
    else:
        tables = [table_of(scenario, [row for row in rows if row.input == number]) for number in range(scenario.inputs)]
        run = query(**{f"input{number}": each.drop_columns("input") for number, each in enumerate(tables)})
    return run.still_open


def check(scenario: StreamingScenario, seed: int) -> int:
    """Plays a scenario, of which the first micro-batch is the history. How many rows it gave."""
    scenario = dataclasses.replace(scenario, until=None)
    if scenario.sourced or (scenario.inputs > 1 and scenario.values == "python"):
        return 0
    draw, rows_given = random.Random(seed), 0
    history, to = history_of(scenario, draw)
    oracle = MicroBatches(scenario)
    oracle.push([*history, *(Row(None, to, input=number, tick=True) for number in range(scenario.inputs))])
    before = {name: oracle.counters[name] for name in COUNTERS}
    opened = still_open(scenario, history, to)

    def begun(windowed: Any, values: Mapping[str, Any]) -> Any:
        return windowed.start_from(opened).agg(**values)

    shards = draw.choice([1, 2, 5])
    stream = LocalStream(definition(scenario, begun), schemas(scenario), shards=shards, seed=seed)
    assert len(stream.states) == shards
    restart = None
    for number, rows in enumerate(scenario.batches[1:], 1):
        restart = scenario.restart_before(number) or restart
        if not rows:
            continue  # Spark runs no micro-batch: a restart has an effect with the next one
        if restart is not None:
            oracle.restart(restart.grace, restart.late)
            stream.define(definition(oracle.scenario, begun))
            restart = None
        expected: list[ShownChange] = [shown(change, scenario.inputs) for change in oracle.push(rows)]
        tables = [named(stream, table) for table in splits(draw, oracle.scenario, rows)]
        got = [row for batch in stream.push_batches(tables) for row in stream_rows(batch)]
        place = f"seed {seed}, batch {number}, to {to}\n{scenario.line()}"
        if scenario.every_record:
            assert by_key(got) == by_key(expected), place
        assert sorted(got, key=repr) == sorted(expected, key=repr), place
        counted = {name: stream.counters[name] for name in COUNTERS}
        assert counted == {name: oracle.counters[name] - before[name] for name in COUNTERS}, place
        rows_given += len(got)
    return rows_given


@pytest.mark.parametrize("first", blocks(SEEDS, TOGETHER))
def test_the_history_is_the_first_micro_batch(first: int) -> None:
    assert sum(check(streaming_scenario(seed), seed) for seed in range(first, first + TOGETHER)) > TOGETHER


@pytest.mark.parametrize("first", blocks(SEEDS // 3, TOGETHER))
def test_the_history_of_records_that_last_is_the_first_micro_batch(first: int) -> None:
    assert sum(check(lasting_stream(seed), seed) for seed in range(first, first + TOGETHER)) > TOGETHER // 2


def sessions_of(data: Any) -> Any:
    return half_hours(data, grace="10 minutes")


def begun_with(opened: Any, **schema: Any) -> StreamDriver:
    return StreamDriver(lambda data: sessions_of(data).start_from(opened).agg(n=wr.count()), SCHEMA, **schema)


def opened_at(minutes: float, *rows: tuple[str, float]) -> pa.Table:
    run = sessions_of(pairs(*rows)).advance(None, to=at(minutes), n=wr.count())
    opened: pa.Table = run.still_open
    return opened


def test_pages_of_a_driver_hold_the_history() -> None:
    """All pages, and those that have changed so far."""
    opened = opened_at(60, ("ann", 30), ("bob", 50))
    driver = begun_with(opened)
    changed = {**driver.changed_pages()}
    driver.pipe(user="ann", ts=at(60))
    changed |= driver.changed_pages()
    pages = [page for page in changed.values() if page is not None]
    assert sorted(pages) == sorted(driver.snapshot())
    for saved in (pages, driver.snapshot()):
        other = begun_with(opened).restore(saved)
        assert [final.values for final in other.tick(at(200))] == [{"n": 1}, {"n": 2}]


def test_a_run_between_two_queries_with_a_pace_gives_no_deletes() -> None:
    """
    ```text
    gap 30       60 bob, 75 ann  ·  85 bob of a run  ·  110 bob
    first query  upserts [60, 60] and [75, 75]
    the run      joins [60, 85], gives no row
    second       deletes [60, 85], upserts [60, 110]; nothing deletes [60, 60]
    ```
    """

    def stream(windowed: Any) -> LocalStream:
        return LocalStream(lambda data: windowed(data).emit("update", every="5 minutes").agg(n=wr.count()), SCHEMA)

    def rows(stream: LocalStream, *records: tuple[str, float]) -> list[tuple[Any, ...]]:
        found = [(row["op"], row["user"], row["window"]["end"], row["n"]) for row in stream.push([pairs(*records)])]
        return sorted(found, key=str)

    first = stream(sessions_of)
    assert rows(first, ("bob", 60), ("ann", 75)) == [("upsert", "ann", at(75), 1), ("upsert", "bob", at(60), 1)]
    run = sessions_of(pairs(("bob", 85))).advance(first.still_open(), to=at(90), n=wr.count())
    assert run.closed.num_rows == 0
    second = stream(lambda data: sessions_of(data).start_from(run.still_open))
    assert rows(second, ("bob", 110)) == [("delete", "bob", at(85), None), ("upsert", "bob", at(110), 3)]


def test_the_resolution_of_the_history_is_that_of_the_stream() -> None:
    """A driver floors times to a millisecond unless the windows say otherwise; the error names the difference."""
    windows = wr.SlidingWindows.with_time_difference("10 minutes", grace="1 minute")
    run = wr.group_by(pairs(("ann", 30)), "user", time="ts").windowed_by(windows).advance(None, to=at(60), n=wr.count())

    def sliding(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(windows).start_from(run.still_open).agg(n=wr.count())

    with pytest.raises(ValueError, match="another query.*resolution"):
        StreamDriver(sliding, SCHEMA)


def test_another_history_over_a_state_is_refused_and_named() -> None:
    """The state knows with which open windows it began; a query without any continues it."""

    def query(opened: Any) -> Any:
        return lambda data: (sessions_of(data) if opened is None else sessions_of(data).start_from(opened)).count()

    one = sessions_of(pairs(("ann", 30))).advance(None, to=at(60), count=wr.count()).still_open
    stream = LocalStream(query(one), SCHEMA, shards=2)
    stream.push([pairs(("ann", 60))])
    stream.define(query(None))
    stream.push([pairs(("ann", 62))])
    stream.define(query(one))
    stream.shipment["start"] = "another one"
    with pytest.raises(ValueError, match="start_from was 'the history', is 'another one'"):
        stream.push([pairs(("ann", 62))])
    stream.define(query(one))
    assert [row["count"] for row in stream.push([pairs(("bob", 200))])] == [3]


def test_a_driver_refuses_a_state_of_another_history() -> None:
    """As a stream of Spark does. A driver without a history continues any state, and the state keeps its own."""
    one, other = (opened_at(minutes, ("ann", 30)) for minutes in (60, 61))
    states: dict[str, Any] = {"one": begun_with(one).snapshot()}
    plain = StreamDriver(lambda data: sessions_of(data).agg(n=wr.count()), SCHEMA)
    states["none"] = plain.snapshot()
    states["continued"] = plain.restore(states["one"]).snapshot()
    assert begun_with(one).restore(states["continued"]).stream_time == at(60)
    for name, was in (("one", "the open windows up to 2026-01-01 09:00:00 .*"), ("none", "none")):
        says = f"state: it belongs to another query\nstart_from was '?{was}, is 'the open windows up to .* 09:01:00 "
        with pytest.raises(ValueError, match=says):
            begun_with(other).restore(states[name])
    with pytest.raises(ValueError, match="start_from was 'the open windows up to .* 09:00:00"):
        begun_with(other).restore(states["continued"])
    with pytest.raises(ValueError, match="start_from was none"):
        begun_with(one).restore(plain.restore(states["none"]).snapshot())


def test_a_state_that_began_without_a_history_takes_none() -> None:
    stream = LocalStream(lambda data: sessions_of(data).count(), SCHEMA, shards=2)
    stream.push([pairs(("ann", 61))])
    stream.shipment["start"] = "the history"
    with pytest.raises(ValueError, match="start_from was none, is 'the history'"):
        stream.push([pairs(("ann", 62))])
    stream.states.clear()
    with pytest.raises(ValueError, match="start_from was none, is 'the history'"):
        stream.push([pairs(("ann", 62))])


def damaged() -> dict[str, Any]:
    whole = opened_at(60, ("ann", 30), ("bob", 50))
    states = [state and state[:-1] + bytes([state[-1] ^ 1]) for state in whole["state"].to_pylist()]
    longer = wr.SessionWindows.with_gap("31 minutes")
    foreign = wr.group_by(pairs(), "user", time="ts").windowed_by(longer).advance(None, to=at(60), n=wr.count())
    return {
        "was changed": whole.set_column(whole.column_names.index("state"), "state", pa.array(states, pa.binary())),
        "no clock row": whole.filter(whole["stream_time"].is_null()),
        "another query": foreign.still_open,
    }


@pytest.mark.parametrize("reason", list(damaged()))
def test_a_damaged_table_is_refused(reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        begun_with(damaged()[reason])
    with pytest.raises(ValueError, match=reason):
        LocalStream(lambda data: sessions_of(data).start_from(damaged()[reason]).agg(n=wr.count()), SCHEMA)


def test_what_cannot_begin_with_a_history_is_refused() -> None:
    opened = opened_at(60, ("ann", 30))
    with pytest.raises(TypeError, match=r"start_from: got a batch; allowed: a streaming DataFrame \(a batch continues"):
        sessions_of(pairs()).start_from(opened)
    for wrong in (None, 5, [opened["user"]], wr.Run(opened, opened, opened)):
        with pytest.raises(TypeError, match="open: got"):
            begun_with(wrong)

    def reserved(data: Any) -> Any:
        return sessions_of(data).start_from(opened).agg(state=wr.count())

    with pytest.raises(ValueError, match="aggregates: got 'state'; allowed: any name but state, source, stream_time"):
        StreamDriver(reserved, SCHEMA)
    with pytest.raises(ValueError, match=r"with_columns: got 'start_from\(...\)'; allowed: agg"):
        StreamDriver(lambda data: sessions_of(data).start_from(opened).with_columns(n=wr.count()), SCHEMA)


OF_SOURCES = pa.schema({"user": pa.string(), "ts": pa.timestamp("us"), "topic": pa.string(), "part": pa.int32()})
WINDOWS = wr.SessionWindows.with_gap("30 minutes", grace="10 minutes")


def sourced(data: Any, **options: Any) -> Any:
    return wr.group_by(data, "user", time="ts", source=["topic", "part"], **options)


def slowest(data: Any) -> Any:
    return sourced(data, stream_time="slowest")


def cogrouped(**inputs: Any) -> Any:
    return wr.cogroup(**{name: sourced(data) for name, data in inputs.items()})


OF_ALL = "open windows hold the records of all"
OF_ONE = "the clock row of these open windows has one time, so it does not say how far each source has"
INPUTS = {"one": OF_SOURCES, "other": OF_SOURCES}


@pytest.mark.parametrize(
    ("schema", "grouped", "reason"),
    [(OF_SOURCES, sourced, OF_ALL), (OF_SOURCES, slowest, OF_ONE), (INPUTS, cogrouped, OF_ALL)],
)
def test_sources_are_refused_by_their_names(schema: Any, grouped: Any, reason: str) -> None:
    history = wr.group_by(OF_SOURCES.empty_table(), "user", time="ts").windowed_by(WINDOWS)
    opened = history.advance(None, to=at(60), n=wr.count()).still_open

    def query(*data: Any, **inputs: Any) -> Any:
        return grouped(*data, **inputs).windowed_by(WINDOWS).start_from(opened).count()

    says = rf"^source: got \('topic', 'part'\); allowed: None with start_from: {reason}"
    with pytest.raises(ValueError, match=says):
        StreamDriver(query, schema)


def rows(*records: tuple[Any, ...]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(OF_SOURCES.names, record, strict=True)) for record in records], OF_SOURCES)


def begun(opened: pa.Table, grouped: Any = slowest) -> StreamDriver:
    return StreamDriver(lambda data: grouped(data).windowed_by(WINDOWS).start_from(opened).count(), OF_SOURCES)


def opened_by(grouped: Any) -> pa.Table:
    """The open windows after a record of each of two sources."""
    stream = LocalStream(lambda data: grouped(data).windowed_by(WINDOWS).count(), OF_SOURCES, shards=2)
    stream.push([rows(("ann", at(0), "clicks", 0), ("bob", at(30), "clicks", 1))])
    return stream.still_open()


def test_the_slowest_source_of_the_first_stream_holds_time() -> None:
    driver = begun(opened_by(slowest))
    assert driver.stream_times == {("clicks", 0): at(0), ("clicks", 1): at(30)}
    assert driver.pipe(user="eve", ts=at(100), topic="clicks", part=1) == []
    assert driver.stream_time == at(0)
    assert driver.pipe(user="ann", ts=at(1), topic="clicks", part=0) == []
    closed = [change for change in driver.tick(at(100)) if change.kind == "final"]
    assert [(change.key["user"], change.values) for change in closed] == [("ann", {"count": 2}), ("bob", {"count": 1})]
    assert driver.counters["late"] == 0


def test_a_clock_that_is_set_moves_each_source() -> None:
    opened = opened_by(slowest)
    forward, back = (state.with_clock(opened, at(minutes)) for minutes in (20, -5))
    assert begun(forward).stream_times == {("clicks", 0): at(20), ("clicks", 1): at(30)}
    assert begun(back).stream_times == {("clicks", 0): at(-5), ("clicks", 1): at(-5)}


def test_the_source_columns_must_be_those_of_the_first_stream() -> None:
    def other(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts", source="part", stream_time="slowest")

    def none(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts")

    for grouped, opened in ((other, opened_by(slowest)), (slowest, opened_by(none))):
        with pytest.raises(
            ValueError, match=r"^source: got \('.*part',?\); allowed: None with start_from: the clock row"
        ):
            begun(opened, grouped)
    assert begun(opened_by(slowest), none).stream_time == at(0)


FIELDS = {
    "x": pa.struct([("a", pa.int64()), ("b", pa.int64())]),
    "y": pa.int64(),
    "z": pa.int32(),
    "ts": pa.timestamp("us"),
}
OTHER_FIELDS: dict[str, tuple[pa.DataType, str]] = {
    "x": (pa.struct([("b", pa.int64()), ("a", pa.int64())]), "struct<a: int64, b: int64>"),
    "y": (pa.string(), "int64"),
    "z": (pa.string(), "int32; or a wider integer of at most 64 bits"),
    "ts": (pa.timestamp("ns"), "a timestamp[us]"),
}


@pytest.mark.parametrize("name", OTHER_FIELDS)
def test_a_stream_of_another_type_than_its_history_is_refused_with_the_type_that_works(name: str) -> None:
    calls = {"last": wr.last("x"), "y": wr.last("y"), "z": wr.last("z")}
    history = pa.table({column: nulls(0, kind) for column, kind in FIELDS.items()})
    opened = half_hours_of(history).advance(None, to=at(60), **calls).still_open
    other, allowed = OTHER_FIELDS[name]
    says = rf"^open: column '{name}' was .* in the run before, and is {re.escape(f'{other} now; allowed: {allowed}')}"

    def query(data: Any) -> Any:
        return half_hours_of(data).start_from(opened).agg(**calls)

    with pytest.raises(ValueError, match=f"{says}.*; or no start_from, to begin anew$"):
        StreamDriver(query, pa.schema({**FIELDS, name: other}))
    assert StreamDriver(query, pa.schema(FIELDS)).stream_time == at(60)


def half_hours_of(data: Any) -> Any:
    return wr.group_by(data, time="ts").windowed_by(wr.SessionWindows.with_gap("30 minutes", grace="10 minutes"))
