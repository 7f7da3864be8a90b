"""Aggregates on the command line: `name=function`, or with arguments `name=function:column,column`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from inspect import Parameter

from windrow import functions
from windrow._aggregates.aggregate import Aggregate
from windrow._arguments.errors import bad_value, unknown_word
from windrow._command.columns import Columns, Use

ARGUMENT = "--agg"
LEAST = "--min-samples"
_ALLOWED = "name=function or name=function:column, such as clicks=count or spend=sum:amount"
_OF_WINDOWS = ("active_runs", "active_time", "ended_by", "window_id", "window_length")
_OF_PYTHON = ("reduce", "aggregate", "apply")
_COLUMNS = ("column", "by", "other", "columns")
"""Names of parameters that are columns."""
_WORDS = ("limit", "breaks")
"""Names of parameters that are text. Other parameters are numbers."""
_CALLED = re.compile(r"(\w+)\((.*)\)")
_EXAMPLES = {
    "column": "amount",
    "by": "ts",
    "other": "price",
    "percentage": "0.5",
    "n_bins": "10",
    "limit": "5 minutes",
}

FUNCTIONS: dict[str, Callable[..., Aggregate]] = {
    name: function
    for name, function in inspect.getmembers(functions, inspect.isfunction)
    if name in _OF_WINDOWS
    or (name not in _OF_PYTHON and next(iter(inspect.signature(function).parameters), None) == "column")
}
"""The built-in aggregates, by name."""

_VALUES = (
    "any_value",
    "collect_list",
    "collect_set",
    "count",
    "count_distinct",
    "approx_count_distinct",
    "first",
    "last",
    "path",
)
_USES: dict[str, Use] = {
    **dict.fromkeys((*_VALUES, "min_by", "max_by", "mode", "top_k"), "value"),
    **dict.fromkeys(("bool_and", "bool_or", "count_if"), "boolean"),
    **dict.fromkeys(("min", "max"), "order"),
}
"""How functions use their columns; the others compute with numbers. `by` is always for the order."""


@dataclass(frozen=True)
class Call:
    """One `--agg`.

    Attributes:
        name: the column of the result.
        function: the name of the function.
        arguments: its arguments, with the names of their parameters: columns, words and numbers.
    """

    name: str
    function: str
    arguments: tuple[tuple[str, str | float], ...] = ()

    def over(self, columns: Columns, *, as_text: bool) -> Aggregate:
        """The aggregate over columns of a query.

        With `as_text`, `min` and `max` of text that holds numbers or times return the text of the file.
        """
        arguments = list[str | float]()
        for parameter, value in self.arguments:
            use: Use = "order" if parameter == "by" else _USES.get(self.function, "number")
            is_column = parameter in _COLUMNS
            arguments.append(columns.of(f"{ARGUMENT} {self.name}", str(value), use).name if is_column else value)
        if as_text and _USES.get(self.function) == "order":
            (_, column), *_ = self.arguments
            text = columns.of(f"{ARGUMENT} {self.name}", str(column), "value").name
            if text != arguments[0] and columns.is_text(ARGUMENT, str(column)):
                return FUNCTIONS[f"{self.function}_by"](text, arguments[0])
        return FUNCTIONS[self.function](*arguments)


def calls(texts: Iterable[str]) -> list[Call]:
    """The aggregates of the command line. Without any, `count`.

    Raises `ValueError` for text that is not `name=function:column`, a repeated name, a wrong number of arguments, or
    an argument that should be a number.

    >>> calls(["clicks=count", "best=max_by:page,amount"])[1]
    Call(name='best', function='max_by', arguments=(('column', 'page'), ('by', 'amount')))
    """
    by_name = dict[str, Call]()
    for text in texts:
        name, equals, call = text.partition("=")
        if not name or not equals or not call:
            raise bad_value(ARGUMENT, text, _ALLOWED)
        if name in by_name:
            raise bad_value(ARGUMENT, text, f"a name that no other aggregate has; {name!r} appears twice")
        by_name[name] = _call(text, name, call)
    return list(by_name.values()) or [Call("count", "count")]


def with_least(chosen: Mapping[str, Aggregate], texts: Iterable[str]) -> dict[str, Aggregate]:
    """The aggregates, some with a least number of records: `name=3`.

    Raises `ValueError` for text that is not `name=number`, a name that no aggregate has, or a number that it refuses.

    >>> with_least({"n": functions.count()}, ["n=3"])
    {'n': count().min_samples(3)}
    """
    limited = dict(chosen)
    for text in texts:
        name, _, number = text.rpartition("=")
        if name not in chosen or not number.isdecimal():
            allowed = f"name=number with the name of an aggregate, such as {next(iter(chosen))}=3"
            raise bad_value(LEAST, text, allowed)
        limited[name] = limited[name].min_samples(int(number))
    return limited


def _call(text: str, result: str, call: str) -> Call:
    name, colon, rest = call.partition(":")
    called = _CALLED.fullmatch(call)
    if called is not None and called[1] in FUNCTIONS:
        written = f"{result}={called[1]}:{called[2].replace(', ', ',')}".rstrip(":")
        raise bad_value(ARGUMENT, text, f"name=function:column: {written}")
    if name not in FUNCTIONS:
        raise unknown_word(f"{ARGUMENT} {text}: function", name, sorted(FUNCTIONS))
    parameters = [
        each for each in inspect.signature(FUNCTIONS[name]).parameters.values() if each.kind is not each.KEYWORD_ONLY
    ]
    many = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    least = sum(each.default is each.empty and each.kind is not each.VAR_POSITIONAL for each in parameters)
    parts = [] if not colon else [rest] if len(parameters) == 1 else rest.split(",")
    if len(parts) < least or (len(parts) > len(parameters) and not many) or "" in parts:
        raise bad_value(ARGUMENT, text, _allowed(name, parameters, least))
    slots = parameters + parameters[-1:] * (len(parts) - len(parameters))
    arguments = ((each.name, _argument(text, each, part)) for each, part in zip(slots, parts, strict=False))
    return Call(result, name, tuple(arguments))


def _allowed(name: str, parameters: list[Parameter], least: int) -> str:
    """The call syntax of a function, with an example."""
    needed, more = [each.name for each in parameters[:least]], [each.name for each in parameters[least:]]
    if not parameters:
        return f"{name} without a column"
    if not needed:
        return f"{name} or {name}:{','.join(more)}"
    called = f"{name}:{','.join(needed)}" + "".join(f"[,{option}]" for option in more)
    return f"{called}, such as {name}:{','.join(_EXAMPLES.get(parameter, parameter) for parameter in needed)}"


def _argument(text: str, parameter: Parameter, part: str) -> str | float:
    """Keeps a column name or a word as text, and parses a number."""
    if parameter.name in _COLUMNS + _WORDS:
        return part
    try:
        return int(part) if part.isdecimal() else float(part)
    except ValueError:
        raise bad_value(ARGUMENT, text, f"a number for {parameter.name} instead of {part!r}") from None
