"""Active time: rules 6.14."""

from __future__ import annotations

from dataclasses import replace

import windrow as wr

from .case import case
from .query import Query, ms, sessions

ACTIVE = Query(
    sessions(50),
    {
        "n": wr.count(),
        "runs": wr.active_runs(ms(5)),
        "cut": wr.active_time(ms(5)),
        "drop": wr.active_time(ms(5), breaks="drop"),
        "none": wr.active_time("0 seconds"),
        "ends": wr.active_time(ms(5)).where("end"),
    },
)
ENDS = replace(ACTIVE, windows=sessions(50, grace=50), lasts=True)

CASES = [
    case(
        "6.14",
        "a run ends where the next record comes more than the limit later, and a break counts as the limit or nothing",
        ACTIVE,
        """
        ann   0   5:end   11   11:end   30
              ├─────────────────────────┤ n=5 runs=3 cut=15 drop=5 none=0 ends=5
        bob   7
              ┤ n=1 runs=1 cut=0 drop=0 none=0 ends=0
        """,
    ),
    case(
        "6.14, 2.7",
        "the runs of sessions that rules end are their own",
        replace(ACTIVE, windows=sessions(50, max_records=3)),
        """
        ann   0   4   20   22   24
              ├───────┤ n=3 runs=2 cut=9 drop=4
                           ├────┤ n=2 runs=1 cut=2 drop=2
        """,
    ),
    case(
        "6.14",
        "a late record joins two runs",
        replace(ACTIVE, emit={}),
        """
        ann 0, ann 9    → upsert ann 0..9 n=2 runs=2 cut=5 drop=0
        ann 5           → upsert ann 0..9 n=3 runs=1 cut=9 drop=9
        """,
    ),
    case(
        "6.14, 2.1",
        "with ends, a record is active from its time to its end, also in the time of another",
        ENDS,
        """
        ann 40 until=41, ann 0 until=20, ann 5 until=6, ann 25 until=30     → nothing
        tick 142        → ann 0..41 n=4 runs=2 cut=36 drop=31 none=26
        """,
        in_batch=True,
    ),
    case(
        "6.14, 2.1",
        "a long record joins the runs that lie in it",
        replace(ENDS, emit={}),
        """
        ann 0 until=1, ann 20 until=21  → upsert ann 0..21 n=2 runs=2 cut=7 drop=2 none=2
        ann 1 until=30                  → delete ann 0..21, upsert ann 0..30 n=3 runs=1 cut=30 drop=30 none=30
        """,
    ),
]
