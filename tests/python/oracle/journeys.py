"""Funnels of one window in plain Python, by trying every chain of records."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

Step = tuple[int, frozenset[int]]
"""The time of a record, and the steps that it fits, from 0."""


def funnel(rows: Sequence[Step], steps: int, within: float = inf, *, strict: bool = False) -> int:
    """How many first steps the records got through."""
    return _strictly(rows, within) if strict else _longest(rows, (), steps, within)


def _longest(rows: Sequence[Step], chain: tuple[int, ...], steps: int, within: float) -> int:
    """The length of the longest chain of distinct records that begins with these."""
    if len(chain) == steps:
        return steps
    best = len(chain)
    for place, (time, fits) in enumerate(rows):
        if len(chain) not in fits or place in chain:
            continue
        if chain and (time < rows[chain[-1]][0] or time - rows[chain[0]][0] > within):
            continue
        best = max(best, _longest(rows, (*chain, place), steps, within))
    return best


def _strictly(rows: Sequence[Step], within: float) -> int:
    """Record by record, with every chain that there is, until one comes that can be no step."""
    chains = set[tuple[int, int]]()
    for time, fits in sorted(rows, key=lambda row: (row[0], min(row[1], default=-1), sum(2**step for step in row[1]))):
        reached = max((length for _, length in chains), default=0)
        if chains and all(step > reached for step in fits):
            break
        chains |= {(start, length + 1) for start, length in chains if length in fits and time - start <= within}
        chains |= {(time, 1)} if 0 in fits else set()
    return max((length for _, length in chains), default=0)
