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

from windrow import functions, plot
from windrow._inspection.explain import explain_record
from windrow._local.counters import LeftOut, counters
from windrow._native import __version__
from windrow._query.cogrouped import CogroupedData as CogroupedData
from windrow._query.cogrouped import cogroup
from windrow._query.grouped import GroupedData as GroupedData
from windrow._query.grouped import group_by
from windrow._query.windowed import WindowedData as WindowedData
from windrow._spark.configure import configure
from windrow._spark.ticks import ticks
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows
from windrow.functions import (
    Aggregate as Aggregate,
)
from windrow.functions import (
    aggregate as aggregate,
)
from windrow.functions import (
    any_value as any_value,
)
from windrow.functions import (
    apply as apply,
)
from windrow.functions import (
    approx_count_distinct as approx_count_distinct,
)
from windrow.functions import (
    approx_percentile as approx_percentile,
)
from windrow.functions import (
    avg as avg,
)
from windrow.functions import (
    bit_and as bit_and,
)
from windrow.functions import (
    bit_or as bit_or,
)
from windrow.functions import (
    bit_xor as bit_xor,
)
from windrow.functions import (
    bool_and as bool_and,
)
from windrow.functions import (
    bool_or as bool_or,
)
from windrow.functions import (
    collect_list as collect_list,
)
from windrow.functions import (
    collect_set as collect_set,
)
from windrow.functions import (
    corr as corr,
)
from windrow.functions import (
    count as count,
)
from windrow.functions import (
    count_distinct as count_distinct,
)
from windrow.functions import (
    count_if as count_if,
)
from windrow.functions import (
    covar_pop as covar_pop,
)
from windrow.functions import (
    covar_samp as covar_samp,
)
from windrow.functions import (
    first as first,
)
from windrow.functions import (
    histogram_numeric as histogram_numeric,
)
from windrow.functions import (
    kurtosis as kurtosis,
)
from windrow.functions import (
    last as last,
)
from windrow.functions import (
    max as max,
)
from windrow.functions import (
    max_by as max_by,
)
from windrow.functions import (
    mean as mean,
)
from windrow.functions import (
    median as median,
)
from windrow.functions import (
    min as min,
)
from windrow.functions import (
    min_by as min_by,
)
from windrow.functions import (
    mode as mode,
)
from windrow.functions import (
    percentile as percentile,
)
from windrow.functions import (
    product as product,
)
from windrow.functions import (
    reduce as reduce,
)
from windrow.functions import (
    skewness as skewness,
)
from windrow.functions import (
    stddev as stddev,
)
from windrow.functions import (
    stddev_pop as stddev_pop,
)
from windrow.functions import (
    stddev_samp as stddev_samp,
)
from windrow.functions import (
    sum as sum,
)
from windrow.functions import (
    sum_distinct as sum_distinct,
)
from windrow.functions import (
    top_k as top_k,
)
from windrow.functions import (
    var_pop as var_pop,
)
from windrow.functions import (
    var_samp as var_samp,
)
from windrow.functions import (
    variance as variance,
)
from windrow.functions import (
    window_id as window_id,
)

__all__ = [
    "LeftOut",
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
    "ticks",
]


def __dir__() -> list[str]:
    return list(__all__)
