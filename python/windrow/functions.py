"""The aggregates, for `from windrow import functions as W`.

Names and results are those of `pyspark.sql.functions`. `docs/explanation/aggregates.md` lists what each does with each
type. Each function takes names of columns or expressions over them. It gives an `Aggregate` for `agg` and
`with_columns`.

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> from windrow import functions as W
>>> paid = pa.table({"user": ["ann", "ann"], "ts": [datetime(2026, 1, 1, h) for h in (8, 9)], "amount": [3, 4]})
>>> sessions = wr.group_by(paid, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
>>> sessions.agg(n=W.count(), spend=W.sum("amount")).select(["n", "spend"]).to_pylist()
[{'n': 2, 'spend': 7}]
"""

from typing import TYPE_CHECKING, Never

from windrow._aggregates.activity import active_runs, active_time
from windrow._aggregates.bits import bit_and, bit_or, bit_xor, bool_and, bool_or
from windrow._aggregates.builtin import (
    any_value,
    approx_count_distinct,
    avg,
    collect_list,
    collect_set,
    count,
    count_distinct,
    count_if,
    first,
    last,
    max,
    max_by,
    mean,
    min,
    min_by,
    product,
    stddev,
    stddev_pop,
    stddev_samp,
    sum,
    sum_distinct,
    var_pop,
    var_samp,
    variance,
)
from windrow._aggregates.ended_by import ended_by
from windrow._aggregates.frequencies import histogram_numeric, mode, top_k
from windrow._aggregates.journeys import funnel, funnel_times, path
from windrow._aggregates.percentiles import approx_percentile, median, percentile
from windrow._aggregates.row_numbers import position, session_number
from windrow._aggregates.statistics import corr, covar_pop, covar_samp, kurtosis, skewness
from windrow._aggregates.user_function import aggregate, apply, reduce
from windrow._aggregates.window_id import window_id
from windrow._aggregates.window_length import window_length
from windrow._arguments.other_names import other_name

if not TYPE_CHECKING:  # to a type checker there is no such attribute

    def __getattr__(name: str) -> Never:
        hint = other_name(name)
        text = f"module 'windrow.functions' has no attribute {name!r}"
        raise AttributeError(text if hint is None else f"{text}; {hint}", name=name)


__all__ = [
    "active_runs",
    "active_time",
    "aggregate",
    "any_value",
    "apply",
    "approx_count_distinct",
    "approx_percentile",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "collect_list",
    "collect_set",
    "corr",
    "count",
    "count_distinct",
    "count_if",
    "covar_pop",
    "covar_samp",
    "ended_by",
    "first",
    "funnel",
    "funnel_times",
    "histogram_numeric",
    "kurtosis",
    "last",
    "max",
    "max_by",
    "mean",
    "median",
    "min",
    "min_by",
    "mode",
    "path",
    "percentile",
    "position",
    "product",
    "reduce",
    "session_number",
    "skewness",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "sum",
    "sum_distinct",
    "top_k",
    "var_pop",
    "var_samp",
    "variance",
    "window_id",
    "window_length",
]
