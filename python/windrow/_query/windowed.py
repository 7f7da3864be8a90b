"""The options and the aggregates of a query.

Every method checks its arguments and returns a new frozen object. Nothing runs before `agg`, on Spark before an action.

The examples of this module share these lines:

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> times = [datetime(2026, 1, 1, hour) for hour in (8, 10, 11)]
>>> paid = pa.table({"user": ["ann"] * 3, "ts": times, "amount": [3.0, 4.0, 5.0]})
>>> sessions = wr.group_by(paid, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Never, Self, get_args

import pyarrow as pa

from windrow._aggregates import builtin
from windrow._aggregates.aggregate import Aggregate
from windrow._arguments.duration import Duration, of_clock
from windrow._arguments.errors import bad_type, bad_value, no_attribute, unknown_word
from windrow._arguments.integer import integer
from windrow._plan.flat import BOUNDS
from windrow._plan.input import Input, Result
from windrow._plan.observation import Observation
from windrow._plan.plan import Callback, Late, Options, Overflow, Plan
from windrow._query.advance import DailyJob
from windrow._query.emission import Emission
from windrow._query.grouping import Grouping
from windrow._query.left_out import LeftOutRecords
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
class WindowedData(Emission[Result], LeftOutRecords[Result], DailyJob[Result], ShownInNotebooks, Generic[Result]):
    """Records grouped by key and windowed. Made by `windowed_by`; its methods choose options and aggregates.

    Attributes:
        grouped: the grouped records.
        windows: the windows.
        options: the options that are chosen so far.
    """

    grouped: Grouping[Result]
    windows: SessionWindows | SlidingWindows
    options: Options = field(default_factory=Options)

    def late(self, policy: Late) -> WindowedData[Result]:
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

    def overflow(self, policy: Overflow) -> WindowedData[Result]:
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

    def max_ahead(self, duration: Duration) -> WindowedData[Result]:
        """Limits how far ahead of the wall clock a record of a stream may be. There is no limit by default.

        A record whose time is more than `duration` ahead of the wall clock at the start of its micro-batch is left out
        and counted as `ahead`, a tick as `bad_ticks`. Neither moves stream time. So one clock that is wrong by years
        does not make all later records late. It has no effect in a batch (rules 1.8). A `StreamDriver` uses its
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

    def flat(self) -> WindowedData[Result]:
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

    def shards(self, count: int) -> WindowedData[Result]:
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

    def threads(self, count: int) -> WindowedData[Result]:
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
        self.grouped._input.check_threads(number)
        return self._with(threads=number)

    def progress(self, show: bool | Callback = True) -> WindowedData[Result]:
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
        if show is not False:
            self.grouped._input.check_progress(show)
        return self._with(progress=show)

    def observe(self, observation: Observation | OfSpark | str) -> WindowedData[Result]:
        """Reports the counters of the query to an `Observation`, of windrow or of PySpark.

        In-process, each call of `agg`, `count`, `with_columns` or `to_reader` reports them, for data of every kind.
        In a Spark batch the first action on the result does. A streaming query always reports them in its progress
        (`StreamingQueryProgress.observedMetrics`), for each micro-batch; `observation` is then their name there.
        `windrow.counters` reads them from the progress.

        The counters are `records` (all rows except ticks); the records left out: `null_keys` (all key columns are
        null), `null_times`, `null_ties` and `bad_gaps`; the records whose gap was cut: `clamped_gaps` (records with
        their own gaps only); then `ticks` and, except for a reader, `overflows` and `windows`. A stream has more.
        `windrow.counters` returns those of a pyarrow Table or a pandas frame, too.

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
        self.grouped._input.check_observation(observation)
        return self._with(observation=observation)

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
                (`windrow.configure` sets it). With `invalid_gap="error"` also a null, zero or negative gap; the message
                has its key and time.
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
        return opened.run(plan)

    def with_columns(self, /, *_by_position: Never, **aggregates: Aggregate) -> Result:
        """Returns every record with all its columns, its window, and the aggregates of that window.

        Like SQL's `OVER`; Kafka has no such query. The window is the session of the record, or the sliding window that
        ends at it, `[t - difference, t]`: `RANGE BETWEEN difference PRECEDING AND CURRENT ROW`.

        Returns:
            The kind of the data, as for `agg`. Rows are in the order of the data, except in Spark. The columns are
            those of the data, unchanged (a pandas frame keeps its index), then `window` (a struct of `start` and `end`,
            both inclusive, of the type of the time column) and one column for each aggregate, if there is any. A record
            that is left out for a null key, a null time or a bad gap comes back, too, with a null `window` and null
            aggregates. Ticks do not come back.

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
        if self.options.op:
            emits = "late('emit')" if self.options.late == "emit" else "left_out('emit')"
            option = "emit('update')" if self.options.emit == "update" else emits
            allowed = "none of emit('update'), late('emit') and left_out('emit'): each record comes back once"
            raise bad_value("with_columns", option, allowed)
        opened, plan = self._resolved(aggregates, rows=True)
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
        return opened.reader(plan)

    if not TYPE_CHECKING:  # to a type checker there is no such attribute

        def __getattr__(self, name: str) -> Never:
            raise no_attribute(self, name, None if name.startswith("_") else rows_hint(name))

    def _with(self, **chosen: Any) -> Self:
        return replace(self, options=replace(self.options, **chosen))

    def _plan(self, chosen: dict[str, Aggregate], *, rows: bool = False) -> Plan:
        return self._resolved(chosen, rows=rows)[1]

    def _resolved(self, chosen: dict[str, Aggregate], *, rows: bool = False) -> tuple[Input[Result], Plan]:
        return resolved(self.grouped, self.windows, self.options, chosen, rows=rows)


def _count(count: object, most: int) -> int:
    return integer("count", count, f"an int from 1 to {most:,}", least=1, most=most, bounds=f"1 to {most:,}")
