"""Kafka Streams' session and sliding windows for PySpark and Arrow data, on a Rust core.

```python
import windrow as wr

sessions = (
    wr.group_by(events, "user_id", time="ts")
    .windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    .agg(clicks=wr.count(), spend=wr.sum("amount"))
)
```

The aggregates are in `windrow.functions`; `wr.sum` and the like are the same functions.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

if "t" in getattr(sys, "abiflags", ""):  # before the module that is built for other Pythons
    raise ImportError(
        f"windrow: got a free-threaded Python, {sys.executable}; allowed: a Python 3.11 or later with the GIL",
        name="windrow",
    )

from windrow import functions
from windrow._aggregates.aggregate import Aggregate as Aggregate
from windrow._arguments.other_names import other_name
from windrow._local.counters import LeftOut, counters
from windrow._native import __version__
from windrow._plan.input import Run as Run
from windrow._plan.observation import Observation
from windrow._query.cogrouped import CogroupedData as CogroupedData
from windrow._query.cogrouped import cogroup
from windrow._query.grouped import GroupedData as GroupedData
from windrow._query.grouped import group_by
from windrow._query.scans import Scan as Scan
from windrow._query.scans import scan, scan_delta, scan_iceberg, scan_parquet
from windrow._query.windowed import WindowedData as WindowedData
from windrow._spark.configure import configure
from windrow._spark.ticks import ticks
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows
from windrow.functions import *  # noqa: F403  `wr.sum` and the like

__all__ = [
    "LeftOut",
    "Observation",
    "SessionWindows",
    "SlidingWindows",
    "__version__",
    "cogroup",
    "configure",
    "counters",
    "explain_record",
    "functions",
    "group_by",
    "plot",
    "scan",
    "scan_delta",
    "scan_iceberg",
    "scan_parquet",
    "ticks",
]


def __dir__() -> list[str]:
    return list(__all__)


if TYPE_CHECKING:
    from windrow import plot as plot
    from windrow._inspection.explain import explain_record as explain_record
else:  # to a type checker there are no other attributes
    # No query needs these, so Spark's Python workers do not wait for them.
    _LOADED_ON_USE = {"plot": "windrow.plot", "explain_record": "windrow._inspection.explain"}

    def __getattr__(name: str) -> Any:
        if name in _LOADED_ON_USE:
            module = importlib.import_module(_LOADED_ON_USE[name])
            globals()[name] = getattr(module, name, module)
            return globals()[name]
        hint = other_name(name)
        text = f"module 'windrow' has no attribute {name!r}"
        raise AttributeError(text if hint is None else f"{text}; {hint}", name=name)
