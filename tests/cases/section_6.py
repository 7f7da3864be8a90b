"""Output: rules 6. Those of updates at a pace are in `section_6_pace`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import windrow as wr

from .case import STREAMS, case, reasons
from .query import Query, gaps, ms, sessions, sliding

COUNTED_BATCH = Query(sessions(5), emit={})
UPDATES = Query(sessions(5, grace=1), emit={})
OPEN_UPDATES = Query(sessions(5, grace=100), emit={})
LATE_ROWS = Query(sessions(5, grace=1), late=True)
LATE_SLIDING = Query(sliding(5, grace=2), late=True)
SUMS = Query(sessions(5), {"n": wr.count(), "known": wr.count("v"), "total": wr.sum("v"), "mean": wr.mean("v")})
FLOATS = Query(sessions(5), {"n": wr.count(), "total": wr.sum("x")})
TIED = Query(
    sessions(5),
    {"n": wr.count(), "first": wr.first("v"), "last": wr.last("v"), "all": wr.collect_list("v")},
    {"tie": "tie"},
)
OR_NULL = Query(sessions(5, grace=1), {"n": wr.count(), "total": wr.sum("v")}, overflow="null")
TICKS = Query(sessions(5))
LEFT_OUT = Query(sessions(5, grace=1), left_out=True)
LEFT_OUT_SLIDING = Query(sliding(5, grace=2), left_out=True)
LEFT_OUT_LATE = Query(sessions(5, grace=1), left_out=True, late=True)
LEFT_OUT_GAPS = Query(gaps(grace=1), left_out=True)
LEFT_OUT_TIES = Query(sessions(5, grace=1, max_records=9), group={"tie": "tie"}, left_out=True)
LEFT_OUT_AHEAD = Query(sessions(5, grace=1), left_out=True, max_ahead=10)
STEPS = ["a", "b", "c"]
FUNNEL = Query(
    sessions(50),
    {
        "n": wr.count(),
        "steps": wr.funnel(STEPS, column="word", within=ms(10)),
        "strict": wr.funnel(STEPS, column="word", within=ms(10), strict=True),
    },
    {"tie": "tie"},
)
NUMBERED = Query(sessions(5), {"place": wr.position(), "nr": wr.session_number()}, {"tie": "tie"}, returns_records=True)


def smaller(held: Any, value: Any) -> Any:
    """The smaller value; nothing once a negative one has come."""
    return None if held is None or value < 0 else min(held, value)


def least(held: Any, row: Any) -> Any:
    return smaller(held, row.v)


def both(one: Any, other: Any) -> Any:
    return None if one is None or other is None else min(one, other)


def nine() -> int:
    return 9


LEAST = wr.aggregate(nine, least, both, schema="bigint", columns=["v"])
PYTHON = Query(sessions(5), {"n": wr.count(), "least": LEAST})
DELETING = Query(sessions(5, grace=100), {"least": LEAST}, emit={"every_record": True}, group={"order": "offset"})

ONLY_A_DRIVER_DELETES = reasons(("stream", "spark_stream"), "only a driver deletes; elsewhere the value is null")
EVERY_CHANGE = reasons(STREAMS, "a stream gives a row for each change (rules 6.2)")
REAL_CLOCK = {"spark_stream": "the clock of Spark is real"}

CASES = [
    case(
        "6.1",
        "in a batch of updates each window is an upsert",
        COUNTED_BATCH,
        """
        ann   0    5    11
              ├────┤
                        ┤
        """,
        cannot=EVERY_CHANGE,
    ),
    case(
        "6.2",
        "a micro-batch gives at most one row for each changed window, and deletes for those that it replaces",
        OPEN_UPDATES,
        """
        ann 0, ann 3            → upsert ann 0..3 n=2
        ann 8                   → delete ann 0..3, upsert ann 0..8 n=3
        ann 20, ann 28, ann 24  → upsert ann 20..28 n=3     # windows that are born and merged give none
        """,
    ),
    case(
        "6.2",
        "a window that is born and closed in a micro-batch gives its upsert, and closing gives no row",
        UPDATES,
        """
        cid 20, bob 100         → upsert cid 20..20 n=1, upsert bob 100..100 n=1
        tick 300                → nothing
        counters windows_closed=2 updates=2
        """,
    ),
    case(
        "6.2",
        "a record within a session changes its values, and deletes nothing",
        UPDATES,
        """
        ann 0, ann 4            → upsert ann 0..4 n=2
        ann 2                   → upsert ann 0..4 n=3
        """,
    ),
    case(
        "6.3",
        "a late record of a session gives one row of itself",
        LATE_ROWS,
        """
        bob 20                  → nothing           # C = 14
        ann 0                   → late ann 0..0 n=1
        ann 13                  → late ann 13..13 n=1
        ann 14                  → nothing
        tick 40                 → ann 14..14 n=1, bob 20..20 n=1
        counters late=2 late_emitted=2
        """,
    ),
    case(
        "6.3",
        "a record of sliding windows gives one row if its own window refused it",
        LATE_SLIDING,
        """
        bob 20                  → nothing           # C = 18
        ann 12                  → late ann 7..12 n=1
        ann 13                  → late ann 8..13 n=1
        ann 3                   → late ann 0..5 n=1
        ann 18                  → nothing
        tick 40                 → ann 13..18 n=1, bob 15..20 n=1
        counters late=2 late_emitted=3 windows_refused=1
        """,
    ),
    case(
        "6.4",
        "nulls of a column follow SQL, and their rows count",
        SUMS,
        """
        ann   0:v=1   3        4:v=3
              ├────────────────┤ n=3 known=2 total=4 mean=2.0
        bob   0       3
              ├───────┤ n=2 known=0 total=null mean=null
        """,
    ),
    case(
        "6.5",
        "None from a Python aggregate is null",
        PYTHON,
        """
        ann   0:v=1   3:v=2
              ├───────┤ n=2 least=1
        bob   0:v=1   3:v=-1
              ├───────┤ n=2 least=null
        """,
    ),
    case(
        "6.5, 9.1",
        "in a driver a single aggregate that becomes None deletes its window",
        DELETING,
        """
        ann 0 v=3               → upsert ann 0..0 least=3
        ann 3 v=2               → delete ann 0..0, upsert ann 0..3 least=2
        ann 4 v=-1              → delete ann 0..3, delete ann 0..4
        ann 4 v=5               → upsert ann 4..4 least=5
        """,
        cannot=ONLY_A_DRIVER_DELETES,
    ),
    case(
        "6.5, 9.4",
        "a sliding window is deleted too",
        replace(DELETING, windows=sliding(5, grace=100)),
        """
        ann 10 v=3              → upsert ann 5..10 least=3
        ann 10 v=-1             → delete ann 5..10
        ann 10 v=4              → upsert ann 5..10 least=4
        """,
        cannot=ONLY_A_DRIVER_DELETES,
    ),
    case(
        "6.6",
        "a sum of floats does not depend on their order",
        FLOATS,
        """
        ann   0:x=1e16   1:x=1.0   2:x=-1e16
              ├────────────────────┤ total=1.0
        bob   0:x=1e16   1:x=-1e16   2:x=1.0
              ├──────────────────────┤ total=1.0
        """,
    ),
    case(
        "6.6",
        "records of one time go by their tie",
        TIED,
        """
        ann   0:tie=2,v=20   0:tie=1,v=10   0:tie=3,v=30
              ┤ n=3 first=10 last=30 all=[10 20 30]
        """,
    ),
    case(
        "6.7",
        "only the result of a window has to fit",
        SUMS,
        """
        ann   0:v=9223372036854775807   1:v=9   2:v=-9
              ├─────────────────────────────────┤ total=9223372036854775807
        """,
    ),
    case(
        "6.7",
        "a result that does not fit may be null, and is counted",
        OR_NULL,
        """
        ann 0 v=9223372036854775807     → nothing
        ann 1 v=1                       → nothing
        tick 20                         → ann 0..1 n=2 total=null
        counters overflows=1
        """,
        in_batch=True,
    ),
    case(
        "6.8",
        "bounds have the unit of the time column",
        TICKS,
        """
        ann   0.5   5.5   10.501
              ├─────┤     ┤
        """,
    ),
    case(
        "6.9, 9.8",
        "closed sessions come by end, start and key",
        Query(sessions(5, grace=1)),
        """
        cid 3, bob 0, ann 3, ann 1, dan 0   → nothing
        finish                              → bob 0..0 n=1, dan 0..0 n=1, ann 1..3 n=2, cid 3..3 n=1
        """,
    ),
    case(
        "6.10",
        "a funnel counts the steps that came in order, within a length of the first",
        FUNNEL,
        """
        ann   0:tie=1,word=a   3:tie=1,word=b   10:tie=1,word=c
              ├─────────────────────────────────┤ steps=3 strict=3
        bob   0:tie=1,word=a   3:tie=1,word=b   11:tie=1,word=c
              ├─────────────────────────────────┤ steps=2 strict=2
        cid   0:tie=1,word=b   3:tie=1,word=c
              ├────────────────┤ steps=0 strict=0
        """,
    ),
    case(
        "6.10",
        "a strict funnel ends at a record between two steps",
        FUNNEL,
        """
        ann   0:tie=1,word=a   1:tie=1,word=x   2:tie=1,word=b
              ├─────────────────────────────────┤ steps=2 strict=1
        bob   0:tie=1,word=a   1:tie=1,word=a   2:tie=1,word=b
              ├─────────────────────────────────┤ steps=2 strict=2
        """,
    ),
    case(
        "6.11",
        "position and session_number count from one, by time and tie",
        NUMBERED,
        """
        ann 9 tie=1, ann 0 tie=2, ann 0 tie=1  → ann 0..0 place=1 nr=1, ann 0..0 place=2 nr=1, ann 9..9 place=1 nr=2
        """,
        in_batch=True,
        cannot=reasons(("stream", "spark_stream"), "a stream refuses session_number (rules 6.11)"),
    ),
    case(
        "6.13",
        "a record in no window comes back with its reason",
        LEFT_OUT,
        """
        bob 20          → nothing           # C = 14
        ann 0           → left_out ann 0..0 reason=late late_by=14 stream_time=20 time=0
        - 3             → left_out - 3..3 reason=null_key time=3
        ann -           → left_out ann -..- reason=null_time time=null
        tick -          → left_out - -..- reason=bad_tick
        ann 14          → nothing
        tick 40         → ann 14..14 n=1, bob 20..20 n=1
        counters late=1 null_keys=1 null_times=1 bad_ticks=1
        """,
    ),
    case(
        "6.13",
        "a sliding record that only its own window could have taken is refused",
        LEFT_OUT_SLIDING,
        """
        bob 20          → nothing           # C = 18
        ann 12          → left_out ann 7..12 reason=late late_by=1 stream_time=20
        ann 13          → left_out ann 8..13 reason=refused late_by=5 stream_time=20
        ann 18          → nothing
        """,
    ),
    case(
        "6.13, 6.3",
        "a late record that comes back as a row gives no other",
        LEFT_OUT_LATE,
        """
        bob 20          → nothing
        ann 0           → late ann 0..0 n=1
        - 0             → left_out - 0..0 reason=null_key
        """,
    ),
    case(
        "6.13, 3.1",
        "a bad gap is a reason, and a late reach is late by the reach",
        LEFT_OUT_GAPS,
        """
        bob 20 gap=5    → nothing           # C = 19
        ann 20 gap=0    → left_out ann 20..20 reason=bad_gap
        ann 10 gap=5    → left_out ann 10..10 reason=late late_by=4 stream_time=20
        """,
    ),
    case(
        "6.13, 2.7",
        "a null tie is a reason",
        LEFT_OUT_TIES,
        """
        ann 0 tie=1     → nothing
        ann 1           → left_out ann 1..1 reason=null_tie
        """,
    ),
    case(
        "6.13, 1.1",
        "being ahead of the clock is the first of the reasons",
        LEFT_OUT_AHEAD,
        """
        - 11            → left_out - 11..11 reason=ahead time=11
        ann 10          → nothing
        """,
        cannot=REAL_CLOCK,
    ),
    case(
        "6.13, 1.4",
        "each source judges its own records",
        replace(LEFT_OUT, group={"source": "source"}),
        """
        ann 0 source=a          → nothing
        ann 60 source=b         → nothing
        bob 3 source=a          → nothing
        bob 3 source=b          → left_out bob 3..3 reason=late late_by=51 stream_time=60
        - 3 source=b            → left_out - 3..3 reason=null_key
        """,
    ),
    case(
        "6.13, 5.1",
        "each input judges its own records",
        replace(LEFT_OUT, inputs=("clicks", "orders")),
        """
        clicks:ann 60           → nothing
        orders:ann 20           → nothing
        orders:bob 3            → left_out bob 3..3 reason=late late_by=11 stream_time=20
        clicks:bob 20           → left_out bob 20..20 reason=late late_by=34 stream_time=60
        """,
    ),
    case(
        "6.13, 4.3",
        "a record that another window takes is not left out",
        LEFT_OUT_SLIDING,
        """
        cid 52                  → nothing           # C = 50
        ann 47                  → left_out ann 42..47 reason=refused late_by=3 stream_time=52
        ann 50                  → nothing
        ann 47                  → nothing           # 45..50 takes it
        counters windows_refused=2 late=0
        """,
    ),
    case(
        "6.2, 1.4",
        "updates are coalesced in each source",
        replace(OPEN_UPDATES, group={"source": "source"}),
        """
        ann 0 source=a, ann 1 source=b, ann 2 source=a, ann 3 source=b  → upsert ann 0..2 n=2, upsert ann 1..3 n=2
        counters updates=2
        """,
    ),
    case(
        "6.2, 1.3",
        "windows that are born and merged in a micro-batch give no row, also with an order",
        replace(OPEN_UPDATES, group={"order": "offset"}),
        """
        ann 0 offset=1, ann 8 offset=2, ann 4 offset=3      → upsert ann 0..8 n=3
        counters updates=1
        """,
    ),
]
