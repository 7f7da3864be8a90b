"""The counters of an in-process query. The result keeps them, and a warning shows them if rows are left out."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from windrow._arguments.errors import bad_type, calls_to_user
from windrow._local.stream_progress import counters_of_progress, is_progress

ATTRIBUTE = "windrow"
"""The counters in `DataFrame.attrs`."""

LEFT_OUT_COUNTERS = {
    "null_keys": "without a key",
    "null_times": "without a time",
    "null_ties": "without a tie",
    "bad_gaps": "with a gap that is null, negative, or zero without end=",
    "bad_ends": "with an end that is null or before the time",
}
"""The counters of records left out, and which records each one counts."""

_PREFIX = "windrow."
_CUT = "clamped_gaps"
_ALLOWED = (
    "what agg, count or to_reader returns in this process, or a pandas DataFrame or Parquet file made from it (a "
    "pyarrow Table, RecordBatch, RecordBatchReader or Schema, or a pandas DataFrame)"
)


class LeftOut(UserWarning):
    """An in-process query left records out or cut gaps. The message has the counters by name.

    A call warns once, at the line that calls `agg`, `count` or `to_reader`. `windrow.counters(result)` returns the same
    numbers. `warnings.filterwarnings("ignore", category=windrow.LeftOut)` silences the warning, `"error"` makes it an
    error.

    Attributes:
        counters: `records`, and the counters of records left out and gaps cut.

    >>> import warnings
    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> clicks = pa.table({"user": ["ann", None], "ts": [datetime(2026, 1, 1)] * 2})
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     one = wr.group_by(clicks, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour")).count()
    >>> print(str(caught[0].message).partition(":")[0])
    1 of 2 records are left out (null_keys 1)
    """

    def __init__(self, counters: Mapping[str, int]) -> None:
        """Takes the counters of a query."""
        self.counters = {name: counters[name] for name in ("records", *LEFT_OUT_COUNTERS, _CUT)}
        super().__init__(_summary(counters))


def counters(result: Any, name: str | None = None) -> dict[str, Any]:
    """Returns the counters of an in-process query, or of a micro-batch of a streaming query.

    Those of an in-process query are in the schema metadata of the result (`b"windrow.records"` and so on).
    Operations that keep the metadata keep them: slices, filters, sorts, projections, Parquet and Arrow files, and
    `to_pandas()`, which puts them into `DataFrame.attrs["windrow"]` (pyarrow 22 or later). A result of pandas has them
    there, too. Polars and DuckDB have no place for them: `WindowedData.observe` reports them for data of every kind.

    Args:
        result: a pyarrow Table, RecordBatch, RecordBatchReader or Schema, or a pandas DataFrame; or the progress of a
            streaming query (`query.lastProgress`, or `event.progress` in a `StreamingQueryListener`).
        name: of a query with several windowed streams, the name of one (`observe`).

    Returns:
        Of a progress the counters of the micro-batch, with `stream_time`; empty if no micro-batch ran. Otherwise
        `records`; the records left out: `null_keys`, `null_times`, `null_ties`, `bad_gaps` and `bad_ends`; the records
        whose gap was cut: `clamped_gaps`; then `ticks` and, except for a reader, `overflows` and `windows`, the number
        of windows.

    Raises:
        TypeError: a Polars frame, a DuckDB relation, a Spark DataFrame (`observe` reports its counters), or another
            type without counters.
        ValueError: a result without counters (it is not from windrow, or an operation dropped its metadata), or a
            progress of several windowed streams without the name of one.

    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> clicks = pa.table({"user": ["ann", "ann"], "ts": [datetime(2026, 1, 1, hour) for hour in (8, 10)]})
    >>> visits = wr.group_by(clicks, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour")).count()
    >>> counters(visits)["records"], counters(visits.to_pandas())["windows"]
    (2, 2)
    """
    if is_progress(result):
        return counters_of_progress(result, name)
    counted = _of_pandas(result) if _is_pandas(result) else _of_metadata(_schema(result).metadata)
    if not counted:
        raise ValueError(
            f"result: got a {type(result).__name__} without counters; allowed: {_ALLOWED}. Grouping, joining and "
            "conversion through Polars or DuckDB lose them; .observe(windrow.Observation()) keeps them"
        )
    return counted


def metadata(counted: Mapping[str, int], pandas: Mapping[str, Any] | None = None) -> dict[str, str]:
    """The counters as schema metadata: one entry each, and all of them in the entry that `to_pandas` reads."""
    described: dict[str, Any] = {"index_columns": [], "column_indexes": [], "columns": [], **(pandas or {})}
    described["attributes"] = {**(described.get("attributes") or {}), ATTRIBUTE: dict(counted)}
    return {**{f"{_PREFIX}{name}": str(value) for name, value in counted.items()}, "pandas": json.dumps(described)}


def described(
    table: pa.Table,
    counted: Mapping[str, int],
    data: pa.Schema | None = None,
    kinds: Mapping[str, Any] | None = None,
) -> pa.Table:
    """A result with its counters, and with what `to_pandas` needs to give columns the types of pandas.

    Args:
        table: the result.
        counted: its counters.
        data: the schema of the data. If pandas made it, its metadata has pandas' types.
        kinds: the columns with values of the data. None for the rows of the data, which have its index, too.
    """
    of_data: dict[Any, Any] = {} if data is None else {**(data.metadata or {})}
    pandas: dict[str, Any] = json.loads(of_data.get(b"pandas", b"{}"))
    columns = pandas.get("columns", [])
    if kinds is not None and data is not None:
        # An aggregate may have the name of a column whose values it does not have.
        same = [name for name in kinds if name in table.column_names and data.names.count(name) == 1]
        same = [name for name in same if table.field(name).type.equals(data.field(name).type)]
        columns = [column for column in columns if column["field_name"] in same]
    fields = zip(table.schema, table.columns, strict=True)
    nullable = [field.name for field, column in fields if pa.types.is_integer(field.type) and column.null_count]
    columns = [column for column in columns if column["field_name"] not in nullable]
    for field in table.schema:
        # Otherwise `to_pandas` gives floats for integers with nulls, which changes large ones.
        if field.name in nullable:
            kind = str(field.type)
            own = kind.replace("uint", "UInt") if kind[0] == "u" else kind.replace("int", "Int")
            names = {"name": field.name, "field_name": field.name, "metadata": None}
            columns.append({**names, "pandas_type": kind, "numpy_type": own})
    pandas["columns"] = columns
    pandas |= {} if kinds is None else {"index_columns": []}
    return table.replace_schema_metadata({**(of_data if kinds is None else {}), **metadata(counted, pandas)})


def warn_left_out(counted: Mapping[str, int], *, returned: bool = False) -> None:
    """Warns the user if records were left out or gaps were cut. `returned`: the result has the records."""
    if returned:
        counted = {**counted, **dict.fromkeys(LEFT_OUT_COUNTERS, 0)}
    if any(counted[name] for name in (*LEFT_OUT_COUNTERS, _CUT)):
        warnings.warn(LeftOut(counted), stacklevel=calls_to_user())


def _summary(counted: Mapping[str, int]) -> str:
    parts = []
    left_out = {name: counted[name] for name in LEFT_OUT_COUNTERS if counted[name]}
    if left_out:
        named = ", ".join(f"{name} {count:,}" for name, count in left_out.items())
        parts.append(f"{sum(left_out.values()):,} of {counted['records']:,} records are left out ({named})")
    if counted[_CUT]:
        parts.append(f"gaps are cut to max_gap ({_CUT} {counted[_CUT]:,})")
    return (
        f"{', and '.join(parts)}: .observe(windrow.Observation()) reports the numbers, "
        'warnings.filterwarnings("ignore", category=windrow.LeftOut) silences this'
    )


def _schema(result: Any) -> pa.Schema:
    if isinstance(result, pa.Schema):
        return result
    if isinstance(result, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return result.schema
    raise bad_type("result", result, _instead(result) or _ALLOWED)


def _instead(result: object) -> str | None:
    """What to do for a result that cannot hold counters, else None."""
    library = _library(result)
    if library == "pyspark":
        return (
            'a result of data in this process (Spark counts while it runs: .observe(Observation("name")) before agg, '
            "then observation.get after an action)"
        )
    if library in ("polars", "duckdb", "_duckdb"):
        name = "Polars" if library == "polars" else "DuckDB"
        return f"a pyarrow Table or a pandas frame ({name} has no place for counters: .observe(windrow.Observation()))"
    return None


def _library(result: object) -> str:
    return type(result).__module__.partition(".")[0]


def _is_pandas(result: object) -> bool:
    return hasattr(result, "attrs") and any(kind.__module__.startswith("pandas.") for kind in type(result).__mro__)


def _of_metadata(metadata: Mapping[bytes, bytes] | None) -> dict[str, int]:
    names = {name.decode(): value for name, value in (metadata or {}).items()}
    return {name.removeprefix(_PREFIX): int(value) for name, value in names.items() if name.startswith(_PREFIX)}


def _of_pandas(frame: Any) -> dict[str, int]:
    return {str(name): int(value) for name, value in frame.attrs.get(ATTRIBUTE, {}).items()}
