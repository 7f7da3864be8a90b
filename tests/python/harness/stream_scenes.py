"""Records of streams in Spark: their columns, tables of a few, random ones, and the rows of results in short."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, timedelta
from typing import Any

import pyarrow as pa

import windrow as wr

from ..scenes import MIDNIGHT, utc

SCHEMA = pa.schema(
    [
        ("user", pa.string()),
        ("ts", pa.timestamp("us", "UTC")),
        ("amount", pa.int64()),
        ("pause", pa.duration("us")),
        ("part", pa.int32()),
        ("offset", pa.int64()),
        ("tick", pa.bool_()),
    ]
)
DDL = "user string, ts timestamp, amount bigint, pause interval day to second, part int, offset bigint, tick boolean"
GAP = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
KINDS: dict[str, Any] = {
    "sessions": wr.SessionWindows.with_gap("3 minutes", grace="5 minutes"),
    "dynamic gaps": wr.SessionWindows.with_dynamic_gap("pause", grace="5 minutes"),
    "sliding": wr.SlidingWindows.with_time_difference("3 minutes", grace="5 minutes", resolution="1 millisecond"),
}
USERS = ("ann", "bob", "cem", "")


def batch(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Rows as a micro-batch."""
    return pa.Table.from_pylist(list(rows), SCHEMA)


def table(*rows: tuple[Any, ...]) -> pa.Table:
    """Rows of (user, minutes, amount); the amount may be missing."""
    return batch([{"user": user, "ts": utc(at), "amount": amount[0] if amount else 1} for user, at, *amount in rows])


def tick(minutes: float) -> pa.Table:
    return batch([{"ts": utc(minutes), "tick": True}])


def windowed(data: Any, windows: Any = GAP, **options: Any) -> Any:
    """The windows of each user, in four shards."""
    return wr.group_by(data, "user", time="ts", **options).windowed_by(windows).shards(4)


def records(seed: int, count: int = 60, users: Sequence[str | None] = USERS) -> list[dict[str, Any]]:
    """Two records a minute, up to four minutes out of order."""
    draw = random.Random(seed)
    return [
        {
            "user": draw.choice(users),
            "ts": MIDNIGHT + timedelta(milliseconds=draw.randint(number * 30_000, number * 30_000 + 240_000)),
            "amount": draw.randint(1, 99),
            "part": draw.randrange(2),
            "pause": timedelta(minutes=draw.choice([1, 2, 3, 7])),
            "offset": number,
        }
        for number in range(count)
    ]


def closing(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A record of another user that closes the windows of these."""
    return {**rows[-1], "user": "end", "ts": max(row["ts"] for row in rows) + timedelta(hours=2), "offset": 10**6}


def short(rows: Sequence[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Rows as (user, first minute, last minute, count, op)."""
    found = []
    for row in rows:
        bounds = [(bound.replace(tzinfo=UTC) - MIDNIGHT) / timedelta(minutes=1) for bound in row["window"].values()]
        found.append((row["user"], *bounds, row["n"], *([row["op"]] if "op" in row else [])))
    return sorted(found, key=repr)
