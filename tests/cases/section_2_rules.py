"""Sessions that rules end before their gap does: rules 2.7 and 2.8."""

from __future__ import annotations

from dataclasses import replace

import windrow as wr

from .case import case
from .query import Query, gaps, ms, sessions

N_AND_WHY = {"n": wr.count(), "why": wr.ended_by()}


def ruled(gap: float = 100, grace: float = 10**10, **rules: object) -> Query:
    """Sessions with rules, in the order of ties."""
    return Query(sessions(gap, grace, **rules), N_AND_WHY, {"tie": "tie"})


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
        ann 3 tie=1     → nothing           # T - G = 1: another record may come at 1, so 1 waits
        tick 4          → nothing           # T - G = 2: 1 is taken, and 2 waits
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
    case(
        "2.7, 3.1",
        "a record with a bad gap is left out, and ends nothing",
        Query(gaps(end_when="end"), N_AND_WHY),
        """
        ann   0:gap=5   1:gap=0,end   2:gap=5
              ├────────2──────────────┤ why=open
        """,
    ),
    case(
        "2.7, 1.5",
        "a tick ends nothing",
        ruled(5, grace=100, end_when="end"),
        """
        ann 0 tie=1             → nothing
        tick 1 tie=1 end        → nothing
        ann 2 tie=1             → nothing
        tick 200                → ann 0..2 n=2 why=gap
        """,
    ),
    case(
        "2.7",
        "cut_on: records of one time and tie that differ are a session of their own",
        CUT_ON,
        """
        ann   0:tie=1,word=a   0:tie=1,word=b   1:tie=1,word=a   1:tie=1,word=b
              ┤ n=2 why=cut_on
                                                ┤ n=2 why=open
        """,
    ),
    case(
        "2.7",
        "end_when: one of the last records is enough",
        ENDING,
        """
        ann   0:tie=1   1:tie=1   1:tie=1,end   2:tie=1
              ├─────────┤ why=end_when
                                                ┤ why=open
        """,
    ),
    case(
        "2.7",
        "start_when: one of the next records is enough",
        BEGINNING,
        """
        ann   0:tie=1   1:tie=1   1:tie=1,begin   2:tie=1
              ┤ n=1 why=start_when
                        ├─────────────────────────┤ n=3 why=open
        """,
    ),
    case(
        "2.7, 3.2",
        "gap: a session reaches as far as the furthest of its records",
        Query(gaps(max_records=9), N_AND_WHY),
        """
        ann   0:gap=10   3:gap=1   8:gap=1   12:gap=1
              ├────────────────────┤ why=gap
                                             ┤ why=open
        """,
    ),
    case(
        "2.8, 6.3",
        "with rules a late record comes back alone, and nothing has ended it",
        replace(ruled(10, grace=5, max_records=2), late=True),
        """
        ann 0 tie=1     → nothing
        ann 20 tie=2    → ann 0..0 n=1 why=gap
        ann 14 tie=3    → late ann 14..14 n=1 why=null
        ann 16 tie=4    → nothing
        ann 60 tie=5    → ann 16..20 n=2 why=max_records
        counters late=1 late_emitted=1
        """,
    ),
]
