"""Aggregates by name, as `agg` takes them."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.aggregates.aggregate import MAKERS, Aggregate, call_of
from windrow.aggregates.call import AggregateCall
from windrow.errors import NO_NULL_CHARACTER, aggregate_argument, bad_type, bad_value


def without_names(given: Sequence[object], call: str = "agg") -> TypeError:
    """Aggregates were given by position, or in a list, where each is a column that needs a name."""
    flat = [each for one in given for each in (one if isinstance(one, list | tuple) else [one])]
    named = (_shown(call_of(each)) for each in flat if isinstance(each, Aggregate))
    shown = ", ".join(dict.fromkeys(named)) or "n=windrow.count()"
    return bad_type("aggregates", given[0], f"aggregates by name, such as {call}({shown})")


def _shown(call: AggregateCall) -> str:
    name = "_".join([call.maker, *call.columns])
    shown = repr(call) if type(call) is AggregateCall else f"{call.maker}(...)"
    return f"{name if name.isidentifier() else 'result'}=windrow.{shown}"


def check_name(name: str, aggregate: Aggregate, taken: dict[str, str]) -> None:
    """Raises unless it is an aggregate under a name that nothing in `taken` has, which tells what has it."""
    if not isinstance(aggregate, Aggregate):
        called = getattr(aggregate, "__name__", "")
        hint = f"; write windrow.{called}(...)" if called in MAKERS else ""
        if callable(aggregate) and not hint:
            hint = "; functions of Python go into windrow.reduce(...) or windrow.aggregate(...)"
        raise bad_type(aggregate_argument(name), aggregate, f"an aggregate of windrow, such as windrow.count(){hint}")
    if "\0" in name:
        raise bad_value("aggregates", name, NO_NULL_CHARACTER)
    if name.casefold() in taken:
        raise bad_value("aggregates", name, f"a name that nothing else has; {taken[name.casefold()]} has this one")
