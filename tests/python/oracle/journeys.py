"""Funnels of one window in plain Python, by trying every chain of records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

Step = tuple[int, frozenset[int]]
"""The time of a record, and the steps that it fits, from 0."""


def funnel(rows: Sequence[Step], steps: int, within: float = inf, *, strict: bool = False) -> int:
    """How many first steps the records got through."""
    return len(funnel_times(rows, steps, within, strict=strict))


def funnel_times(rows: Sequence[Step], steps: int, within: float = inf, *, strict: bool = False) -> list[int]:
    """The times of these steps: of all chains as long as any, the first to end, the last to begin, the earliest."""
    rows = sorted(rows, key=_rank)
    if strict:
        ended = (place for place in range(len(rows)) if _is_ended(rows[:place], rows[place], within))
        rows = rows[: next(ended, len(rows))]
    chains = list(_chains(rows, (), steps, within, strict=strict))
    longest = [chain for chain in chains if len(chain) == max(map(len, chains))]
    return min(longest, key=lambda times: (times[-1:], [-time for time in times[:1]], times))


def _chains(
    rows: Sequence[Step], chain: tuple[int, ...], steps: int, within: float, *, strict: bool
) -> Iterator[list[int]]:
    """The times of this chain of records, by their places, and of all chains that continue it."""
    yield [rows[place][0] for place in chain]
    for place, (time, fits) in enumerate(rows):
        is_next = len(chain) < steps and len(chain) in fits and place not in chain
        if is_next and chain:
            follows = place > chain[-1] if strict else time >= rows[chain[-1]][0]
            is_next = follows and time - rows[chain[0]][0] <= within
        if is_next:
            yield from _chains(rows, (*chain, place), steps, within, strict=strict)


def _is_ended(before: Sequence[Step], row: Step, within: float) -> bool:
    """Whether a record can be no step of a strict funnel that has begun."""
    reached = _strictly(before, within)
    return reached > 0 and all(step > reached for step in row[1])


def _rank(row: Step) -> tuple[int, int, int]:
    time, fits = row
    return time, min(fits, default=-1), sum(2**step for step in fits)


def _strictly(rows: Sequence[Step], within: float) -> int:
    """Record by record, with every chain that there is, until one comes that can be no step."""
    chains = set[tuple[int, int]]()
    for time, fits in sorted(rows, key=_rank):
        reached = max((length for _, length in chains), default=0)
        if chains and all(step > reached for step in fits):
            break
        chains |= {(start, length + 1) for start, length in chains if length in fits and time - start <= within}
        chains |= {(time, 1)} if 0 in fits else set()
    return max((length for _, length in chains), default=0)
