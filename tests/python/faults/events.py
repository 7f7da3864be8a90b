"""Seeded events of two sources, one behind the other: out of order, some of them late, with ticks; cut into files."""

from __future__ import annotations

import random
from datetime import timedelta

import pyarrow as pa

from ..harness.stream_scenes import batch
from ..scenes import utc

USERS = ["ann", "bob", "cem", "dag", "eva", "", None]
BEHIND = 3
"""How many minutes the second source is behind the first one."""


def events(seed: int, files: int, rows: int) -> list[pa.Table]:
    """This many files of about this many rows; the last one ticks far ahead."""
    draw = random.Random(seed)
    offsets, found = [0, 0], []
    for number in range(files * rows):
        part = draw.choice([0, 1])
        now = number / 2 - BEHIND * part
        is_tick = draw.random() < 0.05
        late = draw.choice([0, 1, 3]) if draw.random() < 0.85 else draw.uniform(3, 40)
        found.append(
            {
                "user": None if is_tick else draw.choice(USERS),
                "ts": utc(now + draw.uniform(0, 2) if is_tick else now - draw.uniform(0, late)),
                "amount": draw.randint(1, 99),
                "pause": timedelta(minutes=draw.choice([1, 2, 3, 7])),
                "part": part,
                "offset": offsets[part],
                "tick": is_tick,
            }
        )
        offsets[part] += 1
    inner = sorted(draw.sample(range(1, len(found)), files - 1))
    pieces = [found[first:last] for first, last in zip([0, *inner], [*inner, len(found)], strict=True)]
    end = utc(files * rows)
    pieces.append([{"ts": end, "tick": True, "part": part, "offset": offsets[part]} for part in (0, 1)])
    return list(map(batch, pieces))
