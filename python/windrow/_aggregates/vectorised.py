"""`apply`: a function over the values of many windows at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow._aggregates.aggregate import Aggregate
from windrow._aggregates.call import AggregateCall, Computed
from windrow._arguments.column import column_name
from windrow._arguments.ddl import arrow_type
from windrow._arguments.errors import bad_type, bad_value

if TYPE_CHECKING:
    from windrow._arguments.column import ColumnName


def apply(fn: Callable[..., Any], *columns: ColumnName, schema: str | pa.DataType) -> Aggregate:
    """What a function makes of the values of windows: for what no other aggregate covers.

    `fn` is called with a `pyarrow.ListArray` for each column: a list for each window, with the values of its records by
    event time, then by arrival, nulls included, so that the lists of a window have one length. It gives an array with
    one value for each window. So it is called once for many windows, not for each; `values.flatten()` has the values of
    all of them, `values.offsets` where each window starts. A function may depend on one window at a time alone: how
    windows are cut into batches is not defined. A window's state holds all values.

    Args:
        fn: a function of list arrays that gives an array; on Spark it travels to executors, as those of `reduce` do.
        columns: the columns whose values it is handed, one at least.
        schema: the type of the result, in Spark's words or as an Arrow type.

    Raises:
        TypeError: `fn` is no function, a column is not a name, or `schema` no type.
        ValueError: no column, or `schema` spells no type. From `agg`, on Spark as the job fails: a result of another
            length.

    >>> from datetime import datetime
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> hours = [datetime(2026, 1, 1, hour) for hour in (8, 9, 10, 15, 16)]
    >>> ticks = pa.table({"share": ["x"] * 5, "ts": hours, "price": [3.0, 9.0, 6.0, 1.0, 2.0]})
    >>> def steepest(prices):
    ...     windows = np.split(prices.flatten().to_numpy(), prices.offsets.to_numpy()[1:-1])
    ...     return pa.array([max(np.diff(window)) for window in windows])
    >>> day = wr.group_by(ticks, "share", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    >>> sorted(day.agg(rise=wr.apply(steepest, "price", schema="double"))["rise"].to_pylist())
    [1.0, 6.0]
    """
    if not callable(fn):
        raise bad_type("apply(fn=)", fn, "a function of list arrays")
    if not columns:
        raise bad_value("apply(columns)", columns, "one column at least")
    kind = arrow_type("apply(schema=)", schema) if isinstance(schema, str) else schema
    if not isinstance(kind, pa.DataType):
        raise bad_type("apply(schema=)", schema, "a type in Spark's words, or an Arrow type")
    names = [column_name("collect_list(column=)", column) for column in columns]
    lists = (AggregateCall("collect_list", (name,), ignore_nulls=False) for name in names)
    return Aggregate(Computed.of("apply", fn, *lists, type=kind))
