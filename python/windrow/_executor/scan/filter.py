"""The filter of a scan, as it travels to executors."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import pyarrow as pa


class Filter(NamedTuple):
    """The pickled condition of a scan, and the columns that it reads."""

    pickled: bytes | None
    columns: tuple[str, ...]


NO_FILTER = Filter(None, ())


def read_filter(pickled: bytes | None) -> Any:
    """The expression; None if there is none."""
    return None if pickled is None else pickle.loads(pickled)


def row_groups_in(fragment: Any, condition: Any) -> list[Any]:
    """The row groups of a Parquet fragment that may match, each as a fragment; all if Arrow cannot compare them."""
    try:
        return list(fragment.split_by_row_group(condition))
    except (pa.ArrowException, TypeError):
        return list(fragment.split_by_row_group())  # statistics of another type; the rows are compared later


def filtered(batch: pa.RecordBatch, condition: Any) -> pa.RecordBatch:
    """The rows in which the condition is true."""
    rows = pa.Table.from_batches([batch]).filter(condition).combine_chunks()
    found = rows.to_batches()
    return found[0] if found else batch.slice(0, 0)


def filter_columns(condition: Any, schema: pa.Schema) -> list[str]:
    """The columns that a condition reads.

    Raises:
        pyarrow.ArrowException: a condition that does not fit the columns.
    """
    nothing = schema.empty_table()
    nothing.filter(condition)
    return [name for name in schema.names if not _holds(nothing.drop_columns([name]), condition)]


def _holds(table: pa.Table, condition: Any) -> bool:
    try:
        table.filter(condition)
    except pa.ArrowException:
        return False
    return True
