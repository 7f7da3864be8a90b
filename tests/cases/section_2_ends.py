"""Records that last from their time to an end: rules 2, and what they change in the others."""

from __future__ import annotations

from dataclasses import replace

import windrow as wr

from .case import case
from .query import Query, gaps, ms, sessions

GAP_5 = Query(sessions(5, grace=50), lasts=True)
GAP_0 = Query(sessions(0, grace=50), lasts=True)
LITTLE_GRACE = Query(sessions(5, grace=1), lasts=True)
UPDATES = Query(sessions(5, grace=100), emit={}, lasts=True)
STEPS = Query(sessions(5, grace=100), emit={"every_record": True}, group={"order": "offset"}, lasts=True)
LEFT_OUT = replace(LITTLE_GRACE, left_out=True)
WHY = {"n": wr.count(), "why": wr.ended_by()}
LONGEST_10 = Query(sessions(5, grace=50, max_duration=ms(10)), WHY, lasts=True)
DAYS = Query(sessions(10**8, grace=10**9, cut_at="00:00"), WHY, lasts=True)
ENDING = Query(sessions(5, grace=2, end_when="end"), WHY, lasts=True)
DAILY = Query(sessions(5, grace=0), lasts=True)
POINTS = Query(sessions(5, grace=0))
CLICKS_LAST = Query(sessions(5, grace=50), inputs=("clicks", "orders"), lasts=("clicks",))

CASES = [
    case(
        "2.1",
        "with ends, a record joins a session up to one gap after the end of another",
        GAP_5,
        """
        ann 0 until=10, ann 15 until=15, ann 21 until=21    → nothing
        tick 77                             → ann 0..15 n=2, ann 21..21 n=1
        """,
        in_batch=True,
    ),
    case(
        "2.1",
        "a session lasts to the latest end of its records",
        GAP_5,
        """
        ann 0 until=20, ann 5 until=6, ann 25 until=25      → nothing
        tick 80         → nothing       # 80 is not past 25 + 5 + 50
        tick 80.001     → ann 0..25 n=3
        """,
        in_batch=True,
    ),
    case(
        "2.1",
        "a long record joins the sessions that lie in it",
        GAP_5,
        """
        ann 30 until=31         → nothing
        ann 10 until=12         → nothing
        ann 0 until=25          → nothing
        tick 87                 → ann 0..31 n=3
        """,
        in_batch=True,
    ),
    case(
        "2.1",
        "a gap of 0 joins records that touch or overlap",
        GAP_0,
        """
        ann 0 until=10, ann 10 until=12, ann 11 until=13, ann 13.001 until=14    → nothing
        tick 65                 → ann 0..13 n=3, ann 13.001..14 n=1
        """,
        in_batch=True,
    ),
    case(
        "2.1",
        "a gap of 0 without ends joins records of one time",
        Query(sessions(0, grace=50)),
        """
        ann   0   0   0.001
              ┤ n=2
                      ┤ n=1
        """,
    ),
    case(
        "2.1, 7",
        "a record whose end is null or before its time is left out and counted",
        GAP_5,
        """
        ann 0 until=3           → nothing
        ann 4, ann 5 until=4.999, ann 8 until=8     → nothing
        tick 64                 → ann 0..8 n=2
        counters bad_ends=2 records=2
        """,
        in_batch=True,
    ),
    case(
        "1.1",
        "an end moves no stream time",
        LITTLE_GRACE,
        """
        ann 0 until=100         → nothing
        bob 0 until=0           → nothing
        tick 7                  → bob 0..0 n=1
        tick 107                → ann 0..100 n=1
        """,
    ),
    case(
        "1.1",
        "a record with a bad end moves no stream time",
        LITTLE_GRACE,
        """
        ann 0 until=0           → nothing
        bob 100                 → nothing
        bob 100 until=99        → nothing
        tick 7                  → ann 0..0 n=1
        counters bad_ends=2
        """,
    ),
    case(
        "1.5",
        "the end of a tick has no effect",
        LITTLE_GRACE,
        """
        ann 0 until=1           → nothing
        tick 7 until=-100       → nothing       # 7 is not past 1 + 5 + 1
        tick 7.001 until=7.001  → ann 0..1 n=1
        counters bad_ends=0 ticks=2
        """,
    ),
    case(
        "2.2",
        "a record is late if the latest end would be before the close time",
        LITTLE_GRACE,
        """
        bob 20 until=20         → nothing       # C = 14
        ann 2 until=13.999      → nothing
        ann 2 until=14          → nothing
        tick 40                 → ann 2..14 n=1, bob 20..20 n=1
        counters late=1 behind=1
        """,
    ),
    case(
        "2.3",
        "a session that covers stream time is open",
        LITTLE_GRACE,
        """
        ann 0 until=20          → nothing
        tick 20                 → nothing
        tick 26                 → nothing
        tick 26.001             → ann 0..20 n=1
        """,
    ),
    case(
        "2.5",
        "with too little grace a record misses sessions that closed while it ran",
        LITTLE_GRACE,
        """
        ann 10 until=10         → nothing
        ann 20 until=20         → ann 10..10 n=1        # C = 14
        ann 5 until=20          → nothing               # behind 20 - 1, but not late
        tick 40                 → ann 5..20 n=2
        counters late=0 behind=1
        """,
    ),
    case(
        "2.5",
        "with a grace of the longest record, finals are those of a batch",
        Query(sessions(5, grace=15), lasts=True),
        """
        ann 10 until=10         → nothing
        ann 20 until=20         → nothing
        ann 5 until=20          → nothing
        tick 41                 → ann 5..20 n=3
        counters late=0 behind=0
        """,
        in_batch=True,
    ),
    case(
        "3.1",
        "with ends, a gap of 0 is good, and a negative one is not",
        Query(gaps(grace=50), lasts=True),
        """
        ann 0 gap=0 until=3, ann 3 gap=0 until=3, ann 4 gap=0 until=4    → nothing
        ann 9 gap=-1 until=9, ann 9 until=9     → nothing
        tick 60                 → ann 0..3 n=2, ann 4..4 n=1
        counters bad_gaps=2 bad_ends=0
        """,
        in_batch=True,
    ),
    case(
        "3.2",
        "a record reaches from its time to its end plus its gap",
        Query(gaps(grace=50), lasts=True),
        """
        ann 0 gap=5 until=10, ann 15 gap=1 until=15, ann 17 gap=1 until=17    → nothing
        tick 70                 → ann 0..15 n=2, ann 17..17 n=1
        """,
        in_batch=True,
    ),
    case(
        "2.7",
        "max_duration counts to the latest end, and cuts no record",
        LONGEST_10,
        """
        ann 0 until=20, ann 4 until=5, ann 30 until=34, ann 36 until=38, ann 39 until=41    → nothing
        tick 2000       → ann 0..20 n=1 why=max_duration, ann 4..5 n=1 why=gap, \
ann 30..38 n=2 why=max_duration, ann 39..41 n=1 why=open
        """,
        in_batch=True,
    ),
    case(
        "2.7",
        "cut_at: later records begin a new session after the border, which a record may overlap",
        DAYS,
        """
        ann 23h until=25h, ann 23.5h until=23.5h, ann 24.5h until=24.6h    → nothing
        tick 2000h      → ann 23h..25h n=2 why=cut_at, ann 24.5h..24.6h n=1 why=open
        """,
        in_batch=True,
    ),
    case(
        "2.8",
        "with rules an end changes nothing about what is late",
        ENDING,
        """
        ann 0 until=30          → nothing
        bob 10 until=10         → nothing
        ann 7.999 until=100     → nothing       # late: before 10 - 2
        ann 8 until=9           → nothing
        tick 37                 → bob 10..10 n=1 why=gap        # 37 is not past 30 + 5 + 2
        tick 38                 → ann 0..30 n=2 why=gap
        counters late=1
        """,
    ),
    case(
        "5.1",
        "each input may have its own end",
        CLICKS_LAST,
        """
        clicks:ann 0 until=10, orders:ann 15 until=-5, orders:ann 21    → nothing
        clicks:tick 90, orders:tick 90      → ann 0..15 n=2, ann 21..21 n=1
        counters bad_ends=0
        """,
        in_batch=True,
    ),
    case(
        "6.3",
        "a late record comes back with its own bounds",
        replace(LITTLE_GRACE, late=True),
        """
        bob 20 until=20         → nothing
        ann 2 until=13          → late ann 2..13 n=1
        counters late=1 behind=0
        """,
    ),
    case(
        "6.13",
        "a record with a bad end comes back at its time, a late one with its end",
        LEFT_OUT,
        """
        ann 4 until=2           → left_out ann 4..4 reason=bad_end time=4 late_by=null stream_time=null
        bob 20 until=20         → nothing
        ann 2 until=13          → left_out ann 2..13 reason=late time=2 late_by=1 stream_time=20
        counters bad_ends=1 late=1
        """,
    ),
    case(
        "6.13",
        "a bad gap comes before a bad end",
        Query(gaps(grace=1), lasts=True, left_out=True),
        """
        ann 4 gap=-1 until=2    → left_out ann 4..4 reason=bad_gap
        ann 4 gap=1             → left_out ann 4..4 reason=bad_end
        ann 4 gap=-1 until=9    → left_out ann 4..9 reason=bad_gap
        counters bad_gaps=2 bad_ends=1
        """,
    ),
    case(
        "6.13",
        "a record whose end is ahead of the clock is ahead",
        replace(LITTLE_GRACE, left_out=True, max_ahead=100),
        """
        ann 0 until=101         → left_out ann 0..101 reason=ahead
        ann 0 until=100         → nothing
        tick 100 until=5000     → nothing
        counters ahead=1 ticks=1
        """,
    ),
    case(
        "6.2",
        "updates delete the sessions that a long record joins",
        UPDATES,
        """
        ann 11 until=11, ann 30 until=30    → upsert ann 11..11 n=1, upsert ann 30..30 n=1
        ann 9 until=25          → delete ann 11..11, delete ann 30..30, upsert ann 9..30 n=3
        """,
    ),
    case(
        "9.1, 9.2",
        "a record that covers a session deletes it, and overwrites one of its own bounds",
        STEPS,
        """
        ann 11 until=11         → upsert ann 11..11 n=1
        ann 9 until=13          → delete ann 11..11, upsert ann 9..13 n=2
        ann 9 until=13          → upsert ann 9..13 n=3
        ann 10 until=12         → delete ann 9..13, upsert ann 9..13 n=4
        """,
    ),
    case(
        "1.9",
        "a run takes records by their time, and keeps the sessions of those that run past its end",
        DAILY,
        """
        ann 8 until=14, bob 2 until=3, to 10    → bob 2..3 n=1
        ann 16 until=16, to 21                  → nothing       # 21 is not past 16 + 5
        to 22                                   → ann 8..16 n=2
        """,
    ),
    case(
        "1.10",
        "records in progress at the end of a history are behind it",
        DAILY,
        """
        ann 2 until=2, to 10                    → ann 2..2 n=1
        stream
        ann 6 until=12                          → nothing       # in the batch it would join 2..2
        tick 18                                 → ann 6..12 n=1
        counters behind=1 late=0
        """,
    ),
    case(
        "1.11",
        "a query with ends continues one without",
        POINTS,
        """
        ann 8, to 10                            → nothing
        stream
        ann 10 until=13, ann 18 until=18        → nothing
        tick 24                                 → ann 8..18 n=3
        """,
        then=DAILY,
    ),
]
