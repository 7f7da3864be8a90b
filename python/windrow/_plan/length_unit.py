"""The unit of the lengths of time in a plan: microseconds, or nanoseconds where a length needs them.

The core has the same lists (`rust/plan/length_unit.rs`).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

_OF_QUERY = ("grace", "until", "every")
_OF_WINDOWS = ("gap", "longest_gap", "longest", "difference", "resolution")
_OF_AGGREGATE = (("frame", "difference"), ("frame", "delay"), ("funnel", "within"))


def in_one_unit(plan: dict[str, Any]) -> dict[str, Any]:
    """A plan whose lengths are whole numbers, with `nanoseconds` if they count these."""
    places = list(_places(plan))
    if any(isinstance(holder[name], Fraction) for holder, name in places):
        for holder, name in places:
            holder[name] = int(holder[name] * 1_000)
        plan["nanoseconds"] = True
    return plan


def _places(plan: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Where a plan has lengths: the dicts that hold them, and the names in these."""
    holders = [(plan, name) for name in _OF_QUERY] + [(plan["windows"], name) for name in _OF_WINDOWS]
    for aggregate in plan["aggregates"]:
        holders += [(aggregate[part], name) for part, name in _OF_AGGREGATE if aggregate.get(part) is not None]
        holders.append((aggregate, "limit"))
    return ((holder, name) for holder, name in holders if holder.get(name) is not None)
