"""What an error names in Spark, where the values of a column are not known: the casts work on them, also empty text.

In ANSI mode, the default since Spark 4.0, a cast of text that is no number or no time fails the job.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
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


@pytest.fixture(params=["true", pytest.param("false", marks=pytest.mark.slow)], ids=["ansi", "without ansi"])
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


def test_the_casts_of_times_take_empty_text(data: DataFrame) -> None:
    made = data
    for column in ("ts", "s.ts"):
        cast = cast_of(partial(wr.group_by, data, "user", time=column), f"time: column '{column}' has type string; ")
        made = made.withColumn(f"made {column}", cast)
    (row,) = wr.group_by(made, "user", time="made s.ts").windowed_by(GAP).agg(last=wr.max("made ts")).collect()
    assert (row["window"]["start"], row["last"]) == (datetime(2026, 1, 1, 9), datetime(2026, 1, 1, 9, 1))


def test_the_casts_of_gaps_take_empty_text(data: DataFrame) -> None:
    grouped, made = wr.group_by(data, "user", time="at"), data
    for column in ("gap", "s.gap"):
        windows = wr.SessionWindows.with_dynamic_gap(column)
        start = f"column: column '{column}' has type string; "
        made = made.withColumn(f"made {column}", cast_of(partial(grouped.windowed_by, windows), start))
    rows = made.orderBy(F.col("n").desc_nulls_last()).collect()
    for column in ("made gap", "made s.gap"):
        assert [row[column] for row in rows] == [timedelta(minutes=5), timedelta(seconds=2.5), None, None]


def conditions(data: DataFrame, column: str) -> dict[str, Any]:
    """Calls with a condition of another type, by the argument."""
    grouped = wr.group_by(data, "user", time="at")
    windowed, sessions = grouped.windowed_by(GAP), wr.SessionWindows.with_gap
    return {
        'aggregate "x": count_if': lambda: windowed.agg(x=wr.count_if(column)),
        'aggregate "x": count().where': lambda: windowed.agg(x=wr.count().where(column)),
        'aggregate "x": bool_or': lambda: windowed.with_columns(x=wr.bool_or(column)),
        "end_when": lambda: grouped.windowed_by(sessions("5 minutes", end_when=column)),
        "start_when": lambda: grouped.windowed_by(sessions("5 minutes", start_when=column)),
        "tick": lambda: wr.group_by(data, "user", time="at", tick=column),
    }


def test_a_condition_names_the_path_and_an_expression_that_works(data: DataFrame) -> None:
    made = dict[str, Any]()
    for column in ("flag", "s.flag", "n", "s.n"):
        for argument, call in conditions(data, column).items():
            made[column] = wr.count_if(cast_of(call, f"{argument}: column '{column}' has type "))
    (row,) = wr.group_by(data, "user", time="at").windowed_by(GAP).agg(**made).collect()
    assert {column: row[column] for column in made} == {"flag": 0, "s.flag": 0, "n": 2, "s.n": 2}


def test_the_core_names_the_path_of_a_field(data: DataFrame) -> None:
    windowed = wr.group_by(data, "user", time="at").windowed_by(GAP)
    for column in ("s.flag", F.col("s.flag")):
        with pytest.raises(TypeError, match='^aggregate "x": sum: column "s.flag" has type string; '):
            windowed.agg(x=wr.sum(column))
        with pytest.raises(TypeError, match="^aggregate \"x\": count_if: column 's.flag' has type string; "):
            windowed.agg(x=wr.count_if(column))
