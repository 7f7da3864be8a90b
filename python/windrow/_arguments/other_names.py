"""Names of other libraries with their counterparts in windrow, for errors that name the right call."""

from __future__ import annotations

import re

_AGGREGATES = {
    "countDistinct": "count_distinct",
    "n_unique": "count_distinct",
    "nunique": "count_distinct",
    "approxCountDistinct": "approx_count_distinct",
    "approx_n_unique": "approx_count_distinct",
    "sumDistinct": "sum_distinct",
    "average": "avg",
    "len": "count",
    "size": "count",
    "array_agg": "collect_list",
    "list": "collect_list",
    "first_value": "first",
    "last_value": "last",
    "arg_min": "min_by",
    "arg_max": "max_by",
    "std": "stddev",
    "var": "variance",
    "quantile": "percentile",
    "percentile_approx": "approx_percentile",
    "every": "bool_and",
    "some": "bool_or",
}
_TUMBLING = (
    "tumbling and hopping windows are Spark's: pyspark.sql.functions.window; here are windrow.SessionWindows and "
    "windrow.SlidingWindows"
)
_SESSIONS = 'write windrow.SessionWindows.with_gap("5 minutes")'
_SLIDING = 'write windrow.SlidingWindows.with_time_difference("10 minutes")'
_GROUP_BY = 'write windrow.group_by(data, "user", time="ts")'
_ROWS = "write windrow.group_by(...).windowed_by(...).with_columns(n=windrow.count())"
_COLUMNS = (
    "a column goes by its name, or by an expression of the library of the data: pyspark.sql.functions.col, polars.col, "
    "pyarrow.compute.field"
)
_CALLS = {
    **dict.fromkeys(
        ["window", "TumblingWindows", "TimeWindows", "HoppingWindows", "Tumble", "tumble", "hop"], _TUMBLING
    ),
    **dict.fromkeys(["tumbling_window", "hopping_window", "TumblingWindow", "HoppingWindow"], _TUMBLING),
    **dict.fromkeys(["session_window", "session", "SessionWindow", "SessionWindower", "Session"], _SESSIONS),
    **dict.fromkeys(["sliding_window", "sliding", "SlidingWindow", "SlidingWindower", "rolling"], _SLIDING),
    **dict.fromkeys(["groupBy", "groupby", "groupByKey", "group_by_dynamic", "GroupBy"], _GROUP_BY),
    **dict.fromkeys(["with_column", "withColumn", "withColumns"], _ROWS),
    **dict.fromkeys(["col", "column", "lit", "expr", "field", "literal"], _COLUMNS),
    "windowedBy": "write windrow.group_by(...).windowed_by(...)",
}

_FUNCTION = re.compile(r"(\w+)\((DISTINCT )?(.*?)\)( AS .*)?", re.IGNORECASE)
_METHOD = re.compile(r'col\("([^"]*)"\)\.(\w+)\(.*')
_ARGUMENTS = re.compile(r"\w+(, \w+)*")


def other_name(name: str) -> str | None:
    """What to write for a name that another library has; None for any other name.

    >>> other_name("countDistinct")
    'write windrow.count_distinct(...)'
    """
    if name in _AGGREGATES:
        return f"write windrow.{_AGGREGATES[name]}(...)"
    return _CALLS.get(name)


def aggregate_like(text: str) -> tuple[str, str]:
    """The aggregate of windrow, with its arguments, for the text of another library's aggregate.

    The name may be one that windrow does not have.

    >>> aggregate_like("sum(x)"), aggregate_like("count(DISTINCT x)"), aggregate_like('col("x").mean()')
    (('sum', '"x"'), ('count_distinct', '"x"'), ('mean', '"x"'))
    >>> aggregate_like("count(unresolvedstar())"), aggregate_like("count(distinct x)")  # of Spark Connect
    (('count', ''), ('count_distinct', '"x"'))
    """
    method, function = _METHOD.fullmatch(text), _FUNCTION.fullmatch(text)
    if method is not None:
        return _AGGREGATES.get(method[2], method[2]), f'"{method[1]}"'
    if function is None:
        return "", ""
    name = "count_distinct" if function[2] else _AGGREGATES.get(function[1], function[1])
    columns = function[3].replace('"', "").replace("`", "")
    if columns in ("", "1", "*", "unresolvedstar()"):
        return name, ""
    plain = _ARGUMENTS.fullmatch(columns) is not None
    return name, ", ".join(f'"{column}"' for column in columns.split(", ")) if plain else "..."
