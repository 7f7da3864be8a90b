"""The daily job: a batch that continues the open windows of the batch before it.

The examples of this module share these lines:

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> times = [datetime(2026, 1, 1, hour) for hour in (8, 10, 11)]
>>> paid = pa.table({"user": ["ann"] * 3, "ts": times})
>>> sessions = wr.group_by(paid, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
>>> later = wr.group_by(paid[:0], "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, Never

from windrow._aggregates.aggregate import Aggregate
from windrow._arguments.duration import words
from windrow._arguments.errors import bad_value
from windrow._arguments.instant import Instant, ticks
from windrow._plan.input import Input, Result, Run, check_table
from windrow._plan.open_table import NO_TABLE, check_reserved, open_argument
from windrow._plan.plan import Options, Plan
from windrow._query.resolve import without_names
from windrow._query.start import Beginning
from windrow._windows.session import SessionWindows

if TYPE_CHECKING:
    from windrow._windows.sliding import SlidingWindows


class DailyJob(Beginning[Result], Generic[Result]):
    """The method of `WindowedData` for jobs that run once a day, or at any other interval."""

    if TYPE_CHECKING:
        windows: SessionWindows | SlidingWindows
        options: Options

    @abstractmethod
    def _resolved(self, chosen: dict[str, Aggregate]) -> tuple[Input[Result], Plan]:
        """The plan of these aggregates, and the input with the columns that it names."""

    def advance(
        self, open: Result | None = NO_TABLE, /, *_by_position: Never, to: Instant, **aggregates: Aggregate
    ) -> Run[Result]:
        """Takes the records of a day, closes the windows that end early enough before `to`, and keeps the others.

        A daily job calls it once a day, with the windows that its last run left open. So a session may run over
        midnight, and no run reads the history again. You may cut a history wherever you like. All runs together close
        the same windows as one `agg` over the whole history, except the windows that the last run leaves open. A run is
        one micro-batch of a stream (rules 1.9): the `to` of the earlier run judges its records, and then stream time is
        `to`. Sessions that end before `to - gap - grace` close, and so do sliding windows that end before `to - grace`.
        Windows without a grace have a grace of zero here.

        A record before the earlier `to` is late if its window was closed by then. `late` decides what happens to it,
        and the counter `late` counts it. A record at or after `to` counts in its window and moves no time. No window is
        closed twice. A run that is repeated with the same arguments gives the same rows. There are no updates: `closed`
        has each window once, and `still_open` shows the others as they are now.

        Args:
            open: the open windows of the run before: `still_open` of what it returned, also after a round trip through
                Parquet, Delta, Iceberg or another kind of in-process frame; None on the first day. Further
                columns, such as those of partitions, have no effect. In Spark it is a DataFrame.
            to: the end of the day: a `datetime`, a `date` (its midnight), or text such as "2026-05-05". Without a zone
                it is in the zone of the time column, in Spark in the zone of the session. Not before the earlier `to`.
            aggregates: as for `agg`, the same in every run. None of them may have the name `to`, `state`, `source`,
                `stream_time` or `status`.

        Returns:
            A `windrow.Run`, which unpacks into `closed` and `still_open`, both of the kind of the data. `closed` has
            the columns of `agg`, and `op` after `late("emit")`. `still_open` has a row for each open window with the
            same columns, then `stream_time` and `state`. For sliding windows it also has rows without a window, which
            hold what later windows need. One row, the clock row, has neither a key nor a window: it holds `to`, and
            checks that the table is whole. `rows` has the rows of both and `status`: "closed" or "open". In Spark all
            three are lazy; a job writes `rows` once (`docs/how-to/daily-job.md`).

        Raises:
            TypeError: the data is a stream, `open` is no such table, or as for `agg`.
            ValueError: `open` belongs to another query, or was changed, cut, doubled or mixed; `to` is before the
                earlier one or no point in time; `emit("update")`, `left_out("emit")`, or `ended_by()` without rules for
                sessions; a reserved name of a key or an aggregate; with rules for sessions a grace, or a record before
                the earlier `to`, or at or after `to`, which would move the cuts of sessions. Otherwise as for `agg`. In
                Spark, errors in the rows of `open` come when the job runs.
            OverflowError, RuntimeError: as for `agg`.

        >>> first = sessions.advance(None, to="2026-01-01 09:30", n=wr.count())
        >>> first.closed["n"].to_pylist(), first.still_open["n"].drop_null().to_pylist()
        ([1], [2])
        >>> closed, still_open = later.advance(first.still_open, to="2026-01-02", n=wr.count())
        >>> closed["n"].to_pylist(), still_open.num_rows
        ([2], 1)
        """
        if _by_position:
            raise without_names(_by_position, "advance")
        allowed = "the table of the run before; on the first day None, as in advance(None, to=...)"
        open = open_argument(open, aggregates, allowed, other=Aggregate)
        if self.options.emit == "update":
            allowed = (
                "emit('close') in advance: a run gives each window once, when it is closed, and has no earlier rows to "
                "replace; still_open has the windows that are not closed, as they are now"
            )
            raise bad_value("emit", "update", allowed)
        if self.options.left_out is not None:
            allowed = "'drop' in advance: open windows travel from run to run without the columns of their records"
            raise bad_value("left_out", "emit", allowed)
        check_reserved("keys", self.grouped.keys, "advance")
        check_reserved("aggregates", aggregates, "advance")
        windows = self.windows
        if isinstance(windows, SessionWindows) and windows.rules and windows.grace:
            allowed = "None with rules that end sessions: each record comes in the run of its day"
            raise bad_value("grace", words(windows.grace), allowed)
        check_table(open)
        opened, plan = self._resolved(aggregates)
        plan.check_rules()
        plan = opened.continued(plan, open)
        time: Any = plan.schema.field(plan.time).with_name(self.grouped.time)
        return opened.advance(plan, open, ticks("to", to, time, opened.zone))
