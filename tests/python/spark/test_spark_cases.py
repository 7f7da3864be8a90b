"""The cases of the book in Spark: those of one query run as one query, in a batch by key, on a stream by source.

A query costs Spark the same with one case as with twenty. So groups of few cases are slow tests, and those that
ask Spark for nothing new are for `make soak`: the ways `shuffle` and `stream` play their steps without Spark.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ...cases.book import CASES
from ...cases.case import Case
from ...cases.drawing import Row, Step, Window
from ...cases.query import SCHEMA, Query
from ..harness.spark_tables import frame_of, table_of
from ..harness.streams import Folder, Run, source, start
from ..harness.ways import counted, differences, shown_row, wanted
from ..harness.ways import table_of as rows_table

SHARED = {"spark": 2, "spark_stream": 5}
"""The least number of cases of a query that is no slow test."""
OWN = ("case", "origin", "input")
COLUMNS = pa.schema([*SCHEMA, *(pa.field(name, pa.string()) for name in OWN)])
DDL = (
    "key string, ts timestamp_ntz, tick boolean, gap interval day to second, tie bigint, source string, "
    "offset bigint, v bigint, x double, word string, end boolean, begin boolean, until timestamp_ntz, "
    "case string, origin string, input string"
)


def features(query: Query) -> set[str]:
    """What a query asks of Spark: its kind of windows, also as updates and as records, and each of its options."""
    windows = query.windows
    ruled = hasattr(windows, "rules") and any(vars(windows.rules).values())
    kind = f"{type(windows).__name__} {type(getattr(windows, 'gap', None)).__name__} {ruled}"
    found = {f"{kind} {query.emit is not None} {query.returns_records}", *map(str, query.emit or ())}
    options = {"late": query.late, "left out": query.left_out, "inputs": query.inputs, "lasts": query.lasts}
    return found | {name for name, value in options.items() if value} | {query.overflow, *query.group}


def groups(way: str) -> list[Any]:
    """The cases of each query that a way plays."""
    queries: dict[str, list[Case]] = {}
    for case in CASES:
        if way not in case.cannot:
            alone = way == "spark_stream" and bool(case.query.group.get("source"))
            queries.setdefault(case.id if alone else repr(case.query), []).append(case)
    seen, marks = set[str](), dict[str, Any]()
    for name, cases in sorted(queries.items(), key=lambda group: -len(group[1])):
        asked = features(cases[0].query)
        repeats = asked <= seen
        marks[name] = () if len(cases) >= SHARED[way] else pytest.mark.soak if repeats else pytest.mark.slow
        seen |= asked
    return [pytest.param(cases, marks=marks[name], id=cases[0].id) for name, cases in queries.items()]


def table(rows: Sequence[tuple[Case, Row]]) -> pa.Table:
    """The rows of several cases. A record without a key has no part of it, so no case either."""
    cases = [None if row.key is None else case.id for case, row in rows]
    origins = [case.id for case, _ in rows]
    records = [row for _, row in rows]
    return rows_table(records, case=cases, origin=origins, input=[row.input for row in records]).cast(COLUMNS)


def data_of(query: Query, frame: DataFrame) -> Any:
    if not query.inputs:
        return frame
    return {name: frame.where(F.col("input") == name) for name in query.inputs}


def check(query: Query, told: list[tuple[Case, Sequence[Window]]], came: list[Any], *, on_stream: bool) -> list[str]:
    """The differences of all cases."""
    found = []
    for case, windows in told:
        got = [shown_row(query, row) for row in came if len(told) == 1 or row["case"] == case.id]
        found += [f"{case.id}: {one}" for one in differences(wanted(windows, query, on_stream=on_stream), got)]
    return found


@pytest.mark.parametrize("case", groups("spark"))
def test_cases_of_one_query_in_a_batch(spark: SparkSession, case: list[Case]) -> None:
    query = case[0].query
    frame = frame_of(spark, table([(one, row) for one in case for row in one.records])).repartition(3)
    for name in ("ts", "until"):
        frame = frame.withColumn(name, F.col(name).cast("timestamp_ntz"))
    result = table_of(query.result(query.windowed(data_of(query, frame), "case"))).to_pylist()
    assert not check(query, [(one, one.windows) for one in case], result, on_stream=False)


def micro_batches(case: Case) -> list[Step]:
    """The steps of a case. The records of a timeline come together."""
    if not case.is_timeline:
        return list(case.steps)
    *_, last = case.steps
    return [Step(tuple(case.records), ()), last]


@pytest.mark.needs("streams")
@pytest.mark.parametrize("case", groups("spark_stream"))
def test_cases_of_one_query_on_a_stream(spark: SparkSession, tmp_path: Path, case: list[Case]) -> None:
    query, folder, run = case[0].query, Folder(tmp_path / "in"), Run()
    steps = list(itertools.zip_longest(*map(micro_batches, case), fillvalue=Step((), ())))
    for number, step in enumerate(steps):
        rows = [(one, row) for one, each in zip(case, step, strict=True) for row in each.rows]
        folder.add(table(rows or [(case[0], Row(None, number, True))]))
    data = source(spark, folder, DDL)
    result = query.result(query.windowed(data_of(query, data), "case", source="origin").shards(2))
    started = start(result, run, tmp_path / "checkpoint")
    started.awaitTermination()
    found = []
    for number, step in enumerate(steps):
        told = [(one, each.gives) for one, each in zip(case, step, strict=True)]
        came = run.batches.get(number, [])
        found += [f"micro-batch {number}: {one}" for one in check(query, told, came, on_stream=True)]
    run.progress += started.recentProgress
    if len(case) == 1 and case[0].counters:
        # The ways without Spark compare stream time to the microsecond.
        shown = {name: run.total(name) for name in case[0].counters if name != "stream_time"}
        found += counted(case[0].counters, {"stream_time": case[0].counters.get("stream_time"), **shown})
    assert not found, "\n".join(found)
