"""A stream that begins where a history ends.

The examples of this module share these lines:

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> from windrow.testing import StreamDriver
>>> schema = pa.schema({"user": pa.string(), "ts": pa.timestamp("us")})
>>> rows = [{"user": "ann", "ts": datetime(2026, 1, 1, 8)}, {"user": "bob", "ts": datetime(2026, 1, 1, 8, 50)}]
>>> history = pa.Table.from_pylist(rows, schema)
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Self

from windrow._arguments.errors import bad_value
from windrow._plan.input import Result
from windrow._plan.open_table import check_reserved
from windrow._query.detect import open_table
from windrow._query.grouping import Grouping
from windrow._windows.session import SessionWindows

if TYPE_CHECKING:
    from windrow._windows.sliding import SlidingWindows


class Beginning(Generic[Result]):
    """The method of `WindowedData` for streams that continue a history."""

    if TYPE_CHECKING:
        grouped: Grouping[Result]
        windows: SessionWindows | SlidingWindows

    @abstractmethod
    def _with(self, **chosen: Any) -> Any:
        """The same with other options."""

    def start_from(self, open: Any) -> Self:
        """Begins a stream with the open windows of a history, and with its time.

        The result is the same as if the history were the first micro-batch of the stream, and stream time were then the
        `to` of the history's last run. Windows continue with the records of the stream, and windows whose keys never
        come again close by time. Only the rows of that first micro-batch are missing: the history has its closed
        windows, and `open` has the others. The counters begin at zero.

        The stream reads `open` in its first micro-batch, and again if that is repeated. Later it reads only the clock
        row, each time the query is built. So if you start the query again, give it the same `open`, or leave out
        `start_from`. `docs/how-to/from-batch-to-stream.md` shows all steps.

        Args:
            open: the table of open windows: what `advance` returned as `still_open`, also after a round trip through
                files or tables. For a stream a batch DataFrame of the same session, or a small in-process table;
                for a `StreamDriver` an in-process table.

        Raises:
            TypeError: `open` is not such a table, or the data is a batch.
            ValueError: a reserved name of a key; a stream with `source=` whose sources each have their own windows,
                because `open` has none; a query in a declarative pipeline, because it may run no job. In `agg`: the
                open windows of another query, no clock row, a reserved name of an aggregate, or, with
                `stream_time="slowest"`, an `open` without the time of each source, such as that of `advance`. In the
                first micro-batch: a row that was changed, lost, doubled or taken from another table.
                After that: an `open` that is not the one of the checkpoint.

        >>> def sessions_of(clicks):
        ...     windows = wr.SessionWindows.with_gap("30 minutes", grace="0 seconds")
        ...     return wr.group_by(clicks, "user", time="ts").windowed_by(windows)
        >>> closed, still_open = sessions_of(history).advance(None, to=datetime(2026, 1, 1, 9), count=wr.count())
        >>> driver = StreamDriver(lambda clicks: sessions_of(clicks).start_from(still_open).count(), schema)
        >>> driver.stream_time
        datetime.datetime(2026, 1, 1, 9, 0)
        >>> driver.pipe(user="bob", ts=datetime(2026, 1, 1, 9, 10))
        []
        >>> [(change.key["user"], change.values) for change in driver.tick(datetime(2026, 1, 1, 10))]
        [('bob', {'count': 2})]
        """
        self.grouped._input.check_start(open)
        if self.grouped._stream.source and self.grouped._stream.stream_time == "source":
            allowed = (
                "None with start_from: open windows hold the records of all sources together, and their clock row has "
                "one time, so neither the windows nor the time of a source can be derived; without source= all records "
                "share both"
            )
            raise bad_value("source", self.grouped._own_sources, allowed)
        if isinstance(self.windows, SessionWindows) and self.windows.rules:
            allowed = "a stream of windows without rules that end sessions, which begins without a history"
            raise bad_value("start_from", f"{self.windows!r}", allowed)
        check_reserved("keys", self.grouped.keys, "start_from")
        begun: Self = self._with(start=open_table(open))
        return begun
