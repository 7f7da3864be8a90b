"""When windows give rows.

The examples of this module share these lines:

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> paid = pa.table({"user": ["ann"], "ts": [datetime(2026, 1, 1, 8)]})
>>> sessions = wr.group_by(paid, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Self, get_args

from windrow._arguments.duration import Duration, check_counted, microseconds
from windrow._arguments.errors import bad_type, bad_value, unknown_word
from windrow._plan.input import Result
from windrow._plan.plan import Emit, Options
from windrow._plan.sequence import SEQUENCE
from windrow._query.grouping import Grouping


class Emission(Generic[Result]):
    """The method of `WindowedData` that chooses when windows give rows."""

    if TYPE_CHECKING:
        grouped: Grouping[Result]
        options: Options

    @abstractmethod
    def _with(self, **chosen: Any) -> Self:
        """The query with these options."""

    def emit(
        self, when: Emit, *, every_record: bool = False, every: Duration | None = None, sequence: bool = False
    ) -> Self:
        """Chooses when windows give rows: once they are final (`"close"`, the default), or at each change (`"update"`).

        Kafka's `EmitStrategy.onWindowClose` and `onWindowUpdate` (KIP-825).

        A batch query gives the same final windows for both. With `"update"` the result ends with the column `op`, which
        is `upsert` in each row of a batch, so that one sink serves batch and stream. A micro-batch gives one row for
        each window that it changed, or with `every_record` for each change, as Kafka does without a cache.

        With `every` a stream gives fewer rows. The first row of a window leaves at once. Further changes wait until
        stream time has moved on by `every` since the window's last row, or until the window closes. So the last values
        always leave. Without new records or ticks, stream time does not move, and nothing leaves. A batch gives the
        same rows with and without `every`. `docs/explanation/streams.md` has a picture.

        `sequence` adds the column `sequence` (bigint), for sinks that may get rows in another order, as in pipelines
        (`docs/how-to/pipelines.md`). Of two rows of one window, the later has the larger number: the number of the
        micro-batch times 2^32, plus the place of the row; in a batch 0. A `StreamDriver` has no such column.

        Args:
            when: `"close"` or `"update"`.
            every_record: whether a stream gives one row for each change.
            every: more than zero, in words or as a `timedelta`; None gives the changes of each micro-batch at once.
            sequence: whether the result has the column `sequence`.

        Raises:
            ValueError: another word; `every_record`, `every` or `sequence` without `"update"`; `every` with
                `every_record`; an `every` that is zero, negative, no duration, or beyond the range of the time column;
                or a key column with the name `op` or `sequence`.
            TypeError: `every_record` or `sequence` is not True or False, or `every` is neither `str` nor `timedelta`.

        >>> sessions.emit("update").agg(n=wr.count()).column_names
        ['user', 'window', 'n', 'op']

        A driver shows what leaves a stream. The record at 8:00 gives a row at once. The record at 8:02 waits. At 8:05
        one row with all three records replaces the first row:

        >>> from windrow.testing import StreamDriver
        >>> def paced(payments):
        ...     windows = wr.SessionWindows.with_gap("10 minutes", grace="1 minute")
        ...     query = wr.group_by(payments, "user", time="ts").windowed_by(windows)
        ...     return query.emit("update", every="5 minutes").agg(n=wr.count())
        >>> driver = StreamDriver(paced, pa.schema({"user": pa.string(), "ts": pa.timestamp("us")}))
        >>> for minute in (0, 2, 5):
        ...     changes = driver.pipe(user="ann", ts=datetime(2026, 1, 1, 8, minute))
        ...     print([(change.kind, change.window.end.minute, change.values) for change in changes])
        [('upsert', 0, {'n': 1})]
        []
        [('delete', 0, {}), ('upsert', 5, {'n': 3})]
        """
        if when not in get_args(Emit):
            raise unknown_word("when", when, get_args(Emit))
        for option, value in (("every_record", every_record), ("sequence", sequence)):
            if not isinstance(value, bool):
                raise bad_type(option, value, "True or False")
            if value and when != "update":
                raise bad_value(option, value, "False with emit('close'), which gives each window once")
        pace = None if every is None else microseconds("every", every)
        if pace is not None and when != "update":
            raise bad_value("every", every, "None with emit('close'), which gives each window once")
        if pace is not None and every_record:
            raise bad_value("every", every, "None with every_record=True, which gives each change at once")
        if pace is not None:
            check_counted("every", pace, self.grouped._fields[len(self.grouped._keys)])
        chosen = self._with(emit=when, every_record=every_record, every=pace, sequence=sequence)
        return chosen._checked_op("emit('update')")

    def _checked_op(self, adds: str) -> Self:
        """Raises `ValueError` for a key with the name of a column that `adds` adds."""
        for key in self.grouped.keys if self.options.op else ():
            if key.casefold() == "op" or (self.options.sequence and key.casefold() == SEQUENCE):
                raise bad_value("keys", key, f"any name but {key.casefold()!r}, which {adds} adds: rename the column")
        return self
