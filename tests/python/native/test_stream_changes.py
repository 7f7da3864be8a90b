"""A streaming query that has changed: what its state cannot carry is named, old and new; the rest is taken over."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

from ..harness.steps import LocalStream
from ..scenes import MIDNIGHT

SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("page", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("amount", pa.int64()),
        ("part", pa.int32()),
        ("offset", pa.int64()),
        ("tick", pa.bool_()),
    ]
)
GAP = "5 minutes"
GRACE = "1 minute"


def sessions(gap: str = GAP, grace: str = GRACE, retention: str | None = None) -> wr.SessionWindows:
    return wr.SessionWindows.with_gap(gap, grace=grace, retention=retention)


def sliding(resolution: str = "1 millisecond") -> wr.SlidingWindows:
    return wr.SlidingWindows.with_time_difference(GAP, grace=GRACE, resolution=resolution)


def query(
    *keys: str, windows: Any = None, emit: Any = "close", late: Any = "drop", aggregates: Any = None, **options: Any
) -> Callable[[Any], Any]:
    """A query over the records of one input."""

    def define(data: Any) -> Any:
        windowed: Any = wr.group_by(data, *(keys or ("user",)), time="ts", **options).windowed_by(windows or sessions())
        return windowed.emit(emit).late(late).agg(**(aggregates or {"n": wr.count()}))

    return define


def record(user: str | None, minutes: float, **columns: Any) -> pa.Table:
    row = {"user": user, "page": "a", "ts": MIDNIGHT + timedelta(minutes=minutes), "amount": 1, "part": 0, "offset": 0}
    return pa.Table.from_pylist([{**row, **columns}], SCHEMA)


BY_PART = {"source": "part"}
REFUSED: dict[str, tuple[Any, Any, str]] = {
    "gap": (query(), query(windows=sessions("6 minutes")), "windows was .*300000000.* and is .*360000000"),
    "kind": (query(), query(windows=sliding()), "windows was .*session.* and is .*sliding"),
    "resolution": (
        query(windows=sliding()),
        query(windows=sliding("1 second")),
        "windows was .*1000.* and is .*1000000",
    ),
    "aggregates": (
        query(),
        query(aggregates={"n": wr.count(), "total": wr.sum("amount")}),
        "aggregates was .*count.* and is .*sum",
    ),
    "keys": (query(), query("user", "page"), "keys was .*user.* and is .*user.*page"),
    "emit": (query(), query(emit="update"), "emit was .*close.* and is .*update"),
    "retention": (query(), query(windows=sessions(retention="1 day")), "retention was .* and is .*86400000000"),
    "source": (query(), query(source="part"), r"source was \[\] and is \['part'\]"),
    "stream_time": (
        query(source="part"),
        query(source="part", stream_time="slowest"),
        "stream_time was 'source' and is 'slowest'",
    ),
}


@pytest.mark.parametrize(("before", "after", "named"), REFUSED.values(), ids=REFUSED)
def test_what_the_state_cannot_carry_is_named_old_and_new(before: Any, after: Any, named: str) -> None:
    stream = LocalStream(before, SCHEMA, shards=1)
    stream.push([record("ann", 0)])
    pages = dict(stream.states[0].pages)
    stream.define(after)
    with pytest.raises(ValueError, match=named):
        stream.push([record("ann", 1)])
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
    with pytest.raises(ValueError, match=f"shards was {was} and is {now}"):
        stream.push([record("ann", 1)])


TAKEN: dict[str, Any] = {
    "longer grace": query(windows=sessions(grace="1 hour")),
    "shorter grace": query(windows=sessions(grace="0 seconds")),
    "late": query(emit="close", late="emit"),
    "order": query(order="offset"),
    "tick": query(tick="tick"),
}


@pytest.mark.parametrize("after", TAKEN.values(), ids=TAKEN)
def test_what_the_state_does_not_carry_may_change(after: Any) -> None:
    stream = LocalStream(query(), SCHEMA, shards=1)
    assert stream.push([record("ann", 0)]) == []
    stream.define(after)
    assert stream.push([record("ann", 4)]) == []
    (row,) = stream.push([record("bob", 100)])
    assert (row["user"], row["n"], row["window"]["end"]) == ("ann", 2, MIDNIGHT + timedelta(minutes=4))
