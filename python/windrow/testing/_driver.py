"""A driver of a query: virtual time, no Spark, one record at a time or batches of any length."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Self

import pyarrow as pa

from windrow._arguments.duration import Duration
from windrow._arguments.errors import bad_type
from windrow._arguments.nested import no_rows
from windrow._executor.batches import stream_reader
from windrow._executor.open_windows import check_start
from windrow._executor.tasks import Source
from windrow._folds.python_values import values_of
from windrow._plan.flat import shown
from windrow._plan.limits import check_plan
from windrow._plan.plan import left_out_columns
from windrow._windows.session import SessionWindows
from windrow.testing._change import Change, changes_of
from windrow.testing._definition import Definition, Schemas, plan_of
from windrow.testing._feed import Feed, SourcedRows, cut
from windrow.testing._operators import SharedOperator, operators_of
from windrow.testing._pages import DRIVER, driver_page, read
from windrow.testing._stores import SessionStore, Store, WindowStore
from windrow.testing._wall_clock import WallClock

_DROPPED = ("late", "windows_refused", "null_keys", "null_times", "null_ties", "null_values", "bad_gaps", "bad_ends")


class StreamDriver:
    """Runs the query that a job runs on a stream, record by record, in-process.

    Time is virtual: records and `tick` move it, a clock never does. The driver takes records in the order in which you
    feed them, even with `order=`, but refuses a record without an order. It judges each record by the stream time of
    the records before it, as Kafka Streams does.

    >>> from datetime import datetime, timedelta
    >>> import pyarrow as pa
    >>> import windrow as wr
    >>> def sessions_of(clicks):  # what the job calls with its streaming DataFrame
    ...     return (
    ...         wr.group_by(clicks, "user", time="ts")
    ...         .windowed_by(wr.SessionWindows.with_gap("5 minutes", grace="1 minute"))
    ...         .agg(n=wr.count(), spent=wr.sum("amount"))
    ...     )
    >>> schema = pa.schema({"user": pa.string(), "ts": pa.timestamp("us"), "amount": pa.int64()})
    >>> driver = StreamDriver(sessions_of, schema)
    >>> eight = datetime(2026, 1, 1, 8)
    >>> driver.pipe(user="ann", ts=eight, amount=3)
    []
    >>> driver.pipe(user="ann", ts=eight + timedelta(minutes=5), amount=4)
    []
    >>> (final,) = driver.tick(eight + timedelta(minutes=12))
    >>> final.kind, final.window.end.minute, final.values
    ('final', 5, {'n': 2, 'spent': 7})
    >>> driver.pipe(user="ann", ts=eight + timedelta(minutes=2), amount=1)
    []
    >>> driver.counters["late"], driver.dropped
    (1, 1)

    A cogroup has a stream time for each input. A record is late by the time of its own input, and a window closes by
    the time of the slowest:

    >>> def visits_of(clicks, orders):
    ...     return (
    ...         wr.cogroup(clicks=wr.group_by(clicks, "user", time="ts"), orders=wr.group_by(orders, "user", time="ts"))
    ...         .windowed_by(wr.SessionWindows.with_gap("5 minutes", grace="1 minute"))
    ...         .agg(clicks=wr.count("clicks.*"), spent=wr.sum("orders.amount"))
    ...     )
    >>> clicks = pa.schema({"user": pa.string(), "ts": pa.timestamp("us")})
    >>> driver = StreamDriver(visits_of, {"clicks": clicks, "orders": schema})
    >>> driver.pipe("clicks", user="ann", ts=eight)
    []
    >>> driver.pipe("clicks", user="bob", ts=eight + timedelta(minutes=30))  # orders have not come: nothing closes
    []
    >>> driver.pipe("clicks", user="ann", ts=eight + timedelta(minutes=1))  # late: clicks have come to 8:30
    []
    >>> driver.pipe("orders", user="ann", ts=eight + timedelta(minutes=1), amount=5)  # orders have not
    []
    >>> driver.counters["late"]
    1
    >>> (final,) = driver.tick(eight + timedelta(minutes=20), input="orders")
    >>> final.key["user"], final.window.end.minute, final.values
    ('ann', 1, {'clicks': 1, 'spent': 5})

    With `source=` each source keeps its own time and its own windows, as each partition does in Kafka; or with
    `stream_time="slowest"` all have one time, that of the slowest source:

    >>> def views_of(clicks):
    ...     return (
    ...         wr.group_by(clicks, "user", time="ts", source="partition")
    ...         .windowed_by(wr.SessionWindows.with_gap("5 minutes", grace="1 minute"))
    ...         .max_ahead("1 day")
    ...         .agg(n=wr.count())
    ...     )
    >>> parts = pa.schema({"user": pa.string(), "ts": pa.timestamp("us"), "partition": pa.int32()})
    >>> driver = StreamDriver(views_of, parts, wall_clock=eight)
    >>> driver.pipe(user="ann", ts=eight, partition=0)
    []
    >>> driver.pipe(user="bob", ts=eight + timedelta(minutes=30), partition=1)  # moves no time of partition 0
    []
    >>> {source: time.minute for source, time in driver.stream_times.items()}
    {(0,): 0, (1,): 30}
    >>> [change.key["user"] for change in driver.tick(eight + timedelta(minutes=7), source=0)]
    ['ann']
    >>> driver.pipe(user="cid", ts=eight + timedelta(days=2), partition=1)  # more than a day ahead of the wall clock
    []
    >>> driver.advance_wall_clock("1 day")
    >>> driver.pipe(user="cid", ts=eight + timedelta(days=2), partition=1)[0].key["user"]
    'bob'
    >>> driver.counters["ahead"]
    1
    """

    def __init__(
        self, definition: Definition, schema: Schemas, *, value: str | None = None, wall_clock: Any = None
    ) -> None:
        """A driver of the query that `definition` builds over data with the columns of `schema`.

        Args:
            definition: a function from data to `group_by(data, ...).windowed_by(...).agg(...)`; for a cogroup a
                function that takes the inputs by name.
            schema: the columns of the data and their Arrow types; for a cogroup a dict of the schemas of its inputs.
            value: the column that is the record's value in Kafka. With it nulls mean what they mean in Kafka: sliding
                windows drop the record and count it (`null_values`), `reduce` gets them. Not for a cogroup.
            wall_clock: the time of the wall clock, as the time column shows it, until `advance_wall_clock` moves it. It
                is needed and used only if the definition has `max_ahead`.

        A single Python aggregate that becomes None deletes its window, as in Kafka, unless it leaves out the records of
        an input.

        Raises:
            TypeError: `definition` is not a function, returns anything but the result of `agg`, or calls PySpark.
            AttributeError: the function takes steps on the data before `group_by` or after `agg`, such as `where` or
                `select`; take them outside of it.
            ValueError: windows without a grace, which every stream needs; sliding windows without a resolution whose
                lengths are not multiples of a millisecond, the resolution of a driver; schemas of other inputs than the
                definition has; a column whose name begins with `windrow.`; or `max_ahead` without a `wall_clock`.
        """
        plan = plan_of(definition, schema)
        plan = replace(plan, windows=plan.windows._on_stream(plan.schema.field(plan.time)))
        check_plan(plan, stream=True, closing=True, order=True)
        self._plan = plan
        self._feed = Feed(plan, schema, value)
        self._schema = self._feed.schema
        self._new = functools.partial(operators_of, plan, self._schema, self._feed.tick, value)
        time = plan.schema.field(plan.time)
        self._wall_clock = WallClock(wall_clock, plan.options.max_ahead, time, plan.end, self._feed.tick)
        self._operators = self._new()
        start, operators = plan.options.start, self._operators
        self._start = operators.start(plan) if start is not None and isinstance(operators, SharedOperator) else None
        self._began = self._start
        self._finish = None if plan.finish is None else plan.finish.typed(self._operators.change_schema)
        self._counted = Counter[str]()
        self._unread: list[pa.RecordBatch] = []

    def pipe(self, input: str | None = None, /, **record: Any) -> list[Change]:
        """Takes one record, by column; columns that are left out are null. Returns its changes.

        For a cogroup the name of the record's input comes first: `pipe("clicks", user="ann", ...)`.

        Each value must have the Python class for the type of its column. No value is converted: a number is not a time,
        because it has no unit.

        Raises:
            TypeError: a value of another class than its column holds.
            ValueError: a column that the data lacks, an input that the definition lacks, a record with a null in the
                column of `order=`, or a value that its column does not hold exactly: finer than its unit, or a time
                with a zone for a column without one. During the work: a gap that `invalid_gap="error"` refuses, or a
                string in Arrow data that is not UTF-8.
            OverflowError: a result or a bound does not fit its type, or Python cannot represent the time.
            RuntimeError: a Python function failed; its exception is the cause.

        An error during the work (such a gap or string, `OverflowError`, `RuntimeError`) leaves a batch half done. The
        driver then takes no records, and has no windows or pages, until you restore it. The driver raises all other
        errors before it takes a record.
        """
        return self._push(self._feed.record(input, record))

    def pipe_batch(
        self,
        data: Any,
        *,
        input: str | None = None,
        input_column: str | None = None,
        rows: int | Iterable[int] | None = None,
    ) -> list[Change]:
        """Takes Arrow data in its order, cut into batches of `rows` rows. Returns the changes.

        Unless the query asks for `every_record`, a batch gives one update for each window that it changed. If several
        sources have their own time, the changes of one follow those of another.

        Args:
            data: a pyarrow Table or RecordBatch, or anything else that gives an Arrow stream.
            input: for a cogroup, the name of the input of the data.
            input_column: for a cogroup, in place of `input`: the column of the data with the name of each row's input,
                in any order. A row's other columns are those of its input. A tick without a name counts for all inputs;
                its time is in the columns of an input.
            rows: the length of a batch, or the lengths of batches; the last batch takes the rest. None keeps the
                batches of the data.

        Raises:
            TypeError: no Arrow data, a column whose values do not have the declared type, or `rows` that are no whole
                numbers.
            ValueError: a column that the data lacks or has twice, a value that the declared type does not hold exactly,
                a record with a null in the column of `order=`, an input that the definition lacks, or batches of no
                rows.

        The driver raises these errors before it takes a record. During the work it raises the errors of `pipe`, and you
        must restore it after one. The changes of earlier batches are then not returned, but `read_table` has their
        rows.
        """
        to_rows = self._feed.taking(input, input_column)
        if isinstance(data, pa.RecordBatch):
            table = pa.Table.from_batches([data])
        elif hasattr(data, "__arrow_c_stream__"):
            table = stream_reader(data).read_all()
        else:
            raise bad_type("data", data, "Arrow data: a pyarrow Table or RecordBatch, or any Arrow stream")
        # All of them, so that an error comes before any is taken; of a named input its columns also without rows.
        to_rows(no_rows(table.schema))
        batches = [to_rows(batch).rebased() for batch in cut(table, rows)]
        return [change for batch in batches for change in self._push(batch)]

    def tick(self, time: Any, *, input: str | None = None, source: Any = None) -> list[Change]:
        """Moves stream time, as a tick does, and closes windows. Returns the changes.

        For a cogroup the tick moves the time of all inputs, or of the named one. With `source=` in the definition it
        moves the time of every source so far, or of the one that you name: by the value of the source column, or by a
        tuple if there are several source columns. Raises as `pipe` does.
        """
        return self._push(self._feed.tick_at(input, time, source))

    def advance_wall_clock(self, duration_or_time: Duration | datetime) -> None:
        """Moves the wall clock by a duration, or to a time (Kafka's `advanceWallClockTime`). Stream time does not move.

        Raises:
            TypeError: neither a duration nor a time as the time column shows it.
            ValueError: a time before that of the clock, or a driver without a `wall_clock`.
        """
        self._wall_clock.advance(duration_or_time)

    def finish(self) -> list[Change]:
        """Closes all open windows, as at the end of a batch query. Returns the finals.

        Stream time does not move. So a later record may still be in time and open a new window, even within the gap of
        a session that this call has closed.
        """
        return self._changes(self._operators.finish())

    def read_table(self) -> pa.Table:
        """The rows that the streaming query has returned since the last call or restore, in its schema.

        With `emit("update")` every aggregate may be null there, as it is in a deleted window.
        """
        output = self._operators.output_schema
        if self._plan.options.emit == "update":  # where deletes come, which have no aggregates
            output = pa.schema(list(self._operators.change_schema)[: len(output)])
        output = output if self._finish is None else self._finish.schema(output)
        batches = [pa.RecordBatch.from_arrays(batch.columns[: len(output)], schema=output) for batch in self._unread]
        self._unread.clear()
        table = pa.Table.from_batches(batches, schema=output)
        return shown(self._plan, table)

    @property
    def counters(self) -> dict[str, int]:
        """The counters of all sources, including those of a batch that failed, up to its error.

        `ahead` counts the records that `max_ahead` left out; such ticks are among the `bad_ticks`. With
        `stream_time="source"` a tick for all sources counts once in each.
        """
        counted = Counter(self._operators.counters() | {"ahead": 0})
        counted.update(self._counted)
        return dict(counted)

    @property
    def dropped(self) -> int:
        """Records and windows left out, as Kafka's `dropped-records` counts them."""
        counters = self.counters
        return sum(counters[name] for name in _DROPPED)

    @property
    def stream_time(self) -> Any:
        """The largest time so far, as the time column shows it; None before the first record.

        With `source=` it is the smallest over the sources, and over the inputs of a cogroup.

        Raises:
            OverflowError: a time that Python cannot represent, such as one past the year 9999.
        """
        return self._python_time(self._operators.stream_time)

    @property
    def stream_times(self) -> dict[Source, Any]:
        """The stream time of each source so far, by the tuple of its values; without `source=` that of `()`.

        Raises as `stream_time` does.
        """
        return {source: self._python_time(time) for source, time in self._operators.stream_times.items()}

    @property
    def sessions(self) -> SessionStore:
        """A store of the visible sessions; `TypeError` for sliding windows."""
        if not isinstance(self._plan.windows, SessionWindows):
            raise TypeError("sessions: got a query of sliding windows; allowed: .windows")
        return SessionStore(self._store)

    @property
    def windows(self) -> WindowStore:
        """A store of the visible sliding windows; `TypeError` for sessions."""
        if isinstance(self._plan.windows, SessionWindows):
            raise TypeError("windows: got a query of sessions; allowed: .sessions")
        return WindowStore(self._store)

    def snapshot(self) -> list[bytes]:
        """The whole state as pages: Arrow IPC streams, as in a checkpoint.

        With `source=`, `max_ahead` or `start_from` there is one more page, which lists the sources, what `max_ahead`
        left out, and the open windows with which the stream began. There is one, too, if computed columns have been
        null because they do not fit their type.
        """
        pages = self._operators.pages()
        return [self._driver_page(), *pages] if self._has_page else pages

    def changed_pages(self) -> dict[str, bytes | None]:
        """The pages, by name, that have changed since the last call or restore; None for a page that no longer
        exists.
        """
        pages = self._operators.changed_pages()
        return pages | {DRIVER: self._driver_page()} if self._has_page else pages

    def restore(self, pages: Iterable[bytes]) -> Self:
        """Continues from a snapshot and forgets the state so far, except when it raises.

        A state consists of the last page that `changed_pages` returned for each name, without pages that no longer
        exist.

        Args:
            pages: all pages of one state, in any order.

        Raises:
            TypeError: no pages, or a page that is not `bytes`.
            ValueError: a page is damaged, missing, of another version or of another query, or the stream began with
                other open windows than those of `start_from`.
        """
        if isinstance(pages, Mapping | str | bytes | bytearray | memoryview) or not isinstance(pages, Iterable):
            hint = "; pass the values() of the dict that its changes made" if isinstance(pages, Mapping) else ""
            raise bad_type("pages", pages, f"all pages of a state, as snapshot() gives them{hint}")
        listed = list(pages)
        for number, page in enumerate(listed):
            if not isinstance(page, bytes | bytearray):
                raise bad_type(f"pages[{number}]", page, "bytes, as snapshot() gives them")
        saved = read(listed, self._plan.stream)
        check_start(saved.start, self._start)
        operators = self._new()
        operators.restore(saved.sources, saved.pages)
        self._operators, self._counted, self._began = operators, Counter(saved.counters), saved.start
        self._unread.clear()
        return self

    @property
    def _has_page(self) -> bool:
        options = (self._plan.stream.source or None, self._plan.options.max_ahead, self._began)
        return any(option is not None for option in options) or self._counted.total() > 0

    def _driver_page(self) -> bytes:
        return driver_page(self._plan.stream, self._operators.sources, self._counted, self._began)

    def _python_time(self, ticks: int | None) -> Any:
        times = pa.array([ticks], pa.int64()).cast(self._schema.field(self._plan.time).type)
        (time,) = values_of(self._plan.time, times)
        return time

    def _push(self, sourced: SourcedRows) -> list[Change]:
        admitted, ahead, bad_ticks = self._wall_clock.admitted(sourced)
        changes = self._operators.push(admitted)
        for rows, counter, reason in ((ahead, "ahead", "ahead"), (bad_ticks, "bad_ticks", "bad_tick")):
            self._counted.update({counter: rows.batch.num_rows} if rows.batch.num_rows else {})
            changes += self._operators.left_out(rows, reason)
        return self._changes(changes)

    def _changes(self, batches: list[pa.RecordBatch]) -> list[Change]:
        if self._finish is not None:
            before = self._finish.tally.overflows
            batches = list(self._finish.batches(iter(batches)))
            overflows = self._finish.tally.overflows - before
            self._counted.update({"overflows": overflows} if overflows else {})
        self._unread += [batch for batch in batches if batch.num_rows]
        keys, final, out = self._plan.key_names, self._plan.options.emit == "close", self._plan.left_out
        left_out = left_out_columns(self._plan.origins is not None, None if out is None else out["record"])
        return [change for batch in batches for change in changes_of(batch, keys, left_out, final=final)]

    @property
    def _store(self) -> Store:
        return Store(lambda: self._operators, self._schema, self._plan.keys, self._plan.time)
