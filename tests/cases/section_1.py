"""Stream time: rules 1."""

from __future__ import annotations

from dataclasses import replace

from .case import STREAMS, case, reasons
from .query import Query, gaps, sessions

FINALS = Query(sessions(5, grace=1))
OWN_GAPS = Query(gaps(grace=1))
TIES = Query(sessions(5, grace=1, max_records=9), group={"tie": "tie"})
AHEAD = Query(sessions(5, grace=1), max_ahead=10)
ORDERED = Query(sessions(5, grace=1), group={"order": "offset"})
SOURCES = Query(sessions(5, grace=1), group={"source": "source"})
SLOWEST = Query(sessions(5, grace=1), group={"source": "source", "stream_time": "slowest"})
EVERYTHING = Query(sessions(5, grace=0), group={"source": "source", "order": "offset"})
DAILY_GRACE = Query(sessions(5, grace=10))
MORE_GRACE = replace(FINALS, windows=sessions(5, grace=100))

ONE_BY_ONE = reasons(("driver", "restarts"), "a driver judges a record by the records before it, also in a batch")
IN_ORDER_OF_FEED = reasons(("driver", "restarts"), "a driver takes records in the order in which they are fed")

CASES = [
    case(
        "1.1",
        "a record without a key or a time moves no stream time",
        FINALS,
        """
        ann 0           → nothing
        - 100           → nothing
        ann -           → nothing
        tick 6          → nothing
        tick 7          → ann 0..0 n=1
        counters null_keys=1 null_times=1 records=1
        """,
    ),
    case(
        "1.1",
        "a record with a bad gap moves no stream time",
        OWN_GAPS,
        """
        ann 0 gap=5     → nothing
        ann 100 gap=0   → nothing
        ann 100         → nothing
        tick 6          → nothing
        tick 7          → ann 0..0 n=1
        counters bad_gaps=2
        """,
    ),
    case(
        "1.1",
        "a record without a tie moves no stream time",
        TIES,
        """
        ann 0 tie=1     → nothing
        ann 100         → nothing
        tick 6          → nothing
        tick 7          → ann 0..0 n=1
        counters null_ties=1
        """,
    ),
    case(
        "1.1",
        "a record that is too far ahead of the clock moves no stream time",
        AHEAD,
        """
        ann 0           → nothing           # the clock shows 0
        bob 10          → ann 0..0 n=1
        ann 11          → nothing
        tick 11         → nothing
        counters ahead=1 bad_ticks=1 stream_time=10
        """,
    ),
    case(
        "1.1",
        "an accepted record and a late one count as records, and the largest time counts",
        FINALS,
        """
        ann 20          → nothing
        ann 0           → nothing           # late
        tick 26         → nothing           # 26 is not past 20 + 5 + 1
        tick 27         → ann 20..20 n=1
        counters late=1 records=2 ticks=2
        """,
    ),
    case(
        "1.2",
        "the records of a micro-batch are judged by the stream time before it",
        FINALS,
        """
        bob 20, ann 0   → ann 0..0 n=1      # stream time was none, so nothing is late
        tick 40         → bob 20..20 n=1
        counters late=0
        """,
        cannot=ONE_BY_ONE,
    ),
    case(
        "1.2, 2.2",
        "if the group that records would join is late, each of its records is counted",
        FINALS,
        """
        bob 20          → nothing           # C = 14
        ann 8, ann 13   → nothing           # they would end at 13
        tick 40         → bob 20..20 n=1
        counters late=2 records=3
        """,
    ),
    case(
        "1.2",
        "a late group leaves stored sessions as they are",
        FINALS,
        """
        ann 15          → nothing
        bob 20          → nothing           # C = 14
        ann 3, ann 8    → nothing           # 8 does not reach 15
        tick 40         → ann 15..15 n=1, bob 20..20 n=1
        counters late=2
        """,
    ),
    case(
        "1.3",
        "with an order a record is judged by the records before it",
        ORDERED,
        """
        bob 20 offset=1, ann 0 offset=2     → nothing   # T = 20 at the order 2, so C = 14
        tick 40 offset=3                    → bob 20..20 n=1
        counters late=1
        """,
    ),
    case(
        "1.3",
        "the order counts, not the place in the micro-batch",
        ORDERED,
        """
        ann 0 offset=2, bob 20 offset=1     → nothing
        tick 40 offset=3                    → bob 20..20 n=1
        counters late=1
        """,
        cannot=IN_ORDER_OF_FEED,
    ),
    case(
        "1.3",
        "a record of an earlier order is judged by the micro-batches before it, too",
        ORDERED,
        """
        bob 20 offset=9     → nothing
        ann 0 offset=1      → nothing           # late: T0 = 20
        tick 40 offset=10   → bob 20..20 n=1
        counters late=1
        """,
    ),
    case(
        "1.3",
        "a tick without an order comes after all records of its micro-batch",
        ORDERED,
        """
        ann 0 offset=1, tick 20 offset=null → ann 0..0 n=1
        counters late=0
        """,
    ),
    case(
        "1.4",
        "each source has its own time",
        SOURCES,
        """
        ann 0 source=a      → nothing
        bob 100 source=b    → nothing       # the time of a is 0
        ann 3 source=a      → nothing
        tick 10 source=a    → ann 0..3 n=2
        tick 107 source=b   → bob 100..100 n=1
        counters late=0
        """,
    ),
    case(
        "1.4",
        "a key in two sources has windows in each",
        SOURCES,
        """
        ann 0 source=a      → nothing
        ann 1 source=b      → nothing
        tick 20 source=a    → ann 0..0 n=1
        tick 20 source=b    → ann 1..1 n=1
        """,
    ),
    case(
        "1.4",
        "the slowest source holds everything open",
        SLOWEST,
        """
        ann 0 source=a      → nothing
        bob 100 source=b    → nothing
        ann 1 source=a      → nothing       # not late: T of a is 0
        tick 20 source=a    → ann 0..1 n=2
        tick 200 source=a   → nothing       # T is 100 now, that of b
        tick 107 source=b   → bob 100..100 n=1
        counters late=0
        """,
    ),
    case(
        "1.5",
        "a tick without a source is a tick of every source",
        SOURCES,
        """
        ann 0 source=a, bob 1 source=b      → nothing
        tick 20                             → ann 0..0 n=1, bob 1..1 n=1
        """,
    ),
    case(
        "1.5",
        "of several ticks the largest time counts, and ticks are no records",
        FINALS,
        """
        ann 0                       → nothing
        tick 20, tick 3             → ann 0..0 n=1
        counters records=1 ticks=2 late=0
        """,
    ),
    case(
        "1.5",
        "a tick before any record begins stream time, which no tick sets back",
        FINALS,
        """
        tick 20                     → nothing
        ann 13                      → nothing           # late: C = 14
        tick 3                      → nothing
        ann 13                      → nothing           # still late
        ann 14                      → nothing
        tick 27                     → ann 14..14 n=1
        counters records=3 ticks=3 late=2
        """,
    ),
    case(
        "1.5",
        "a tick without a time is counted",
        FINALS,
        """
        ann 0           → nothing
        tick -          → nothing
        tick 7          → ann 0..0 n=1
        counters bad_ticks=1 ticks=1
        """,
    ),
    case(
        "1.6",
        "windows close at the end of a micro-batch, by the time reached then",
        FINALS,
        """
        ann 0, bob 20, ann 5        → ann 0..5 n=2
        tick 27                     → bob 20..20 n=1
        """,
        cannot=ONE_BY_ONE,
    ),
    case(
        "1.7, 1.11",
        "closed windows stay closed under a larger grace",
        FINALS,
        """
        ann 0, bob 20, to 20        → ann 0..0 n=1      # C = 14
        stream
        ann 1                       → nothing           # late: C does not go back to 20 - 5 - 100
        ann 14                      → nothing
        tick 130                    → ann 14..14 n=1, bob 20..20 n=1
        counters late=1
        """,
        then=MORE_GRACE,
    ),
    case(
        "1.8",
        "in a batch sources, orders and ticks change nothing",
        EVERYTHING,
        """
        ann    0:source=a,offset=2   5:source=b,offset=1   20:source=a,offset=3
               ├─────────────────────┤                     ┤
        tick   90
        """,
        cannot=reasons(STREAMS, "on a stream each source has its own windows (rules 1.4)"),
    ),
    case(
        "1.8",
        "in a batch nothing is late",
        Query(sessions(5, grace=0)),
        """
        bob    100
               ┤
        ann    0     5
               ├─────┤
        """,
        cannot=reasons(STREAMS, "on a stream the records of ann are late (rules 2.2)"),
    ),
]
