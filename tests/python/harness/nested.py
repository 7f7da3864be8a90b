"""Records with mutable values, and a driver of Python functions that change them."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

import windrow as wr
from windrow.testing import StreamDriver

from ..scenes import at_second

SESSIONS = wr.SessionWindows.with_gap("5 seconds", grace="1 minute")
SLIDING = wr.SlidingWindows.with_time_difference("5 seconds", grace="1 minute")
LIST = pa.list_(pa.int64())
WORDS = pa.map_(pa.string(), LIST)
SCHEMA = pa.schema(
    {
        "k": pa.string(),
        "ts": pa.timestamp("us"),
        "n": pa.int64(),
        "word": pa.string(),
        "x": pa.float32(),
        "l": LIST,
        "pair": pa.struct([("n", pa.int64()), ("seen", LIST)]),
        "map": WORDS,
    }
)


def driver(windows: Any, *, every: bool = True, **aggregates: Any) -> StreamDriver:
    def definition(data: Any) -> Any:
        windowed = wr.group_by(data, "k", time="ts").windowed_by(windows)
        return windowed.emit("update", every_record=every).agg(**aggregates)

    return StreamDriver(definition, SCHEMA)


def records(seed: int, rows: int = 30) -> list[dict[str, Any]]:
    """Records of two keys, often late within the grace, with nulls."""
    drawn = random.Random(seed)

    def record(row: int) -> dict[str, Any]:
        numbers = [drawn.randint(0, 9) for _ in range(drawn.randint(0, 3))]
        shown = {
            "n": drawn.randint(0, 99),
            "word": drawn.choice("abc"),
            "x": drawn.randint(1, 9) * 0.25,
            "l": numbers,
            "pair": {"n": row, "seen": numbers},
            "map": {drawn.choice("ab"): numbers},
        }
        held = {name: value for name, value in shown.items() if name in ("n", "word", "x") or drawn.random() < 0.8}
        return {"k": drawn.choice("uv"), "ts": at_second(row + drawn.randint(-9, 3)), **held}

    return [record(row) for row in range(rows)]
