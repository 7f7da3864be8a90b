"""Sessions: rules 2."""

from __future__ import annotations

import windrow as wr

from .case import case
from .query import Query, gaps, ms, sessions

GAP_5 = Query(sessions(5))
FINALS = Query(sessions(5, grace=1))
UPDATES = Query(sessions(5, grace=1), emit={})
REVIVED = Query(sessions(5, grace=1, retention=ms(20)))
LEAST_RETENTION = Query(sessions(5, grace=1, retention=ms(6)))

TOLD = {"n": wr.count(), "why": wr.ended_by()}


def ruled(gap: float = 100, grace: float = 10**10, **rules: object) -> Query:
    """Sessions with rules, in the order of ties."""
    return Query(sessions(gap, grace, **rules), TOLD, {"tie": "tie"})


MOST_2 = ruled(max_records=2)
LONGEST_10 = ruled(max_duration=ms(10))
ENDING = ruled(end_when="end")
BEGINNING = ruled(start_when="begin")
CUT_ON = ruled(cut_on=["word", "x"])
DAYS = ruled(10**8, cut_at="00:00")
ALL = ruled(5, end_when="end", max_records=2, start_when="begin", cut_on="word", max_duration=ms(10))
RULES_ON_STREAM = ruled(5, grace=2, max_records=2)
LATE_WITH_RULES = ruled(5, grace=2, max_duration=ms(10))

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
        tick 10         → ann 0..3 n=2
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
        cannot={
            way: "one by one, the record at 9 comes before the one that it would join (rules 1.2)"
            for way in ("driver", "restarts")
        },
    ),
    case(
        "2.7",
        "end_when: the record that ends a session is its last",
        ENDING,
        """
        ann   0:tie=1   1:tie=1,end   2:tie=1   3:tie=1
              ├─────────┤ why=end_when
                                      ├─────────┤ why=open
        """,
    ),
    case(
        "2.7",
        "end_when: a record of the same time and a later tie is of the next session",
        ENDING,
        """
        ann   0:tie=1,end   0:tie=2   3:tie=1,end
              ┤ n=1 why=end_when
                            ├─────────┤ n=2 why=end_when
        """,
    ),
    case(
        "2.7",
        "max_records: the next record begins the next session",
        MOST_2,
        """
        ann   0:tie=1   1:tie=1   2:tie=1
              ├─────────┤ why=max_records
                                  ┤ why=open
        """,
    ),
    case(
        "2.7",
        "max_records: records of one time and tie stay together",
        MOST_2,
        """
        ann   0:tie=1   1:tie=1   1:tie=1   2:tie=1
              ├─────────┤ why=max_records
                                            ┤ why=open
        """,
    ),
    case(
        "2.7",
        "gap: no record of the session reaches the next one",
        ALL,
        """
        ann   0:tie=1   5:tie=1,begin   11:tie=1,begin
              ┤ why=start_when
                        ┤ why=gap
                                        ┤ why=open
        """,
    ),
    case(
        "2.7",
        "start_when: a record begins a session, a null does not",
        BEGINNING,
        """
        ann   0:tie=1   1:tie=1,begin=null   2:tie=1,begin   3:tie=1
              ├─────────┤ why=start_when
                                             ├───────────────┤ why=open
        """,
    ),
    case(
        "2.7",
        "cut_on: a value differs from that of the record before; two nulls are equal",
        CUT_ON,
        """
        ann   0:tie=1   1:tie=1   2:tie=1,word=a   3:tie=1,word=a   4:tie=1,word=b   5:tie=1
              ├─────────┤ why=cut_on
                                  ├────────────────┤ why=cut_on
                                                                    ┤ why=cut_on
                                                                                     ┤ why=open
        """,
    ),
    case(
        "2.7",
        "cut_at: a day begins at midnight, and the record at midnight is of the new day",
        DAYS,
        """
        ann   23h:tie=1   86399999:tie=1   1d:tie=1   25h:tie=1
              ├───────────┤ why=cut_at
                                           ├──────────┤ why=open
        """,
    ),
    case(
        "2.7",
        "max_duration: a session is cut from its first record on",
        LONGEST_10,
        """
        ann   0:tie=1   6:tie=1   10:tie=1   11:tie=1   20:tie=1   22:tie=1
              ├───────────────────┤ why=max_duration
                                             ├──────────┤ why=max_duration
                                                                   ┤ why=open
        """,
    ),
    case(
        "2.7",
        "the reason is the first in the order of the rules",
        ALL,
        """
        ann   0:tie=1   1:tie=1,end   20:tie=1,begin   22:tie=1,word=a   24:tie=1,word=a,begin   31:tie=1,word=a
              ├─────────┤ why=end_when
                                      ┤ why=cut_on
                                                       ┤ why=start_when
                                                                         ┤ why=gap
                                                                                                 ┤ why=open
        """,
    ),
    case(
        "2.7",
        "the last session of a key says if it has its most records or an end",
        ALL,
        """
        ann   0:tie=1   1:tie=1
              ├─────────┤ why=max_records
        bob   0:tie=1,end
              ┤ why=end_when
        """,
    ),
    case(
        "2.7",
        "sessions may have the same bounds if their records differ in the tie",
        MOST_2,
        """
        ann   3:tie=1   3:tie=2   3:tie=3   3:tie=4
              ┤ n=2 why=max_records
                                  ┤ n=2 why=max_records
        """,
    ),
    case(
        "2.7, 1.1",
        "a record without a tie is left out, and ends nothing",
        ENDING,
        """
        ann   0:tie=1   1:end   2:tie=1
              ├────────2────────┤ why=open
        """,
    ),
    case(
        "2.8",
        "with rules, accepted records wait until no earlier one can come",
        RULES_ON_STREAM,
        """
        ann 2 tie=1     → nothing
        ann 1 tie=1     → nothing
        ann 3 tie=1     → nothing           # 1 is before T - G = 1: no
        tick 4          → nothing           # 1 is taken; its session may get a second record
        tick 5          → ann 1..2 n=2 why=max_records
        tick 10         → nothing           # 3 reaches 8, which is not before 8
        tick 11         → ann 3..3 n=1 why=gap
        counters late=0
        """,
    ),
    case(
        "2.8",
        "with rules a record is late behind the grace, even if it could join",
        LATE_WITH_RULES,
        """
        ann 10 tie=1    → nothing
        ann 8 tie=1     → nothing           # 8 is not before 10 - 2
        ann 7 tie=1     → nothing           # late, though 8 is within its gap
        tick 30         → ann 8..10 n=2 why=gap
        counters late=1
        """,
    ),
]
