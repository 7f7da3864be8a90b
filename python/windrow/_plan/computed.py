"""Result columns that are computed: the aggregates that the core computes, and the step that follows."""

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
        """The names of those that are equal."""
        return [name for call, name in self._of_kind.get(_kind(part), ()) if call == part]


def parts_of(chosen: Mapping[str, AggregateCall], taken: Collection[str]) -> dict[str, AggregateCall]:
    """The aggregates that the core computes, by name: the chosen ones, then parts of computed ones that are not chosen.

    `taken` are names that no part may have, in any case.
    """
    calls = {name: aggregate for name, aggregate in chosen.items() if not isinstance(aggregate, Computed)}
    names, parts = Names((*taken, *chosen)), _Parts(calls)
    for name, aggregate in chosen.items():
        for part in aggregate.aggregates if isinstance(aggregate, Computed) else ():
            if not parts.names_of(part):
                unused = names.unused(_part_name(name, part))
                calls[unused] = part
                parts.add(unused, part)
    if chosen and not calls:  # all are computed of the windows alone, and the core keeps none without a state
        calls[names.unused("count()")] = AggregateCall("count")
    return calls


def finish_of(
    chosen: Mapping[str, AggregateCall],
    calls: Mapping[str, AggregateCall],
    before: Collection[str],
    after: Collection[str],
    *,
    nulls: bool = False,
) -> Finish | None:
    """The step that makes the columns `before`, the chosen ones and `after` of the core's; None where it has those.

    With `nulls`, results that do not fit their type are null.
    """
    if not any(isinstance(aggregate, Computed) for aggregate in chosen.values()):
        return None
    parts = _Parts(calls)

    def column(name: str) -> Named | Expression:
        aggregate = chosen.get(name)
        if not isinstance(aggregate, Computed):
            return Named(name)
        return aggregate.expression(lambda part: parts.names_of(part)[0])

    columns = tuple((name, column(name)) for name in (*before, *chosen, *after))
    return Finish(columns, tuple(name for name in calls if name not in chosen), "op" in after, nulls)


def _kind(aggregate: AggregateCall) -> str:
    """A key that equal aggregates share. Some aggregates have no hash, so it only narrows the search."""
    options = (aggregate.columns, aggregate.percentage, aggregate.accuracy, aggregate.most)
    return f"{aggregate.function}{options!r}{aggregate.selection}"


def _part_name(name: str, part: AggregateCall) -> str:
    """The name of a part of a column in errors."""
    condition = "" if part.condition is None else f" where {part.condition}"
    frame = "" if part.frame is None else f" over {part.frame!r}"
    return f"{name}: {part.maker}({', '.join(part.columns)}){condition}{frame}"
