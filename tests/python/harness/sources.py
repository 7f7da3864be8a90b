"""Streams of several sources, and drivers of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import windrow as wr
from windrow.testing import StreamDriver

from ..scenes import at

SCHEMA = pa.schema(
    {
        "user": pa.string(),
        "ts": pa.timestamp("us"),
        "amount": pa.int64(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "beat": pa.bool_(),
    }
)
SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
SLIDING = wr.SlidingWindows.with_time_difference("5 minutes", grace="1 minute")


def of(windows: Any = SESSIONS, every: bool | None = None, **stream: Any) -> Callable[[Any], Any]:
    """Finals, or updates for `every` record or for each batch."""

    def definition(data: Any) -> Any:
        windowed = wr.group_by(data, "user", time="ts", tick="beat", **stream).windowed_by(windows)
        windowed = windowed if every is None else windowed.emit("update", every_record=every)
        return windowed.agg(n=wr.count(), spent=wr.sum("amount"))

    return definition


def driven(windows: Any = SESSIONS, every: bool | None = None, **stream: Any) -> StreamDriver:
    return StreamDriver(of(windows, every, **({"source": "partition"} | stream)), SCHEMA)


def table(*rows: tuple[Any, ...]) -> pa.Table:
    """User, minute and partition of each row. A row without a user is a tick."""
    return pa.Table.from_pylist(
        [
            {"user": user, "ts": at(minute), "amount": minute, "partition": partition, "beat": user is None}
            for user, minute, partition in rows
        ],
        SCHEMA,
    )


ROWS = table(
    ("ann", 0, 0), ("ann", 0, 1), ("bob", 20, 1), ("bob", 9, 0), (None, 30, None), ("cid", 40, 2), ("ann", 41, 0)
)


def feeds() -> st.SearchStrategy[list[tuple[Any, int, Any]]]:
    """Rows of a few sources with rising times and some jumps back. Some are ticks, also for all sources."""
    users, sources = st.sampled_from([None, "a", "b", "ab", "a"]), st.sampled_from([None, 0, 1, 2])
    row = st.tuples(users, st.integers(0, 12), sources)
    return st.lists(row, max_size=30).map(
        lambda rows: [(user, minute + 2 * place, source) for place, (user, minute, source) in enumerate(rows)]
    )


CLICKS = pa.schema({"k": pa.string(), "ts": pa.timestamp("us"), "part": pa.int32(), "beat": pa.bool_()})
ORDERS = pa.schema({"k": pa.string(), "at": pa.timestamp("us"), "partition": pa.int32(), "tick": pa.bool_()})


def cogrouped(stream_time: Any = "source", orders: pa.Schema = ORDERS) -> StreamDriver:
    def definition(clicks: Any, orders: Any) -> Any:
        inputs = {
            "clicks": wr.group_by(clicks, "k", time="ts", tick="beat", source="part", stream_time=stream_time),
            "orders": wr.group_by(orders, "k", time="at", tick="tick", source="partition", stream_time=stream_time),
        }
        return wr.cogroup(**inputs).windowed_by(SESSIONS).agg(clicks=wr.count("clicks.*"), n=wr.count())

    return StreamDriver(definition, {"clicks": CLICKS, "orders": orders})
