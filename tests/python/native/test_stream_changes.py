"""A streaming query that has changed: what its state cannot carry is named, old and new; the rest is taken over."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

from ..harness.steps import LocalStream
from ..scenes import utc

SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("page", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("amount", pa.int64()),
        ("part", pa.int32()),
        ("offset", pa.int64()),
        ("tick", pa.bool_()),
        ("pause", pa.duration("us")),
        ("break", pa.duration("us")),
    ]
)
GAP = "5 minutes"
GRACE = "1 minute"


def sessions(gap: str = GAP, grace: str = GRACE, retention: str | None = None) -> wr.SessionWindows:
    return wr.SessionWindows.with_gap(gap, grace=grace, retention=retention)


def sliding(resolution: str = "1 millisecond") -> wr.SlidingWindows:
    return wr.SlidingWindows.with_time_difference(GAP, grace=GRACE, resolution=resolution)


def query(
    *keys: str,
    windows: Any = None,
    emit: Any = "close",
    late: Any = "drop",
    left_out: list[str] | None = None,
    aggregates: Any = None,
    every_record: bool = False,
    every: Any = None,
    overflow: Any = "error",
    **options: Any,
) -> Callable[[Any], Any]:
    """A query over the records of one input."""

    def define(data: Any) -> Any:
        windowed: Any = wr.group_by(data, *(keys or ("user",)), time="ts", **options).windowed_by(windows or sessions())
        windowed = windowed.emit(emit, every_record=every_record, every=every).late(late).overflow(overflow)
        windowed = windowed.left_out("emit", columns=left_out) if left_out else windowed
        return windowed.agg(**(aggregates or {"n": wr.count()}))

    return define


def own_gaps(column: str = "pause", **options: Any) -> Any:
    return query(windows=wr.SessionWindows.with_dynamic_gap(column, grace=GRACE, **options))


PAUSE = timedelta(minutes=5)


def record(user: str | None, minutes: float, **columns: Any) -> pa.Table:
    row = {"user": user, "page": "a", "ts": utc(minutes), "amount": 1, "part": 0, "offset": 0}
    return pa.Table.from_pylist([{**row, "pause": PAUSE, "break": PAUSE, **columns}], SCHEMA)


BY_PART = {"source": "part"}
REFUSED: dict[str, tuple[Any, Any, str]] = {  # of what a table of open windows refuses too: test_changed_queries.py
    "gap": (query(), query(windows=sessions("6 minutes")), "gap was 5 minutes, is 6 minutes"),
    "own gaps": (query(), own_gaps(), "gap was 5 minutes, is the column 'pause'"),
    "one gap": (own_gaps(), query(), "gap was the column 'pause', is 5 minutes"),
    "unit": (query(windows=sliding()), query(windows=sliding("1 second")), "resolution was 1 millisecond, is 1 second"),
    "an aggregate": (query(), query(aggregates={"n": wr.count(), "m": wr.count()}), "the aggregate m=count() is new"),
    "an option": (
        query(aggregates={"n": wr.percentile("amount", 0.5)}),
        query(aggregates={"n": wr.percentile("amount", 0.9)}),
        "the aggregate \"n\" was percentile('amount', percentage=0.5), is percentile('amount', percentage=0.9)",
    ),
    "emit": (query(), query(emit="update"), "emit was 'close', is 'update'"),
    "a pace": (query(emit="update"), query(emit="update", every="1 minute"), "every was none, is 1 minute"),
    "no pace": (query(emit="update", every="1 minute"), query(emit="update"), "every was 1 minute, is none"),
    "retention": (query(), query(windows=sessions(retention="1 day")), "retention was none, is 1 day"),
    "source": (query(), query(source="part"), "source was none, is 'part'"),
    "time": (query(**BY_PART), query(**BY_PART, stream_time="slowest"), "stream_time was 'source', is 'slowest'"),
    "all": (
        query(),
        query("page", windows=sliding(), emit="update", aggregates={f"a{n}": wr.count() for n in range(500)}),
        "windows were sessions, are sliding windows; keys were 'user', are 'page'; "
        "the aggregate a1=count() is new; and 499 more",
    ),
}


@pytest.mark.parametrize(("before", "after", "named"), REFUSED.values(), ids=REFUSED)
def test_what_the_state_cannot_carry_is_named_old_and_new(before: Any, after: Any, named: str) -> None:
    stream = LocalStream(before, SCHEMA, shards=1)
    stream.push([record("ann", 0)])
    pages = dict(stream.states[0].pages)
    stream.define(after)
    with pytest.raises(ValueError, match="belongs to another query") as raised:
        stream.push([record("ann", 1)])
    advice = "start from a new checkpointLocation, or run the query as it was"
    assert str(raised.value).splitlines() == ["state: it belongs to another query", named, advice]
    assert stream.states[0].pages == pages
    stream.define(before)  # as it was: the state is unharmed
    stream.push([record("ann", 0.5)])
    assert (stream.counters["records"], stream.counters["late"]) == (2, 0)


@pytest.mark.parametrize(("was", "now"), [(4, 3), (4, 5)])
def test_another_number_of_shards_is_named(was: int, now: int) -> None:
    stream = LocalStream(query(), SCHEMA, shards=was)
    stream.push([record("ann", 0)])
    stream.shards = now
    stream.define(query())
    with pytest.raises(ValueError, match=f"\nshards were {was}, are {now}\n"):
        stream.push([record("ann", 1)])


TAKEN: dict[str, Any] = {
    "longer grace": query(windows=sessions(grace="1 hour")),
    "shorter grace": query(windows=sessions(grace="0 seconds")),
    "late": query(emit="close", late="emit"),
    "left out": query(left_out=["amount"]),
    "order": query(order="offset"),
    "tick": query(tick="tick"),
    "overflow": query(overflow="null"),
    "the name of a result": query(aggregates={"m": wr.count()}),
}
OF_GAPS: dict[str, Any] = {
    "what becomes of bad gaps": own_gaps(invalid_gap="error"),
    "the longest gap": own_gaps(max_gap="10 minutes"),
    "the column of gaps": own_gaps("break"),
}
CHANGES = [*((query(), after) for after in TAKEN.values()), *((own_gaps(), after) for after in OF_GAPS.values())]


@pytest.mark.parametrize(("before", "after"), CHANGES, ids=[*TAKEN, *OF_GAPS])
def test_what_the_state_does_not_carry_may_change(before: Any, after: Any) -> None:
    stream = LocalStream(before, SCHEMA, shards=1)
    assert stream.push([record("ann", 0)]) == []
    stream.define(after)
    assert stream.push([record("ann", 4)]) == []
    (row,) = stream.push([record("bob", 100)])
    assert (row["user"], row.get("n", row.get("m")), row["window"]["end"]) == ("ann", 2, utc(4))


def test_a_smaller_grace_closes_windows_of_a_source_without_new_rows() -> None:
    stream = LocalStream(query(windows=sessions(grace="1 hour"), source="part"), SCHEMA, shards=1)
    assert stream.push([pa.concat_tables([record("ann", 0), record("bob", 10), record("ann", 0, part=1)])]) == []
    stream.define(query(windows=sessions(grace="0 seconds"), source="part"))
    assert [(row["user"], row["n"]) for row in stream.push([record("ann", 0, part=1)])] == [("ann", 1)]


def test_each_record_may_give_a_row_after_a_restart() -> None:
    stream = LocalStream(query(emit="update", order="offset"), SCHEMA, shards=1)
    stream.push([record("ann", 0)])
    stream.define(query(emit="update", order="offset", every_record=True))
    rows = stream.push([pa.concat_tables([record("ann", 1, offset=1), record("ann", 2, offset=2)])])
    assert [(row["op"], row["n"]) for row in rows if row["op"] == "upsert"] == [("upsert", 2), ("upsert", 3)]


def test_the_time_column_may_have_another_name() -> None:
    aggregates = {"n": wr.count(), "top": wr.max("amount")}
    stream = LocalStream(query(aggregates=aggregates), SCHEMA, shards=1)
    stream.push([record("ann", 0)])
    stream.schema = pa.schema([field.with_name("at" if field.name == "ts" else field.name) for field in SCHEMA])
    stream.define(lambda data: wr.group_by(data, "user", time="at").windowed_by(sessions()).agg(**aggregates))
    rows = stream.push([pa.table(record(*each).columns, schema=stream.schema) for each in (("ann", 4), ("bob", 100))])
    assert [(row["user"], row["n"]) for row in rows] == [("ann", 2)]


def test_a_bad_gap_that_stopped_a_stream_is_dropped_after_a_restart() -> None:
    stream = LocalStream(own_gaps(invalid_gap="error"), SCHEMA, shards=1)
    stream.push([record("ann", 0)])
    bad = [record("ann", 1, pause=None), record("ann", 2), record("bob", 100)]
    with pytest.raises(ValueError, match="the gap of key ann at .* is null, zero or negative"):
        stream.push(bad)
    stream.define(own_gaps(invalid_gap="drop"))
    rows = stream.push(bad)
    assert ([(row["user"], row["n"]) for row in rows], stream.counters["bad_gaps"]) == ([("ann", 2)], 1)
