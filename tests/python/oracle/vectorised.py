"""The same sliding windows for many records: the rule text on sorted NumPy times, contents as ranges of rows.

`conformance/test_oracle.py` holds it against the brute force.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def windows(times: Ints, difference: int, resolution: int) -> tuple[Ints, Ints, Ints]:
    """The windows of one key's times, which are sorted: starts, and the first and past-the-last row of each."""
    floored = times // resolution * resolution
    worlds = [(floored[floored < 0], 0), (floored[floored >= 0], int(np.count_nonzero(floored < 0)))]
    parts = []
    for world, offset in worlds:
        early = (world >= 0) & (world < difference)
        left = np.where(early, 0, world - difference)
        right = world + resolution
        held = np.searchsorted(world, right + difference, "right") > np.searchsorted(world, right, "left")
        starts = np.unique(np.concatenate([left, right[held]]))
        rows = np.searchsorted(world, starts, "left"), np.searchsorted(world, starts + difference, "right")
        parts.append((starts, rows[0] + offset, rows[1] + offset))
    starts, first, past = (np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True))
    return starts, first, past


def range_sums(values: Ints, first: Ints, past: Ints) -> Ints:
    """The sums of whole numbers over ranges of rows."""
    prefix = np.concatenate([[0], np.cumsum(values)])
    sums: Ints = prefix[past] - prefix[first]
    return sums
