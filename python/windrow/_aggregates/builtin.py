"""The built-in aggregates, computed by the core: `count`, `sum` and the like.

Names and results are those of `pyspark.sql.functions`. Nulls are left out: a window without a value gives null, a count
0. NaN is larger than any number. A sum that does not fit its type is an error. `docs/explanation/aggregates.md` lists
what each does with each type. A column is a name, or an expression in the language of the data, such as
`F.col("amount") * 2`. Every function raises `TypeError` at once for anything else; `agg` raises `ValueError` for a
column that the data lacks, and `TypeError` for an expression of another library.

The examples of this module share these lines:

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
from windrow._arguments.errors import bad_type, bad_value
from windrow._arguments.expression import column_reference

if TYPE_CHECKING:
    from windrow._arguments.expression import ColumnName


def count(column: ColumnName | None = None) -> Aggregate:
    """The number of records (Kafka's `count`), or the number of records with a value in `column`, of any type.

    The result is an int64 and never null.

    >>> day.agg(rides=wr.count(), places=wr.count("city")).select(["rides", "places"]).to_pylist()
    [{'rides': 3, 'places': 2}]
    """
    return of_columns("count") if column is None else of_columns("count", column=column)


def count_if(column: ColumnName) -> Aggregate:
    """The number of records in which a boolean column is true: short for `count().where(column)`. An int64, never null.

    Raises:
        TypeError: from `agg`, for a column of anything but booleans.

    >>> day.agg(shared=wr.count_if("shared"))["shared"].to_pylist()
    [1]
    """
    condition = column_reference("count_if(column=)", column)
    return Aggregate(AggregateCall("count", condition=condition, is_count_if=True))


def count_distinct(column: ColumnName, *columns: ColumnName) -> Aggregate:
    """The number of distinct values of a column, or of distinct rows of several columns; an int64, never null.

    The number is exact, and the state holds each distinct value. Nulls are left out. With several columns, rows with a
    null in any of them are left out. All NaNs count as one value, and so do 0.0 and -0.0.

    Raises:
        TypeError: from `agg`, for a column of maps or unions.

    >>> day.agg(cities=wr.count_distinct("city"), pairs=wr.count_distinct("city", "fare")).to_pylist()[0]["pairs"]
    2
    """
    names = (column_reference("count_distinct(column=)", each) for each in (column, *columns))
    return Aggregate(AggregateCall("count_distinct", tuple(names)))


def approx_count_distinct(column: ColumnName, rsd: float = 0.05) -> Aggregate:
    """The approximate number of distinct values of a column; an int64, never null.

    It uses a HyperLogLog of Apache DataSketches, which takes 512 bytes for each window by default. Up to about ten
    distinct values are counted exactly, in fewer bytes. The answer does not depend on the order of values.

    Args:
        column: any type but maps and unions.
        rsd: the relative standard deviation of answers, 0.005 to 0.25: 68 % of answers are within ±rsd, 99 % within
            three times as much.

    Raises:
        TypeError: `rsd` is not a number; from `agg`, for a column of maps or unions.
        ValueError: `rsd` is out of its bounds.

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

    Integers give int64 (unsigned 64-bit integers a decimal), floats float64, decimals ten more digits up to 38,
    intervals their own type. The sum is accumulated in a wider type, so only the result for the whole window has to
    fit.

    Raises:
        TypeError: from `agg`, for a column of anything else.
        OverflowError: from `agg`, for a sum that does not fit; it names the aggregate. On Spark the job fails with it.

    >>> day.agg(total=wr.sum("fare"))["total"].to_pylist()
    [18]
    """
    return of_columns("sum", column=column)


def sum_distinct(column: ColumnName) -> Aggregate:
    """The sum of the distinct values; types, nulls and overflow as in `sum`. The state holds each distinct value.

    Raises:
        TypeError: from `agg`, for a column of anything but numbers or day-time intervals.
        OverflowError: from `agg`, for a sum that does not fit. On Spark the job fails with it.

    >>> day.agg(total=wr.sum_distinct("fare"))["total"].to_pylist()
    [18]
    """
    return of_columns("sum_distinct", column=column)


def product(column: ColumnName) -> Aggregate:
    """The product of numbers, as a float64.

    Intermediate results may exceed a float64: 1e300, 1e300 and 1e-300 give 1e300 in any order, up to rounding.

    Raises:
        TypeError: from `agg`, for a column of anything but numbers.

    >>> day.agg(fares=wr.product("fare"))["fares"].to_pylist()
    [162.0]
    """
    return of_columns("product", column=column)


def mean(column: ColumnName) -> Aggregate:
    """The mean of numbers or day-time intervals; Spark's `avg`.

    Integers and floats give float64, decimals four more digits after the point, up to 38 in all, intervals their own
    type (on Spark always `interval day to second`).

    Raises:
        TypeError: from `agg`, for a column of anything else.
        OverflowError: from `agg`, for a mean of decimals that does not fit. On Spark the job fails with it.

    >>> day.agg(usual=wr.mean("fare"))["usual"].to_pylist()
    [6.0]
    """
    return of_columns("mean", column=column)


def avg(column: ColumnName) -> Aggregate:
    """The mean: another name of `mean`, as in Spark and SQL.

    >>> wr.avg("fare") == wr.mean("fare")
    True
    """
    return mean(column)


def min(column: ColumnName) -> Aggregate:
    """The smallest value of a column that has an order; the result has the column's type.

    Raises:
        TypeError: from `agg`, for a column of maps or unions.

    >>> day.agg(cheapest=wr.min("fare"))["cheapest"].to_pylist()
    [3]
    """
    return of_columns("min", column=column)


def max(column: ColumnName) -> Aggregate:
    """The largest value of a column that has an order; the result has the column's type.

    Raises:
        TypeError: from `agg`, for a column of maps or unions.

    >>> day.agg(dearest=wr.max("fare"))["dearest"].to_pylist()
    [9]
    """
    return of_columns("max", column=column)


def first(column: ColumnName, *, ignore_nulls: bool = False) -> Aggregate:
    """The value of the earliest record, by event time; at equal times by tie or arrival.

    With `ignore_nulls` it is the earliest value that is not null. The column may have any type; the result has the same
    type.

    Raises:
        TypeError: `ignore_nulls` is not True or False.

    >>> day.agg(origin=wr.first("city"))["origin"].to_pylist()
    ['Ulm']
    """
    return _choice("first", column, ignore_nulls)


def last(column: ColumnName, *, ignore_nulls: bool = False) -> Aggregate:
    """The value of the latest record, by event time; at equal times by tie or arrival.

    With `ignore_nulls` it is the latest value that is not null. The column may have any type; the result has the same
    type.

    Raises:
        TypeError: `ignore_nulls` is not True or False.

    >>> day.agg(end=wr.last("city"), seen=wr.last("city", ignore_nulls=True)).select(["end", "seen"]).to_pylist()
    [{'end': None, 'seen': 'Bonn'}]
    """
    return _choice("last", column, ignore_nulls)


def any_value(column: ColumnName, *, ignore_nulls: bool = False) -> Aggregate:
    """Some value of the window; with `ignore_nulls` one that is not null, if there is one.

    The column may have any type; the result has the same type.

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
    """The values as a list in the order of event time, then of tie or arrival. Any type; never null.

    Nulls are left out. With `ignore_nulls=False` they keep their places, so that lists of several columns have one
    length.

    Raises:
        TypeError: `ignore_nulls` is not True or False.

    >>> day.agg(cities=wr.collect_list("city"), all=wr.collect_list("city", ignore_nulls=False))["all"].to_pylist()
    [['Ulm', 'Bonn', None]]
    """
    if not isinstance(ignore_nulls, bool):
        raise bad_type("collect_list(ignore_nulls=)", ignore_nulls, "True or False")
    return of_columns("collect_list", {"ignore_nulls": None if ignore_nulls else False}, column=column)


def collect_set(column: ColumnName) -> Aggregate:
    """The distinct values that are not null, as a list in no particular order; never null.

    Raises:
        TypeError: from `agg`, for a column of maps or unions.

    >>> sorted(day.agg(cities=wr.collect_set("city"))["cities"][0].as_py())
    ['Bonn', 'Ulm']
    """
    return of_columns("collect_set", column=column)


def min_by(column: ColumnName, by: ColumnName) -> Aggregate:
    """The value of `column`, of any type, in the record with the smallest `by`. Records with a null `by` are left out.

    If several records have the smallest `by`, it is the earliest one, by event time, then by tie or arrival.

    Raises:
        TypeError: from `agg`, where `by` is a column of maps or unions.

    >>> day.agg(bargain=wr.min_by("city", "fare"))["bargain"].to_pylist()
    ['Ulm']
    """
    return of_columns("min_by", column=column, by=by)


def max_by(column: ColumnName, by: ColumnName) -> Aggregate:
    """The value of `column`, of any type, in the record with the largest `by`. Records with a null `by` are left out.

    If several records have the largest `by`, it is the earliest one, by event time, then by tie or arrival.

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
