"""Aggregates of the command line: `name=function`, or with its columns `name=function:column,column`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable

from windrow.aggregates import builtin
from windrow.aggregates.aggregate import MAKERS, Aggregate
from windrow.errors import bad_value, unknown_word

ARGUMENT = "--agg"
_ALLOWED = "name=function or name=function:column, such as clicks=count or spend=sum:amount"
_OF_PYTHON = ("reduce", "aggregate")

FUNCTIONS: dict[str, Callable[..., Aggregate]] = {
    name: function
    for name in MAKERS
    if name not in _OF_PYTHON and inspect.isfunction(function := getattr(builtin, name, None))
}
"""The built-in aggregates, by name."""


def aggregates(given: Iterable[str]) -> dict[str, Aggregate]:
    """The aggregates by the names of their columns; `count` where none is given.

    Raises `ValueError` for what is no `name=function:column`, a name twice, or another number of columns than the
    function takes.

    >>> aggregates(["clicks=count", "best=max_by:page,amount"])
    {'clicks': Aggregate(function='count', columns=(), ignore_nulls=None), \
'best': Aggregate(function='max_by', columns=('page', 'amount'), ignore_nulls=None)}
    """
    found = dict[str, Aggregate]()
    for text in given:
        name, equals, call = text.partition("=")
        if not name or not equals or not call:
            raise bad_value(ARGUMENT, text, _ALLOWED)
        if name in found:
            raise bad_value(ARGUMENT, text, f"a name that no other aggregate has; {name!r} is there twice")
        found[name] = _aggregate(text, call)
    return found or {"count": builtin.count()}


def _aggregate(text: str, call: str) -> Aggregate:
    name, colon, rest = call.partition(":")
    if name not in FUNCTIONS:
        raise unknown_word(f"{ARGUMENT} {text}: function", name, list(FUNCTIONS))
    function = FUNCTIONS[name]
    taken = [known for known in inspect.signature(function).parameters.values() if known.kind is not known.KEYWORD_ONLY]
    least = sum(known.default is known.empty for known in taken)
    columns = [] if not colon else [rest] if len(taken) == 1 else rest.split(",")
    if not least <= len(columns) <= len(taken) or "" in columns:
        shown = ",".join(known.name for known in taken)
        raise bad_value(ARGUMENT, text, f"{name}:{shown}" if least else f"{name} or {name}:{shown}")
    return function(*columns)
