"""Output: rules 6. `section_6_pace` has updates at a pace, `section_6_left_out` records in no window,
`section_6_activity` active time, and `section_6_funnel_times` the times of a funnel's steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import windrow as wr

from .case import STREAMS, case, reasons
from .query import Query, ms, sessions, sliding

COUNTED_BATCH = Query(sessions(5), emit={})
UPDATES = Query(sessions(5, grace=1), emit={})
OPEN_UPDATES = Query(sessions(5, grace=100), emit={})
LATE_ROWS = Query(sessions(5, grace=1), late=True)
LATE_SLIDING = Query(sliding(5, grace=2), late=True)
SUMS = Query(sessions(5), {"n": wr.count(), "known": wr.count("v"), "total": wr.sum("v"), "mean": wr.mean("v")})
SOME = Query(
    sessions(5, grace=1),
    {
        "n": wr.count(),
        "some": wr.count().where("end"),
        "v": wr.sum("v").where("end"),
        "all": wr.collect_list("v").where("end"),
    },
)
MOST = Query(sessions(5, grace=1), {"n": wr.count(), "most": wr.reduce("v", max).where("end")})
FLOATS = Query(sessions(5), {"n": wr.count(), "total": wr.sum("x")})
TIED = Query(
    sessions(5),
    {
        "n": wr.count(),
        "first": wr.first("v"),
        "last": wr.last("v"),
        "all": wr.collect_list("v"),
        "path": wr.path("word"),
        "steps": wr.funnel(["view", "cart", "pay"], column="word", within=ms(3)),
        "back": wr.funnel(["pay", "cart", "view"], column="word", within=ms(3)),
        "least": wr.min_by("v", "key"),
    },
    {"tie": "tie"},
)
OR_NULL = Query(sessions(5, grace=1), {"n": wr.count(), "total": wr.sum("v")}, overflow="null")
TICKS = Query(sessions(5))
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
        "6.4",
        "an aggregate with a condition sees the records in which it is true; null is false",
        SOME,
        """
        ann 0 v=3 end, ann 1 v=9, bob 0 v=5     → nothing
        ann 2 v=6 end                           → nothing
        tick 20                                 → ann 0..2 n=3 some=2 v=9 all=[3 6], bob 0..0 n=1 some=0 v=null all=[]
        """,
        in_batch=True,
    ),
    case(
        "6.4, 6.5",
        "a Python aggregate with a condition sees the same records",
        MOST,
        """
        ann 0 v=3 end, ann 1 v=9, bob 0 v=5     → nothing
        ann 2 v=6 end                           → nothing
        tick 20                                 → ann 0..2 n=3 most=6, bob 0..0 n=1 most=null
        """,
        in_batch=True,
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
        "6.6, 6.10",
        "ties order what goes by the order of records, in sessions",
        TIED,
        """
        ann   0:tie=3,v=1,word=pay   0:tie=1,v=2,word=view   0:tie=2,v=3,word=cart   0:tie=-9,v=4,word=view
              ┤ first=4 last=1 all=[4 2 3 1] path=[view cart pay] steps=3 back=1 least=4
        """,
    ),
    case(
        "6.6, 6.10",
        "ties order what goes by the order of records, in sliding windows",
        replace(TIED, windows=sliding(5)),
        """
        time  0       5
        ann   0:tie=3,v=1,word=pay   0:tie=1,v=2,word=view   0:tie=2,v=3,word=cart   0:tie=-9,v=4,word=view
              ├───4───┤ first=4 last=1 all=[4 2 3 1] path=[view cart pay] steps=3 back=1 least=4
        """,
    ),
    case(
        "6.10",
        "without ties, records of one time count in the order of the funnel",
        replace(FUNNEL, group={}),
        """
        ann   0:word=c   0:word=a   0:word=b
              ┤ n=3 steps=3
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
        "6.10",
        "a later first step has more time left",
        FUNNEL,
        """
        ann   0:tie=1,word=a   3:tie=1,word=b   6:tie=1,word=a   14:tie=1,word=c
              ├──────────────────────────────────────────────────┤ steps=2
        bob   0:tie=1,word=a   3:tie=1,word=b   6:tie=1,word=a   12:tie=1,word=b   14:tie=1,word=c
              ├────────────────────────────────────────────────────────────────────┤ steps=3
        """,
    ),
    case(
        "6.10",
        "a strict funnel passes over what comes before it, and over steps that came before, and never begins again",
        FUNNEL,
        """
        ann   0:tie=1,word=b   1:tie=1,word=c   2:tie=1,word=a   3:tie=1,word=b   4:tie=1,word=c
              ├───────────────────────────────────────────────────────────────────┤ steps=3 strict=3
        bob   0:tie=1,word=a   1:tie=1,word=a   2:tie=1,word=b   3:tie=1,word=a   4:tie=1,word=b   5:tie=1,word=c
              ├────────────────────────────────────────────────────────────────────────────────────┤ strict=3
        cid   0:tie=1,word=a   1:tie=1,word=x   2:tie=1,word=a   3:tie=1,word=b   4:tie=1,word=c
              ├───────────────────────────────────────────────────────────────────┤ steps=3 strict=1
        dan   0:tie=1,word=a   1:tie=1,word=c   2:tie=1,word=b   3:tie=1,word=c
              ├──────────────────────────────────────────────────┤ steps=3 strict=1
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
