"""Tables of open windows without some keys, or at another time: the kinds of in-process data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._arguments.errors import bad_column_type
from windrow._arguments.instant import Instant, ticks
from windrow._executor.batches import rebased, stream_reader
from windrow._executor.open_windows import OpenWindows
from windrow._local.advance import binary_states
from windrow._local.columns import Columns
from windrow._local.results import pyarrow_table, without_views
from windrow._local.sources import columns_of
from windrow._native import change_clock, sort_keys
from windrow._plan.input import libraries_of
from windrow._plan.open_table import STATE, STREAM_TIME
from windrow.state._clock_row import ALLOWED, ClockRow, check_columns
from windrow.state._wanted_keys import wanted_keys


class OpenTable:
    """An in-process table of open windows."""

    def __init__(self, given: Any) -> None:
        """Reads the table, and looks for its clock row."""
        self._columns: Columns = columns_of(given, "open", ALLOWED)
        self._is_pandas = "pandas" in libraries_of(given)
        names = list(self._columns.names)
        check_columns(names)
        rows = stream_reader(self._columns.stream(range(len(names)))).read_all()
        self._rows = pyarrow_table(rows, {})  # pyarrow cannot filter views
        self._is_clock: Any = self._rows[STREAM_TIME].is_valid()
        self._states: Any = binary_states(self._rows[STATE])
        self.clock = self._clock_row()

    def _clock_row(self) -> ClockRow:
        """The one clock row."""
        times = self._rows[STREAM_TIME]
        if not pa.types.is_timestamp(times.type) and times.null_count != len(times):
            raise bad_column_type("open", STREAM_TIME, times.type, "a timestamp")
        kind: Any = times.type if pa.types.is_timestamp(times.type) else pa.timestamp("us")
        return ClockRow.of(OpenWindows.counted(times.cast(kind), self._states), kind)

    def without_keys(self, given: Mapping[str, Any]) -> Any:
        """The table without the rows of some keys."""
        keys = self.clock.keys(self._rows.column_names)
        plain = {name: _plain(self._rows[name]) for name in keys}
        is_gone: Any = pc.invert(self._is_clock)
        for name, values in wanted_keys(given, {name: column.type for name, column in plain.items()}).items():
            wanted = pa.array(_names(name, pa.chunked_array([self._known(values)])), pa.large_binary())
            is_wanted = pc.is_in(pa.array(_names(name, plain[name]), pa.large_binary()), value_set=wanted)
            is_gone = pc.and_(is_gone, is_wanted)
        gone = OpenWindows.counted(self._rows[STREAM_TIME].filter(is_gone), self._states.filter(is_gone))
        state = change_clock(self.clock.state, None, (gone.rows, gone.checksum))
        return self._result(self._with_state(state).filter(pc.invert(is_gone)))

    def _known(self, values: Any) -> Any:
        """Values of a key as the table has them: the NaNs of a pandas frame are nulls."""
        if not self._is_pandas or not pa.types.is_floating(values.type):
            return values
        return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)

    def with_clock(self, to: Instant) -> Any:
        """The table at another time."""
        time: Any = self._rows[STREAM_TIME].type
        ticks_of_query = ticks("to", to, pa.field(STREAM_TIME, self.clock.time), getattr(time, "tz", None))
        state = self.clock.moved(ticks_of_query)
        moved = pa.scalar(ticks_of_query, pa.int64()).cast(self.clock.time).cast(time)
        rows, place = self._with_state(state), self._rows.column_names.index(STREAM_TIME)
        times: Any = pc.if_else(self._is_clock, moved, self._rows[STREAM_TIME])
        return self._result(rows.set_column(place, rows.schema.field(place), times))

    def _with_state(self, state: bytes) -> pa.Table:
        """The rows with another state of the clock row."""
        place = self._rows.column_names.index(STATE)
        states: Any = pc.if_else(self._is_clock, pa.scalar(state, pa.binary()), self._states)
        return self._rows.set_column(place, STATE, states.cast(self._rows.schema.field(place).type))

    def _result(self, rows: pa.Table) -> Any:
        names = {name: name for name in rows.column_names}
        return self._columns.result(rows, self._columns.dtypes(names), {})


def _names(key: str, column: Any) -> list[bytes | None]:
    """The bytes of keys, which are the same for equal keys."""
    return [name for batch in pa.table({key: column}).to_batches() for name in sort_keys(rebased(batch))]


def _plain(column: Any) -> Any:
    """A column without dictionaries and views."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = without_views(column.type)
    return column if column.type == kind else column.cast(kind)
