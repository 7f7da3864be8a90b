"""All cases: what is wrong with them, and the book as JSON lines."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from . import section_1, section_2, section_3, section_4, section_5, section_6, section_7, section_8, section_9
from .case import WAYS, Case

SECTIONS = (section_1, section_2, section_3, section_4, section_5, section_6, section_7, section_8, section_9)
CASES: tuple[Case, ...] = tuple(each for section in SECTIONS for each in section.CASES)


def fault(cases: Sequence[Case], rules: Collection[str]) -> str | None:
    """The first thing that is wrong with the cases, as a sentence. `rules` are the numbers that exist."""
    seen = set[str]()
    for each in cases:
        if not each.rules:
            return f"the case {each.name!r} names no rule; name one of docs/rules.md, such as '2.1'"
        for rule in each.rules:
            if rule not in rules:
                return f"the case {each.name!r} names the rule {rule!r}, which docs/rules.md does not have"
        for way, reason in each.cannot.items():
            if way not in WAYS:
                return f"the case {each.name!r} names the way {way!r}; allowed: {', '.join(WAYS)}"
            if not reason.strip():
                return f"the case {each.name!r} gives no reason why the way {way!r} cannot play it"
        if each.cannot.keys() == WAYS.keys():
            return f"no way plays the case {each.name!r}"
        if each.id in seen:
            return f"two cases are called {each.id!r}"
        seen.add(each.id)
    return None
