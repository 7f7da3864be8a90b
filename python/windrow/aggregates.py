"""Aggregates: values that name a function and its columns, used in `agg(name=...)`.

The names and the results are Spark's: nulls are left out (a window without a value gives null, a count 0), NaN is
larger than any number, a sum that does not fit its type is an error. What each does with each type is listed in
`docs/semantics.md`; a type that an aggregate is not defined for raises `TypeError` at `agg`.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.errors import bad_type


@dataclass(frozen=True)
class Aggregate:
    """One aggregate over the records of a window. Made by the functions of this module.

    Attributes:
        function: its name.
        columns: the columns that it reads.
        ignore_nulls: whether a null is passed over; only `first`, `last` and `any_value` ask.
    """

    function: str
    columns: tuple[str, ...] = ()
    ignore_nulls: bool | None = None

    def plan(self, name: str) -> dict[str, object]:
        """What the core needs to know of this aggregate, whose result column is `name`."""
        plan: dict[str, object] = {"name": name, "function": self.function, "columns": list(self.columns)}
        return plan if self.ignore_nulls is None else {**plan, "ignore_nulls": self.ignore_nulls}


def count(column: str | None = None) -> Aggregate:
    """How many records a window has, or how many of them have a value in `column`.

    The result is an int64 and never null. Raises `TypeError` when `column` is not a name.

    >>> count(), count("amount")
    (Aggregate(function='count', columns=(), ignore_nulls=None), Aggregate(function='count', columns=('amount',), \
ignore_nulls=None))
    """
    return Aggregate("count") if column is None else _over("count", column=column)


def sum(column: str) -> Aggregate:
    """The sum of numbers or day-time intervals.

    Integers give int64, floats float64, decimals ten digits more. It is built wider than its type, and only a result
    that does not fit is an error (`OverflowError` names the column).
    """
    return _over("sum", column=column)


def mean(column: str) -> Aggregate:
    """The mean of numbers or day-time intervals; Spark's `avg`."""
    return _over("mean", column=column)


def min(column: str) -> Aggregate:
    """The smallest value of anything that has an order; the result has the column's type."""
    return _over("min", column=column)


def max(column: str) -> Aggregate:
    """The largest value of anything that has an order; the result has the column's type."""
    return _over("max", column=column)


def first(column: str, *, ignore_nulls: bool = False) -> Aggregate:
    """The value of the earliest record, by event time; equal times go by arrival.

    With `ignore_nulls` the earliest value that is not null.
    """
    return _choice("first", column, ignore_nulls)


def last(column: str, *, ignore_nulls: bool = False) -> Aggregate:
    """The value of the latest record, by event time; equal times go by arrival.

    With `ignore_nulls` the latest value that is not null.
    """
    return _choice("last", column, ignore_nulls)


def any_value(column: str, *, ignore_nulls: bool = False) -> Aggregate:
    """Some value of the window; with `ignore_nulls` one that is not null, where there is one."""
    return _choice("any_value", column, ignore_nulls)


def stddev(column: str) -> Aggregate:
    """The standard deviation of the sample, as a float64; null for a single value. The same as `stddev_samp`."""
    return _over("stddev", column=column)


def stddev_samp(column: str) -> Aggregate:
    """The standard deviation of the sample, as a float64; null for a single value."""
    return _over("stddev", column=column)


def stddev_pop(column: str) -> Aggregate:
    """The standard deviation of the population, as a float64."""
    return _over("stddev_pop", column=column)


def variance(column: str) -> Aggregate:
    """The variance of the sample, as a float64; null for a single value. The same as `var_samp`."""
    return _over("variance", column=column)


def var_samp(column: str) -> Aggregate:
    """The variance of the sample, as a float64; null for a single value."""
    return _over("variance", column=column)


def var_pop(column: str) -> Aggregate:
    """The variance of the population, as a float64."""
    return _over("var_pop", column=column)


def collect_list(column: str) -> Aggregate:
    """The values that are not null as a list, by event time; equal times go by arrival."""
    return _over("collect_list", column=column)


def collect_set(column: str) -> Aggregate:
    """The distinct values that are not null as a list, in no order that one may rely on."""
    return _over("collect_set", column=column)


def min_by(column: str, by: str) -> Aggregate:
    """The value of `column` in the record whose `by` is smallest; records with a null `by` are left out."""
    return _over("min_by", column=column, by=by)


def max_by(column: str, by: str) -> Aggregate:
    """The value of `column` in the record whose `by` is largest; records with a null `by` are left out."""
    return _over("max_by", column=column, by=by)


def _over(function: str, **columns: str) -> Aggregate:
    for argument, column in columns.items():
        if not isinstance(column, str):
            raise bad_type(f"{function}({argument}=)", column, "the name of a column")
    return Aggregate(function, tuple(columns.values()))


def _choice(function: str, column: str, ignore_nulls: bool) -> Aggregate:
    if not isinstance(ignore_nulls, bool):
        raise bad_type(f"{function}(ignore_nulls=)", ignore_nulls, "True or False")
    return Aggregate(function, _over(function, column=column).columns, ignore_nulls)
