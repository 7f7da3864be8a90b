"""Result columns that are computed: the aggregates that the core computes, and the step that follows.

An aggregate with a least number of records is computed from its value and from a count, which others may share:

```text
 mean(x).min_samples(3)        mean(x)  count(x)        null where count(x) is below 3
```
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from windrow._aggregates.call import AggregateCall, Computed
from windrow._aggregates.evaluation import Expression, Finish, Named
from windrow._arguments.column import Names


class _Parts:
    """The aggregates of the core, each once."""

    def __init__(self, calls: Mapping[str, AggregateCall]) -> None:
        self._of_kind: dict[str, list[tuple[AggregateCall, str]]] = {}
        for name, aggregate in calls.items():
            self.add(name, aggregate)

    def add(self, name: str, aggregate: AggregateCall) -> None:
        """One more, and its name."""
        self._of_kind.setdefault(_kind(aggregate), []).append((aggregate, name))

    def names_of(self, part: AggregateCall) -> list[str]:
        """The names of those that are equal, with any least number of records."""
        part = part.unlimited
        return [name for call, name in self._of_kind.get(_kind(part), ()) if call == part]


def parts_of(chosen: Mapping[str, AggregateCall], taken: Collection[str]) -> dict[str, AggregateCall]:
    """The aggregates that the core computes, by name: the chosen ones, then parts of computed ones that are not chosen.

    `taken` are names that no part may have, in any case.
    """
    calls = {name: aggregate.unlimited for name, aggregate in chosen.items() if not isinstance(aggregate, Computed)}
    names, parts = Names((*taken, *chosen)), _Parts(calls)
    for name, aggregate in chosen.items():
        for part in aggregate.aggregates if isinstance(aggregate, Computed) else ():
            if not parts.names_of(part):
                unused = names.unused(_part_name(name, part))
                calls[unused] = part.unlimited
                parts.add(unused, part.unlimited)
    if chosen and not calls:  # all are computed of the windows alone, and the core keeps none without a state
        calls[names.unused("count()")] = AggregateCall("count")
    return calls


def counters_of(
    chosen: Mapping[str, AggregateCall],
    calls: Mapping[str, AggregateCall],
    resolved: Mapping[str, AggregateCall],
    taken: Collection[str],
) -> tuple[dict[str, str], dict[str, AggregateCall]]:
    """For each aggregate with a least number of records, by name, the name of the count of its records.

    Then the counts that the core does not compute yet, by name. `resolved` are the `calls` over the columns of a plan.
    """
    names, parts, counts = Names((*taken, *calls, *chosen)), _Parts(resolved), _Parts(calls)
    counters, more = dict[str, str](), dict[str, AggregateCall]()
    for name, aggregate in chosen.items():
        for part in aggregate.aggregates if isinstance(aggregate, Computed) else (aggregate,):
            own = _name_in(counts, name, part)
            if part.least is None or own in counters:
                continue
            count = resolved[own].count
            counted = parts.names_of(count)
            if not counted:
                counted = [names.unused(_part_name(name, count))]
                more[counted[0]] = count
                parts.add(counted[0], count)
            counters[own] = counted[0]
    return counters, more


def finish_of(
    chosen: Mapping[str, AggregateCall],
    calls: Mapping[str, AggregateCall],
    counters: Mapping[str, str],
    before: Collection[str],
    after: Collection[str],
    *,
    nulls: bool = False,
) -> Finish | None:
    """The step that makes the columns `before`, the chosen ones and `after` of the core's; None where it has those.

    `calls` are the aggregates that the core computes, without the counts that only `counters` names. With `nulls`,
    results that do not fit their type are null.
    """
    if not counters and not any(isinstance(aggregate, Computed) for aggregate in chosen.values()):
        return None
    parts = _Parts(calls)

    def of_part(name: str, part: AggregateCall) -> Named:
        own = _name_in(parts, name, part)
        return Named(own) if part.least is None else Named(own, counters[own], part.least)

    def column(name: str) -> Named | Expression:
        aggregate = chosen.get(name)
        if isinstance(aggregate, Computed):
            return aggregate.expression(lambda part: of_part(name, part))
        return Named(name) if aggregate is None else of_part(name, aggregate)

    columns = tuple((name, column(name)) for name in (*before, *chosen, *after))
    hidden = tuple(name for name in dict.fromkeys((*calls, *counters.values())) if name not in chosen)
    return Finish(columns, hidden, "op" in after, nulls)


def _name_in(parts: _Parts, name: str, part: AggregateCall) -> str:
    """The name that the core gives a part of a chosen aggregate, its own if it is chosen itself."""
    names = parts.names_of(part)
    return name if name in names else names[0]


def _kind(aggregate: AggregateCall) -> str:
    """A key that equal aggregates share. Some aggregates have no hash, so it only narrows the search."""
    options = (aggregate.columns, aggregate.percentage, aggregate.accuracy, aggregate.most)
    return f"{aggregate.function}{options!r}{aggregate.selection}"


def _part_name(name: str, part: AggregateCall) -> str:
    """The name of a part of a column in errors."""
    condition = "" if part.condition is None else f" where {part.condition}"
    frame = "" if part.frame is None else f" over {part.frame!r}"
    return f"{name}: {part.maker}({', '.join(part.columns)}){condition}{frame}"
