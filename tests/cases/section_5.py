"""Cogroups: rules 5."""

from __future__ import annotations

from dataclasses import replace

import windrow as wr

from .case import case, reasons
from .query import Query, gaps, ms, sessions, sliding

INPUTS = ("clicks", "orders")
COUNTS = {"n": wr.count(), "clicks": wr.count("clicks.*"), "orders": wr.count("orders.*")}
TOGETHER = Query(sessions(5), COUNTS, inputs=INPUTS)
FINALS = Query(sessions(5, grace=1), COUNTS, inputs=INPUTS)
UPDATES = Query(sessions(5, grace=100), COUNTS, emit={}, inputs=INPUTS)
WITHIN_5 = Query(sliding(5), COUNTS, inputs=INPUTS)
WITHIN_5_FINALS = Query(sliding(5, grace=2), COUNTS, inputs=INPUTS)
OWN_GAPS = Query(gaps(), COUNTS, inputs=INPUTS)
MOST_2 = Query(sessions(5, max_records=2), {**COUNTS, "why": wr.ended_by()}, {"tie": "tie"}, inputs=INPUTS)
ENDED_BY_CLICKS = Query(
    sessions(5, max_duration=ms(11), end_when="clicks.end"),
    {"n": wr.count(), "most": wr.max("orders.v"), "largest": wr.reduce("orders.v", max), "why": wr.ended_by()},
    inputs=INPUTS,
)
SOURCES = Query(sessions(5, grace=1), COUNTS, {"source": "source"}, inputs=INPUTS)
ORDERED = Query(sessions(5, grace=1), COUNTS, {"order": "offset"}, inputs=INPUTS)
IN_ORDER_WITHOUT_GRACE = Query(sessions(5, grace=0), COUNTS, {"order": "offset"}, inputs=INPUTS)
WITHOUT_GRACE = Query(sessions(5, grace=0), COUNTS, inputs=INPUTS)
OF_THREE = Query(sessions(5, grace=0), {"n": wr.count()}, inputs=("one", "two", "three"))
SLOWEST = replace(SOURCES, group={"source": "source", "stream_time": "slowest"})
EACH_TIED = Query(
    sessions(5, grace=100), COUNTS, {"order": "offset", "tie": "tie"}, {"every_record": True}, inputs=INPUTS
)
SPENT = Query(sessions(5), {**COUNTS, "spent": wr.sum("orders.v")}, inputs=INPUTS)

JUDGED_TOGETHER = reasons(("driver", "restarts"), "a driver judges a record by the records before it, also in a batch")

CASES = [
    case(
        "5.1",
        "an input that has not been seen holds everything open",
        FINALS,
        """
        clicks:ann 0            → nothing
        clicks:tick 100         → nothing
        orders:tick 6           → nothing       # 6 is not past 0 + 5 + 1
        orders:tick 7           → ann 0..0 n=1 clicks=1 orders=0
        counters ticks=3 records=1 stream_time=7
        """,
    ),
    case(
        "5.1",
        "a record is late by the time of its own input",
        FINALS,
        """
        clicks:bob 30           → nothing       # C of clicks is 24
        clicks:ann 1            → nothing       # late
        orders:ann 1            → nothing       # orders have not come further than 1
        orders:tick 20          → ann 1..1 n=1 clicks=0 orders=1
        counters late=1
        """,
    ),
    case(
        "5.1",
        "a fast input neither closes nor splits what a slow one builds",
        FINALS,
        """
        orders:ann 0                    → nothing
        clicks:ann 0, clicks:bob 50     → nothing
        orders:ann 4                    → nothing
        orders:ann 8                    → nothing
        orders:tick 60                  → ann 0..8 n=4 clicks=1 orders=3
        clicks:tick 70                  → bob 50..50 n=1 clicks=1 orders=0
        counters late=0
        """,
    ),
    case(
        "5.1",
        "a record that its own input calls late is late, though a slower one holds its session open",
        FINALS,
        """
        orders:bob 0                    → nothing
        clicks:cid 40                   → nothing       # C of clicks is 34
        clicks:ann 33                   → nothing       # late
        clicks:ann 34                   → nothing
        orders:tick 100, clicks:tick 100 → ann 34..34 n=1, bob 0..0 n=1, cid 40..40 n=1
        counters late=1
        """,
    ),
    case(
        "5.1",
        "sliding windows close by the slowest input",
        WITHIN_5_FINALS,
        """
        clicks:ann 10                   → nothing
        clicks:tick 50                  → nothing
        orders:tick 12                  → nothing
        orders:tick 13                  → ann 5..10 n=1 clicks=1 orders=0
        """,
    ),
    case(
        "5.1",
        "an update shows what each input gave",
        UPDATES,
        """
        clicks:ann 0            → upsert ann 0..0 n=1 clicks=1 orders=0
        orders:ann 3            → delete ann 0..0, upsert ann 0..3 n=2 clicks=1 orders=1
        """,
    ),
    case(
        "5.2, 2.7",
        "a tie orders the records of all inputs",
        MOST_2,
        """
        clicks:ann   0:tie=1   0:tie=3
        orders:ann   0:tie=2
                     ┤ n=2 clicks=1 orders=1 why=max_records
                               ┤ n=1 clicks=1 orders=0 why=open
        """,
    ),
    case(
        "5.3, 2.7",
        "end_when is a column of one input, also with Python functions",
        ENDED_BY_CLICKS,
        """
        clicks:ann   0                4   8:end=null                 12:end   13
        orders:ann       3:v=30,end                    11:v=40,end
                     ├─────────────────────────────────┤ n=5 most=40 largest=40 why=max_duration
                                                                     ┤ n=1 most=null largest=null why=end_when
                                                                              ┤ n=1 most=null why=open
        """,
    ),
    case(
        "5.2",
        "the sources of the inputs are paired by equal values",
        SOURCES,
        """
        clicks:ann 0 source=a           → nothing
        orders:tick 20 source=b         → nothing
        clicks:tick 20 source=a         → nothing       # orders of a have not been seen
        orders:tick 20 source=a         → ann 0..0 n=1
        """,
    ),
    case(
        "5.2",
        "orders are common to all inputs, lateness is not",
        ORDERED,
        """
        clicks:bob 20 offset=1, orders:ann 0 offset=2, clicks:ann 0 offset=3    → nothing
        clicks:tick 50 offset=4, orders:tick 50 offset=5    → ann 0..0 n=1 orders=1, bob 20..20 n=1
        counters late=1
        """,
    ),
    case(
        "5.3",
        "count() counts the records of all inputs",
        TOGETHER,
        """
        clicks:ann   0              8    20
        orders:ann        3    4
                     ├──────────────┤ n=4 clicks=2 orders=2
                                         ┤ n=1 clicks=1 orders=0
        """,
    ),
    case(
        "5.3",
        "records of all inputs bring their own gaps",
        OWN_GAPS,
        """
        clicks:ann   0:gap=9             11:gap=1
        orders:ann             9:gap=1
                     ├─────────┤ n=2 clicks=1 orders=1
                                         ┤ n=1 clicks=1 orders=0
        """,
    ),
    case(
        "5.3, 4.2",
        "sliding windows end at the records of any input",
        WITHIN_5,
        """
        time         5    7    10   11   12   16
        clicks:ann             10
        orders:ann                       12
                     ├─────────┤ n=1 clicks=1 orders=0
                          ├──────────────┤ n=2 clicks=1 orders=1
                                    ├─────────┤ n=1 clicks=0 orders=1
        """,
    ),
    case(
        "5.3",
        "an aggregate sees the records of its input only",
        SPENT,
        """
        clicks:ann   0:v=100
        orders:ann             3:v=7   4
                     ├─────────────────┤ n=3 spent=7
        """,
    ),
    case(
        "5.2, 1.3",
        "of equal orders the time of the first input counts for the second",
        IN_ORDER_WITHOUT_GRACE,
        """
        orders:ann 90 offset=1, clicks:zoe 10 offset=1                              → nothing
        orders:zoe 100 offset=2, clicks:yan 100 offset=5, orders:ann 95 offset=5    → zoe 10..10 n=1, ann 90..90 n=1
        clicks:tick 101 offset=6, orders:tick 101 offset=6                          → ann 95..95 n=1
        counters late=0
        """,
    ),
    case(
        "5.2, 1.3",
        "of equal orders the time of the second input does not count for the first",
        IN_ORDER_WITHOUT_GRACE,
        """
        clicks:ann 90 offset=1, orders:zoe 10 offset=1                              → nothing
        clicks:zoe 100 offset=2, clicks:ann 95 offset=5, orders:yan 100 offset=5    → zoe 10..10 n=1
        clicks:tick 101 offset=6, orders:tick 101 offset=6                          → ann 90..95 n=2
        counters late=0
        """,
    ),
    case(
        "5.2",
        "of equal orders the first input comes first, whatever the ties",
        EACH_TIED,
        """
        clicks:a 9 offset=1 tie=2, orders:a 5 offset=1 tie=1     → upsert a 9..9 n=1, delete a 9..9, upsert a 5..9 n=2
        """,
    ),
    case(
        "5.1, 1.2",
        "of a group, what is late by its own input is left out, and the others are grouped without it",
        WITHOUT_GRACE,
        """
        clicks:zoe 100, orders:yan 10                                                   → nothing
        clicks:ann 90, orders:ann 93, orders:bob 90, clicks:bob 94, orders:bob 98       → yan 10..10 n=1
        clicks:tick 104, orders:tick 104                    → ann 93..93 n=1, bob 90..98 n=3
        counters late=1
        """,
        cannot=JUDGED_TOGETHER,
    ),
    case(
        "5.1, 1.2",
        "what is left out of a group may leave others without what carried them",
        OF_THREE,
        """
        one:zoe 100, two:yan 60, three:xia 50       → nothing       # closed are 95, 55 and 45
        one:ann 56, two:ann 52, three:ann 47        → nothing       # 56 reaches 61, so 52 reaches 57, so 47 reaches 52
        three:tick 53                               → ann 47..47 n=1
        counters late=2
        """,
        cannot=JUDGED_TOGETHER,
    ),
    case(
        "5.2, 1.5",
        "a source of one input is known to the other, whose ticks without a source move it",
        replace(SOURCES, windows=sessions(5, grace=0)),
        """
        clicks:ann 10 source=a      → nothing
        orders:tick 50              → nothing
        clicks:tick 50              → ann 10..10 n=1
        """,
    ),
    case(
        "5.1, 6.3",
        "a late record alone is of its input",
        replace(FINALS, late=True),
        """
        orders:bob 30           → nothing           # C of orders is 24
        orders:ann 1            → late ann 1..1 n=1 clicks=0 orders=1
        counters late=1 late_emitted=1
        """,
    ),
    case(
        "5.1, 1.4",
        "the slowest source of the slowest input closes",
        SLOWEST,
        """
        clicks:ann 0 source=a   → nothing
        orders:bob 1 source=a   → nothing
        orders:cid 30 source=b  → nothing
        clicks:dan 8 source=a   → nothing           # orders of a are at 1
        orders:tick 7 source=a  → ann 0..0 n=1
        orders:tick 40 source=a → bob 1..1 n=1      # clicks are at 8 now
        counters late=0 stream_time=8
        """,
    ),
    case(
        "5.1",
        "a tick of one input is of no other",
        FINALS,
        """
        clicks:ann 0            → nothing
        orders:ann 0            → nothing
        orders:tick 50          → nothing
        clicks:tick 6           → nothing
        clicks:tick 7           → ann 0..0 n=2 clicks=1 orders=1
        """,
    ),
]
