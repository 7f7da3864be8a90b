"""How users get through a window: `funnel`, `funnel_times` and `path`.

The examples of this module share these lines:

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> clicks = pa.table(
...     {
...         "user": ["ann"] * 5,
...         "ts": [datetime(2026, 1, 1, 9, minute) for minute in (0, 2, 3, 9, 20)],
...         "event": ["view", "view", "cart", "search", "pay"],
...     }
... )
>>> visits = wr.group_by(clicks, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("30 minutes"))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from windrow._aggregates.aggregate import Aggregate
from windrow._aggregates.call import AggregateCall
from windrow._arguments.duration import Duration, Microseconds, microseconds, words
from windrow._arguments.errors import bad_type, bad_value
from windrow._arguments.expression import column_reference, condition_reference
from windrow._arguments.integer import index_of, integer

if TYPE_CHECKING:
    from windrow._arguments.expression import ColumnName

_MOST_STEPS = 32
_MOST_VALUES = 1_000_000


def funnel(
    steps: Sequence[str | int | ColumnName],
    *,
    column: ColumnName | None = None,
    within: Duration | None = None,
    strict: bool = False,
) -> Aggregate:
    """How many steps of an ordered funnel the records of a window got through, as an int64 (in Spark a bigint).

    The count goes from the first step on: each next step needs a record that follows in the order of time.
    ClickHouse calls it `windowFunnel`, with the mode `strict_once`. 0 if no record is the first step. A record that
    fits several steps counts as one of them. Records of one time count in the order of the funnel.

    The state of a window holds the time of each record that fits a step, or with `strict` of every record. Without
    `strict` it holds nothing more once the funnel is complete.

    Args:
        steps: 1 to 32 values of `column`, strings or integers; without `column` as many conditions: boolean columns,
            expressions, or for Spark and DuckDB SQL text. Text that is the name of a column is that column. Null is not
            a step. In a cogroup conditions may be columns of several inputs.
        column: the column of the values: strings, or numbers without a scale.
        within: the longest time from the first step to the last one, inclusive: zero or more; None for any.
        strict: whether the funnel, once it has begun, ends at the first record that fits neither the next step nor one
            that was reached (ClickHouse's `strict_order`, if no record fits two steps). The window then has the steps
            up to that record, even if the funnel begins again later. Among records of one time, the ones that fit no
            step come first.

    Raises:
        TypeError: `steps` is not a list, a step is neither text, integer nor expression, `within` is not a duration, or
            `strict` is not a bool; from `agg`, a condition of anything but booleans, or a `column` of another type than
            the steps.
        ValueError: no steps or more than 32, or a negative `within`; from `agg`, a column that the data lacks, or SQL
            text that does not parse or is for other data.

    >>> visits.agg(
    ...     steps=wr.funnel(["view", "cart", "pay"], column="event", within="30 minutes"),
    ...     soon=wr.funnel(["view", "cart", "pay"], column="event", within="5 minutes"),
    ...     strict=wr.funnel(["view", "cart", "pay"], column="event", strict=True),
    ... ).select(["steps", "soon", "strict"]).to_pylist()
    [{'steps': 3, 'soon': 2, 'strict': 2}]
    """
    return _of_steps("funnel", steps, column, within, strict)


def funnel_times(
    steps: Sequence[str | int | ColumnName],
    *,
    column: ColumnName | None = None,
    within: Duration | None = None,
    strict: bool = False,
) -> Aggregate:
    """The times of the steps that `funnel` counts.

    An array of times, of the type of the time column and without nulls; empty if `funnel` is 0. Often there are several
    ways through the funnel with the same number of steps. Then the times are those of the way that ends first. Of these
    it is the way that begins last, and of these the one that reaches each next step first.

    The state of a window is that of `funnel`, except that a complete funnel keeps the records up to its end.

    Args:
        steps: as in `funnel`.
        column: as in `funnel`.
        within: as in `funnel`.
        strict: as in `funnel`. Only records before the one that ends the funnel are steps.

    Raises:
        TypeError: as `funnel`.
        ValueError: as `funnel`.

    >>> [times] = visits.agg(times=wr.funnel_times(["view", "cart", "pay"], column="event"))["times"].to_pylist()
    >>> [f"{time:%H:%M}" for time in times]
    ['09:02', '09:03', '09:20']
    """
    return _of_steps("funnel_times", steps, column, within, strict)


def path(column: ColumnName, *, max_length: int | None = None) -> Aggregate:
    """The values of a window in the order of time, as an array. A value that equals the one before it is left out.

    Nulls are left out first. So a value after a null is left out, too, if it equals the one before the null. Records of
    one time are in the order of tie or arrival, as in `first`. The array is empty without values. The state of a window
    holds all values.

    Args:
        column: any type with equality.
        max_length: how many values to keep at most, from the first one on; 1 to 1,000,000, or None for all.

    Raises:
        TypeError: `max_length` is not an int; from `agg`, for a column without equality, such as maps.
        ValueError: `max_length` out of its bounds.

    >>> visits.agg(path=wr.path("event"))["path"].to_pylist()
    [['view', 'cart', 'search', 'pay']]
    >>> visits.agg(path=wr.path("event", max_length=2))["path"].to_pylist()
    [['view', 'cart']]
    """
    most = max_length
    if most is not None:
        bounds = f"1 to {_MOST_VALUES:,}"
        allowed = f"an int from {bounds}, or None for all"
        most = integer("path(max_length=)", most, allowed, least=1, most=_MOST_VALUES, bounds=bounds)
    return Aggregate(Path("path", (column_reference("path(column=)", column),), most=most))


def _of_steps(
    maker: str,
    steps: Sequence[str | int | ColumnName],
    column: ColumnName | None,
    within: Duration | None,
    strict: bool,
) -> Aggregate:
    """The call of `funnel` or `funnel_times`; `maker` says which. Raises as they do."""
    if isinstance(steps, str) or not isinstance(steps, Sequence):
        raise bad_type(f"{maker}(steps=)", steps, "a list of values or conditions")
    if not 1 <= len(steps) <= _MOST_STEPS:
        raise bad_value(f"{maker}(steps=)", steps, f"1 to {_MOST_STEPS} steps")
    if not isinstance(strict, bool):
        raise bad_type(f"{maker}(strict=)", strict, "True or False")
    longest = None if within is None else microseconds(f"{maker}(within=)", within, zero=True)
    if column is None:
        columns = tuple(condition_reference(f"{maker}(steps=)", step) for step in steps)
        return Aggregate(Funnel(maker, columns, within=longest, strict=strict))
    values = tuple(_value(f"{maker}(steps=)", step) for step in steps)
    if len({isinstance(value, str) for value in values}) > 1:
        raise bad_type(f"{maker}(steps=)", steps, "only strings or only integers, like the values of one column")
    named = column_reference(f"{maker}(column=)", column)
    return Aggregate(Funnel(maker, (named,), values=values, within=longest, strict=strict))


def _value(argument: str, step: object) -> str | int:
    """A value of the column; `TypeError` unless it is text or a 64-bit integer."""
    if isinstance(step, str):
        return step
    number = None if isinstance(step, bool) else index_of(step)
    if number is None:
        raise bad_type(argument, step, "strings or integers with column=, or conditions without it")
    if not -(2**63) <= number < 2**63:
        raise bad_value(argument, step, "integers of 64 bits")
    return number


@dataclass(frozen=True, repr=False)
class Funnel(AggregateCall):
    """The call that `funnel` and `funnel_times` make.

    Attributes:
        values: the values of the one column, step by step; empty if the columns are conditions.
        within: the longest time from the first step to the last one, in microseconds; None for any.
        strict: whether any other record ends the funnel.
    """

    values: tuple[str | int, ...] = field(default=(), kw_only=True)
    within: Microseconds | None = field(default=None, kw_only=True)
    strict: bool = field(default=False, kw_only=True)

    @property
    def counted(self) -> tuple[str, ...]:
        """The column of the steps; none where a record without a step may matter."""
        return self.columns if self.values and not self.strict else ()

    def plan(self, name: str) -> dict[str, object]:
        """Its plan for the core."""
        values = {"values": list(self.values)} if self.values else {}
        return super().plan(name) | {"funnel": values | {"within": self.within, "strict": self.strict}}

    def _arguments(self) -> Iterator[str]:
        yield repr(list(self.values or self.columns))
        if self.values:
            yield f"column={self.columns[0]!r}"
        if self.within is not None:
            yield f"within={words(self.within)!r}"
        if self.strict:
            yield "strict=True"


@dataclass(frozen=True, repr=False)
class Path(AggregateCall):
    """The call that `path` makes."""

    def _arguments(self) -> Iterator[str]:
        arguments: Any = super()._arguments()
        yield next(arguments)
        yield from (f"max_length={most}" for most in arguments)
