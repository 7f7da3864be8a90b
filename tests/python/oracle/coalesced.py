"""Updates of a whole batch, at most one for each window (rules 6.2)."""

from __future__ import annotations

from collections.abc import Iterable

from .stream import Change


def coalesced(changes: Iterable[tuple[Change, int]], before: set[int]) -> list[Change]:
    """The last change of each window, each with its number. `before` has the numbers of windows that stood before the
    batch: one that was born in it and is gone leaves nothing. Late records are rows of their own."""
    late: list[Change] = []
    last: dict[tuple[str, int, int], Change] = {}
    known: set[tuple[str, int, int]] = set()
    for change, number in changes:
        name = (change.key, change.start, change.end)
        if change.op == "late":
            late.append(change)
            continue
        last[name] = change
        if number in before:
            known.add(name)
    return late + [change for name, change in last.items() if change.op == "upsert" or name in known]
