"""Defaults that must not move: rules 8."""

from __future__ import annotations

import windrow as wr

from .case import BATCHES, case, reasons
from .query import Query, ms

ONE_DAY = Query(wr.SessionWindows.with_gap("1 day", grace="100 days"))
NO_UNIT = Query(wr.SlidingWindows.with_time_difference(ms(5), grace=ms(100)))

CASES = [
    case(
        "8",
        "one day is 24 hours",
        ONE_DAY,
        """
        ann   0    1d   172800000   259200001
              ├─────────┤           ┤
        """,
    ),
    case(
        "8, 4.1",
        "the unit of a driver is a millisecond",
        NO_UNIT,
        """
        time   5    10   11   16
        ann   10.9   16.2
               ├─1──┤    ├─1──┤
        """,
        cannot=reasons((*BATCHES, "stream", "spark_stream"), "elsewhere the unit is that of the time column"),
    ),
]
