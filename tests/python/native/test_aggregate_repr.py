"""The repr of an aggregate is what a user writes."""

from __future__ import annotations

import polars as pl
import pyarrow.compute as pc
import pytest

import windrow as wr


def longest(one: str, next: str) -> str:
    return max(one, next, key=len)


TWICE = pc.field("a") * pc.scalar(2)
AGGREGATES = [
    ("count()", wr.count()),
    ("count('a')", wr.count("a")),
    ("count().where('paid')", wr.count_if("paid")),
    ("sum('a')", wr.sum("a")),
    ("sum('a').where('paid')", wr.sum("a").where("paid")),
    ("sum(multiply_checked(a, 2)).where('b > 3')", wr.sum(TWICE).where("b > 3")),
    ("sum('a')", wr.sum(pc.field("a"))),
    ("sum('a')", wr.sum(pl.col("a"))),
    ("count_distinct('a', 'b')", wr.count_distinct("a", "b")),
    ("min_by('a', 'b')", wr.min_by("a", "b")),
    ("stddev('a')", wr.stddev_samp("a")),
    ("first('a')", wr.first("a")),
    ("first('a', ignore_nulls=True)", wr.first("a", ignore_nulls=True)),
    ("collect_list('a')", wr.collect_list("a")),
    ("collect_list('a', ignore_nulls=False)", wr.collect_list("a", ignore_nulls=False)),
    ("percentile('a', 0.5)", wr.percentile("a", 0.5)),
    ("percentile('a', [0.0, 1.0])", wr.percentile("a", [0, 1])),
    ("approx_percentile('a', 0.5)", wr.approx_percentile("a", 0.5)),
    ("approx_percentile('a', 0.5, accuracy=100)", wr.approx_percentile("a", 0.5, accuracy=100)),
    ("approx_count_distinct('a')", wr.approx_count_distinct("a")),
    ("approx_count_distinct('a', rsd=0.01)", wr.approx_count_distinct("a", rsd=0.01)),
    ("top_k('a', 2)", wr.top_k("a", 2)),
    ("histogram_numeric('a', 9)", wr.histogram_numeric("a", 9)),
    ("count().over('1 hour')", wr.count().over("60 minutes", delay="0 seconds")),
    ("sum('a').where('paid').over('1 day', closed='left')", wr.sum("a").over("1 day", closed="left").where("paid")),
    ("count('a').over('1 hour 30 minutes', delay='1 week')", wr.count("a").over("90m", delay="7d")),
    ("count().over('1 hour') / count()", wr.count().over("1 hour") / wr.count()),
    ("window_id()", wr.window_id()),
    ("position()", wr.position()),
    ("active_time('1 hour')", wr.active_time("60 minutes", breaks="cut")),
    ("active_time('5 minutes', breaks='drop').where('a')", wr.active_time("5m", "drop").where("a")),
    ("active_runs('0 seconds') / count()", wr.active_runs("0s") / wr.count()),
    ("funnel(['a', 'b'])", wr.funnel(["a", "b"])),
    ("funnel(['a = 1', 'b'], within='1 hour')", wr.funnel(["a = 1", "b"], within="60 minutes")),
    ("funnel(['x', 'y'], column='a', strict=True)", wr.funnel(["x", "y"], column="a", strict=True)),
    ("funnel([1, 2], column='a').where('b')", wr.funnel([1, 2], column="a").where("b")),
    ("funnel_times(['x', 'y'], column='a', within='1 hour')", wr.funnel_times(["x", "y"], column="a", within="1h")),
    ("path('a')", wr.path("a")),
    ("path('a', max_length=3)", wr.path("a", max_length=3)),
    ("window_length()", wr.window_length()),
    ("(max('a') - min('a')) / window_length()", (wr.max("a") - wr.min("a")) / wr.window_length()),
    ("reduce('a', longest)", wr.reduce("a", longest)),
    ("reduce('a', longest).where('paid')", wr.reduce("a", longest).where("paid")),
    ("aggregate(int, max, schema='bigint')", wr.aggregate(int, max, schema="bigint")),
    (
        "aggregate(int, max, min, schema='bigint', columns=['a'])",
        wr.aggregate(int, max, min, schema="bigint", columns=["a"]),
    ),
    (
        "aggregate(int, {'clicks': max, 'orders': min}, schema='bigint')",
        wr.aggregate(int, {"clicks": max, "orders": min}, schema="bigint"),
    ),
    ("sum('a') / count()", wr.sum("a") / wr.count()),
    ("(1 - sum('a')) * 2.5", (1 - wr.sum("a")) * 2.5),
    ("sum('a').where('paid') + count().where('paid')", (wr.sum("a") + wr.count()).where("paid")),
    ("sum('a').then(round)", wr.sum("a").then(pc.round)),
    ("(sum('a') / count()).then(round, max('b'))", (wr.sum("a") / wr.count()).then(pc.round, wr.max("b"))),
    ("sum('a').then(round, schema=DataType(int64))", wr.sum("a").then(pc.round, schema="bigint")),
    ("apply(round, 'a', 'b', schema=DataType(int64))", wr.apply(pc.round, "a", "b", schema="bigint")),
    ("apply(round, 'a', schema=DataType(int64)).where('paid')", wr.apply(pc.round, "a", schema="bigint").where("paid")),
    ("apply(round, 'a', schema=DataType(int64)) - 1", wr.apply(pc.round, "a", schema="bigint") - 1),
]


@pytest.mark.parametrize(("written", "aggregate"), AGGREGATES, ids=[written for written, _ in AGGREGATES])
def test_the_repr_is_what_a_user_writes(written: str, aggregate: wr.Aggregate) -> None:
    assert repr(aggregate) == written


def test_aggregates_and_windows_of_equal_expressions_are_equal_and_shown() -> None:
    assert wr.sum(TWICE) == wr.sum(TWICE)
    assert wr.sum("a").where("b > 3") == wr.sum("a").where("b > 3")
    assert "end_when=(a == 1)" in repr(wr.SessionWindows.with_gap("1 hour", end_when=pc.field("a") == pc.scalar(1)))


def test_no_field_of_an_aggregate_is_public() -> None:
    public = {name for name in dir(wr.sum("a")) if not name.startswith("_")}
    assert public == {"min_samples", "over", "then", "where"}
