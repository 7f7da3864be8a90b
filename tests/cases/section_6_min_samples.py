"""A least number of records: rule 6.16."""

from __future__ import annotations

import windrow as wr

from .case import case
from .query import Query, sessions, sliding

COUNTS = Query(
    sessions(5, grace=1),
    {
        "n": wr.count(),
        "rows": wr.count().min_samples(2),
        "known": wr.count("v").min_samples(2),
        "total": wr.sum("v").min_samples(2),
        "first": wr.first("v").min_samples(2),
        "some": wr.sum("v").min_samples(2).where("end"),
    },
)
PAIRS = Query(
    sessions(5, grace=1),
    {"n": wr.count(), "least": wr.min_by("v", "x").min_samples(2), "greatest": wr.max_by("x", "v").min_samples(2)},
)
FLOATS = Query(sessions(5, grace=1), {"n": wr.count(), "known": wr.count("x").min_samples(2)})
PARTS = Query(sessions(5, grace=1), {"n": wr.count(), "share": (wr.sum("v") / wr.count()).min_samples(2)})
UPDATES = Query(sessions(5, grace=100), {"n": wr.count(), "total": wr.sum("v").min_samples(2)}, emit={})
LATE = Query(sessions(5, grace=1), {"n": wr.count(), "rows": wr.count().min_samples(2)}, late=True)
SLIDING = Query(sliding(5, grace=10), {"n": wr.count(), "total": wr.sum("v").min_samples(2)})
FRAMED = Query(
    sliding(10),
    {
        "n": wr.count(),
        "near": wr.sum("v").min_samples(2).over("2000 microseconds"),
        "before": wr.count().over("10000 microseconds", closed="left").min_samples(2),
    },
    returns_records=True,
)

CASES = [
    case(
        "6.16",
        "an aggregate is null where it takes one record too few, and has its value with as many as it needs",
        COUNTS,
        """
        ann 0 v=3 end, ann 1, bob 0 v=5 end     → nothing
        ann 2 v=6 end, bob 3 v=1                → nothing
        cid 0                                   → nothing
        tick 20 → ann 0..2 n=3 rows=3 known=2 total=9 first=3 some=9, bob 0..3 n=2 rows=2 known=2 total=6 first=5 some=null, cid 0..0 n=1 rows=null known=null total=null first=null some=null
        """,  # noqa: E501
        in_batch=True,
    ),
    case(
        "6.16",
        "min_by and max_by take the records with a rank, with and without a value",
        PAIRS,
        """
        ann 0 v=3 x=1.5, ann 1 x=0.5            → nothing
        bob 0 v=3 x=1.5, bob 1 v=9              → nothing
        tick 20     → ann 0..1 n=2 least=null greatest=null, bob 0..1 n=2 least=null greatest=null
        """,
        in_batch=True,
    ),
    case(
        "6.16",
        "NaN is a value, and null is none",
        FLOATS,
        """
        ann 0 x=nan, ann 1 x=1.0                → nothing
        bob 0, bob 1 x=1.0                      → nothing
        tick 20     → ann 0..1 n=2 known=2, bob 0..1 n=2 known=null
        """,
        in_batch=True,
    ),
    case(
        "6.16",
        "each part of a computed aggregate needs as many records",
        PARTS,
        """
        ann 0 v=3, ann 1, ann 2 v=6             → nothing
        bob 0 v=3, bob 1                        → nothing
        tick 20     → ann 0..2 n=3 share=3.0, bob 0..1 n=2 share=null
        """,
        in_batch=True,
    ),
    case(
        "6.16",
        "an update has a value as soon as there are enough records",
        UPDATES,
        """
        ann 0 v=3       → upsert ann 0..0 n=1 total=null
        ann 2           → delete ann 0..0, upsert ann 0..2 n=2 total=null
        ann 4 v=6       → delete ann 0..2, upsert ann 0..4 n=3 total=9
        """,
    ),
    case(
        "6.16, 6.3",
        "a late record is one record",
        LATE,
        """
        bob 20, bob 21  → nothing
        ann 0           → late ann 0..0 n=1 rows=null
        tick 40         → bob 20..21 n=2 rows=2
        """,
    ),
    case(
        "6.16",
        "each sliding window counts its own records",
        SLIDING,
        """
        ann 10 v=1, ann 12 v=2      → nothing
        tick 30     → ann 5..10 n=1 total=null, ann 7..12 n=2 total=3, ann 11..16 n=1 total=null
        """,
        in_batch=True,
    ),
    case(
        "6.16",
        "with over it counts the records of the frame",
        FRAMED,
        """
        ann 10 v=5      → ann 0..10 n=1 near=null before=null
        ann 12 v=4      → ann 2..12 n=2 near=9 before=null
        ann 15 v=3      → ann 5..15 n=3 near=null before=2
        """,
        in_batch=True,
    ),
]
