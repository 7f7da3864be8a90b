"""Groups, orders and sources of micro-batches: more of rules 1.2 to 1.7."""

from __future__ import annotations

from dataclasses import replace

from .case import case, reasons
from .query import Query, ms, sessions, sliding

SESSIONS = Query(sessions(5, grace=0))
ORDERED = Query(sessions(5, grace=0), group={"order": "offset"})
REVIVED = Query(sessions(5, grace=0, retention=ms(50)))
REVIVED_IN_ORDER = replace(REVIVED, group={"order": "offset"})
EACH_REVIVED = Query(sessions(10, grace=10, retention=ms(50)), emit={"every_record": True}, group={"order": "offset"})
WITHIN_10 = Query(sliding(10, grace=0), emit={})
WITHIN_20 = Query(sliding(20, grace=0), emit={})
WITHIN_20_IN_ORDER = replace(WITHIN_20, group={"order": "offset"})
SOURCES = Query(sessions(5, grace=0), group={"source": "source"})
SLOWEST = Query(sessions(5, grace=0), group={"source": "source", "stream_time": "slowest"})
LONG_GRACE = Query(sessions(5, grace=100))
SOURCES_IN_ORDER = Query(sessions(5, grace=0), group={"source": "source", "order": "offset"})
TWO_COLUMNS = Query(sessions(5, grace=0), group={"source": ["source", "word"]})
NO_GRACE = Query(sessions(5, grace=0), late=True)

DRIVERS = ("driver", "restarts")
ONE_BY_ONE = reasons(DRIVERS, "a driver judges a record by the records before it, also in a batch")
IN_ORDER_OF_FEED = reasons(DRIVERS, "a driver takes records in the order in which they are fed")

CASES = [
    case(
        "1.2",
        "an open session holds records far behind, over other records of the micro-batch",
        SESSIONS,
        """
        ann 97, zoe 100                     → nothing           # 97 reaches 102
        ann 82, ann 87, ann 92, bob 87      → nothing           # bob's is alone
        tick 103                            → ann 82..97 n=4
        counters late=1
        """,
        cannot=ONE_BY_ONE,
    ),
    case(
        "1.2, 2.4",
        "a late group leaves a closed session that it touches, one that reaches the close time revives it",
        REVIVED,
        """
        ann 10, bob 30              → ann 10..10 n=1
        ann 12                      → nothing                   # it would reach 17
        ann 15, ann 20, ann 25      → nothing
        tick 31                     → ann 10..25 n=4
        counters late=1 windows_closed=2
        """,
        cannot=ONE_BY_ONE,
    ),
    case(
        "1.2",
        "sliding windows take the records of a micro-batch from the latest on",
        WITHIN_10,
        """
        ann 100             → upsert ann 90..100 n=1
        bob 95, bob 102     → upsert bob 92..102 n=2, upsert bob 96..106 n=1
        counters records=3 late=0 windows_refused=1 updates=3
        """,
        cannot=ONE_BY_ONE,
    ),
    case(
        "1.2",
        "sliding windows take the latest record first, also after a refusal of an earlier micro-batch",
        WITHIN_20,
        """
        ann 109             → upsert ann 89..109 n=1
        bob 123             → upsert bob 103..123 n=1
        ann 116             → upsert ann 110..130 n=1           # 96..116 refuses it
        ann 123, ann 140    → upsert ann 103..123 n=2, upsert ann 110..130 n=2, upsert ann 120..140 n=2, upsert ann 124..144 n=1
        counters late=0 windows_refused=1
        """,  # noqa: E501
        cannot=ONE_BY_ONE,
    ),
    case(
        "1.3, 9.7",
        "with an order sliding windows take the records of a micro-batch in this order",
        WITHIN_20_IN_ORDER,
        """
        ann 109 offset=1                    → upsert ann 89..109 n=1
        bob 123 offset=2                    → upsert bob 103..123 n=1
        ann 116 offset=3                    → upsert ann 110..130 n=1
        ann 123 offset=4, ann 140 offset=5  → upsert ann 103..123 n=2, upsert ann 110..130 n=2, upsert ann 120..140 n=3, upsert ann 124..144 n=1
        counters late=0 windows_refused=1
        """,  # noqa: E501
    ),
    case(
        "1.3, 2.4",
        "a tick closes a session that a later record of the micro-batch revives",
        EACH_REVIVED,
        """
        ann 34 offset=1                     → upsert ann 34..34 n=1
        ann 51 offset=2                     → upsert ann 51..51 n=1
        tick 66 offset=3, ann 42 offset=4   → delete ann 34..34, delete ann 51..51, upsert ann 34..51 n=3
        counters late=0 windows_closed=1
        """,
    ),
    case(
        "1.3",
        "a tick has its place among the records",
        ORDERED,
        """
        ann 100 offset=1                    → nothing
        tick 200 offset=null, bob 95 offset=2   → ann 100..100 n=1, bob 95..95 n=1
        tick 300 offset=3, bob 196 offset=4 → nothing           # late: the tick is before it
        tick 400 offset=6, bob 296 offset=5 → bob 296..296 n=1
        counters late=1 ticks=3
        """,
        cannot=IN_ORDER_OF_FEED,
    ),
    case(
        "1.3",
        "records of one order judge each other",
        ORDERED,
        """
        ann 0 offset=1, bob 20 offset=1     → nothing           # T = 20 at the order 1, so C = 15
        tick 40 offset=2                    → bob 20..20 n=1
        counters late=1
        """,
        cannot=IN_ORDER_OF_FEED,
    ),
    case(
        "1.3, 1.5",
        "a tick of all sources judges the records of its own order",
        SOURCES_IN_ORDER,
        """
        ann 100 source=a offset=1                   → nothing
        tick 200 offset=2, bob 95 source=a offset=2 → ann 100..100 n=1
        tick 300 offset=3                           → nothing
        counters late=1 ticks=2
        """,
    ),
    case(
        "1.5",
        "of two ticks of all sources in a micro-batch the later time counts",
        SOURCES,
        """
        ann 0 source=a, bob 100 source=b    → nothing
        tick 60, tick 3                     → ann 0..0 n=1
        """,
    ),
    case(
        "1.5",
        "a tick with a value in one of its source columns is of one source",
        TWO_COLUMNS,
        """
        ann 0 source=a word=x, bob 0 source=b   → nothing
        tick 60 source=b                        → bob 0..0 n=1
        """,
    ),
    case(
        "1.6, 1.3",
        "with an order windows still close at the end of the micro-batch",
        REVIVED_IN_ORDER,
        """
        ann 10 offset=1, bob 18 offset=2, ann 13 offset=3   → nothing   # no final of 10 alone
        tick 19                                             → ann 10..13 n=2
        counters late=0 windows_closed=1
        """,
        cannot=ONE_BY_ONE,
    ),
    case(
        "1.4",
        "the slowest source keeps the time of all, which never goes back",
        SLOWEST,
        """
        ann 100 source=a, bob 10 source=b   → nothing           # stream time 10
        ann 20 source=a, bob 12 source=b    → nothing           # 12
        tick 50 source=b                    → bob 10..12 n=2, ann 20..20 n=1
        cid 5 source=c                      → nothing           # still 50, so it is late
        counters late=1 windows_closed=2 stream_time=50
        """,
        cannot=reasons(DRIVERS, "record by record stream time is 100 before the second source comes"),
    ),
    case(
        "1.5, 1.4",
        "a tick without a source is one of sources that its micro-batch brings too",
        SLOWEST,
        """
        ann 10 source=a             → nothing
        bob 10 source=b, tick 50    → ann 10..10 n=1, bob 10..10 n=1
        """,
    ),
    case(
        "1.7, 6.3",
        "a smaller grace closes at once, before the records of the next micro-batch",
        LONG_GRACE,
        """
        ann 10, bob 100, to 100     → nothing
        stream
        ann 14                      → ann 10..10 n=1, late ann 14..14 n=1
        counters late=1 late_emitted=1
        """,
        then=NO_GRACE,
    ),
    case(
        "1.7, 2.4",
        "what a smaller grace closes is final at the end of the next micro-batch, which may revive it",
        LONG_GRACE,
        """
        ann 10, bob 20, to 20       → nothing
        stream
        ann 15                      → nothing                   # 10 reaches 15: it is closed, and visible
        tick 21                     → ann 10..15 n=2
        counters late=0
        """,
        then=REVIVED,
        cannot=reasons(DRIVERS, "a driver closes windows before it takes a record"),
    ),
    case(
        "2.1, 6.9",
        "after the end of the input, a record that is not late begins a window of its own",
        Query(sessions(5, grace=1)),
        """
        ann 0       → nothing
        finish      → ann 0..0 n=1
        ann 1       → nothing
        finish      → ann 1..1 n=1
        """,
    ),
]
