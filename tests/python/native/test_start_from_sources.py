"""A stream whose sources have a time of their own begins with the open windows of a stream that knows these times."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow import state
from windrow.testing import StreamDriver

from ..harness.steps import LocalStream
from ..scenes import at

SCHEMA = pa.schema({"user": pa.string(), "ts": pa.timestamp("us"), "topic": pa.string(), "part": pa.int32()})
WINDOWS = wr.SessionWindows.with_gap("30 minutes", grace="10 minutes")


def sourced(data: Any, **options: Any) -> Any:
    return wr.group_by(data, "user", time="ts", source=["topic", "part"], **options)


def slowest(data: Any) -> Any:
    return sourced(data, stream_time="slowest")


@pytest.mark.parametrize(
    ("schema", "grouped", "reason"),
    [
        (SCHEMA, sourced, "open windows hold the records of all"),
        (
            SCHEMA,
            slowest,
            "the clock row of these open windows has one time, so it does not say how far each source has",
        ),
        (
            {"one": SCHEMA, "other": SCHEMA},
            lambda **inputs: wr.cogroup(**{name: sourced(data) for name, data in inputs.items()}),
            "open windows hold the records of all",
        ),
    ],
)
def test_sources_are_refused_by_their_names(schema: Any, grouped: Any, reason: str) -> None:
    history = wr.group_by(SCHEMA.empty_table(), "user", time="ts").windowed_by(WINDOWS)
    opened = history.advance(None, to=at(60), n=wr.count()).still_open
    says = rf"^source: got \('topic', 'part'\); allowed: None with start_from: {reason}"
    with pytest.raises(ValueError, match=says):
        StreamDriver(
            lambda *data, **inputs: grouped(*data, **inputs).windowed_by(WINDOWS).start_from(opened).count(), schema
        )


def rows(*records: tuple[Any, ...]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, record, strict=True)) for record in records], SCHEMA)


def begun(opened: pa.Table, grouped: Any = slowest) -> StreamDriver:
    return StreamDriver(lambda data: grouped(data).windowed_by(WINDOWS).start_from(opened).count(), SCHEMA)


def opened_by(grouped: Any) -> pa.Table:
    """The open windows after a record of each of two sources."""
    stream = LocalStream(lambda data: grouped(data).windowed_by(WINDOWS).count(), SCHEMA, shards=2)
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
