"""Counters: rules 7."""

from __future__ import annotations

from .case import case
from .query import Query, gaps, sessions, sliding

CASES = [
    case(
        "7",
        "what arrives, what is left out and what leaves is counted",
        Query(sessions(5, grace=1)),
        """
        ann 0, bob 20   → ann 0..0 n=1
        tick 21         → nothing
        - 21            → nothing
        ann -           → nothing
        tick -          → nothing
        ann 1           → nothing
        counters records=3 late=1 null_keys=1 null_times=1 ticks=1 bad_ticks=1 windows_closed=1 stream_time=21
        """,
    ),
    case(
        "7",
        "updates are counted by rows",
        Query(sessions(5, grace=1), emit={}),
        """
        ann 0           → upsert ann 0..0 n=1
        ann 3           → delete ann 0..0, upsert ann 0..3 n=2
        counters updates=3 records=2
        """,
    ),
    case(
        "7",
        "gaps that are cut or bad are counted",
        Query(gaps(grace=1, max_gap=5)),
        """
        ann 0 gap=6     → nothing
        ann 1           → nothing
        counters clamped_gaps=1 bad_gaps=1 records=1
        """,
    ),
    case(
        "7",
        "a refused window is no late record",
        Query(sliding(5, grace=2), late=True),
        """
        bob 20          → nothing
        ann 13          → late ann 8..13 n=1
        counters late=0 windows_refused=1 late_emitted=1
        """,
    ),
]
