"""The times of the steps of a funnel: rules 6.15."""

from __future__ import annotations

from dataclasses import replace

import windrow as wr

from .case import case
from .query import Query, ms, sessions

STEPS = ["a", "b", "c"]
TIMES = Query(
    sessions(50),
    {
        "n": wr.count(),
        "times": wr.funnel_times(STEPS, column="word", within=ms(10)),
        "any": wr.funnel_times(STEPS, column="word"),
        "strict": wr.funnel_times(STEPS, column="word", strict=True),
        "ended": wr.funnel_times(STEPS, column="word").where("end"),
    },
)

CASES = [
    case(
        "6.15",
        "a funnel has a time for each step that it counts, and none without a first step",
        TIMES,
        """
        ann   0:word=a,end   3:word=b   10:word=c,end
              ├─────────────────────────┤ times=[0 3 10] any=[0 3 10] strict=[0 3 10] ended=[0]
        bob   0:word=a   3:word=b   11:word=c
              ├─────────────────────┤ times=[0 3] any=[0 3 11]
        cid   0:word=b   3:word=c
              ├──────────┤ times=[] any=[] strict=[]
        """,
    ),
    case(
        "6.15",
        "of the ways with all steps the one that ends first counts, then the one that begins last",
        TIMES,
        """
        ann   0:word=a   1:word=a   2:word=b   3:word=c   4:word=a   5:word=b   6:word=c
              ├─────────────────────────────────────────────────────────────────┤ times=[1 2 3]
        bob   0:word=a   3:word=b   6:word=a   12:word=b   14:word=c
              ├────────────────────────────────────────────┤ times=[6 12 14] any=[6 12 14]
        cid   0:word=a   3:word=b   6:word=a   7:word=a
              ├────────────────────────────────┤ times=[0 3]
        """,
    ),
    case(
        "6.15",
        "of the ways with the same bounds the one with the earliest steps counts",
        TIMES,
        """
        ann   0:word=a   1:word=b   2:word=b   3:word=c
              ├────────────────────────────────┤ times=[0 1 3]
        bob   0:word=a   0:word=a   4:word=b   5:word=b
              ├────────────────────────────────┤ times=[0 4]
        """,
    ),
    case(
        "6.15",
        "a longer way counts, even if it ends later",
        TIMES,
        """
        ann   0:word=a   1:word=b   2:word=a   3:word=b   9:word=c
              ├───────────────────────────────────────────┤ times=[2 3 9]
        """,
    ),
    case(
        "6.15",
        "a strict funnel has only times before the record that ends it",
        TIMES,
        """
        ann   0:word=a   1:word=x   2:word=b   3:word=c
              ├────────────────────────────────┤ any=[0 2 3] strict=[0]
        bob   0:word=b   1:word=a   2:word=a   3:word=b   4:word=x   5:word=c
              ├──────────────────────────────────────────────────────┤ any=[2 3 5] strict=[2 3]
        """,
    ),
    case(
        "6.15, 6.10",
        "records of one time are steps of one way, with ties in their order",
        replace(TIMES, group={"tie": "tie"}),
        """
        ann   0:tie=2,word=b   0:tie=1,word=a   5:tie=2,word=c   5:tie=1,word=b
              ├─────────────────────────────────┤ times=[0 0 5]
        bob   0:tie=1,word=b   0:tie=2,word=a   5:tie=1,word=c   5:tie=2,word=b
              ├─────────────────────────────────┤ times=[0 5]
        cid   0:tie=1,word=a   3:tie=1,word=b   5:tie=1,word=c   5:tie=2,word=a   5:tie=3,word=b   5:tie=4,word=c
              ├─────────────────────────────────┤ times=[5 5 5]
        """,
    ),
    case(
        "6.15",
        "a late record makes the way end earlier",
        replace(TIMES, emit={}),
        """
        ann 0 word=a, ann 9 word=b    → upsert ann 0..9 n=2 times=[0 9]
        ann 4 word=b                  → upsert ann 0..9 n=3 times=[0 4]
        ann 2 word=a                  → upsert ann 0..9 n=4 times=[2 4]
        """,
    ),
]
