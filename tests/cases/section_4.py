"""Sliding windows: rules 4."""

from __future__ import annotations

from typing import Any, Literal

import windrow as wr

from .case import case
from .query import Query, ms, sliding

WITHIN_5 = Query(sliding(5))
FINALS = Query(sliding(5, grace=2))
UPDATES = Query(sliding(5, grace=100), emit={})
COARSE = Query(sliding(4, unit=2), {"n": wr.count(), "last": wr.last("v")})
RECORDS = Query(sliding(5, grace=2), returns_records=True)
RECORDS_IN_ORDER = Query(sliding(5, grace=2), group={"order": "offset"}, returns_records=True)


def within_2(closed: Literal["both", "left", "right", "neither"] = "both", delay: float | None = None) -> Any:
    return wr.count().over(ms(2), closed=closed, delay=None if delay is None else ms(delay))


PARTS = Query(
    sliding(5, grace=2),
    {
        "n": wr.count(),
        "both": within_2(),
        "left": within_2("left"),
        "right": within_2("right"),
        "neither": within_2("neither"),
        "earlier": within_2(delay=1),
        "least": wr.min("v").over(ms(2), closed="left"),
    },
    returns_records=True,
)

FRAMES = Query(
    sliding(30, grace=2),
    {
        "n": wr.count(),
        "both": wr.sum("v").over(ms(5)),
        "left": wr.sum("v").over(ms(5), closed="left"),
        "right": wr.sum("v").over(ms(5), closed="right"),
        "neither": wr.sum("v").over(ms(5), closed="neither"),
        "later": wr.sum("v").over(ms(5), delay=ms(5)),
        "before": wr.sum("v").over(ms(5), delay=ms(10)),
    },
    returns_records=True,
)

CASES = [
    case(
        "4.1",
        "with a coarser unit times are floored",
        COARSE,
        """
        time   4    6    8    10   14
        ann   9:v=1           10:v=2
               ├────1────┤ last=1
                    ├────2────┤ last=2
                              ├─1──┤ last=2
        """,
    ),
    case(
        "4.1",
        "times are floored toward minus infinity",
        COARSE,
        """
        time   -6   -2
        ann   -1:v=1
               ├─1──┤
        """,
    ),
    case(
        "4.1",
        "the last value is that of the full time",
        COARSE,
        """
        time   4    8
        ann   9:v=1 8:v=2
               ├─2──┤ last=1
        """,
    ),
    case(
        "4.2",
        "a record has the window that ends with it",
        WITHIN_5,
        """
        time   5    10
        ann         10   10
               ├─2──┤
        """,
    ),
    case(
        "4.2",
        "a record also has a window after it, if that contains a record",
        WITHIN_5,
        """
        time   5    7    10   11   12   16
        ann              10        12
               ├────1────┤
                    ├──────2───────┤
                              ├────1────┤
        """,
    ),
    case(
        "4.2",
        "one record further than the difference: the window after the first is that before the second",
        WITHIN_5,
        """
        time   5    10   11   16
        ann         10        16
               ├─1──┤    ├─1──┤
        """,
    ),
    case(
        "4.2",
        "two records further than the difference have no window after the first",
        WITHIN_5,
        """
        time   5    10   12   17
        ann         10        17
               ├─1──┤    ├─1──┤
        """,
    ),
    case(
        "4.2",
        "three records",
        WITHIN_5,
        """
        time   5    7    8    10   11   12   13   16   18
        ann                   10        12   13
               ├──────1───────┤
                    ├─────────2─────────┤
                         ├─────────3─────────┤
                                   ├──────2───────┤
                                             ├────1────┤
        """,
    ),
    case(
        "4.2",
        "records before the difference share the early window",
        WITHIN_5,
        """
        time   0    3    4    5    9
        ann         3    4
               ├──────2───────┤
                         ├────1────┤
        """,
    ),
    case(
        "4.2",
        "at exactly the difference a record has a left window, which starts as the early one",
        WITHIN_5,
        """
        time   0    5
        ann         5
               ├─1──┤
        """,
    ),
    case(
        "4.2",
        "windows do not cross 1970",
        WITHIN_5,
        """
        time   -8   -6   -3   -2   -1   0    2    3    5
        ann              -3        -1        2
               ├────1────┤
                    ├──────2───────┤
                              ├─────────1─────────┤
                                        ├──────1───────┤
        """,
    ),
    case(
        "4.2",
        "each changed window gives an update",
        UPDATES,
        """
        ann 10          → upsert ann 5..10 n=1
        ann 12          → upsert ann 7..12 n=2, upsert ann 11..16 n=1
        ann 11          → upsert ann 6..11 n=2, upsert ann 7..12 n=3, upsert ann 11..16 n=2, upsert ann 12..17 n=1
        """,
    ),
    case(
        "4.3",
        "a window is final when its end is before the close time",
        FINALS,
        """
        ann 10          → nothing
        tick 12         → nothing           # 10 is not before 12 - 2
        tick 13         → ann 5..10 n=1
        """,
    ),
    case(
        "4.3, 4.5",
        "a window that ends before the close time refuses the record",
        FINALS,
        """
        bob 20          → nothing           # C = 18
        ann 12          → nothing           # late as a whole: 12 + 5 is before 18
        ann 13          → nothing           # its window 8..13 refuses it
        ann 17          → nothing           # so does 12..17
        ann 18          → nothing
        tick 40         → ann 13..18 n=1, bob 15..20 n=1
        counters late=1 windows_refused=2
        """,
    ),
    case(
        "4.4",
        "a closed window stays visible for every record that it helps",
        FINALS,
        """
        ann 22          → nothing
        bob 30          → ann 17..22 n=1    # C = 28
        ann 23          → nothing           # 18..23 refuses it, and 23..28, right of 22, does not
        tick 100        → ann 23..28 n=1, bob 25..30 n=1
        counters late=0 windows_refused=1
        """,
    ),
    case(
        "4.4, 2.4",
        "a retention shorter than three differences changes nothing",
        Query(sliding(5, grace=2, retention=ms(12))),
        """
        ann 22          → nothing
        bob 30          → ann 17..22 n=1
        ann 23          → nothing
        tick 100        → ann 23..28 n=1, bob 25..30 n=1
        """,
    ),
    case(
        "4.5",
        "after a refusal a key goes on as windows",
        Query(sliding(5, grace=2), emit={}),
        """
        ann 10          → upsert ann 5..10 n=1
        bob 14          → upsert bob 9..14 n=1          # C = 12
        ann 11          → upsert ann 11..16 n=1         # 6..11 refuses it
        ann 13          → upsert ann 8..13 n=2, upsert ann 11..16 n=2
        counters windows_refused=1
        """,
    ),
    case(
        "4.6",
        "each record comes back with the window that ends with it",
        RECORDS,
        """
        ann 10, ann 12, bob 11      → ann 5..10 n=1, ann 7..12 n=2, bob 6..11 n=1
        """,
        in_batch=True,
    ),
    case(
        "4.6",
        "a record before the difference has a window that starts before 1970",
        RECORDS,
        """
        ann -1, ann 3               → ann -6..-1 n=1, ann -2..3 n=2
        """,
        in_batch=True,
    ),
    case(
        "4.6",
        "on a stream a record sees earlier micro-batches and its own",
        RECORDS,
        """
        ann 10          → ann 5..10 n=1
        ann 12          → ann 7..12 n=2
        ann 11          → ann 6..11 n=2     # the record at 12 has left with two
        ann 13          → ann 8..13 n=4
        """,
    ),
    case(
        "4.6",
        "a record is late if its window is",
        RECORDS,
        """
        bob 20          → bob 15..20 n=1    # C = 18
        ann 17          → ann -..- n=null   # it comes back without a window
        ann 18          → ann 13..18 n=1
        counters late=1
        """,
    ),
    case(
        "4.6",
        "with an order a record sees the records up to itself",
        RECORDS_IN_ORDER,
        """
        ann 12 offset=1, ann 10 offset=2    → ann 7..12 n=1, ann 5..10 n=1
        ann 13 offset=3                     → ann 8..13 n=3
        """,
    ),
    case(
        "4.7",
        "an aggregate over a part of the window, with bounds of each kind",
        PARTS,
        """
        ann 10 v=5      → ann 5..10 n=1 both=1 left=0 right=1 neither=0 earlier=0 least=null
        ann 12 v=4      → ann 7..12 n=2 both=2 left=1 right=1 neither=0 earlier=1 least=5
        ann 13 v=3      → ann 8..13 n=3 both=2 left=1 right=2 neither=1 earlier=2 least=4
        """,
        in_batch=True,
    ),
    case(
        "4.7",
        "records of one time are covered or not together, also with a delay",
        FRAMES,
        """
        ann 0 v=1           → ann -30..0 n=1 both=1 left=null right=1 neither=null later=null before=null
        ann 5 v=2, ann 5 v=4 → ann -25..5 n=3 both=7 left=1 right=6 neither=null later=1, ann -25..5 n=3 both=7
        ann 10 v=8          → ann -20..10 n=4 both=14 left=6 right=8 neither=null later=7 before=1
        ann 20 v=16         → ann -10..20 n=5 both=16 left=null right=16 neither=null later=8 before=14
        ann 21 v=32         → ann -9..21 n=6 both=48 left=16 right=48 neither=16 later=null before=8
        """,
        in_batch=True,
    ),
    case(
        "4.2",
        "the record at 1970 itself is early",
        WITHIN_5,
        """
        time   0    1    2    5    6
        ann    0         2
               ├──────2───────┤
                    ├────1─────────┤
        """,
    ),
    case(
        "4.2",
        "windows do not cross 1970, also record by record",
        UPDATES,
        """
        ann -1          → upsert ann -6..-1 n=1
        ann 5           → upsert ann 0..5 n=1
        """,
    ),
    case(
        "4.1",
        "stream time is floored too",
        Query(sliding(4, grace=2, unit=2)),
        """
        tick 9          → nothing           # T = 8, C = 6
        ann 6           → nothing
        tick 20         → ann 2..6 n=1
        counters late=0 windows_refused=0
        """,
    ),
    case(
        "4.6",
        "a time is stored until the close time is past it and the difference",
        RECORDS,
        """
        ann 10          → ann 5..10 n=1
        tick 17         → nothing           # C = 15
        ann 15          → ann 10..15 n=2
        """,
    ),
]
