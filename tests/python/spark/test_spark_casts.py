"""What an error names in Spark, where the values of a column are not known: the casts work on them, also empty text.

In ANSI mode, the default since Spark 4.0, a cast of text that is no number or no time fails the job.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr

from .conftest import SetConf

GAP = wr.SessionWindows.with_gap("5 minutes")
ROWS = """
    SELECT 'ann' AS user, TIMESTAMP '2026-01-01 09:00:00' AS at, *,
        named_struct('ts', ts, 'gap', gap, 'flag', flag, 'n', n) AS s
    FROM VALUES
        ('2026-01-01 09:00:00', '300', 'yes', 1),
        (' 2026-01-01 09:01:00', ' 2.5 ', 'no', 0),
        ('', '', '', NULL),
        (NULL, NULL, NULL, -2) AS t(ts, gap, flag, n)
"""


@pytest.fixture(params=["true", "false"], ids=["ansi", "without ansi"])
def data(spark: SparkSession, set_conf: SetConf, request: pytest.FixtureRequest) -> DataFrame:
    """Text of times, gaps and flags, some of it empty."""
    set_conf("spark.sql.ansi.enabled", request.param)
    return spark.sql(ROWS)


def cast_of(call: Any, start: str) -> Any:
    """The first cast that the error of a call names."""
    with pytest.raises(TypeError) as raised:
        call()
    text = str(raised.value)
    assert text.startswith(start), text
    named = text.partition(" such as " if " such as " in text else ": a timestamp, with or without a zone: ")[2]
    named = named or text.partition("a day-time interval: ")[2] or text.partition("with or without a zone: ")[2]
    return eval(named.partition(" of ISO 8601")[0].partition(" if it counts ")[0], {"F": F})


@pytest.mark.parametrize("column", ["ts", "s.ts"])
def test_the_cast_of_times_takes_empty_text(data: DataFrame, column: str) -> None:
    cast = cast_of(lambda: wr.group_by(data, "user", time=column), f"time: column '{column}' has type string; ")
    (row,) = wr.group_by(data, "user", time=cast).windowed_by(GAP).count().collect()
    assert (row["window"]["start"], row["count"]) == (datetime(2026, 1, 1, 9), 2)


@pytest.mark.parametrize("column", ["gap", "s.gap"])
def test_the_cast_of_gaps_takes_empty_text(data: DataFrame, column: str) -> None:
    grouped = wr.group_by(data, "user", time="at")
    of = wr.SessionWindows.with_dynamic_gap
    cast = cast_of(lambda: grouped.windowed_by(of(column)), f"column: column '{column}' has type string; ")
    made = data.withColumn("made", cast)
    found = [row["made"] for row in made.orderBy(F.col("n").desc_nulls_last()).collect()]
    assert found == [timedelta(minutes=5), timedelta(seconds=2.5), None, None]
    (row,) = wr.group_by(made, "user", time="at").windowed_by(of("made", invalid_gap="drop")).count().collect()
    assert row["count"] == 2


@pytest.mark.parametrize(("column", "true"), [("flag", 0), ("s.flag", 0), ("n", 2), ("s.n", 2)])
def test_a_condition_names_the_path_and_an_expression_that_works(data: DataFrame, column: str, true: int) -> None:
    grouped = wr.group_by(data, "user", time="at")
    windowed = grouped.windowed_by(GAP)
    calls = {
        'aggregate "x": count_if': lambda: windowed.agg(x=wr.count_if(column)),
        'aggregate "x": count().where': lambda: windowed.agg(x=wr.count().where(column)),
        'aggregate "x": bool_or': lambda: windowed.with_columns(x=wr.bool_or(column)),
        "end_when": lambda: grouped.windowed_by(wr.SessionWindows.with_gap("5 minutes", end_when=column)),
        "start_when": lambda: grouped.windowed_by(wr.SessionWindows.with_gap("5 minutes", start_when=column)),
        "tick": lambda: wr.group_by(data, "user", time="at", tick=column),
    }
    for argument, call in calls.items():
        made = cast_of(call, f"{argument}: column '{column}' has type ")
        (row,) = windowed.agg(x=wr.count_if(made)).collect()
        assert row["x"] == true
    assert cast_of(lambda: windowed.agg(x=wr.count_if(F.col(column))), f"aggregate \"x\": count_if: column '{column}' ")


def test_the_core_and_spark_name_the_path_of_a_field(data: DataFrame) -> None:
    windowed = wr.group_by(data, "user", time="at").windowed_by(GAP)
    for column in ("s.flag", F.col("s.flag")):
        with pytest.raises(TypeError, match='^aggregate "x": sum: column "s.flag" has type string; '):
            windowed.agg(x=wr.sum(column))
    months = data.selectExpr("*", "named_struct('m', make_ym_interval(1)) AS long")
    with pytest.raises(TypeError, match=r"^aggregate \"x\": max: column 'long.m' has type interval"):
        wr.group_by(months, "user", time="at").windowed_by(GAP).agg(x=wr.max("long.m"))
