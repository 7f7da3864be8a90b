"""Active time of one window in plain Python, from the distances of neighbours: rules 6.14."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise


def active_time(times: Iterable[int], limit: int, *, drop: bool = False) -> int:
    """The sum of the distances of neighbours, each at most the limit, or only of those within it."""
    distances = [later - earlier for earlier, later in pairwise(sorted(times))]
    return sum(distance if distance <= limit else 0 if drop else limit for distance in distances)


def active_runs(times: Iterable[int], limit: int) -> int:
    """How many records come more than the limit after the one before them, or first."""
    ordered = sorted(times)
    return sum(place == 0 or time - ordered[place - 1] > limit for place, time in enumerate(ordered))
