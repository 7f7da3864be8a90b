"""Updates at a pace: rule 6.12."""

from __future__ import annotations

from .case import case, reasons
from .query import Query, ms, sessions, sliding

EVERY_10 = Query(sessions(5, grace=100), emit={"every": ms(10)})
EVERY_10_FAR = Query(sessions(20, grace=50), emit={"every": ms(10)})
EVERY_100 = Query(sessions(5, grace=1), emit={"every": ms(100)})
EVERY_1000_IN_ORDER = Query(sessions(5, grace=5), emit={"every": ms(1000)}, group={"order": "offset"})
EVERY_10_IN_BOTH = Query(sessions(5, grace=100), emit={"every": ms(10)}, inputs=("clicks", "orders"))
EVERY_10_REVIVED = Query(sessions(5, grace=0, retention=ms(50)), emit={"every": ms(10)})
SLIDING = Query(sliding(10, grace=20), emit={"every": ms(10)})

CASES = [
    case(
        "6.12",
        "a window leaves at once, and then at its pace",
        EVERY_10,
        """
        ann 0           → upsert ann 0..0 n=1
        ann 3           → nothing
        tick 9          → nothing
        tick 10         → delete ann 0..0, upsert ann 0..3 n=2
        ann 4           → nothing
        bob 19          → upsert bob 19..19 n=1
        tick 20         → delete ann 0..3, upsert ann 0..4 n=3
        """,
    ),
    case(
        "6.12",
        "a window leaves at the latest when it closes",
        EVERY_100,
        """
        ann 0           → upsert ann 0..0 n=1
        ann 3           → nothing
        tick 9          → nothing
        tick 10         → delete ann 0..0, upsert ann 0..3 n=2
        """,
    ),
    case(
        "6.12",
        "a merged session deletes what earlier rows gave, and has the latest pace of its parts",
        EVERY_10,
        """
        ann 0           → upsert ann 0..0 n=1
        ann 8           → upsert ann 8..8 n=1
        ann 4           → nothing
        tick 17         → nothing
        tick 18         → delete ann 0..0, delete ann 8..8, upsert ann 0..8 n=3
        """,
    ),
    case(
        "6.12, 5.1",
        "until all inputs have been seen only first rows leave",
        EVERY_10_IN_BOTH,
        """
        clicks:ann 0    → upsert ann 0..0 n=1
        clicks:ann 3    → nothing
        clicks:tick 50  → nothing
        orders:tick 1   → delete ann 0..0, upsert ann 0..3 n=2
        """,
    ),
    case(
        "6.12",
        "changes one below, on and above the pace",
        EVERY_10_FAR,
        """
        ann 10      → upsert ann 10..10 n=1
        ann 12      → nothing
        tick 19     → nothing
        tick 20     → delete ann 10..10, upsert ann 10..12 n=2
        ann 21      → nothing
        tick 29     → nothing
        tick 31     → delete ann 10..12, upsert ann 10..21 n=3
        ann 32      → nothing
        counters updates=5
        """,
    ),
    case(
        "6.12",
        "a change within the bounds has no delete",
        EVERY_10_FAR,
        """
        ann 10, ann 14  → upsert ann 10..14 n=2
        ann 12          → nothing
        bob 24          → upsert ann 10..14 n=3, upsert bob 24..24 n=1
        counters updates=3
        """,
    ),
    case(
        "6.12",
        "a window that is born and closed in a micro-batch gives its row",
        EVERY_1000_IN_ORDER,
        """
        ann 10 offset=1, bob 100 offset=2   → upsert ann 10..10 n=1, upsert bob 100..100 n=1
        counters updates=2 windows_closed=1
        """,
    ),
    case(
        "6.12, 2.4",
        "a closed session that is revived keeps its pace",
        EVERY_10_REVIVED,
        """
        ann 10, bob 30          → upsert ann 10..10 n=1, upsert bob 30..30 n=1
        ann 15, ann 20, ann 25  → nothing
        tick 39                 → delete ann 10..10, upsert ann 10..25 n=4
        tick 40                 → nothing
        counters windows_closed=3
        """,
        cannot=reasons(("driver", "restarts"), "one by one, the record at 15 is late"),
    ),
    case(
        "6.12",
        "each sliding window has a pace of its own",
        SLIDING,
        """
        ann 100     → upsert ann 90..100 n=1
        ann 105     → upsert ann 95..105 n=2, upsert ann 101..111 n=1
        ann 103     → upsert ann 93..103 n=2, upsert ann 104..114 n=1
        tick 115    → upsert ann 95..105 n=3, upsert ann 101..111 n=2
        counters updates=7
        """,
    ),
]
