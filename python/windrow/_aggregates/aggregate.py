"""`Aggregate`: what windrow's functions return and `agg` takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Never

import pyarrow as pa

from windrow._aggregates import arithmetic
from windrow._aggregates.call import MOST_RECORDS, AggregateCall, Computed
from windrow._aggregates.evaluation import Number
from windrow._aggregates.frame import Closed, Frame
from windrow._arguments.ddl import arrow_type
from windrow._arguments.duration import Duration
from windrow._arguments.errors import bad_type, bad_value, no_attribute, positional_options, wrong_arity
from windrow._arguments.expression import column_reference
from windrow._arguments.integer import index_of, integer
from windrow._folds.user_code import takes

if TYPE_CHECKING:
    from windrow._arguments.expression import ColumnName

_OPERANDS = "aggregates of windrow, and numbers; expressions over columns go into an aggregate"
_HINTS = {
    **dict.fromkeys(("alias", "name"), "its name goes before it, as in agg(clicks=windrow.count())"),
    **dict.fromkeys(("cast", "round", "fill_null"), "use the result of agg, or then(...) for a function of arrays"),
    "filter": 'write where, as in windrow.sum("amount").where("paid")',
    **dict.fromkeys(
        ("_get_object_id", "_expr"),
        f"a Column of Spark takes no aggregate; an aggregate combines with {_OPERANDS}",
    ),
}
"""What to write for a method of a column in Spark or Polars. A Column asks its operands for the last ones."""


@dataclass(frozen=True, repr=False)
class Aggregate:
    """One aggregate over the records of a window. Made by `sum`, `count` and the other functions of windrow.

    >>> import windrow as wr
    >>> wr.sum("amount").where("paid") / wr.count()
    sum('amount').where('paid') / count()
    """

    _call: AggregateCall

    def __post_init__(self) -> None:
        """Refuses: aggregates are made by functions, which check their arguments."""
        if not isinstance(self._call, AggregateCall):
            raise bad_type("Aggregate", self._call, "a function that makes aggregates, such as windrow.sum('amount')")

    def __repr__(self) -> str:
        """The calls that make it."""
        return repr(self._call)

    if not TYPE_CHECKING:  # to a type checker there is no such attribute

        def __getattr__(self, name: str) -> Never:
            raise no_attribute(self, name, _HINTS.get(name))

        def __lt__(self, other: object) -> Never:
            raise bad_type("comparison", self, "columns of the result: filter what agg gives, as SQL's HAVING does")

        __le__ = __gt__ = __ge__ = __lt__

    def where(self, column: ColumnName) -> Aggregate:
        """The same aggregate over only the records in which a condition is true; SQL's `FILTER (WHERE ...)`.

        Null counts as false. The condition does not change which windows there are. A window without such a record gets
        the value of no records: 0 for `count`, null for `sum`.

        For a cogroup both are columns of one input: `wr.sum("orders.amount").where("orders.paid")`.

        Args:
            column: a boolean column, an expression, or for Spark and DuckDB SQL text: `"amount > 3"`. Text that is the
                name of a column is that column.

        Raises:
            TypeError: `column` is neither text nor an expression; from `agg`, a column of anything but booleans.
            ValueError: the aggregate has a condition already; from `agg`, a column that the data lacks, or SQL text
                that does not parse or is for other data.

        >>> from datetime import datetime
        >>> import pyarrow as pa
        >>> import windrow as wr
        >>> hours = [datetime(2026, 1, 1, hour) for hour in (8, 9, 10)]
        >>> orders = pa.table({"user": ["ann"] * 3, "ts": hours, "amount": [3, 9, 6], "paid": [True, None, True]})
        >>> day = wr.group_by(orders, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
        >>> day.agg(paid=wr.sum("amount").where("paid"))["paid"].to_pylist()
        [9]
        """
        return Aggregate(self._call.where(column))

    def over(
        self, difference: Duration, *_by_position: Never, closed: Closed = "both", delay: Duration | None = None
    ) -> Aggregate:
        """The same aggregate of the last hour, the last day and so on before each record, for `with_columns` only.

        `with_columns` over sliding windows gives each record the aggregates of its window, `[t - difference, t]`. With
        `over` an aggregate covers a shorter length of time up to the record, so that one query has the counts and sums
        of many lengths. Make the windows as long as the longest of these. The aggregate covers the records of its key
        from `t - delay - difference` to `t - delay`, where times are floored to the resolution of the windows. If there
        are none, the value is that of no records: 0 for `count`, null for `sum`.

        For a result that is computed from several aggregates, each of them covers this length.

        Args:
            difference: the length. With `delay` it fits into the windows' time difference, and both are
                multiples of the windows' resolution.
            closed: which of the two bounds belong to it: `"both"`, `"left"` (without records at `t` if there is no
                delay, so without the record itself), `"right"` or `"neither"`.
            delay: how long before the record the length ends; None and zero are the same.

        Raises:
            TypeError: a length that is neither `str` nor `timedelta`, or `closed` or `delay` by position.
            ValueError: a `difference` not longer than zero, a negative `delay`, an unknown `closed`, an aggregate that
                has `over` already, or one that cannot have it: `window_id`, `window_length`, `ended_by`, `position`,
                `session_number`, `reduce` and `aggregate`; from `with_columns`, a length that does not fit into the
                windows, no multiple of the resolution, or sessions; from `agg`, always.

        >>> from datetime import datetime
        >>> import pyarrow as pa
        >>> import windrow as wr
        >>> times = [datetime(2026, 1, day, 12) for day in (1, 3, 8)]
        >>> paid = pa.table({"card": [7] * 3, "ts": times, "amount": [3, 9, 6]})
        >>> weeks = wr.SlidingWindows.with_time_difference("14 days")
        >>> features = wr.group_by(paid, "card", time="ts").windowed_by(weeks).with_columns(
        ...     spend_7d=wr.sum("amount").over("7 days"),
        ...     before=wr.max("amount").over("14 days", closed="left"),
        ...     week_before=wr.count().over("7 days", delay="7 days"),
        ... )
        >>> features.select(["spend_7d", "before", "week_before"]).to_pylist()[-1]
        {'spend_7d': 18, 'before': 9, 'week_before': 1}
        """
        if _by_position:
            raise positional_options("over", _by_position, ["closed", "delay"])
        return Aggregate(self._call.framed(Frame.of(difference, closed, delay)))

    def min_samples(self, n: int) -> Aggregate:
        """The same aggregate, null in windows in which it takes fewer than `n` records.

        The aggregate takes the records that pass `where`. Most functions skip those without a value.
        A mean of two prices and a null takes two records. `corr` takes records with both values, `min_by` those with a
        `by`, `count()` all. NaN is a value. The page on aggregates has all of them. With `min_samples` a count may be
        null, too.

        `where`, `over` and `min_samples` may come in any order. If a result is computed from several aggregates, each
        of them needs this number of records, and is null with fewer. Arithmetic and `apply` then give null; the
        function of `then` gets the nulls.

        On a stream the number may change at a restart, because the state holds the counts.

        Args:
            n: the least number of records, 1 or more.

        Raises:
            TypeError: `n` is not an int.
            ValueError: `n` below 1, an aggregate that has a least number already, or one that `over` refuses, such as
                `window_length` or `reduce`.

        >>> from datetime import datetime
        >>> import pyarrow as pa
        >>> import windrow as wr
        >>> hours = [datetime(2026, 1, 1, hour) for hour in (8, 9, 10, 15)]
        >>> orders = pa.table({"user": ["ann"] * 4, "ts": hours, "amount": [3.0, 9.0, None, 8.0]})
        >>> day = wr.group_by(orders, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
        >>> usual = day.agg(n=wr.count(), usual=wr.mean("amount").min_samples(2))
        >>> usual.sort_by([("window", "ascending")]).select(["n", "usual"]).to_pylist()
        [{'n': 3, 'usual': 6.0}, {'n': 1, 'usual': None}]
        """
        least = integer("min_samples(n=)", n, "an int from 1 to 2**63 - 1", least=1, most=MOST_RECORDS)
        return Aggregate(self._call.sampled(least))

    def then(self, fn: Callable[..., Any], *others: Aggregate, schema: str | pa.DataType | None = None) -> Aggregate:
        """Replaces the finished aggregate with the result of a function over it.

        `fn(column)` gets the `pyarrow.Array` of many windows at once; `fn(column, *others)` also the arrays of other
        aggregates. It returns an array of the same length. It runs when windows have closed, once for each batch of
        windows. The split of windows into batches is undefined, so each value may depend on its own window only.
        Windows that a stream deletes are not passed to `fn`; their result is null.

        Args:
            fn: a function of arrays; on Spark it travels to executors like those of `reduce`.
            others: further aggregates whose columns `fn` gets.
            schema: the type of the result, in Spark's words or as an Arrow type; without it `agg` calls `fn` once with
                empty arrays and takes the type of the result.

        Raises:
            TypeError: `fn` does not take one array for each aggregate, `others` has something other than aggregates, or
                `schema` is not a type.
            ValueError: `schema` spells no type.

        >>> from datetime import datetime
        >>> import pyarrow as pa
        >>> import pyarrow.compute as pc
        >>> import windrow as wr
        >>> hours = [datetime(2026, 1, 1, hour) for hour in (8, 9, 10)]
        >>> orders = pa.table({"user": ["ann"] * 3, "ts": hours, "amount": [3.0, 9.0, 6.5]})
        >>> day = wr.group_by(orders, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
        >>> day.agg(spend=wr.sum("amount").then(pc.round))["spend"].to_pylist()
        [18.0]
        """
        if not callable(fn):
            raise bad_type("then(fn=)", fn, "a function of arrays")
        for other in others:
            if not isinstance(other, Aggregate):
                raise bad_type("then(others)", other, "an aggregate of windrow")
        if not takes(fn, 1 + len(others)):
            raise wrong_arity("then(fn=)", fn, f"a function of {1 + len(others)} arrays, one for each aggregate")
        kind = arrow_type("then(schema=)", schema) if isinstance(schema, str) else schema
        if not isinstance(kind, pa.DataType | None):
            raise bad_type("then(schema=)", schema, "a type in Spark's words, or an Arrow type")
        return Aggregate(Computed.of("then", fn, self._call, *map(call_of, others), type=kind))

    def __add__(self, other: Aggregate | Number) -> Aggregate:
        """The sum of two results, or of a result and a number."""
        return _arithmetic(arithmetic.total, self, other)

    def __radd__(self, other: Number) -> Aggregate:
        """The sum of a number and a result."""
        return _arithmetic(arithmetic.total, other, self)

    def __sub__(self, other: Aggregate | Number) -> Aggregate:
        """The difference of two results, or of a result and a number."""
        return _arithmetic(arithmetic.difference, self, other)

    def __rsub__(self, other: Number) -> Aggregate:
        """The difference of a number and a result."""
        return _arithmetic(arithmetic.difference, other, self)

    def __mul__(self, other: Aggregate | Number) -> Aggregate:
        """The product of two results, or of a result and a number."""
        return _arithmetic(arithmetic.product, self, other)

    def __rmul__(self, other: Number) -> Aggregate:
        """The product of a number and a result."""
        return _arithmetic(arithmetic.product, other, self)

    def __truediv__(self, other: Aggregate | Number) -> Aggregate:
        """One result divided by another, or by a number: a float64, null for a division by zero."""
        return _arithmetic(arithmetic.quotient, self, other)

    def __rtruediv__(self, other: Number) -> Aggregate:
        """A number divided by a result: a float64, null for a division by zero."""
        return _arithmetic(arithmetic.quotient, other, self)


def call_of(aggregate: Aggregate) -> AggregateCall:
    """What an aggregate holds."""
    return aggregate._call


def of_columns(function: str, options: Mapping[str, Any] | None = None, /, **columns: ColumnName) -> Aggregate:
    """An aggregate over columns, by the arguments that name them; `TypeError` if one is not a column."""
    names = (column_reference(f"{function}({argument}=)", column) for argument, column in columns.items())
    return Aggregate(AggregateCall(function, tuple(names), **(options or {})))


def _arithmetic(fn: Callable[..., Any], *operands: object) -> Aggregate:
    terms: list[AggregateCall | Number] = []
    for operand in operands:
        if isinstance(operand, Aggregate):
            terms.append(operand._call)
            continue
        number = operand if isinstance(operand, float | Decimal) else index_of(operand)
        if number is None:
            raise bad_type("arithmetic", operand, _OPERANDS)
        if isinstance(number, int | Decimal):
            _check_digits(Decimal(number))
        terms.append(number)
    return Aggregate(Computed.of("arithmetic", fn, *terms))


def _check_digits(number: Decimal) -> None:
    """Raises `ValueError` for a number that no type of decimals holds."""
    places = number.as_tuple().exponent
    if not isinstance(places, int) or abs(number) >= 10**38 or -places > 38:
        raise bad_value("number", number, "a number of up to 38 digits on both sides of the point, or a float")
