"""What cannot begin with a history: another history over a state, damaged tables, other sources (rules 1.10)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow import state
from windrow.testing import StreamDriver

from ..harness.steps import LocalStream
from ..scenes import at
from .test_start_from import SCHEMA, begun_with, opened_at, pairs, sessions_of

pytestmark = pytest.mark.filterwarnings("ignore::windrow.LeftOut")


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
    states = whole["state"].to_pylist()
    flipped = [state if number else state[:-1] + bytes([state[-1] ^ 1]) for number, state in enumerate(states)]
    clock = whole.filter(whole["stream_time"].is_valid())
    other = sessions_of(pairs(("ann", 30))).advance(None, to=at(61), n=wr.count()).still_open
    longer = wr.SessionWindows.with_gap("31 minutes")
    foreign = wr.group_by(pairs(), "user", time="ts").windowed_by(longer).advance(None, to=at(60), n=wr.count())
    return {
        "was changed": whole.set_column(whole.column_names.index("state"), "state", pa.array(flipped, pa.binary())),
        "no clock row": whole.filter(whole["stream_time"].is_null()),
        "1 are missing": pa.concat_tables([whole.filter(whole["user"].is_valid())[:1], clock]),
        "it appears twice|1 are too many": pa.concat_tables([whole, whole.filter(whole["user"].is_valid())[:1]]),
        "2 clock rows": pa.concat_tables([whole, other]),
        "another query": foreign.still_open,
        "one that has 'state'": whole.drop_columns("state"),
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


@pytest.mark.parametrize(
    ("schema", "grouped", "reason"),
    [
        (OF_SOURCES, sourced, "open windows hold the records of all"),
        (
            OF_SOURCES,
            slowest,
            "the clock row of these open windows has one time, so it does not say how far each source has",
        ),
        (
            {"one": OF_SOURCES, "other": OF_SOURCES},
            lambda **inputs: wr.cogroup(**{name: sourced(data) for name, data in inputs.items()}),
            "open windows hold the records of all",
        ),
    ],
)
def test_sources_are_refused_by_their_names(schema: Any, grouped: Any, reason: str) -> None:
    history = wr.group_by(OF_SOURCES.empty_table(), "user", time="ts").windowed_by(WINDOWS)
    opened = history.advance(None, to=at(60), n=wr.count()).still_open
    says = rf"^source: got \('topic', 'part'\); allowed: None with start_from: {reason}"
    with pytest.raises(ValueError, match=says):
        StreamDriver(
            lambda *data, **inputs: grouped(*data, **inputs).windowed_by(WINDOWS).start_from(opened).count(), schema
        )


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
