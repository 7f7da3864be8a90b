"""Result columns that are computed: the aggregates that the core is asked for, and the step that follows."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from windrow.aggregates.aggregate import Aggregate, Computed
from windrow.aggregates.evaluation import Call, Finish, Named


def parts_of(chosen: Mapping[str, Aggregate], taken: Collection[str]) -> dict[str, Aggregate]:
    """The aggregates that the core computes, by name: those chosen, then the parts of computed ones that are not.

    `taken` are names that no part may have, whatever their case.
    """
    asked = {name: aggregate for name, aggregate in chosen.items() if not isinstance(aggregate, Computed)}
    names = {name.casefold() for name in (*taken, *chosen)}
    for name, aggregate in chosen.items():
        for part in aggregate.aggregates if isinstance(aggregate, Computed) else ():
            if part not in asked.values():
                asked[_free(_part_name(name, part), names)] = part
    return asked


def finish_of(
    chosen: Mapping[str, Aggregate], asked: Mapping[str, Aggregate], before: Collection[str], after: Collection[str]
) -> Finish | None:
    """The step that makes the columns `before`, the chosen ones and `after` of the core's; None where it has those."""
    if not any(isinstance(aggregate, Computed) for aggregate in chosen.values()):
        return None

    def name_of(part: Aggregate) -> str:
        return next(name for name, aggregate in asked.items() if aggregate == part)

    def column(name: str) -> Named | Call:
        aggregate = chosen.get(name)
        return aggregate.call(name_of) if isinstance(aggregate, Computed) else Named(name)

    columns = tuple((name, column(name)) for name in (*before, *chosen, *after))
    return Finish(columns, tuple(name for name in asked if name not in chosen))


def _part_name(name: str, part: Aggregate) -> str:
    """What errors call a part of a column."""
    condition = "" if part.condition is None else f" where {part.condition}"
    return f"{name}: {part.maker}({', '.join(part.columns)}){condition}"


def _free(name: str, names: set[str]) -> str:
    """A name of a part that nothing has yet."""
    numbered = (name, *(f"{name} {number}" for number in range(2, len(names) + 3)))
    free = next(each for each in numbered if each.casefold() not in names)
    names.add(free.casefold())
    return free
