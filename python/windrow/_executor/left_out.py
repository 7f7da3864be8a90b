"""Rows of the records that are in no window (rules 6.13).

```text
 key  window  aggregates  time  reason  late_by  stream_time  record  op
 ann  [8, 9]     3         —      —        —          —         —     upsert     a window
 ann  [7, 7]     —         7     late      1          9        {…}    left_out   a record
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.compute

from windrow._arguments.duration import TIME_UNITS
from windrow._executor.batches import Batches, picked, rebased
from windrow._executor.result_rows import of_records, of_windows
from windrow._executor.stream.change_block import blocks_of
from windrow._native import Query
from windrow._plan.flat import WINDOW
from windrow._plan.plan import INPUT, left_out_columns
from windrow._plan.spec import LeftOutLayout, Spec

if TYPE_CHECKING:
    from windrow._native import Operator, ShardSessions

pc: Any = pyarrow.compute  # its stubs know no column of any type

_LEAST = -(2**63)


class LeftOutRows:
    """Makes rows of the records that are in no window."""

    def __init__(self, spec: Spec, left_out: LeftOutLayout, schema: pa.Schema) -> None:
        """Takes a query, its `left_out`, and the columns that it reads. Other columns may follow them."""
        self._spec, self._inputs, self._record = spec, left_out["inputs"], left_out["record"]
        self._schema = schema
        kind: Any = schema.field(spec.time).type
        self._unit = TIME_UNITS[kind.unit]
        record = pa.struct([schema.field(column).with_name(name).with_nullable(True) for name, column in self._record])
        kinds: dict[str, Any] = {"time": kind, "late_by": pa.duration(kind.unit), "stream_time": kind, "record": record}
        names = left_out_columns(spec.input is not None, self._record)
        self.fields: list[pa.Field[Any]] = [pa.field(name, kinds.get(name, pa.string())) for name in names]
        """The columns that come before `op`."""
        self.window_columns = pa.schema(list(schema)[: left_out["columns"]])
        """The columns that windows need."""

    @cached_property
    def _records(self) -> Query:
        return Query(self._spec.of_faults.text, self._schema)

    @classmethod
    def of(cls, spec: Spec, schema: pa.Schema) -> Self | None:
        """What makes these rows for a plan; None if the query does not return records in no window."""
        return None if spec.left_out is None else cls(spec, spec.left_out, schema)

    def output(self, core: pa.Schema) -> pa.Schema:
        """The columns of a result; `core` has the columns of its windows."""
        *windows, op = (field.with_nullable(True) for field in core)
        place = core.get_field_index(WINDOW)
        bounds: Any = windows[place].type
        windows[place] = pa.field(WINDOW, pa.struct([bounds.field(n).with_nullable(True) for n in range(2)]))
        return pa.schema([*windows, *self.fields, op])

    def joined(self, windows: Batches, records: Iterable[pa.RecordBatch], output: pa.Schema) -> Batches:
        """All rows of a result."""
        yield from (of_windows(batch, output) for batch in windows)
        yield from (of_records(batch, output) for batch in records)

    def blocks(self, rows: pa.RecordBatch) -> Iterator[bytes]:
        """Blocks of the records that are in no window."""
        unread = self.unread(rows)
        if unread is not None:
            yield from blocks_of(unread)

    def judged(self, records: pa.RecordBatch, operator: Operator | ShardSessions) -> list[pa.RecordBatch]:
        """Rows of the records that an operator has left out of its last batch."""
        judged = operator.left_out()
        if judged is None or not judged.num_rows:
            return []
        judgements = (judged.column(name) for name in ("reason", "late_by", "stream_time"))
        return [self.rows(picked(records, judged.column("row")), *judgements)]

    def unread(self, rows: pa.RecordBatch) -> pa.RecordBatch | None:
        """The records without a key, a time, a tie, a valid gap or a valid end. None if there are none."""
        reasons = self._records.faults(rebased(rows))
        if reasons.null_count == rows.num_rows:
            return None
        places = pc.indices_nonzero(reasons.is_valid())
        return self.rows(picked(rows, places), reasons.take(places))

    def rows(
        self, records: pa.RecordBatch, reasons: Any, late_by: Any = None, stream_time: Any = None
    ) -> pa.RecordBatch:
        """Rows of these records, without the columns that only windows have.

        Args:
            records: the records.
            reasons: the reason of each, or one for all.
            late_by: how much more grace each needed, in units of the time column; None for no such records.
            stream_time: the stream time that judged each; None as for `late_by`.
        """
        count, time = records.num_rows, records.column(self._spec.time)
        end = time if self._spec.end is None else records.column(self._spec.end)
        arrays = [records.column(name) for _, name in self._record]
        made: dict[str, Any] = {name: records.column(name) for name in self._spec.keys}
        made[WINDOW] = self._windows_of(time, end)
        made["time"] = time
        made["reason"] = pa.repeat(pa.scalar(reasons), count) if isinstance(reasons, str) else reasons
        for name, ticks in (("late_by", late_by), ("stream_time", stream_time)):
            kind = next(field.type for field in self.fields if field.name == name)
            made[name] = pa.nulls(count, kind) if ticks is None else ticks.cast(kind)
        if self._spec.input is not None:
            made[INPUT] = pa.array(self._inputs, pa.string()).take(records.column(self._spec.input))
        if self._record:
            made["record"] = pa.StructArray.from_arrays(arrays, fields=list(self.fields[-1].type))
        return pa.RecordBatch.from_arrays([*made.values()], names=[*made])

    def _windows_of(self, time: Any, end: Any) -> pa.StructArray:
        """The window that each record alone would have; null without a time, and `[t, t]` with a bad end."""
        spec, start = self._spec, time.cast(pa.int64())
        end = pc.max_element_wise(start, end.cast(pa.int64()), skip_nulls=True)
        if not spec.is_session:
            unit = TIME_UNITS["us"] if spec.nanoseconds else self._unit  # ticks are nanoseconds, too
            difference, resolution = (unit.ticks(spec.windows.get(name) or 0) for name in ("difference", "resolution"))
            end = _floor(end, resolution or 1)
            start = pc.subtract(pc.max_element_wise(end, _LEAST + difference, skip_nulls=False), difference)
            early = pc.and_(pc.greater_equal(end, 0), pc.less(start, 0))
            start = pc.if_else(early, 0, start)
            end = pc.if_else(early, difference, end)
        arrays = [bound.cast(time.type) for bound in (start, end)]
        return pa.StructArray.from_arrays(arrays, names=["start", "end"], mask=time.is_null())


def _floor(ticks: Any, unit: int) -> Any:
    """Each time, floored to a multiple of the unit."""
    if unit == 1:
        return ticks
    whole = pc.multiply(pc.divide(ticks, unit), unit)  # rounded towards zero
    return pc.if_else(pc.greater(whole, ticks), pc.subtract(pc.max_element_wise(whole, _LEAST + unit), unit), whole)
