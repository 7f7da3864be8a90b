"""Errors of arguments: each names the argument, the value and what is allowed.

Every function here returns an exception for the caller to raise, so that the traceback ends at the call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, time
from difflib import get_close_matches

_SHOWN = 20
_LONGEST, _CUT = 120, 60
"""The longest text of a value in a message, and how much of a longer one it has."""

NO_NULL_CHARACTER = "a name without the null character, where Arrow's interface cuts names"


def bad_value(argument: str, got: object, allowed: str) -> ValueError:
    """An argument has a value that is not allowed."""
    return ValueError(f"{argument}: got {_shown(got)}; allowed: {allowed}")


def bad_type(argument: str, got: object, allowed: str) -> TypeError:
    """An argument has a type that is not allowed."""
    literal = _literal(got)
    shown = _a_type(got) if literal is None else f"{literal}, {_a_type(got)}"
    return TypeError(f"{argument}: got {shown}; allowed: {allowed}")


def class_of(got: object) -> str:
    """The class of an object with its module, as several libraries have a `Table`."""
    return f"{type(got).__module__}.{type(got).__qualname__}"


def returns_none(argument: str, function: object, allowed: str) -> TypeError:
    """A function returns no value."""
    code = getattr(function, "__code__", None)
    place = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
    return TypeError(f"{argument}: got {function_name(function)}, which returns no value{place}; allowed: {allowed}")


def wrong_arity(argument: str, function: Callable[..., object], allowed: str) -> TypeError:
    """A function takes another number of arguments."""
    return TypeError(
        f"{argument}: got {function_name(function)}, which takes {inspect.signature(function)}; allowed: {allowed}"
    )


def function_name(function: object) -> str:
    """The name of a function; the repr of a callable without a name."""
    return getattr(function, "__qualname__", repr(function))


def bad_column_type(argument: str, column: str, got: object, allowed: str) -> TypeError:
    """A column has a type that is not allowed where `argument` names it."""
    return TypeError(f"{argument}: column {column!r} has type {got}; allowed: {allowed}")


def aggregate_argument(name: str) -> str:
    """The argument of `agg` with this name, in the words of the core."""
    return f'aggregate "{name}"'


def unknown_column(
    argument: str,
    column: str,
    columns: Sequence[str],
    *,
    struct: str | None = None,
    fields: Sequence[str] | None = None,
) -> ValueError:
    """The data has no such column; the message offers the one with the closest name.

    `struct` is the column that has `fields`, where `column` looks like one of them.
    """
    close = closest(column, columns)
    hint = f" (did you mean {close!r}?)" if close is not None else ""
    if struct is not None:
        hint = f" (the struct {struct!r} has the fields {listed(fields or ())})"
    if column == "*" and argument.endswith("count"):
        hint = " (count() without one counts all records)"
    return bad_value(argument, column, f"a column of the data{hint}, which has {listed(columns)}")


def ambiguous_column(argument: str, column: str, columns: Sequence[str]) -> ValueError:
    """The data has several columns of this name."""
    times = columns.count(column)
    return bad_value(
        argument, column, f"a name that only one column has; {times} columns of the data have this name: rename them"
    )


def changed_query(saved: Mapping[str, object], own: Mapping[str, object]) -> str:
    """A saved state belongs to another query: its options and those of this query, in three lines.

    >>> print(changed_query({"source": None, "order": "offset"}, {"source": "topic", "order": "offset"}))
    it belongs to another query
    source was none, is 'topic'
    start from a new checkpointLocation, or run the query as it was
    """

    def shown(value: object) -> str:
        return "none" if value is None else repr(value)

    differs = [f"{name} was {shown(was)}, is {shown(own[name])}" for name, was in saved.items() if was != own[name]]
    return (
        f"it belongs to another query\n{'; '.join(differs)}\n"
        "start from a new checkpointLocation, or run the query as it was"
    )


def unknown_word(argument: str, got: object, words: Sequence[str]) -> ValueError:
    """An argument takes one of a few words, and this is none of them."""
    close = closest(got, words) if isinstance(got, str) else None
    hint = f" (did you mean {close!r}?)" if close is not None else ""
    return bad_value(argument, got, " or ".join(repr(word) for word in words) + hint)


def positional_options(call: str, got: Sequence[object], options: Sequence[str], hint: str = "") -> TypeError:
    """Options were given by position, but need their names; these are the names, in order. A hint may follow."""
    named = ", ".join(f"{option}={_shown(value)}" for option, value in zip(options, got, strict=False))
    shown = ", ".join(_shown(value) for value in got)
    return TypeError(f"{call}: got {shown} by position; allowed: options by name, such as {named}{hint}")


def unknown_option(call: str, got: Mapping[str, object], options: Sequence[str]) -> TypeError:
    """Options were given that the call does not have; the message offers the one with the closest name."""
    name, value = next(iter(got.items()))
    close = closest(name, options)
    hint = f" (did you mean {close!r}?)" if close is not None else ""
    return TypeError(f"{call}: got {name}={_shown(value)}; allowed: the options {listed(options)}{hint}")


def no_attribute(owner: object, name: str, hint: str | None) -> AttributeError:
    """An object has no such method; `hint` says what to write instead, if that is clear."""
    text = f"{type(owner).__name__!r} object has no attribute {name!r}"
    return AttributeError(text if hint is None else f"{text}; {hint}", name=name, obj=owner)


def closest(name: str, names: Iterable[str]) -> str | None:
    """The name most like `name`, in any case; None if no name is similar."""
    folded = {candidate.casefold(): candidate for candidate in reversed(list(names))}
    matches = get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def listed(names: Sequence[str]) -> str:
    """Names for a message: the first twenty, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    more = len(names) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown or "none"


def calls_to_user() -> int:
    """The `stacklevel` of a warning in the function that calls this, so that it names the line that called windrow."""
    frame, calls = inspect.currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "windrow":
        frame, calls = frame.f_back, calls + 1
    return calls


def _shown(value: object) -> str:
    literal = _literal(value)
    return _a_type(value) if literal is None else literal


def _literal(value: object) -> str | None:
    """A value as text, cut if it is long; None if its text does not fit in a message."""
    text = value.__qualname__ if isinstance(value, type) else repr(value)
    if len(text) > _LONGEST and isinstance(value, date | time):
        text = str(value)
    if len(text) <= _LONGEST and "\n" not in text:
        return text
    if isinstance(value, str) and len(value) > _CUT:
        return f"{value[:_CUT]!r} and {len(value) - _CUT:,} more characters"
    if isinstance(value, int | bytes | list | tuple | dict | set | frozenset) and "\n" not in text:
        return f"{text[:_CUT]} and {len(text) - _CUT:,} more characters"
    return None


def _a_type(value: object) -> str:
    name = "class" if isinstance(value, type) else type(value).__qualname__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
