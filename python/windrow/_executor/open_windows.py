"""A table of open windows, as an operator reads it, and the checks that need the whole table."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.errors import bad_value, changed_query
from windrow._arguments.instant import time_text
from windrow._executor.tasks import Source
from windrow._folds.python_values import value_text
from windrow._native import Operator, read_clock, tally_open
from windrow._plan.open_table import STATE, STREAM_TIME
from windrow._plan.plan import Plan

START, END = "windrow.start", "windrow.end"
"""The columns of the bounds of open windows."""


@dataclass
class OpenWindows:
    """A table of open windows, or a shard's part of one.

    Attributes:
        keys: how many key columns it has.
        clocks: the bytes and the `stream_time` of the clock rows.
        rows: how many other rows the whole table has.
        checksum: the sum of their checksums.
        batches: these rows: keys, the bounds of windows as int64, aggregates that people read, `state`.
    """

    keys: int
    clocks: list[tuple[bytes, int | None]] = field(default_factory=list)
    rows: int = 0
    checksum: int = 0
    batches: list[pa.RecordBatch] = field(default_factory=list)

    @classmethod
    def counted(cls, times: Any, states: Any) -> Self:
        """The clock rows of a table and the counts of its other rows, from its columns `stream_time` and `state`."""
        opened = cls(0)
        for batch in pa.table({STREAM_TIME: times.cast(pa.int64()), STATE: states}).to_batches():
            opened.add(batch)
        return opened

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds rows of a table: keys, the bounds of windows as int64, aggregates, `stream_time` as int64, `state`."""
        states = batch.column(batch.num_columns - 1)
        positions, rows, checksum, bad = tally_open(pa.record_batch([states], names=[STATE]))
        if bad is not None:
            raise ValueError(f"open: {self._row_text(batch, bad[0])}: {bad[1]}; allowed: {WHOLE}")
        times = batch.column(batch.num_columns - 2)
        self.clocks += [(states[place].as_py(), times[place].as_py()) for place in positions]
        self.rows += rows
        self.checksum = (self.checksum + checksum) % 2**64
        whole = pa.RecordBatch.from_arrays(
            [*batch.columns[:-2], batch.columns[-1]], names=[*batch.schema.names[:-2], STATE]
        )
        for start, end in itertools.pairwise([-1, *positions, batch.num_rows]):
            if end > start + 1:  # slices, as pyarrow cannot filter views
                self.batches.append(whole.slice(start + 1, end - start - 1))

    @property
    def read(self) -> list[pa.RecordBatch]:
        """The rows in the columns that the core reads: keys, bounds, `state`."""
        places = [*range(self.keys + 2), -1]
        return [
            pa.RecordBatch.from_arrays(
                [batch.columns[place] for place in places], names=[batch.schema.names[place] for place in places]
            )
            for batch in self.batches
        ]

    def _row_text(self, batch: pa.RecordBatch, row: int) -> str:
        names = batch.schema.names[: self.keys]
        named = ", ".join(f"{name} = {value_text(batch.column(name).slice(row, 1))}" for name in names)
        return f"the row of {named}" if named else f"row {row}"

    def check_shown(self, kept: list[pa.RecordBatch]) -> None:
        """Raises `ValueError` for a row whose aggregates differ from `kept`, the rows that the states give."""
        if not self.batches or not kept or self.batches[0].num_columns == self.keys + 3:
            return  # without `kept`, the clock was set past all that is needed
        table, whole = (pa.Table.from_batches(each) for each in (self.batches, kept))
        states = whole[STATE].combine_chunks()
        places = pc.index_in(table[STATE], states)
        for name in table.column_names[self.keys + 2 : -1]:
            own: Any = table[name]
            other: Any = whole[name].cast(own.type).take(places)
            if pa.types.is_floating(own.type):  # pandas has one value for NaN and null
                nothing: Any = pa.scalar(None, own.type)
                own, other = (pc.if_else(pc.is_nan(each), nothing, each) for each in (own, other))
            is_other: Any = pc.not_equal(own, other)
            differs: Any = pc.or_(pc.xor(own.is_null(), other.is_null()), is_other.fill_null(False))
            differs = pc.and_(differs, places.is_valid())
            row = pc.index(differs, True).as_py()
            if row >= 0:
                cells = (each.slice(row, 1).combine_chunks() for each in (own, other))
                got, said = ("null" if cell.null_count else value_text(cell, repr) for cell in cells)
                raise ValueError(
                    f"open: {self._row_text(table.combine_chunks().to_batches()[0], row)}: {name!r} is {got}, and its "
                    f"`state` has {said}: the row was changed; allowed: {WHOLE}"
                )

    def load(self, operator: Operator, kind: Any, *, by_source: bool = False) -> tuple[int, int]:
        """Loads the table into a new operator. Returns the time of its run, and the number of runs before that.

        `kind` is the type of times, for messages. With `by_source` each source keeps its time, with the numbers that
        `sources` gives.
        """
        earlier, last = operator.resume_open(self.clock(kind), (self.rows, self.checksum), self.read, by_source)
        self.check_shown(operator.open_windows(earlier, last)[0])
        return earlier, last

    def clock(self, kind: Any) -> tuple[bytes, int | None]:
        """The one clock row. `kind` is the type of times, for messages."""
        if len(self.clocks) == 1:
            return self.clocks[0]
        if not self.clocks:
            raise ValueError(f"open: got {self.rows} rows and no clock row; allowed: {WHOLE}")
        times = sorted({"null" if time is None else time_text(time, kind) for _, time in self.clocks})
        raise ValueError(
            f"open: got {len(self.clocks)} clock rows, of runs up to {', '.join(times)}; allowed: the open windows of "
            "one run, which have one clock row: filter the table by its run"
        )

    def sources(self, kind: Any, columns: Sequence[str]) -> dict[Source, set[int]]:
        """The sources of the table in the order of their numbers, each with the inputs that have seen it.

        Raises `ValueError` unless the clock row has a time of each source, by its values of these columns.
        """
        inputs = [each["sources"] for each in json.loads(read_clock(self.clock(kind)[0]))["inputs"]]
        names = sorted({name for of_input in inputs for name in of_input})
        if not names or not all(name and len(json.loads(name)) == len(columns) for name in names):
            raise bad_value("source", tuple(columns), f"None with start_from: {_ONE_TIME}")
        return {
            tuple(json.loads(name)): {number for number, of_input in enumerate(inputs) if name in of_input}
            for name in names
        }

    def name(self, kind: Any) -> str:
        """A name of the table: its time, which people can read, and a hash of its clock row, which is compared.

        `kind` is the type of times.
        """
        clock, to = self.clock(kind)
        return f"the open windows up to {time_text(to or 0, kind)} ({hashlib.sha256(clock).hexdigest()[:16]})"


BEGINS_ANEW = "no start_from, to begin anew"


def check_start(saved: str | None, own: str | None) -> None:
    """Raises `ValueError` if a stream began with another table than `own`. None allows any."""
    if own not in (None, saved):
        raise ValueError(f"state: {changed_query({'start_from': saved}, {'start_from': own})}")


_ONE_TIME = (
    "the clock row of these open windows has one time, so it does not say how far each source has come; only the table "
    'of a stream with the same source= and stream_time="slowest" has the time of each'
)

WHOLE = "the whole table of open windows of one run: its still_open, or its rows with the status 'open'"


def shown_aggregates(plan: Plan, core: pa.Schema) -> list[pa.Field[Any]]:
    """The aggregates of open windows that a run compares with their states: plain values of the core."""
    result = set(dict(plan.aggregates))
    if plan.finish is not None:
        result -= {*plan.finish.parts, *plan.finish.limited}
    return [each for each in core if each.name in result and any(is_plain(each.type) for is_plain in _PLAIN)]


_PLAIN = (
    pa.types.is_integer,
    pa.types.is_float32,
    pa.types.is_float64,
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    lambda kind: pa.types.is_decimal128(kind) and kind.scale >= 0,
    pa.types.is_date,
    pa.types.is_timestamp,
    pa.types.is_duration,
)
"""The types that every library keeps and pyarrow compares."""
