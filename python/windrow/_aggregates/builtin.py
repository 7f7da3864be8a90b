"""The built-in aggregates, which the core computes: `count`, `sum` and the like.

Names and results are those of `pyspark.sql.functions`: nulls are left out (a window without a value gives null, a count
0), NaN is larger than any number, a sum that does not fit its type is an error. What each does with each type is listed
in `docs/semantics.md`. A column of Spark or Polars, `F.col("amount")`, stands for its name where it is one plain
column. Each raises `TypeError` at once for a column that is neither; `agg` raises `ValueError` for a
column that the data does not have.

The examples of this module go on from here:

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> rides = pa.table(
...     {
...         "user": ["ann", "ann", "ann"],
...         "ts": [datetime(2026, 1, 1, hour) for hour in (8, 9, 10)],
...         "city": ["Ulm", "Bonn", None],
...         "fare": [3, 9, 6],
...         "shared": [True, False, None],
...     }
... )
>>> day = wr.group_by(rides, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow._aggregates.aggregate import Aggregate, of_columns
from windrow._aggregates.call import AggregateCall
from windrow._arguments.column import column_name
from windrow._arguments.errors import bad_type, bad_value

if TYPE_CHECKING:
    from windrow._arguments.column import ColumnName


def count(column: ColumnName | None = None) -> Aggregate:
    """How many records a window has (Kafka's `count`), or how many of them have a value in `column`, of any type.

    The result is an int64 and never null.

    >>> day.agg(rides=wr.count(), places=wr.count("city")).select(["rides", "places"]).to_pylist()
    [{'rides': 3, 'places': 2}]
    """
    return of_columns("count") if column is None else of_columns("count", column=column)


def count_if(column: ColumnName) -> Aggregate:
    """In how many records a boolean column is true: short for `count().where(column)`. An int64, never null.

    Raises:
        TypeError: from `agg`, for a column of anything but booleans.

    >>> day.agg(shared=wr.count_if("shared"))["shared"].to_pylist()
    [1]
    """
    return count().where(column)


def count_distinct(column: ColumnName, *columns: ColumnName) -> Aggregate:
    """How many distinct values a column has, or how many distinct rows several columns have; an int64, never null.

    It is exact, and holds each distinct value. Nulls are left out, and of several columns rows in which any of them is
    null. All NaNs are one value, and so are the zeros.

    Raises:
        TypeError: from `agg`, for a column of maps or unions.

    >>> day.agg(cities=wr.count_distinct("city"), pairs=wr.count_distinct("city", "fare")).to_pylist()[0]["pairs"]
    2
    """
    names = (column_name("count_distinct(column=)", each) for each in (column, *columns))
    return Aggregate(AggregateCall("count_distinct", tuple(names)))


def approx_count_distinct(column: ColumnName, rsd: float = 0.05) -> Aggregate:
    """About how many distinct values a column has; an int64, never null.

    A HyperLogLog of Apache DataSketches, of 512 bytes a window for the default, less for some ten values, which are
    counted exactly. The answer depends on the values alone, not on their order.

    Args:
        column: any type but maps and unions.
        rsd: the relative standard deviation of answers, 0.005 to 0.25: two in three are that near, and 99 in 100 within
            three times as much.

    Raises:
        TypeError: `rsd` is no number; from `agg`, for a column of maps or unions.
        ValueError: `rsd` out of its bounds.

    >>> day.agg(cities=wr.approx_count_distinct("city"))["cities"].to_pylist()
    [2]
    """
    argument, allowed = "approx_count_distinct(rsd=)", "a number from 0.005 to 0.25"
    if isinstance(rsd, bool) or not isinstance(rsd, int | float):
        raise bad_type(argument, rsd, allowed)
    if not 0.005 <= rsd <= 0.25:
        raise bad_value(argument, rsd, allowed)
    return of_columns("approx_count_distinct", {"accuracy": float(rsd)}, column=column)


def sum(column: ColumnName) -> Aggregate:
    """The sum of numbers or day-time intervals.

    Integers give int64 (unsigned ones of 64 bits a decimal), floats float64, decimals ten digits more, at most 38,
    intervals their own type. It is built wider than its type: only what a whole window comes to has to fit.

    Raises:
        TypeError: from `agg`, for a column of anything else.
        OverflowError: from `agg`, for a sum that does not fit; it names the aggregate. On Spark the job fails with it.

    >>> day.agg(total=wr.sum("fare"))["total"].to_pylist()
    [18]
    """
    return of_columns("sum", column=column)


def sum_distinct(column: ColumnName) -> Aggregate:
    """The sum of the distinct values of a column; types, nulls and overflow as in `sum`. It holds each distinct value.

    Raises:
        TypeError: from `agg`, for a column of anything else than numbers or day-time intervals.
        OverflowError: from `agg`, for a sum that does not fit. On Spark the job fails with it.

    >>> day.agg(total=wr.sum_distinct("fare"))["total"].to_pylist()
    [18]
    """
    return of_columns("sum_distinct", column=column)


def product(column: ColumnName) -> Aggregate:
    """The product of numbers, as a float64.

    What it comes to on its way does not matter: 1e300, 1e300 and 1e-300 give 1e300 in any order, up to rounding.

    Raises:
        TypeError: from `agg`, for a column of anything but numbers.

    >>> day.agg(fares=wr.product("fare"))["fares"].to_pylist()
    [162.0]
    """
    return of_columns("product", column=column)


def mean(column: ColumnName) -> Aggregate:
    """The mean of numbers or day-time intervals; Spark's `avg`.

    Integers and floats give float64, decimals four digits more behind the point, at most 38 in all,
    intervals their own type (on Spark `interval day to second`, whatever they were).

    Raises:
        TypeError: from `agg`, for a column of anything else.
        OverflowError: from `agg`, for a mean of decimals that does not fit. On Spark the job fails with it.

    >>> day.agg(usual=wr.mean("fare"))["usual"].to_pylist()
    [6.0]
    """
    return of_columns("mean", column=column)


def avg(column: ColumnName) -> Aggregate:
    """The mean, by Spark's and SQL's name: another name of `mean`.

    >>> wr.avg("fare") == wr.mean("fare")
    True
    """
    return mean(column)


def min(column: ColumnName) -> Aggregate:
    """The smallest value of anything that has an order; the result has the column's type.

    Raises:
        TypeError: from `agg`, for a column of maps or unions.

    >>> day.agg(cheapest=wr.min("fare"))["cheapest"].to_pylist()
    [3]
    """
    return of_columns("min", column=column)


def max(column: ColumnName) -> Aggregate:
    """The largest value of anything that has an order; the result has the column's type.

    Raises:
        TypeError: from `agg`, for a column of maps or unions.

    >>> day.agg(dearest=wr.max("fare"))["dearest"].to_pylist()
    [9]
    """
    return of_columns("max", column=column)


def first(column: ColumnName, *, ignore_nulls: bool = False) -> Aggregate:
    """The value of the earliest record, by event time; equal times go by arrival.

    With `ignore_nulls` the earliest value that is not null. The result has the column's type, which may be any.

    Raises:
        TypeError: `ignore_nulls` is not True or False.

    >>> day.agg(origin=wr.first("city"))["origin"].to_pylist()
    ['Ulm']
    """
    return _choice("first", column, ignore_nulls)


def last(column: ColumnName, *, ignore_nulls: bool = False) -> Aggregate:
    """The value of the latest record, by event time; equal times go by arrival.

    With `ignore_nulls` the latest value that is not null. The result has the column's type, which may be any.

    Raises:
        TypeError: `ignore_nulls` is not True or False.

    >>> day.agg(end=wr.last("city"), seen=wr.last("city", ignore_nulls=True)).select(["end", "seen"]).to_pylist()
    [{'end': None, 'seen': 'Bonn'}]
    """
    return _choice("last", column, ignore_nulls)


def any_value(column: ColumnName, *, ignore_nulls: bool = False) -> Aggregate:
    """Some value of the window; with `ignore_nulls` one that is not null, where there is one.

    The result has the column's type, which may be any.

    Raises:
        TypeError: `ignore_nulls` is not True or False.

    >>> day.agg(fare=wr.any_value("fare"))["fare"][0].as_py() in (3, 9, 6)
    True
    """
    return _choice("any_value", column, ignore_nulls)


def stddev(column: ColumnName) -> Aggregate:
    """The standard deviation of the sample, as a float64; null for a single value. The same as `stddev_samp`.

    Raises:
        TypeError: from `agg`, for a column of anything but numbers.

    >>> day.agg(spread=wr.stddev("fare"))["spread"].to_pylist()
    [3.0]
    """
    return of_columns("stddev", column=column)


def stddev_samp(column: ColumnName) -> Aggregate:
    """The standard deviation of the sample: another name of `stddev`.

    >>> wr.stddev_samp("fare") == wr.stddev("fare")
    True
    """
    return stddev(column)


def stddev_pop(column: ColumnName) -> Aggregate:
    """The standard deviation of the population, as a float64.

    Raises:
        TypeError: from `agg`, for a column of anything but numbers.

    >>> [round(spread, 3) for spread in day.agg(spread=wr.stddev_pop("fare"))["spread"].to_pylist()]
    [2.449]
    """
    return of_columns("stddev_pop", column=column)


def variance(column: ColumnName) -> Aggregate:
    """The variance of the sample, as a float64; null for a single value. The same as `var_samp`.

    Raises:
        TypeError: from `agg`, for a column of anything but numbers.

    >>> day.agg(spread=wr.variance("fare"))["spread"].to_pylist()
    [9.0]
    """
    return of_columns("variance", column=column)


def var_samp(column: ColumnName) -> Aggregate:
    """The variance of the sample: another name of `variance`.

    >>> wr.var_samp("fare") == wr.variance("fare")
    True
    """
    return variance(column)


def var_pop(column: ColumnName) -> Aggregate:
    """The variance of the population, as a float64.

    Raises:
        TypeError: from `agg`, for a column of anything but numbers.

    >>> day.agg(spread=wr.var_pop("fare"))["spread"].to_pylist()
    [6.0]
    """
    return of_columns("var_pop", column=column)


def collect_list(column: ColumnName, *, ignore_nulls: bool = True) -> Aggregate:
    """The values that are not null as a list, by event time; equal times go by arrival. Any type; never null.

    With `ignore_nulls=False` nulls keep their places, so that lists of several columns have one length.

    Raises:
        TypeError: `ignore_nulls` is not True or False.

    >>> day.agg(cities=wr.collect_list("city"), all=wr.collect_list("city", ignore_nulls=False))["all"].to_pylist()
    [['Ulm', 'Bonn', None]]
    """
    if not isinstance(ignore_nulls, bool):
        raise bad_type("collect_list(ignore_nulls=)", ignore_nulls, "True or False")
    return of_columns("collect_list", {"ignore_nulls": None if ignore_nulls else False}, column=column)


def collect_set(column: ColumnName) -> Aggregate:
    """The distinct values that are not null as a list, in no order that one may rely on; never null.

    Raises:
        TypeError: from `agg`, for a column of maps or unions.

    >>> sorted(day.agg(cities=wr.collect_set("city"))["cities"][0].as_py())
    ['Bonn', 'Ulm']
    """
    return of_columns("collect_set", column=column)


def min_by(column: ColumnName, by: ColumnName) -> Aggregate:
    """The value of `column`, of any type, in the record whose `by` is smallest; records with a null `by` are left out.

    Equal values of `by` go to the earliest record, by event time, then by arrival.

    Raises:
        TypeError: from `agg`, where `by` is a column of maps or unions.

    >>> day.agg(bargain=wr.min_by("city", "fare"))["bargain"].to_pylist()
    ['Ulm']
    """
    return of_columns("min_by", column=column, by=by)


def max_by(column: ColumnName, by: ColumnName) -> Aggregate:
    """The value of `column`, of any type, in the record whose `by` is largest; records with a null `by` are left out.

    Equal values of `by` go to the earliest record, by event time, then by arrival.

    Raises:
        TypeError: from `agg`, where `by` is a column of maps or unions.

    >>> day.agg(splurge=wr.max_by("city", "fare"))["splurge"].to_pylist()
    ['Bonn']
    """
    return of_columns("max_by", column=column, by=by)


def _choice(function: str, column: ColumnName, ignore_nulls: bool) -> Aggregate:
    if not isinstance(ignore_nulls, bool):
        raise bad_type(f"{function}(ignore_nulls=)", ignore_nulls, "True or False")
    return of_columns(function, {"ignore_nulls": ignore_nulls}, column=column)
