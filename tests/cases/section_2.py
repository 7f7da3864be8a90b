"""Rules 2.1 to 2.6. `section_2_ends` has records with an end, `section_2_rules` has rules 2.7 and 2.8."""

from __future__ import annotations

from .case import case, reasons
from .query import Query, ms, sessions

GAP_5 = Query(sessions(5))
FINALS = Query(sessions(5, grace=1))
UPDATES = Query(sessions(5, grace=1), emit={})
REVIVED = Query(sessions(5, grace=1, retention=ms(20)))
IN_ORDER = Query(sessions(5, grace=1), group={"order": "offset"})
LEAST_RETENTION = Query(sessions(5, grace=1, retention=ms(6)))
ONE_BY_ONE = reasons(("driver", "restarts"), "one by one, 9 comes before the record that it would join (rules 1.2)")

TOGETHER = reasons(("driver", "restarts"), "one by one, the records are late (rules 1.2)")

CASES = [
    case(
        "2.1",
        "a record joins a session up to one gap away",
        GAP_5,
        """
        ann   0    5         11
              ├────┤         ┤
        """,
    ),
    case(
        "2.1",
        "the gap is counted from the nearest record, not from the first",
        GAP_5,
        """
        ann   0    4    9     14   20
              ├───────────────┤    ┤
        """,
    ),
    case(
        "2.1",
        "a record between two sessions joins both",
        GAP_5,
        """
        ann   0    10   5            # the one at 5 comes last
              ├────┤
        """,
    ),
    case(
        "2.1",
        "a record before a session joins it",
        GAP_5,
        """
        ann   3    10   15
              ┤    ├────┤
        """,
    ),
    case(
        "2.1",
        "keys have sessions of their own",
        GAP_5,
        """
        ann   0         6
              ┤         ┤
        bob        3         8
                   ├─────────┤
        """,
    ),
    case(
        "2.1",
        "several records of one time are one session, also before 1970",
        GAP_5,
        """
        ann   -7   -2   -2   4
              ├────┤         ┤
        """,
    ),
    case(
        "2.1, 1.1",
        "records without a key or a time are in no session",
        GAP_5,
        """
        ann   0    -    4
              ├────2────┤
        -     2
        """,
    ),
    case(
        "2.1",
        "a closed session is frozen, so a record within its gap begins another one",
        FINALS,
        """
        ann 0           → nothing
        tick 7          → ann 0..0 n=1      # 7 > 0 + 5 + 1
        ann 1           → nothing           # it would end at 1 = C, and the session at 0 is closed
        tick 8          → ann 1..1 n=1
        counters late=0
        """,
    ),
    case(
        "2.2",
        "a record is late if its session would end before the close time, strictly",
        FINALS,
        """
        bob 20          → nothing           # C = 20 - 5 - 1 = 14
        ann 14          → nothing           # 14 is not before 14
        ann 13          → nothing           # it joins the session at 14, which is open
        cid 13          → nothing           # late: nothing is there to join
        tick 30         → ann 13..14 n=2, bob 20..20 n=1
        counters late=1 records=4
        """,
    ),
    case(
        "2.2",
        "a record far behind is accepted if it joins an open session",
        FINALS,
        """
        ann 10          → nothing
        ann 15          → nothing
        bob 18          → nothing           # C = 12
        ann 5           → nothing           # it ends at 5, but joins 10..15, which ends after 12
        ann 4           → nothing           # now 5 is within its gap
        tick 30         → ann 4..15 n=4, bob 18..18 n=1
        counters late=0
        """,
    ),
    case(
        "2.2",
        "a late record changes no table of updates",
        UPDATES,
        """
        ann 0           → upsert ann 0..0 n=1
        bob 9           → upsert bob 9..9 n=1    # C = 3: the session at 0 is closed, without a row
        ann 1           → nothing
        ann 3           → upsert ann 3..3 n=1
        counters late=1
        """,
    ),
    case(
        "2.3",
        "a session closes when stream time is past its end, the gap and the grace",
        FINALS,
        """
        ann 0, ann 3    → nothing
        tick 9          → nothing           # 3 + 5 + 1 is not passed
        tick 9.001      → ann 0..3 n=2
        """,
    ),
    case(
        "2.3",
        "a record of another key closes a session too",
        FINALS,
        """
        ann 0           → nothing
        bob 6           → nothing
        bob 7           → ann 0..0 n=1
        tick 14         → bob 6..7 n=2
        """,
    ),
    case(
        "2.3, 1.6",
        "a record that comes in time moves the close of its session",
        FINALS,
        """
        ann 0           → nothing
        ann 5           → nothing
        tick 11         → nothing
        tick 12         → ann 0..5 n=2
        """,
    ),
    case(
        "2.4",
        "with a retention a record joins a closed session, and a second final has another window",
        REVIVED,
        """
        ann 0           → nothing
        ann 7           → ann 0..0 n=1      # C = 1
        ann 3           → nothing           # it joins both: 0 is closed, and still visible
        tick 30         → ann 0..7 n=3
        counters late=0
        """,
    ),
    case(
        "2.4",
        "a retention of exactly the gap and the grace changes nothing",
        LEAST_RETENTION,
        """
        ann 0           → nothing
        ann 7           → ann 0..0 n=1
        ann 3           → nothing
        tick 30         → ann 3..7 n=2
        """,
    ),
    case(
        "2.4",
        "beyond the retention a closed session is gone",
        REVIVED,
        """
        ann 0           → nothing
        bob 20          → ann 0..0 n=1      # visible while 0 > T - 20: no more
        ann 5           → nothing           # late
        bob 21          → nothing
        tick 40         → bob 20..21 n=2
        counters late=1
        """,
    ),
    case(
        "2.5",
        "finals equal the batch if every record comes within the grace",
        FINALS,
        """
        ann 1           → nothing
        ann 0           → nothing
        ann 6, ann 5    → nothing
        ann 12          → nothing
        ann 11          → nothing
        tick 30         → ann 0..12 n=6
        counters late=0
        """,
        in_batch=True,
    ),
    case(
        "2.5",
        "otherwise later records join only windows that are not closed",
        FINALS,
        """
        ann 0           → nothing
        bob 7           → ann 0..0 n=1      # C = 1; a batch has ann 0..4
        ann 4           → nothing
        tick 20         → ann 4..4 n=1, bob 7..7 n=1
        """,
    ),
    case(
        "2.6",
        "records of one micro-batch behind the grace are judged with the sessions that they join",
        FINALS,
        """
        bob 20                  → nothing   # C = 14, T - G = 19
        ann 9, ann 14, cid 18   → nothing   # 9 joins 14, which is open
        tick 40                 → ann 9..14 n=2, cid 18..18 n=1, bob 20..20 n=1
        """,
        cannot=ONE_BY_ONE,
    ),
    case(
        "2.6",
        "so is a session that ends just after the close time",
        FINALS,
        """
        bob 20                  → nothing   # C = 14
        ann 9.001, ann 14.001   → nothing
        tick 40                 → ann 9.001..14.001 n=2, bob 20..20 n=1
        counters late=0
        """,
        cannot=ONE_BY_ONE,
    ),
    case(
        "2.6",
        "records behind the grace whose session ends before the close time are all late",
        FINALS,
        """
        bob 20                      → nothing   # C = 14
        ann 8.999, ann 13.999, cid 19   → nothing
        tick 40                     → bob 20..20 n=1, cid 19..19 n=1
        counters late=2
        """,
    ),
    case(
        "2.6, 1.3",
        "with an order a record on the grace still joins a session that its own time leaves open",
        IN_ORDER,
        """
        ann 14 offset=1, bob 20 offset=2, ann 19 offset=3           → nothing   # C = 14, T - G = 19
        tick 40 offset=4                                            → ann 14..19 n=2, bob 20..20 n=1
        counters late=0
        """,
    ),
    case(
        "2.6, 1.3",
        "with an order a record behind the grace does not join a session that its own time has closed",
        IN_ORDER,
        """
        ann 13.999 offset=1, bob 20 offset=2, ann 18.999 offset=3   → ann 13.999..13.999 n=1
        tick 40 offset=4                                            → ann 18.999..18.999 n=1, bob 20..20 n=1
        counters late=0
        """,
    ),
    case(
        "2.6, 1.3",
        "neither does one that is a gap behind the grace and could be a session by itself",
        IN_ORDER,
        """
        ann 9 offset=1, bob 20 offset=2, ann 14 offset=3            → ann 9..9 n=1
        tick 40 offset=4                                            → ann 14..14 n=1, bob 20..20 n=1
        counters late=0
        """,
    ),
    case(
        "2.6, 1.3",
        "one that is a little further behind is late",
        IN_ORDER,
        """
        ann 9 offset=1, bob 20 offset=2, ann 13.999 offset=3        → ann 9..9 n=1
        tick 40 offset=4                                            → bob 20..20 n=1
        counters late=1
        """,
    ),
    case(
        "2.4",
        "a closed session is visible while its end is after stream time minus the retention",
        REVIVED,
        """
        ann 0.001, bob 20       → ann 0.001..0.001 n=1
        ann 5, ann 10, ann 15   → nothing           # 0.001 is after 20 - 20
        tick 40                 → ann 0.001..15 n=4, bob 20..20 n=1
        counters late=0
        """,
        cannot=TOGETHER,
    ),
    case(
        "2.4",
        "a closed session that ends at stream time minus the retention is hidden",
        REVIVED,
        """
        ann 0, bob 20           → ann 0..0 n=1
        ann 5, ann 10, ann 15   → nothing           # 0 is not after 20 - 20
        tick 40                 → ann 5..15 n=3, bob 20..20 n=1
        counters late=0
        """,
        cannot=TOGETHER,
    ),
]
