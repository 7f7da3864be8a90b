"""The records in no window that one in-process query meets, for its result (rules 6.13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from windrow._executor.batches import Batches, stream_reader
from windrow._executor.left_out import LeftOutRows
from windrow._local.counters import warn_left_out
from windrow._plan.plan import Plan


class LeftOutRecords:
    """Keeps the records that are in no window, if the query returns them."""

    def __init__(self, plan: Plan) -> None:
        """Takes a plan."""
        self._made = LeftOutRows.of(plan.spec, plan.schema)
        self._kept: list[pa.RecordBatch] = []

    @property
    def rows(self) -> int:
        """How many records came so far."""
        return sum(batch.num_rows for batch in self._kept)

    def reading(self, stream: Any, remembered: Callable[[Batches], Batches]) -> Any:
        """The stream in the columns that windows need. Keeps the records that are in no window.

        `remembered` keeps what its batches raise.
        """
        if self._made is None:
            return stream
        return pa.RecordBatchReader.from_batches(
            self._made.window_columns, remembered(self._batches(stream, self._made))
        )

    def output(self, core: pa.Schema) -> pa.Schema:
        """The columns of the result; `core` has the columns of its windows."""
        return core if self._made is None else self._made.output(core)

    def joined(self, windows: Batches, output: pa.Schema) -> Batches:
        """All rows of the result."""
        return windows if self._made is None else self._made.joined(windows, self._kept, output)

    def warn(self, counters: Mapping[str, int]) -> None:
        """Warns the user of records that were left out and not returned, and of gaps that were cut."""
        warn_left_out(counters, returned=self._made is not None)

    def _batches(self, stream: Any, made: LeftOutRows) -> Iterator[pa.RecordBatch]:
        for batch in stream_reader(stream):
            rows = made.unread(batch)
            if rows is not None:
                self._kept.append(rows)
            yield batch.select(made.window_columns.names)
