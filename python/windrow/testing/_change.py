"""Changes of windows, which a driver returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from windrow._folds.python_values import values_of

Kind = Literal["upsert", "delete", "final", "late", "left_out"]
"""The kinds of changes of a window: a new value, a delete, the last value, a late record, or a record in no window."""


class Window(NamedTuple):
    """The bounds of a window, both inclusive, as the time column shows them."""

    start: Any
    end: Any


@dataclass(frozen=True)
class Change:
    """One change of one window.

    Attributes:
        kind: `"upsert"`, `"delete"`, `"late"` or `"left_out"`, as in the column `op`; `"final"` for the last value of a
            window.
        key: the key, by column.
        window: the window. For a record that was left out, it is the window that the record would have had; both bounds
            are None without a time.
        values: the aggregates, by name; empty for a delete. For a record that was left out, the columns that
            `left_out("emit")` adds.
        time: the time of the change: the end of a session, the largest time of a sliding window's records, or for a
            record that was left out its own time.
    """

    kind: Kind
    key: dict[str, Any]
    window: Window
    values: dict[str, Any]
    time: Any


def changes_of(
    batch: pa.RecordBatch, key_names: Sequence[str], left_out: Sequence[str], *, final: bool
) -> Iterator[Change]:
    """The rows of the core: keys, window, aggregates, op and time. An upsert of close mode is final.

    The columns `left_out` come before `op`; only rows of records left out have them.
    """
    keys = max(len(key_names), 1)  # without keys it is a constant
    names = batch.schema.names
    columns = [values_of(name, column) for name, column in zip(names, batch.columns, strict=True)]
    for *cells, op, time in zip(*columns, strict=True):
        kind: Kind = "final" if final and op == "upsert" else op
        values = dict(zip(names[keys + 1 : -2], cells[keys + 1 :], strict=True)) if kind != "delete" else {}
        values = {name: value for name, value in values.items() if (name in left_out) == (kind == "left_out")}
        key = dict(zip(key_names, cells, strict=False))
        bounds = cells[keys] or {"start": None, "end": None}
        yield Change(kind, key, Window(bounds["start"], bounds["end"]), values, time)
