"""Aggregates on the command line: `name=function`, or with arguments `name=function:column,column`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from inspect import Parameter

from windrow import functions
from windrow._aggregates.aggregate import Aggregate
from windrow._arguments.errors import bad_value, unknown_word

ARGUMENT = "--agg"
_ALLOWED = "name=function or name=function:column, such as clicks=count or spend=sum:amount"
_OF_PYTHON = ("reduce", "aggregate", "apply")
_COLUMNS = ("column", "by", "other", "columns")
"""Names of parameters that are columns. Other parameters are numbers."""
_EXAMPLES = {"column": "amount", "by": "ts", "other": "price", "percentage": "0.5"}


FUNCTIONS: dict[str, Callable[..., Aggregate]] = {
    name: function
    for name, function in inspect.getmembers(functions, inspect.isfunction)
    if name not in _OF_PYTHON and next(iter(inspect.signature(function).parameters), None) == "column"
}
"""The built-in aggregates, by name."""


def aggregates(given: Iterable[str]) -> dict[str, Aggregate]:
    """The aggregates by result column. Without any, `count`.

    Raises `ValueError` for text that is not `name=function:column`, a repeated name, a wrong number of arguments, or
    an argument that should be a number.

    >>> aggregates(["clicks=count", "best=max_by:page,amount"])["best"]
    max_by('page', 'amount')
    """
    by_name = dict[str, Aggregate]()
    for text in given:
        name, equals, call = text.partition("=")
        if not name or not equals or not call:
            raise bad_value(ARGUMENT, text, _ALLOWED)
        if name in by_name:
            raise bad_value(ARGUMENT, text, f"a name that no other aggregate has; {name!r} is there twice")
        by_name[name] = _aggregate(text, call)
    return by_name or {"count": functions.count()}


def _aggregate(text: str, call: str) -> Aggregate:
    name, colon, rest = call.partition(":")
    if name not in FUNCTIONS:
        raise unknown_word(f"{ARGUMENT} {text}: function", name, sorted(FUNCTIONS))
    function = FUNCTIONS[name]
    parameters = inspect.signature(function).parameters.values()
    taken = [each for each in parameters if each.kind is not each.KEYWORD_ONLY]
    many = any(each.kind is each.VAR_POSITIONAL for each in taken)
    least = sum(each.default is each.empty and each.kind is not each.VAR_POSITIONAL for each in taken)
    parts = [] if not colon else [rest] if len(taken) == 1 else rest.split(",")
    if len(parts) < least or (len(parts) > len(taken) and not many) or "" in parts:
        raise bad_value(ARGUMENT, text, _allowed(name, taken, least))
    slots = taken + taken[-1:] * (len(parts) - len(taken))
    return function(*(_argument(text, parameter, part) for parameter, part in zip(slots, parts, strict=False)))


def _allowed(name: str, taken: list[Parameter], least: int) -> str:
    """The call syntax of a function, with an example."""
    needed, more = [each.name for each in taken[:least]], [each.name for each in taken[least:]]
    if not needed:
        return f"{name} or {name}:{','.join(more)}"
    called = f"{name}:{','.join(needed)}" + "".join(f"[,{option}]" for option in more)
    return f"{called}, such as {name}:{','.join(_EXAMPLES.get(parameter, parameter) for parameter in needed)}"


def _argument(text: str, parameter: Parameter, part: str) -> str | float:
    """Keeps a column name as text and parses a number."""
    if parameter.name in _COLUMNS:
        return part
    try:
        return int(part) if part.isdecimal() else float(part)
    except ValueError:
        raise bad_value(ARGUMENT, text, f"a number as {parameter.name}, in the place of {part!r}") from None
