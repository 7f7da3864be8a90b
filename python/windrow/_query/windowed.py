"""The options and the aggregates of a query.

Every method checks its arguments and returns a new frozen object. Nothing runs before `agg`, on Spark before an action.

The examples of this module share these lines:

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> times = [datetime(2026, 1, 1, hour) for hour in (8, 10, 11)]
>>> paid = pa.table({"user": ["ann"] * 3, "ts": times, "amount": [3.0, 4.0, 5.0]})
>>> sessions = wr.group_by(paid, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
>>> later = wr.group_by(paid[:0], "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Never, Self, get_args

import pyarrow as pa

from windrow._aggregates import builtin
from windrow._aggregates.aggregate import Aggregate
from windrow._arguments.duration import Duration, check_counted, microseconds, of_clock
from windrow._arguments.errors import bad_type, bad_value, no_attribute, unknown_word
from windrow._arguments.instant import Instant, ticks
from windrow._arguments.integer import integer
from windrow._plan.flat import BOUNDS
from windrow._plan.input import Input, Result, Run, check_table
from windrow._plan.limits import check, check_plan, of_query, of_windows
from windrow._plan.observation import Observation
from windrow._plan.open_table import NO_TABLE, check_reserved, open_argument
from windrow._plan.plan import Callback, Emit, Late, LeftOutPolicy, Options, Overflow, Plan
from windrow._plan.sequence import SEQUENCE
from windrow._query.detect import open_table
from windrow._query.grouping import Grouping
from windrow._query.missing_methods import rows_hint
from windrow._query.notebook import ShownInNotebooks
from windrow._query.resolve import resolved, without_names
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows

if TYPE_CHECKING:
    from pyspark.sql import Observation as OfSpark

_MOST_SHARDS = 65_536
_MOST_THREADS = 1_024


@dataclass(frozen=True)
class WindowedData(ShownInNotebooks, Generic[Result]):
    """Records grouped by key and windowed. Made by `windowed_by`; its methods choose options and aggregates.

    Attributes:
        grouped: the grouped records.
        windows: the windows.
        options: the options that are chosen so far.
    """

    grouped: Grouping[Result]
    windows: SessionWindows | SlidingWindows
    options: Options = field(default_factory=Options)

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
        pace = None if every is None else microseconds("every", every)
        check({"emit": when, "every_record": every_record, "sequence": sequence, "every": every})
        if pace is not None:
            check_counted("every", pace, self.grouped.fields[len(self.grouped.key_columns)])
        chosen = self._with(emit=when, every_record=every_record, every=pace, sequence=sequence)
        return chosen._checked_op("emit('update')")

    def late(self, policy: Late) -> Self:
        """Chooses what a stream does with late records: `"drop"` (the default) counts, `"emit"` also returns them.

        With `"emit"` a late record becomes a separate row, with `late` in the column `op`, its window, and the
        aggregates of that record alone. Kafka only counts it (`dropped-records`). In a batch nothing is late.

        Raises:
            ValueError: another word, or a key column with the name `op` and `"emit"`.

        >>> sessions.late("emit").count()["op"].to_pylist()
        ['upsert', 'upsert']
        """
        if policy not in get_args(Late):
            raise unknown_word("policy", policy, get_args(Late))
        return self._with(late=policy)._checked_op("late('emit')")

    def left_out(self, policy: LeftOutPolicy, *, columns: Sequence[str] | None = None) -> Self:
        """Chooses what happens to records in no window: `"drop"` (the default) counts them, `"emit"` returns them.

        With `"emit"` each such record becomes a separate row, with `left_out` in the column `op`. It has the record's
        key and the window that the record would have had: for sessions its time and end (its time, if the end is bad),
        for sliding windows `[t - difference, t]`. The aggregates are null. These columns come before `op`, and are null
        in all other rows:

        * `time`: the time of the record.
        * `reason` (string): `null_key`, `null_time`, `null_tie`, `bad_gap`, `bad_end`; on a stream also `late`,
          `ahead`, `bad_tick` and `refused` (a record of sliding windows whose own window has closed, and that is in no
          other); in a `StreamDriver` with `value=` also `null_value`.
        * `late_by` (a duration): how much more grace a `late` or `refused` record needed.
        * `stream_time`: the stream time that judged such a record.
        * `input`: for a cogroup, the name of the record's input.
        * `record`: a struct of `columns`, as the record has them; only with `columns`.

        If `late("emit")` returns a late record, it does not come back here again. `docs/how-to/left-out-records.md`
        writes these rows to a table. Kafka Streams only counts such records.

        Args:
            policy: `"drop"` or `"emit"`.
            columns: the columns of `record`, at least one; in a cogroup with their input, as in `"clicks.url"`. None
                gives the rows without `record`.

        Raises:
            ValueError: another word, an empty list of columns, `"drop"` with columns, a column twice, or a key with the
                name of a column that this option adds. `agg` raises it for a column that the data does not have.
            TypeError: `columns` is not a list of names.

        >>> holes = pa.table({"user": ["ann", None], "ts": [datetime(2026, 1, 1)] * 2, "amount": [3.0, 4.0]})
        >>> kept = wr.group_by(holes, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
        >>> for row in kept.left_out("emit", columns=["amount"]).agg(n=wr.count()).to_pylist():
        ...     print(row["op"], row["user"], row["n"], row["reason"], row["record"])
        upsert ann 1 None None
        left_out None None null_key {'amount': 4.0}
        """
        if policy not in get_args(LeftOutPolicy):
            raise unknown_word("policy", policy, get_args(LeftOutPolicy))
        check({"left_out": policy, "columns": columns})
        if policy == "drop":
            return self._with(left_out=None)
        allowed = (
            "the columns of the records to return, each once and at least one, such as ['amount'], or None for none"
        )
        if columns is None:
            return self._with(left_out=())._checked_op("left_out('emit')")
        if not isinstance(columns, list | tuple) or not all(isinstance(column, str) for column in columns):
            raise bad_type("columns", columns, f"a list of names: {allowed}")
        repeated = next((column for column in columns if columns.count(column) > 1), None)
        if not columns or repeated is not None:
            raise bad_value("columns", columns if repeated is None else repeated, allowed)
        return self._with(left_out=tuple(columns))._checked_op("left_out('emit')")

    def overflow(self, policy: Overflow) -> Self:
        """Chooses what happens to a result that does not fit its type, such as a sum beyond 64 bits.

        With `"error"` (the default) the query fails and names column, key and window. With `"null"` the result of
        `sum`, `sum_distinct`, `mean`, arithmetic or a list beyond 2 GiB is null and counted (`overflows`). On a stream
        this may happen when a session closes, long after its records were read. A restart with `"null"` continues.

        Raises:
            ValueError: another word.

        >>> large = wr.sum("amount").then(lambda sums: sums.cast("int64")) * 2**62
        >>> sessions.overflow("null").agg(large=large)["large"].to_pylist()
        [None, None]
        """
        if policy not in get_args(Overflow):
            raise unknown_word("policy", policy, get_args(Overflow))
        return self._with(overflow=policy)

    def max_ahead(self, duration: Duration) -> Self:
        """Limits how far ahead of the wall clock a record of a stream may be. There is no limit by default.

        A record whose time or end is more than `duration` ahead of the wall clock at the start of its micro-batch is
        left out and counted as `ahead`, a tick as `bad_ticks`. Neither moves stream time. So one clock that is wrong by
        years does not make all later records late. It has no effect in a batch (rules 1.8). A `StreamDriver` uses its
        `wall_clock`.

        Args:
            duration: zero or more, in words or as a `timedelta`.

        Raises:
            TypeError: neither `str` nor `timedelta`.
            ValueError: negative, or no duration.

        >>> sorted(sessions.max_ahead("1 hour").count()["count"].to_pylist())
        [1, 2]
        """
        return self._with(max_ahead=of_clock("duration", duration, zero=True))

    def flat(self) -> Self:
        """Returns the columns `window_start` and `window_end` in place of the struct `window`.

        For CSV files and libraries without structs. Both bounds are inclusive and have the type of the time column.

        Raises:
            ValueError: a key column with the name `window_start` or `window_end`.

        >>> sessions.flat().count().column_names
        ['user', 'window_start', 'window_end', 'count']
        """
        for key in self.grouped.keys:
            if key.casefold() in BOUNDS:
                raise bad_value("keys", key, f"any name but {key.casefold()!r}, which flat() adds: rename the column")
        return self._with(flat=True)

    def shards(self, count: int) -> Self:
        """Splits the work into `count` ranges of key hashes: 1 to 65,536, by default 32.

        The result is the same for any number. More shards mean more tasks after the shuffle and less memory in each
        task; Spark's adaptive execution joins small ones. In-process, only `to_reader` splits its work.

        Raises:
            TypeError: not an int.
            ValueError: out of range.

        >>> sorted(sessions.shards(128).count()["count"].to_pylist())
        [1, 2]
        """
        return self._with(shards=_count(count, _MOST_SHARDS))

    def threads(self, count: int) -> Self:
        """Uses `count` threads, 1 to 1,024, for in-process data; by default one for each core.

        The threads live as long as the call of `agg`. They share the records by key, in 32 parts, so more than 32
        threads are not faster. A single thread computes up to 65,536 records, and all Python functions.

        Raises:
            TypeError: not an int.
            ValueError: out of range, or the data is a Spark DataFrame.

        >>> sorted(sessions.threads(1).count()["count"].to_pylist())
        [1, 2]
        """
        number = _count(count, _MOST_THREADS)
        check({"count": number, "spark": self.grouped.input.in_spark})
        return self._with(threads=number)

    def progress(self, show: bool | Callback = True) -> Self:
        """Shows the progress of a long query over in-process data.

        A query has two steps, both counted in records: `"records"` reads them (and builds sessions), `"windows"` makes
        windows of them. True shows a bar: tqdm's in a notebook or a terminal if tqdm is installed, otherwise a line of
        text on stderr if that is a terminal. A callback runs in the calling thread, at most ten times a second and at
        the end of each step. An exception of the callback ends the query and is raised unchanged.

        Args:
            show: True, False, or `callback(step, done, total)`; `total` is None if it is unknown, as for a reader.

        Raises:
            TypeError: neither.
            ValueError: the data is a Spark DataFrame.

        >>> steps = []
        >>> counted = sessions.progress(lambda *step: steps.append(step)).count()
        >>> steps[-1]
        ('windows', 3, 3)
        """
        if not isinstance(show, bool) and not callable(show):
            raise bad_type("show", show, "True, False, or a function of the step, the records done, and all of them")
        check({"show": show, "spark": self.grouped.input.in_spark})
        return self._with(progress=show)

    def observe(self, observation: Observation | OfSpark | str) -> Self:
        """Reports the counters of the query to an `Observation`, of windrow or of PySpark.

        In-process, each call of `agg`, `count`, `with_columns` or `to_reader` reports them, for data of every kind.
        In a Spark batch the first action on the result does. A streaming query always reports them in its progress
        (`StreamingQueryProgress.observedMetrics`), for each micro-batch; `observation` is then their name there.
        `windrow.counters` reads them from the progress.

        The counters are `records` (all rows except ticks); the records left out: `null_keys` (all key columns are
        null), `null_times`, `null_ties`, `bad_gaps` and `bad_ends`; the records whose gap was cut: `clamped_gaps`
        (records with their own gaps only); then `ticks` and, except for a reader, `overflows` and `windows`. A stream
        has more. `windrow.counters` returns those of a pyarrow Table or a pandas frame, too.

        In Spark only an action that reads the whole result reports all records, such as `count()`, `collect()` or a
        write. An action that stops early (`show()`, `first()`, `take()`, `isEmpty()`, any with `limit()`) reports what
        ran until then, which may be 0 `records` and some `windows`. Later actions do not report again.

        Raises:
            TypeError: not an `Observation`, or for a stream not a name.
            ValueError: an empty name.

        >>> seen = wr.Observation()
        >>> visits = sessions.observe(seen).count()
        >>> seen.get["records"], seen.get["windows"]
        (3, 2)
        """
        self.grouped.input.check_observation(observation)
        return self._with(observation=observation)

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

        >>> from windrow.testing import StreamDriver
        >>> schema = pa.schema({"user": pa.string(), "ts": pa.timestamp("us")})
        >>> clicks = {"user": ["ann", "bob"], "ts": [datetime(2026, 1, 1, 8), datetime(2026, 1, 1, 8, 50)]}
        >>> history = pa.table(clicks, schema)
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
        self.grouped.input.check_start(open)
        source, stream_time = self.grouped._own_sources or None, self.grouped.stream.stream_time
        check({**of_windows(self.windows), "start": True, "source": source, "stream_time": stream_time})
        check_reserved("keys", self.grouped.keys, "start_from")
        begun: Self = self._with(start=open_table(open))
        return begun

    def agg(self, /, *_by_position: Never, **aggregates: Aggregate) -> Result:
        """Returns the windows of each key with aggregates over their records (Kafka's `aggregate`, several at once).

        Returns:
            The same kind of object as the data: for a Spark DataFrame a lazy DataFrame. In-process, the query runs
            at once. A Polars or pandas frame gives such a frame (a LazyFrame gives one of the finished rows), a
            relation gives one on the same connection, and anything else gives a `pyarrow.Table`. A cogroup returns the
            kind of its first input.

            The columns are the keys, `window` (a struct of `start` and `end`, both inclusive, of the type of the time
            column; two columns after `flat()`), one column for each aggregate, the columns of `left_out("emit")`, and
            `op` after any of `emit("update")`, `late("emit")`, `left_out("emit")`. Keys, and aggregates that choose a
            value of their column, have the library's type of that column. Rows have no particular order. A query that
            leaves records out warns (`windrow.LeftOut`), unless it returns them; `observe` reports the counters.

        Raises:
            ValueError: no aggregate, a column that the data lacks or has twice, an expression that is no single column,
                a key called `window` without `flat()`, or a name that a key, `window` or `op` has too (in Spark also in
                upper or lower case, unless `spark.sql.caseSensitive` is true). For a streaming DataFrame also windows
                without a grace, `every_record` without `order`, or a state store that is not RocksDB
                (`windrow.configure` sets it). With `invalid_gap="error"` also a bad gap, with `invalid_end="error"` a
                bad end; the message has its key and time.
            TypeError: not an aggregate, an aggregate without a name or not defined for the type of its column, or, on
                Spark, Python functions that cannot be pickled.
            RuntimeError: a Python function of `reduce` or `aggregate` raised.
            OverflowError: a result (without `overflow("null")`) or a bound of a window does not fit its type.
            MemoryError: in-process, memory is refused, or lists of sliding windows would take more than is free.

        On Spark, errors in the data itself, such as a bad gap or a result that does not fit, fail the job.

        >>> answer = sessions.agg(n=wr.count(), spend=wr.sum("amount"))
        >>> for row in answer.sort_by("spend").to_pylist():
        ...     print(row["user"], row["window"]["start"].hour, row["window"]["end"].hour, row["n"], row["spend"])
        ann 8 8 1 3.0
        ann 10 11 2 9.0
        """
        if _by_position:
            raise without_names(_by_position)
        opened, plan = self._resolved(aggregates)
        with opened.named():
            return opened.run(plan)

    def with_columns(self, /, *_by_position: Never, **aggregates: Aggregate) -> Result:
        """Returns every record with all its columns, its window, and the aggregates of that window.

        Like SQL's `OVER`; Kafka has no such query. The window is the session of the record, or the sliding window that
        ends at it, `[t - difference, t]`: `RANGE BETWEEN difference PRECEDING AND CURRENT ROW`.

        Returns:
            The kind of the data, as for `agg`. Rows are in the order of the data, except in Spark. The columns are
            those of the data, unchanged (a pandas frame keeps its index), then `window` (a struct of `start` and `end`,
            both inclusive, of the type of the time column) and one column for each aggregate, if there is any. A record
            that is left out for a null key, a null time, a bad gap or a bad end comes back, too, with a null `window`
            and null aggregates. Ticks do not come back.

            A cogroup gives the records of all inputs, in-process one input after the other. The columns are those
            of all inputs by name, null if an input lacks them; `input`, the name of the record's input, comes before
            `window`.

            In Spark a task holds the rows of its keys in memory, and more than 128 MiB or two million rows in a
            temporary file. Even then the rows of one window are in memory together until it is final, so a very long
            session needs much memory. `spark.sql.shuffle.partitions` sets the number of tasks; `shards` does not.

            On a streaming DataFrame the records of a session come when it closes, and wait in the state until then. A
            record of sliding windows comes in its own micro-batch, with the window as it is at that time. If it is
            late, its window and aggregates are null. A late record of a session does not come back. Late records are
            counted (`late`). `docs/explanation/streams.md` has the details.

        Raises:
            ValueError: a name that the data, `window` or another aggregate has, `emit("update")`, `late("emit")` or
                `left_out("emit")`, a cogroup with a streaming DataFrame, or a Python function of `reduce` or
                `aggregate`. For a streaming DataFrame also windows without a grace or with `retention`, sessions with
                rules, `start_from`, and a Spark session whose state store is not RocksDB.
            TypeError: not an aggregate, an aggregate without a name or not defined for the type of its column, columns
                of one name and different types in the inputs of a cogroup, a column that cannot be read as Arrow data,
                or, on Spark, a column of a type that Spark does not hand to Python.
            OverflowError: as for `agg`.
            MemoryError: in-process, memory is refused, or the lists of the windows, repeated in each of their
                rows, would take more than is free.

        >>> tagged = sessions.with_columns(n=wr.count(), spend=wr.sum("amount"))
        >>> for row in tagged.to_pylist():
        ...     print(row["ts"].hour, row["amount"], row["window"]["start"].hour, row["n"], row["spend"])
        8 3.0 8 1 3.0
        10 4.0 10 2 9.0
        11 5.0 10 2 9.0
        """
        if _by_position:
            raise without_names(_by_position, "with_columns")
        emits = "late('emit')" if self.options.late == "emit" else "left_out('emit')"
        check({"with_columns": "emit('update')" if self.options.emit == "update" else emits, "op": self.options.op})
        opened, plan = self._resolved(aggregates, rows=True)
        with opened.named():
            return opened.with_windows(plan)

    def count(self) -> Result:
        """Counts the records of each window: short for `agg(count=windrow.count())`, with the same errors.

        >>> sorted(sessions.count()["count"].to_pylist())
        [1, 2]
        """
        return self.agg(count=builtin.count())

    def to_reader(self, /, *_by_position: Never, **aggregates: Aggregate) -> pa.RecordBatchReader:
        """Returns the result of `agg` over in-process data as a `pyarrow.RecordBatchReader`.

        For results and inputs larger than memory: pass a reader, and write the batches as they come. The call itself
        reads all records. Packed records beyond 16 MiB wait in an unnamed temporary file (in `tempfile.gettempdir()`,
        which `TMPDIR` sets) until the reader is read to its end or dropped. A batch has about 65,536 rows, in no
        particular order. During the call, memory holds some million records. Then it holds the open windows of one
        shard, or all of its windows if the records are not in order of time. So more `shards` take less memory. One
        thread computes.

        `windrow.counters` of the reader returns the counters except `overflows` and `windows`.

        Raises:
            TypeError: a Spark DataFrame. Otherwise as for `agg`.
            ValueError, OverflowError, RuntimeError: as for `agg`; an error in a result is raised when its batch is
                read.
            OSError: the disk is full.

        >>> reader = sessions.to_reader(n=wr.count())
        >>> sorted(row["n"] for batch in reader for row in batch.to_pylist())
        [1, 2]
        """
        if _by_position:
            raise without_names(_by_position)
        opened, plan = self._resolved(aggregates)
        with opened.named():
            return opened.reader(plan)

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
                sessions; a reserved name of a key or an aggregate; with rules for sessions a record at or after `to`,
                or before the earlier `to` by more than the grace: it would move the cuts of sessions. Otherwise as for
                `agg`. In Spark, errors in the rows of `open` come when the job runs.
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
        check({**of_query(self.windows, self.options), "advance": True})
        check_reserved("keys", self.grouped.keys, "advance")
        check_reserved("aggregates", aggregates, "advance")
        check_table(open)
        opened, plan = self._resolved(aggregates)
        check_plan(plan, closing=True)
        plan = opened.continued(plan, open)
        time: Any = plan.schema.field(plan.time).with_name(self.grouped.time)
        moment = ticks("to", to, time, opened.zone)
        with opened.named():
            return opened.advance(plan, open, moment)

    if not TYPE_CHECKING:  # to a type checker there is no such attribute

        def __getattr__(self, name: str) -> Never:
            raise no_attribute(self, name, None if name.startswith("_") else rows_hint(name))

    def _with(self, **chosen: Any) -> Self:
        return replace(self, options=replace(self.options, **chosen))

    def _checked_op(self, adds: str) -> Self:
        """Raises `ValueError` for a key with the name of a column that `adds` adds."""
        for key in self.grouped.keys if self.options.op else ():
            if key.casefold() == "op" or (self.options.sequence and key.casefold() == SEQUENCE):
                raise bad_value("keys", key, f"any name but {key.casefold()!r}, which {adds} adds: rename the column")
        return self

    def _plan(self, chosen: dict[str, Aggregate], *, rows: bool = False) -> Plan:
        return self._resolved(chosen, rows=rows)[1]

    def _resolved(self, chosen: dict[str, Aggregate], *, rows: bool = False) -> tuple[Input[Result], Plan]:
        return resolved(self.grouped, self.windows, self.options, chosen, rows=rows)


def _count(count: object, most: int) -> int:
    return integer("count", count, f"an int from 1 to {most:,}", least=1, most=most, bounds=f"1 to {most:,}")
