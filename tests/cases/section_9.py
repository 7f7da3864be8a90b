"""Kafka's steps: rules 9."""

from __future__ import annotations

from .case import case
from .query import Query, sessions, sliding

RECORD_BY_RECORD = {"every_record": True}
SESSIONS = Query(sessions(5, grace=100), emit=RECORD_BY_RECORD, group={"order": "offset"})
SLIDING = Query(sliding(5, grace=100), emit=RECORD_BY_RECORD, group={"order": "offset"})
REFUSING = Query(sliding(5, grace=2), emit=RECORD_BY_RECORD, group={"order": "offset"})

CASES = [
    case(
        "9.1",
        "a session record deletes what it joins, by end, and stores one window",
        SESSIONS,
        """
        ann 0       → upsert ann 0..0 n=1
        ann 10      → upsert ann 10..10 n=1
        ann 5       → delete ann 0..0, delete ann 10..10, upsert ann 0..10 n=3
        """,
    ),
    case(
        "9.1, 2.2",
        "a late record is counted, and the steps stop",
        Query(sessions(5, grace=1), emit=RECORD_BY_RECORD, group={"order": "offset"}),
        """
        ann 20      → upsert ann 20..20 n=1
        ann 13      → nothing
        ann 14      → upsert ann 14..14 n=1
        counters late=1
        """,
    ),
    case(
        "9.2",
        "a record inside a session deletes and upserts the same bounds",
        SESSIONS,
        """
        ann 0       → upsert ann 0..0 n=1
        ann 4       → delete ann 0..0, upsert ann 0..4 n=2
        ann 2       → delete ann 0..4, upsert ann 0..4 n=3
        """,
    ),
    case(
        "9.2",
        "a record at the time of a session of one time overwrites it without a delete",
        SESSIONS,
        """
        ann 7       → upsert ann 7..7 n=1
        ann 7       → upsert ann 7..7 n=2
        """,
    ),
    case(
        "9.3",
        "the window right of the record before comes first, then the left one",
        SLIDING,
        """
        ann 10      → upsert ann 5..10 n=1
        ann 12      → upsert ann 11..16 n=1, upsert ann 7..12 n=2
        """,
    ),
    case(
        "9.3",
        "a record in between updates by start, descending, and copies the window right of it",
        SLIDING,
        """
        ann 10      → upsert ann 5..10 n=1
        ann 12      → upsert ann 11..16 n=1, upsert ann 7..12 n=2
        ann 11      → upsert ann 11..16 n=2, upsert ann 7..12 n=3, upsert ann 6..11 n=2, upsert ann 12..17 n=1
        """,
    ),
    case(
        "9.3",
        "if the window that ends with a record has one of its time, everything exists",
        SLIDING,
        """
        ann 10      → upsert ann 5..10 n=1
        ann 10      → upsert ann 5..10 n=2
        """,
    ),
    case(
        "9.4, 4.3",
        "a refused window is counted and not updated",
        REFUSING,
        """
        ann 10      → upsert ann 5..10 n=1
        ann 14      → upsert ann 11..16 n=1, upsert ann 9..14 n=2
        ann 11      → upsert ann 11..16 n=2, upsert ann 9..14 n=3, upsert ann 12..17 n=1     # 6..11 refuses
        bob 17      → upsert bob 12..17 n=1                                                 # C = 15
        ann 12      → upsert ann 12..17 n=2, upsert ann 11..16 n=3, upsert ann 13..18 n=1    # 9..14, 7..12 refuse
        counters windows_refused=3 late=0
        """,
    ),
    case(
        "9.5",
        "an early record updates the window from 0 last",
        SLIDING,
        """
        ann 3       → upsert ann 0..5 n=1
        ann 4       → upsert ann 4..9 n=1, upsert ann 0..5 n=2
        """,
    ),
    case(
        "9.6",
        "an update may come twice if the right window of one record is the left one of the next",
        SLIDING,
        """
        ann 6       → upsert ann 1..6 n=1
        ann 10      → upsert ann 7..12 n=1, upsert ann 5..10 n=2
        ann 16      → upsert ann 11..16 n=1, upsert ann 11..16 n=1      # 10 + 5 + 1
        """,
    ),
    case(
        "9.6, 6.2",
        "a micro-batch has that update once",
        Query(sliding(5, grace=100), emit={}),
        """
        ann 6       → upsert ann 1..6 n=1
        ann 10      → upsert ann 5..10 n=2, upsert ann 7..12 n=1
        ann 16      → upsert ann 11..16 n=1
        """,
    ),
    case(
        "9.7",
        "after a refusal a copied window may contain a record older than its start",
        REFUSING,
        """
        ann 10      → upsert ann 5..10 n=1
        bob 14      → upsert bob 9..14 n=1                          # C = 12
        ann 11      → upsert ann 11..16 n=1                         # 6..11 refuses it
        ann 13      → upsert ann 11..16 n=2, upsert ann 8..13 n=2   # so no window right of 11
        ann 17      → upsert ann 14..19 n=1, upsert ann 12..17 n=3  # a copy of 11..16, with 11
        counters windows_refused=1
        """,
    ),
    case(
        "9.8",
        "finals of sessions come by end, start and key",
        Query(sessions(5, grace=1)),
        """
        bob 0, ann 3, cid 0     → nothing
        tick 30                 → bob 0..0 n=1, cid 0..0 n=1, ann 3..3 n=1
        """,
    ),
    case(
        "9.8",
        "finals of sliding windows come by start and key",
        Query(sliding(5, grace=2)),
        """
        bob 10, ann 10, cid 8   → nothing
        tick 30                 → cid 3..8 n=1, ann 5..10 n=1, bob 5..10 n=1
        """,
    ),
    case(
        "9.3",
        "the window right of a record one difference before is made",
        SLIDING,
        """
        ann 10      → upsert ann 5..10 n=1
        ann 15      → upsert ann 11..16 n=1, upsert ann 10..15 n=2
        """,
    ),
]
