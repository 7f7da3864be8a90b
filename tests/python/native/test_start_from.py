"""A stream that begins with the open windows of a history gives what one gives whose first micro-batch is the history
(rules 1.10).
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.daily_jobs import half_hours, instant, pairs, picked
from ..harness.examples import usually
from ..harness.families import FAMILIES, often
from ..harness.micro_batch_tables import TIME, table_of
from ..harness.scenario_queries import ShownChange, by_key, definition, named, schemas, shown, splits, stream_rows
from ..harness.seeds import blocks
from ..harness.steps import LocalStream
from ..harness.tables import assert_same, rows_of
from ..oracle.ends import lasting_stream
from ..oracle.micro_batch_generator import paced_scenario, streaming_scenario
from ..oracle.micro_batches import COUNTED, MicroBatches
from ..oracle.scenario import Row
from ..oracle.streaming_scenario import StreamingScenario
from ..scenes import at

pytestmark = pytest.mark.filterwarnings("ignore::windrow.LeftOut")

SEEDS, TOGETHER = 600, 50
COUNTERS = (*COUNTED, "ticks", "bad_ticks", "updates", "windows_closed")
SCHEMA = pa.schema({"user": pa.string(), "ts": pa.timestamp("us")})
TICK = timedelta(microseconds=1)


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


def check_moved(scenario: StreamingScenario, seed: int) -> int:
    """Plays a scenario, and moves its windows to another stream before each micro-batch, which may have another pace.

    Returns how many moves there were.
    """
    scenario = dataclasses.replace(scenario, until=None, restarts=())
    if (scenario.sourced and not scenario.slowest) or (scenario.inputs > 1 and scenario.values == "python"):
        return 0
    draw, moved, oracle = random.Random(seed), 0, MicroBatches(scenario)
    stream = LocalStream(definition(scenario), schemas(scenario), shards=2, seed=seed)
    for number, rows in enumerate(scenario.batches):
        opened = stream.still_open() if rows and stream.stream_time is not None else None
        if opened is not None:

            def begun(windowed: Any, values: Mapping[str, Any], opened: pa.Table = opened) -> Any:
                return windowed.start_from(opened).agg(**values)

            if scenario.every is not None:
                oracle.restart(every=draw.choice([scenario.every, 1, 3 * scenario.length]))
            query = definition(oracle.scenario, begun)
            stream = LocalStream(query, schemas(scenario), shards=draw.choice([1, 2, 5]), seed=seed)
            moved += 1
        expected = [shown(change, scenario.inputs) for change in oracle.push(rows)]
        if not rows:
            continue
        tables = [named(stream, table) for table in splits(draw, scenario, rows)]
        got = [row for batch in stream.push_batches(tables) for row in stream_rows(batch)]
        assert sorted(got, key=repr) == sorted(expected, key=repr), f"seed {seed}, batch {number}\n{scenario.line()}"
    return moved


@pytest.mark.parametrize("first", blocks(SEEDS // 2, TOGETHER))
def test_windows_move_from_stream_to_stream(first: int) -> None:
    seeds = range(first, first + TOGETHER)
    assert sum(check_moved(streaming_scenario(seed), seed) for seed in seeds) > TOGETHER // 2


@pytest.mark.parametrize("first", blocks(SEEDS // 2, TOGETHER))
def test_each_source_keeps_its_time_with_the_slowest_source(first: int) -> None:
    seeds = range(first, first + TOGETHER)
    slowest = {"sourced": True, "stream_time": "slowest", "ordered": False, "every_record": False}
    scenarios = [dataclasses.replace(streaming_scenario(seed), **slowest) for seed in seeds]
    assert sum(map(check_moved, scenarios, seeds)) > TOGETHER


@pytest.mark.parametrize("first", blocks(SEEDS // 2, TOGETHER))
def test_rows_that_wait_move_with_their_windows(first: int) -> None:
    seeds = range(first, first + TOGETHER)
    assert sum(check_moved(paced_scenario(seed), seed) for seed in seeds) > TOGETHER


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kind", ["session", "sliding"])
def test_every_aggregate_of_every_type_continues(name: str, kind: str) -> None:
    """A driver that begins with the open windows gives the other windows of one batch."""
    family = FAMILIES[name]

    @usually(3)
    @given(st.data())
    def played(data: st.DataObject) -> None:
        rows = data.draw(st.lists(st.tuples(st.integers(0, 40), often(family.values)), min_size=1, max_size=16))
        rows.sort(key=lambda row: row[0])
        columns = {
            "k": pa.array([1] * len(rows), pa.int64()),
            "ts": pa.array([time for time, _ in rows], pa.int64()).cast(pa.timestamp("us")),
            "id": pa.array(range(len(rows)), pa.int64()),
            "x": pa.array([x for _, x in rows], family.type),
            "by": pa.array(range(len(rows)), pa.int64()),
            "flag": pa.array([number % 3 > 0 for number in range(len(rows))]),
        }
        whole, aggregates = pa.table(columns), {name: each.build(wr) for name, each in family.aggregates().items()}
        windows: Any = wr.SessionWindows.with_gap(5 * TICK, grace=timedelta(0))
        if kind == "sliding":
            windows = wr.SlidingWindows.with_time_difference(5 * TICK, grace=timedelta(0), resolution=TICK)

        def windowed(data: Any) -> Any:
            return wr.group_by(data, "k", time="ts").windowed_by(windows)

        to = data.draw(st.integers(0, 45))
        places = [number for number, (time, _) in enumerate(rows) if time < to]
        after = [number for number in range(len(rows)) if number not in places]
        run = windowed(picked(whole, places)).advance(None, to=instant(to, pa.timestamp("us")), **aggregates)
        driver = StreamDriver(lambda data: windowed(data).start_from(run.still_open).agg(**aggregates), whole.schema)
        driver.pipe_batch(picked(whole, after))
        driver.finish()
        got = pa.concat_tables([run.closed, driver.read_table().cast(run.closed.schema)])
        unordered = [each for each in aggregates if each.startswith("collect")]
        assert_same(rows_of(got, ["k"]), rows_of(windowed(whole).agg(**aggregates), ["k"]), unordered)

    played()


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


@pytest.mark.parametrize("kind", ["polars", "pandas", "reader", "parquet"])
def test_the_table_may_be_of_any_kind(kind: str, tmp_path: Any) -> None:
    opened: Any = opened_at(60, ("ann", 30), ("bob", 50))
    if kind == "polars":
        opened = pytest.importorskip("polars").from_arrow(opened).lazy()
    elif kind == "pandas":
        opened = opened.to_pandas()
    elif kind == "reader":
        opened = opened.to_reader()
    else:
        pq = pytest.importorskip("pyarrow.parquet")
        pq.write_table(opened, tmp_path / "open.parquet")
        opened = pq.read_table(tmp_path / "open.parquet")
    driver = begun_with(opened)
    assert [final.key["user"] for final in driver.tick(at(91))] == ["ann", "bob"]


def test_the_resolution_of_the_history_is_that_of_the_stream() -> None:
    """A driver floors times to a millisecond unless the windows say otherwise; the error names the difference."""
    windows = wr.SlidingWindows.with_time_difference("10 minutes", grace="1 minute")
    run = wr.group_by(pairs(("ann", 30)), "user", time="ts").windowed_by(windows).advance(None, to=at(60), n=wr.count())

    def sliding(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(windows).start_from(run.still_open).agg(n=wr.count())

    with pytest.raises(ValueError, match="another query.*resolution"):
        StreamDriver(sliding, SCHEMA)
    assert isinstance(at(0), datetime)
