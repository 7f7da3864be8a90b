"""Tables of open windows without some keys, or at another time: DataFrames of Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow._arguments.errors import bad_column_type, bad_value
from windrow._arguments.instant import Instant, ticks
from windrow._executor.open_windows import WHOLE, OpenWindows
from windrow._native import change_clock
from windrow._plan.open_table import STATE, STREAM_TIME
from windrow._spark.literal import literal
from windrow._spark.quoted_name import quoted
from windrow._spark.session_zone import session_zone
from windrow.state._clock_row import ALLOWED, ClockRow, check_columns
from windrow.state._wanted_keys import wanted_keys

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_MOST = 100
"""The most rows that are read for the clock row."""

_PREFIX = 12
"""The bytes of a state that have its kind and its checksum."""


class OpenFrame:
    """A table of open windows as a batch DataFrame. Each change runs a small job, which reads the clock row."""

    def __init__(self, given: Any) -> None:
        """Takes a DataFrame. Reads nothing."""
        from pyspark.sql import functions as F

        if given.isStreaming:
            raise bad_value("open", "a streaming DataFrame", ALLOWED)
        check_columns(given.columns)
        self._frame: DataFrame = given
        self._is_clock = F.col(STREAM_TIME).isNotNull()

    def clock_row(self) -> ClockRow:
        """The clock row."""
        return self._read(None)[0]

    def without_keys(self, given: Mapping[str, Any]) -> DataFrame:
        """The table without the rows of some keys."""
        from pyspark.sql import functions as F

        from windrow._spark.types import arrow_field

        fields = {field.name: field for field in self._frame.schema.fields}
        clock = self.clock_row()
        keys = {name: arrow_field("open", fields[name], compared=False).type for name in clock.keys(list(fields))}
        is_gone = ~self._is_clock
        for name, values in wanted_keys(given, keys, self._zone).items():
            column, is_wanted = F.col(quoted(name)), F.lit(False)
            literals = [literal(value, fields[name].dataType) for value in values.drop_null().to_pylist()]
            if literals:
                # isin takes 0.0 and -0.0 for two values, if there are many.
                is_wanted = F.coalesce(F.array_contains(F.array(*literals), column), F.lit(False))
            is_gone = is_gone & (is_wanted | column.isNull() if values.null_count else is_wanted)
        clock, gone = self._read(is_gone)
        state = change_clock(clock.state, None, (gone.rows, gone.checksum))
        return self._changed({STATE: _binary(state)}).where(~is_gone)

    def with_clock(self, to: Instant) -> DataFrame:
        """The table at another time."""
        from pyspark.sql import functions as F
        from pyspark.sql.types import TimestampNTZType

        clock = self.clock_row()
        moved = ticks("to", to, pa.field(STREAM_TIME, clock.time), self._zone)
        state = clock.moved(moved)
        time = F.timestamp_micros(F.lit(moved))
        if isinstance(self._frame.schema[STREAM_TIME].dataType, TimestampNTZType):
            # A cast from TIMESTAMP would shift it by the session's time zone.
            epoch = F.expr("TIMESTAMP_NTZ '1970-01-01 00:00:00'")
            time = epoch + F.lit(moved) * F.expr("INTERVAL '0.000001' SECOND")
        return self._changed({STATE: _binary(state), STREAM_TIME: time})

    @property
    def _zone(self) -> str:
        return session_zone(self._frame.sparkSession)

    def _changed(self, clock: Mapping[str, Column]) -> DataFrame:
        """The table with other values in the clock row."""
        from pyspark.sql import functions as F

        columns = [
            F.when(self._is_clock, clock[name]).otherwise(F.col(quoted(name))).alias(name)
            if name in clock
            else F.col(quoted(name))
            for name in self._frame.columns
        ]
        return self._frame.select(*columns)

    def _read(self, is_wanted: Column | None) -> tuple[ClockRow, OpenWindows]:
        """The clock row, and the counts of wanted rows."""
        from pyspark.sql import functions as F
        from pyspark.sql.types import BinaryType, TimestampNTZType, TimestampType

        kind = self._frame.schema[STREAM_TIME].dataType
        if not isinstance(kind, TimestampType | TimestampNTZType):
            raise bad_column_type("open", STREAM_TIME, kind.simpleString(), "a timestamp")
        if not isinstance(self._frame.schema[STATE].dataType, BinaryType):
            raise bad_column_type("open", STATE, self._frame.schema[STATE].dataType.simpleString(), "binary")
        if is_wanted is None:  # a table has one clock row, and no row without a state
            rows = self._frame.where(self._is_clock | F.col(STATE).isNull()).limit(_MOST)
        else:
            rows = self._frame.where(self._is_clock | is_wanted)
        time = F.col(STREAM_TIME)
        if isinstance(kind, TimestampType):
            time = F.unix_micros(time)
        # Not `substring` of the bytes, because Sail takes them for UTF-8 there.
        prefix = F.unhex(F.substring(F.hex(F.col(STATE)), 1, 2 * _PREFIX))
        state = F.when(self._is_clock, F.col(STATE)).otherwise(prefix)
        read = rows.select(time, state).collect()
        times = pa.array([row[0] for row in read], pa.timestamp("us"))
        opened = OpenWindows.counted(times, pa.array([row[1] for row in read], pa.binary()))
        if not opened.clocks:
            raise ValueError(f"open: got no clock row; allowed: {WHOLE}")
        return ClockRow.of(opened, pa.timestamp("us")), opened


def _binary(state: bytes) -> Column:
    from pyspark.sql import functions as F

    return F.unhex(F.lit(state.hex()))
