"""Daily jobs, and streams that begin with the windows that these left open: rules 1.9 to 1.11."""

from __future__ import annotations

from dataclasses import replace

import windrow as wr

from .case import case
from .query import Query, ms, sessions, sliding

DAILY_GRACE = Query(sessions(5, grace=10))
DAILY = Query(wr.SessionWindows.with_gap(ms(5)))
DAILY_SLIDING = Query(sliding(5, grace=0))
LONGER = replace(DAILY_GRACE, windows=sessions(10, grace=10))
TOTALLED = replace(DAILY_GRACE, aggregates={"n": wr.count(), "total": wr.sum("v")})
LATE_ROWS = Query(wr.SessionWindows.with_gap(ms(5)), late=True)
UPDATES = replace(DAILY_GRACE, emit={})
EVERY_5 = replace(DAILY_GRACE, emit={"every": ms(5)})
NO_GRACE = Query(sessions(5, grace=0))
LONGER_WITHOUT_GRACE = Query(sessions(10, grace=0))
OF_EACH = {"n": wr.count(), "clicks": wr.count("clicks.*")}
INPUTS = Query(sessions(5, grace=0), OF_EACH, inputs=("clicks", "orders"))

CASES = [
    case(
        "1.9",
        "a run ends with stream time at exactly its end",
        DAILY,
        """
        ann 0, ann 3, to 8          → nothing           # 8 is not past 3 + 5
        bob 9, to 9                 → ann 0..3 n=2
        bob 12, to 17               → nothing
        to 18                       → bob 9..12 n=2
        """,
    ),
    case(
        "1.9",
        "records move no time, also those after the end of a run",
        DAILY,
        """
        ann 0, bob 100, to 5        → nothing
        to 6                        → ann 0..0 n=1
        to 106                      → bob 100..100 n=1
        """,
    ),
    case(
        "1.9",
        "a record before the end of the run before it may be late",
        DAILY,
        """
        ann 0, bob 19, to 20        → ann 0..0 n=1      # C = 15
        ann 14, bob 14, to 21       → nothing           # bob's joins the one at 19
        to 40                       → bob 14..19 n=2
        """,
    ),
    case(
        "1.9",
        "sliding windows are cut into runs too",
        DAILY_SLIDING,
        """
        ann 10, to 11               → ann 5..10 n=1
        ann 12, to 20               → ann 7..12 n=2, ann 11..16 n=1
        """,
    ),
    case(
        "1.10",
        "a stream begins with the windows that a history left open",
        DAILY_GRACE,
        """
        ann 0, to 3                 → nothing
        stream
        ann 5                       → nothing
        tick 20                     → nothing           # 20 is not past 5 + 5 + 10
        tick 21                     → ann 0..5 n=2
        counters records=1
        """,
    ),
    case(
        "1.10",
        "the stream time of the history judges the first records",
        DAILY_GRACE,
        """
        ann 0, to 50                → ann 0..0 n=1      # C = 35
        stream
        ann 34                      → nothing           # late
        ann 35                      → nothing
        tick 51                     → ann 35..35 n=1
        counters late=1
        """,
    ),
    case(
        "1.11",
        "open sessions that touch under a longer gap become one",
        DAILY_GRACE,
        """
        ann 0, ann 8, to 9          → nothing
        stream
        tick 28                     → nothing           # the new gap gives the reach: 8 + 10 + 10
        tick 29                     → ann 0..8 n=2
        """,
        then=LONGER,
    ),
    case(
        "1.11",
        "an aggregate that the first query does not have is null in its windows",
        DAILY_GRACE,
        """
        ann 0 v=1, to 3             → nothing
        stream
        ann 5 v=2, bob 5 v=3        → nothing
        tick 30                     → ann 0..5 n=2 total=null, bob 5..5 n=1 total=3
        """,
        then=TOTALLED,
    ),
    case(
        "1.9",
        "a run up to the same time moves no time",
        DAILY,
        """
        ann 0, to 5         → nothing
        ann 3, to 5         → nothing
        to 9                → ann 0..3 n=2
        """,
    ),
    case(
        "1.9, 6.3",
        "a late record of a run may be a row",
        LATE_ROWS,
        """
        ann 0, to 20        → ann 0..0 n=1              # C = 15
        ann 1, to 30        → late ann 1..1 n=1
        to 40               → nothing
        """,
    ),
    case(
        "1.10",
        "a history without records is a time",
        DAILY_GRACE,
        """
        to 50               → nothing                   # C = 35
        stream
        ann 34              → nothing                   # late
        counters late=1 records=1 stream_time=50
        """,
    ),
    case(
        "1.10",
        "records of the history at or after its end move no time",
        DAILY_GRACE,
        """
        ann 0, bob 500, to 10   → nothing
        stream
        bob 15              → nothing                   # 15 is not past 0 + 5 + 10
        tick 16             → ann 0..0 n=1
        counters late=0 records=1
        """,
    ),
    case(
        "1.10, 6.2",
        "updates replace windows of the history",
        DAILY_GRACE,
        """
        ann 0, to 3         → nothing
        stream
        ann 5               → delete ann 0..0, upsert ann 0..5 n=2
        """,
        then=UPDATES,
    ),
    case(
        "1.11, 6.12",
        "with a pace in the second query only, all windows count as given by earlier rows",
        DAILY_GRACE,
        """
        ann 0, to 1         → nothing
        stream
        ann 2               → delete ann 0..0, upsert ann 0..2 n=2
        ann 3               → nothing
        ann 7               → delete ann 0..2, upsert ann 0..7 n=4
        """,
        then=EVERY_5,
    ),
    case(
        "1.11",
        "a record that is late is late under a longer gap too",
        NO_GRACE,
        """
        ann 0, to 10        → ann 0..0 n=1              # C = 5
        stream
        ann 4, bob 5        → nothing                   # 4 is late, though 0 + 10 is not past
        tick 16             → bob 5..5 n=1
        counters late=1
        """,
        then=LONGER_WITHOUT_GRACE,
    ),
    case(
        "1.9, 1.10, 5.1",
        "runs of a cogroup, and a stream that goes on with what they left open",
        INPUTS,
        """
        clicks:ann 0, clicks:ann 50, orders:ann 55, to 60   → ann 0..0 n=1 clicks=1
        clicks:bob 62, orders:ann 60, to 65                 → nothing
        stream
        orders:bob 66                           → nothing
        clicks:tick 70, orders:tick 70          → ann 50..60 n=3 clicks=1
        clicks:tick 72, orders:tick 72          → bob 62..66 n=2 clicks=1
        counters late=0
        """,
    ),
]
