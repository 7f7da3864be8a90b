"""Records that are in no window: rule 6.13."""

from __future__ import annotations

from dataclasses import replace

from .case import case
from .query import Query, gaps, ms, sessions, sliding

LEFT_OUT = Query(sessions(5, grace=1), left_out=True)
LEFT_OUT_SLIDING = Query(sliding(5, grace=2), left_out=True)
LEFT_OUT_LATE = Query(sessions(5, grace=1), left_out=True, late=True)
LEFT_OUT_GAPS = Query(gaps(grace=1), left_out=True)
LEFT_OUT_EARLY = Query(gaps(grace=2), left_out=True)  # alone: a record without a key does not say of which case it is
LEFT_OUT_VISIBLE = Query(sessions(5, grace=0, retention=ms(50)), left_out=True)
LEFT_OUT_TIES = Query(sessions(5, grace=1, max_records=9), group={"tie": "tie"}, left_out=True)
LEFT_OUT_AHEAD = Query(sessions(5, grace=1), left_out=True, max_ahead=10)
NO_LEDGER = {"shuffle": "its steps give windows alone; `tests/python/spark/test_spark_left_out.py` has the other rows"}

CASES = [
    case(
        "6.13",
        "a record in no window comes back with its reason",
        LEFT_OUT,
        """
        bob 20          → nothing           # C = 14
        ann 0           → left_out ann 0..0 reason=late late_by=14 stream_time=20 time=0
        - 3             → left_out - 3..3 reason=null_key time=3
        ann -           → left_out ann -..- reason=null_time time=null
        tick -          → left_out - -..- reason=bad_tick
        ann 14          → nothing
        tick 40         → ann 14..14 n=1, bob 20..20 n=1
        counters late=1 null_keys=1 null_times=1 bad_ticks=1
        """,
    ),
    case(
        "6.13",
        "without a key comes before without a time, and that before a bad gap",
        LEFT_OUT_EARLY,
        """
        - 1 gap=0, ann - gap=0      → left_out - 1..1 reason=null_key time=1, left_out ann -..- reason=null_time
        bob 2 gap=0, ann 0 gap=5    → left_out bob 2..2 reason=bad_gap time=2 late_by=null stream_time=null
        ann 3 gap=5                 → nothing
        tick 20                     → ann 0..3 n=2
        counters null_keys=1 null_times=1 bad_gaps=1
        """,
        in_batch=True,
        cannot=NO_LEDGER,
    ),
    case(
        "6.13",
        "a sliding record that only its own window could have taken is refused",
        LEFT_OUT_SLIDING,
        """
        bob 20          → nothing           # C = 18
        ann 12          → left_out ann 7..12 reason=late late_by=1 stream_time=20
        ann 13          → left_out ann 8..13 reason=refused late_by=5 stream_time=20
        ann 18          → nothing
        """,
    ),
    case(
        "6.13, 6.3",
        "a late record that comes back as a row gives no other",
        LEFT_OUT_LATE,
        """
        bob 20          → nothing
        ann 0           → late ann 0..0 n=1
        - 0             → left_out - 0..0 reason=null_key
        """,
    ),
    case(
        "6.13, 3.1",
        "a bad gap is a reason, and a late reach is late by the reach",
        LEFT_OUT_GAPS,
        """
        bob 20 gap=5    → nothing           # C = 19
        ann 20 gap=0    → left_out ann 20..20 reason=bad_gap
        ann 10 gap=5    → left_out ann 10..10 reason=late late_by=4 stream_time=20
        """,
    ),
    case(
        "6.13, 2.4",
        "a record is late by the end of the closed session that it would join",
        LEFT_OUT_VISIBLE,
        """
        ann 10, bob 30  → ann 10..10 n=1        # C = 25
        ann 8           → left_out ann 8..8 reason=late late_by=15 stream_time=30
        """,
    ),
    case(
        "6.13, 2.7",
        "a null tie is a reason",
        LEFT_OUT_TIES,
        """
        ann 0 tie=1     → nothing
        ann 1           → left_out ann 1..1 reason=null_tie
        """,
    ),
    case(
        "6.13, 5.2",
        "so is one of any input",
        replace(LEFT_OUT_TIES, inputs=("clicks", "orders")),
        """
        clicks:ann 0 tie=1, clicks:ann 1, orders:ann 2  → left_out ann 1..1 reason=null_tie, left_out ann 2..2 reason=null_tie
        clicks:tick 20, orders:tick 20                  → ann 0..0 n=1
        counters null_ties=2
        """,  # noqa: E501
        in_batch=True,
        cannot=NO_LEDGER,
    ),
    case(
        "6.13, 1.1",
        "being ahead of the clock is the first of the reasons",
        LEFT_OUT_AHEAD,
        """
        - 11            → left_out - 11..11 reason=ahead time=11
        tick 11         → left_out - 11..11 reason=bad_tick time=11
        ann 10          → nothing
        counters ahead=1 bad_ticks=1
        """,
    ),
    case(
        "6.13, 1.4",
        "each source judges its own records",
        replace(LEFT_OUT, group={"source": "source"}),
        """
        ann 0 source=a          → nothing
        ann 60 source=b         → nothing
        bob 3 source=a          → nothing
        bob 3 source=b          → left_out bob 3..3 reason=late late_by=51 stream_time=60
        - 3 source=b            → left_out - 3..3 reason=null_key
        """,
    ),
    case(
        "6.13, 5.1",
        "each input judges its own records",
        replace(LEFT_OUT, inputs=("clicks", "orders")),
        """
        clicks:ann 60           → nothing
        orders:ann 20           → nothing
        orders:bob 3            → left_out bob 3..3 reason=late late_by=11 stream_time=20
        clicks:bob 20           → left_out bob 20..20 reason=late late_by=34 stream_time=60
        """,
    ),
    case(
        "6.13, 4.3",
        "a record that another window takes is not left out",
        LEFT_OUT_SLIDING,
        """
        cid 52                  → nothing           # C = 50
        ann 47                  → left_out ann 42..47 reason=refused late_by=3 stream_time=52
        ann 50                  → nothing
        ann 47                  → nothing           # 45..50 takes it
        counters windows_refused=2 late=0
        """,
    ),
]
