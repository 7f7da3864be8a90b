"""Sessions whose records bring their own gap: rules 3."""

from __future__ import annotations

from .case import STREAMS, case, reasons
from .query import Query, gaps, ms

OWN_GAPS = Query(gaps())
AT_MOST_5 = Query(gaps(max_gap=5))
FINALS = Query(gaps(grace=1))
CUT_FINALS = Query(gaps(grace=1, max_gap=5))
REVIVED = Query(gaps(grace=1, max_gap=5, retention=ms(20)))
UPDATES = Query(gaps(grace=100), emit={})

CASES = [
    case(
        "3.1",
        "a gap is cut to the longest gap",
        AT_MOST_5,
        """
        ann   0:gap=100   6:gap=1
              ┤           ┤
        bob   0:gap=100   5:gap=1
              ├───────────┤
        """,
    ),
    case(
        "3.1",
        "on a stream the longest gap is a day, unless the query says another",
        FINALS,
        """
        ann 0 gap=2d            → nothing
        bob 0 gap=2d            → nothing
        ann 1d gap=1            → nothing       # 0 reaches 1d
        bob 86400000.001 gap=1  → nothing
        tick 2d                 → ann 0..1d n=2, bob 0..0 n=1, bob 86400000.001..86400000.001 n=1
        counters clamped_gaps=2
        """,
    ),
    case(
        "3.1",
        "a batch cuts no gap, unless the query says so",
        OWN_GAPS,
        """
        ann   0:gap=2d   2d:gap=1   3d:gap=1
              ├──────────┤          ┤
        """,
        cannot=reasons(STREAMS, "a stream cuts gaps to a day"),
    ),
    case(
        "3.1",
        "records whose gap is null, zero or negative are left out",
        OWN_GAPS,
        """
        ann   0:gap=5   3   4:gap=0   5:gap=-1
              ┤
        """,
    ),
    case(
        "3.1",
        "cut gaps and bad gaps are counted",
        CUT_FINALS,
        """
        ann 0 gap=5     → nothing
        ann 1 gap=6     → nothing
        ann 2 gap=0     → nothing
        ann 3           → nothing
        tick 7          → nothing           # 1 + 5 is not before 7 - 1
        tick 8          → ann 0..1 n=2
        counters clamped_gaps=1 bad_gaps=2 records=2
        """,
    ),
    case(
        "3.2",
        "a session reaches as far as the furthest of its records",
        OWN_GAPS,
        """
        ann   0:gap=10   3:gap=1   10:gap=1   12:gap=1
              ├────────────────────┤          ┤
        """,
    ),
    case(
        "3.2",
        "a later record with a long gap does not reach back",
        OWN_GAPS,
        """
        ann   0:gap=3   4:gap=100   104:gap=1   106:gap=1
              ┤         ├─────2─────┤           ┤
        """,
    ),
    case(
        "3.2",
        "a record may join any number of sessions, in any order of arrival",
        Query(gaps(grace=50)),
        """
        ann 20 gap=1        → nothing
        ann 5 gap=1         → nothing
        ann 0 gap=30        → nothing
        tick 80             → nothing       # the reach is 30
        tick 81             → ann 0..20 n=3
        """,
        in_batch=True,
    ),
    case(
        "3.2",
        "gaps that are all alike are a fixed gap",
        OWN_GAPS,
        """
        ann   0:gap=5   5:gap=5   11:gap=5
              ├─────────┤         ┤
        """,
    ),
    case(
        "3.3",
        "a session closes when its reach is before the close time",
        FINALS,
        """
        ann 0 gap=5         → nothing
        tick 6              → nothing       # 5 is not before 6 - 1
        tick 6.001          → ann 0..0 n=1
        """,
    ),
    case(
        "3.3",
        "a record is late if the reach of its session would be before the close time",
        FINALS,
        """
        bob 20 gap=5        → nothing       # C = 19
        ann 13 gap=5        → nothing       # it reaches 18
        ann 14 gap=5        → nothing       # it reaches 19
        tick 40             → ann 14..14 n=1, bob 20..20 n=1
        counters late=1
        """,
    ),
    case(
        "3.3",
        "with a retention a closed session is visible while its end is",
        REVIVED,
        """
        ann 0 gap=5         → nothing
        ann 7 gap=5         → ann 0..0 n=1
        ann 5 gap=5         → nothing       # 0 reaches 5, and is visible until T = 20
        tick 40             → ann 0..7 n=3
        counters late=0
        """,
    ),
    case(
        "3.3",
        "updates go by reach",
        UPDATES,
        """
        ann 0 gap=10        → upsert ann 0..0 n=1
        ann 11 gap=1        → upsert ann 11..11 n=1
        ann 10 gap=1        → delete ann 0..0, delete ann 11..11, upsert ann 0..11 n=3
        """,
    ),
    case(
        "3.4",
        "a record far behind with a longer gap makes a second window with the bounds of a frozen one",
        FINALS,
        """
        ann 0 gap=2         → nothing
        bob 10 gap=1        → ann 0..0 n=1  # C = 9
        ann 0 gap=9         → nothing       # it reaches 9
        tick 30             → ann 0..0 n=1, bob 10..10 n=1
        counters late=0
        """,
    ),
]
