"""Sliding windows of records on a stream, and `over`: each value is the batch's over the records that it accepted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

from ..harness.examples import usually
from ..harness.row_steps import LocalRows
from ..oracle.frames import Frame
from ..oracle.stream_rows import RowStream, StreamRecord
from .test_over import frames, over
from .test_stream_rows import (
    EMPTY,
    NUMBERS,
    SCHEMA,
    check_positions,
    check_row,
    clicks,
    plain,
    splits,
    streams,
    table_of,
)

TICK = timedelta(microseconds=1)


def aggregates_over(chosen: list[Frame | None]) -> dict[str, wr.Aggregate]:
    """Counts, sums, extremes, distinct values and lists over each frame; equal ones share their states."""
    found: dict[str, wr.Aggregate] = dict(NUMBERS)
    for place, frame in enumerate(chosen):
        made = {"n": wr.count(), "total": wr.sum("id"), "most": wr.max("id"), "ids": wr.collect_list("id")}
        made |= {"kinds": wr.count_distinct("part"), "even": wr.count().where("even")}
        found |= {f"{name}_{place}": over(aggregate, frame) for name, aggregate in made.items()}
    return found


def expected(members: list[int], parts: dict[int, int], place: int) -> dict[str, Any]:
    values = {
        "n": len(members),
        "total": sum(members) if members else None,
        "most": max(members, default=None),
        "ids": members,
        "kinds": len({parts[member] for member in members}),
        "even": sum(member % 2 == 0 for member in members),
    }
    return {f"{name}_{place}": value for name, value in values.items()}


def evens(table: pa.Table) -> pa.Table:
    return table.append_column("even", pa.array([number % 2 == 0 for number in table["id"].to_pylist()], pa.bool_()))


@usually(80)
@given(
    streams(),
    st.tuples(st.integers(1, 8), st.integers(1, 3), st.integers(0, 6)),
    st.sampled_from([None, "place"]),
    st.sampled_from([(), ("part",)]),
    st.tuples(st.lists(st.integers(1, 14), max_size=2), st.integers(1, 3)),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
    st.data(),
    st.integers(0, 4),
)
def test_each_value_is_that_of_a_batch_over_the_accepted_records(
    batches: list[list[StreamRecord]],
    lengths: tuple[int, int, int],
    order: str | None,
    source: tuple[str, ...],
    cuts_and_shards: tuple[list[int], int],
    moves: list[int],
    data: st.DataObject,
    restart: int,
) -> None:
    steps, resolution, grace = lengths
    (cuts, shards), difference = cuts_and_shards, steps * resolution
    windows = wr.SlidingWindows.with_time_difference(
        difference * TICK, grace=grace * resolution * TICK, resolution=resolution * TICK
    )

    def windowed(data: Any) -> Any:
        grouped = wr.group_by(data, "k", time="ts", order=order, source=source, tick="tick")
        return grouped.windowed_by(windows)

    chosen = data.draw(st.lists(frames(difference, resolution), min_size=1, max_size=3))
    schema = evens(SCHEMA.empty_table()).schema
    stream = LocalRows(windowed, schema, shards=shards, seed=len(batches), aggregates=aggregates_over(chosen))
    oracle = RowStream(difference, grace * resolution, resolution, order is not None)
    parts, ids = dict[int, int](), dict[Any, int]()
    for number, (batch, move) in enumerate(zip(batches, moves, strict=False)):
        if number == restart:  # other frames of the same aggregates
            chosen = data.draw(st.lists(frames(difference, resolution), min_size=1, max_size=3))
            stream.aggregates = aggregates_over(chosen)
            stream.define(windowed)
        oracle.frames = [frame or Frame(difference) for frame in chosen]
        if not source:
            batch = [record._replace(source=0) for record in batch]
        parts |= {record.number: record.source for record in batch}
        ticks = tuple(latest + move for latest in list(oracle.latest.values())[:1] if move)
        table = evens(table_of(batch, {}, ticks))
        # Of an order, all records of a source are in one split.
        cut = splits(table, cuts) if order is None else [table]
        rows = stream.push([part for part in cut if len(part)])
        known = oracle.push(batch, ticks)
        assert sorted((plain(row) for row in rows), key=lambda row: row["id"]) == table_of(batch, {}).to_pylist()
        for row in rows:
            check_row(row, known.get(row["id"]), ids)
            results = {name: row[name] for name in stream.aggregates if name not in NUMBERS}
            if row["id"] not in known:
                assert results == dict.fromkeys(results)
                continue
            results = {name: sorted(value) if name.startswith("ids") else value for name, value in results.items()}
            wanted = dict[str, Any]()
            for place, members in enumerate(oracle.framed[row["id"]]):
                wanted |= expected(members, parts, place)
            assert results == wanted
        if order is not None:
            assert all(row["position"] == row["n"] for row in rows)
        elif not source:
            check_positions(rows)
    assert stream.counters["late"] == oracle.late
    assert stream.counters["null_keys"] == sum(record.key is None for batch in batches for record in batch)


SLIDING = wr.SlidingWindows.with_time_difference("10 minutes", grace="10 minutes")


def stream_of(aggregates: Any, windows: Any = SLIDING) -> LocalRows:
    return LocalRows(
        lambda data: wr.group_by(data, "user", time="ts").windowed_by(windows), EMPTY.schema, aggregates=aggregates
    )


def test_the_states_of_an_aggregate_are_stored_once_for_all_frames() -> None:
    lengths = ["1 minute", "2 minutes", "5 minutes", "10 minutes"]
    many = {f"{kind}_{n}": made.over(n) for n in lengths for kind, made in (("a", wr.count()), ("b", wr.max("url")))}
    one, all_of_them = stream_of({"a": wr.count(), "b": wr.max("url")}), stream_of(many)
    grown = []
    for stream in (one, all_of_them):
        sizes = []
        for users in (1, 2_000):  # the text of the query differs, the columns of the states do not
            stream.push([clicks(*((f"user {user}", 0, f"/{user}") for user in range(users)))])
            sizes.append(sum(len(page) for state in stream.states.values() for page in state.pages.values()))
        grown.append(sizes[1] - sizes[0])
    assert grown[0] > 20_000
    assert abs(grown[1] - grown[0]) < 200


def test_a_restart_with_another_aggregate_or_other_windows_is_refused() -> None:
    stream = stream_of({"n": wr.count().over("1 minute")})
    stream.push([clicks(("ann", 0, "/"))])
    other = stream_of({"n": wr.count().over("1 minute"), "most": wr.max("url").over("1 minute")})
    other.states = stream.states
    with pytest.raises(ValueError, match="the aggregate most=max\\('url'\\) is new"):
        other.push([clicks(("ann", 1, "/"))])
    longer = stream_of({"n": wr.count().over("1 minute")}, wr.SlidingWindows.with_time_difference("1 hour", grace="0s"))
    longer.states = stream.states
    with pytest.raises(ValueError, match="difference was 10 minutes, is 1 hour"):
        longer.push([clicks(("ann", 1, "/"))])
