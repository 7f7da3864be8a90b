"""Kafka Streams' session and sliding windows for PySpark and Arrow data, on a Rust core.

```python
import windrow as wr

sessions = (
    wr.group_by(events, "user_id", time="ts")
    .windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    .agg(clicks=wr.count(), spend=wr.sum("amount"))
)
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow import plot
from windrow.aggregates.aggregate import Aggregate
from windrow.aggregates.bits import bit_and, bit_or, bit_xor, bool_and, bool_or
from windrow.aggregates.builtin import (
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
from windrow.aggregates.frequencies import histogram_numeric, mode, top_k
from windrow.aggregates.percentiles import approx_percentile, median, percentile
from windrow.aggregates.statistics import corr, covar_pop, covar_samp, kurtosis, skewness
from windrow.aggregates.user_function import aggregate, reduce
from windrow.aggregates.vectorised import apply
from windrow.aggregates.window_id import window_id
from windrow.cogrouped import CogroupedData, cogroup
from windrow.explanation.explain import explain_record
from windrow.grouped import GroupedData, group_by
from windrow.local.counters import LeftOut, counters
from windrow.spark.configure import configure
from windrow.spark.ticks import ticks
from windrow.windowed import WindowedData
from windrow.windows.session import SessionWindows
from windrow.windows.sliding import SlidingWindows

__all__ = [
    "Aggregate",
    "CogroupedData",
    "GroupedData",
    "LeftOut",
    "SessionWindows",
    "SlidingWindows",
    "WindowedData",
    "__version__",
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
    "cogroup",
    "collect_list",
    "collect_set",
    "configure",
    "corr",
    "count",
    "count_distinct",
    "count_if",
    "counters",
    "covar_pop",
    "covar_samp",
    "explain_record",
    "first",
    "group_by",
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
    "percentile",
    "plot",
    "product",
    "reduce",
    "skewness",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "sum",
    "sum_distinct",
    "ticks",
    "top_k",
    "var_pop",
    "var_samp",
    "variance",
    "window_id",
]

__version__: str
"""The version, as the core has it."""


def __dir__() -> list[str]:
    return list(__all__)


if not TYPE_CHECKING:  # to a type checker there are no other names than those above

    def __getattr__(name: str) -> str:
        if name == "__version__":
            from windrow._worker import version

            return version()
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
