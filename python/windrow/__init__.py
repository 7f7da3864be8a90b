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
from windrow.aggregates.builtin import (
    any_value,
    avg,
    collect_list,
    collect_set,
    count,
    first,
    last,
    max,
    max_by,
    mean,
    min,
    min_by,
    stddev,
    stddev_pop,
    stddev_samp,
    sum,
    var_pop,
    var_samp,
    variance,
)
from windrow.aggregates.user_function import aggregate, reduce
from windrow.cogrouped import CogroupedData, cogroup
from windrow.explanation.explain import explain
from windrow.grouped import GroupedData, group_by
from windrow.spark.configure import configure
from windrow.spark.ticks import ticks
from windrow.windowed import WindowedData
from windrow.windows.session import SessionWindows
from windrow.windows.sliding import SlidingWindows

__all__ = [
    "Aggregate",
    "CogroupedData",
    "GroupedData",
    "SessionWindows",
    "SlidingWindows",
    "WindowedData",
    "__version__",
    "aggregate",
    "any_value",
    "avg",
    "cogroup",
    "collect_list",
    "collect_set",
    "configure",
    "count",
    "explain",
    "first",
    "group_by",
    "last",
    "max",
    "max_by",
    "mean",
    "min",
    "min_by",
    "plot",
    "reduce",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "sum",
    "ticks",
    "var_pop",
    "var_samp",
    "variance",
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
