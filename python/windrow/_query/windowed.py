"""The options and the aggregates of a query.

Every method is checked when it is called and returns a new frozen object; nothing is computed before `agg`, and on
Spark nothing before an action of the caller.

The examples of this module go on from here:

>>> from datetime import datetime
>>> import pyarrow as pa
>>> import windrow as wr
>>> paid = pa.table(
...     {
...         "user": ["ann", "ann", "ann"],
...         "ts": [datetime(2026, 1, 1, hour) for hour in (8, 10, 11)],
...         "amount": [3.0, 4.0, 5.0],
...     }
... )
>>> sessions = wr.group_by(paid, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Never, get_args

import pyarrow as pa

from windrow import functions
from windrow._aggregates import builtin
from windrow._aggregates.aggregate import Aggregate
from windrow._arguments.duration import Duration, microseconds
from windrow._arguments.errors import bad_type, bad_value, no_attribute, unknown_word
from windrow._arguments.integer import integer
from windrow._plan.flat import BOUNDS
from windrow._plan.input import Result
from windrow._plan.plan import Callback, Emit, Late, Options, Plan
from windrow._query.grouping import Grouping
from windrow._query.resolve import resolved, without_names
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows

if TYPE_CHECKING:
    from pyspark.sql import Observation

_MOST_SHARDS = 65_536
_MOST_THREADS = 1_024


@dataclass(frozen=True)
class WindowedData(Generic[Result]):
    """Records grouped by key and windowed; its methods choose options and aggregates. Made by `windowed_by`.

    Attributes:
        grouped: what was grouped.
        windows: the windows.
        options: what its methods have chosen.
    """

    grouped: Grouping[Result]
    windows: SessionWindows | SlidingWindows
    options: Options = field(default_factory=Options)

    def emit(self, when: Emit, *, every_record: bool = False) -> WindowedData[Result]:
        """When windows give rows: `"close"` (the default), once and final, or `"update"`, whenever they change.

        Kafka's `EmitStrategy.onWindowClose` and `onWindowUpdate` (KIP-825).

        A batch query gives the same final windows for both; with `"update"` the result ends with the column `op`, in
        which each row says `upsert`, so that one sink serves batch and stream. With `every_record` each record's
        changes give rows of their own, as in Kafka without a cache; without it, a batch gives one row for each window
        that it changed.

        Raises:
            ValueError: any other word, `every_record` without `"update"`, or a key column is called `op`.
            TypeError: `every_record` is not True or False.

        >>> sessions.emit("update").agg(n=wr.count()).column_names
        ['user', 'window', 'n', 'op']
        """
        if when not in get_args(Emit):
            raise unknown_word("when", when, get_args(Emit))
        if not isinstance(every_record, bool):
            raise bad_type("every_record", every_record, "True or False")
        if every_record and when != "update":
            raise bad_value("every_record", every_record, "False beside emit('close'), which gives each window once")
        return self._with(emit=when, every_record=every_record)._checked_op("emit('update')")

    def late(self, policy: Late) -> WindowedData[Result]:
        """What becomes of late records on a stream: `"drop"` (the default) or `"emit"`.

        With `"emit"` a late record is also a row of its own, with `late` in the column `op`: the window and the
        aggregates of that record alone. Kafka only counts it (`dropped-records`). A batch query has nothing late, and
        its rows all say `upsert`.

        Raises:
            ValueError: any other word, or a key column is called `op` beside `"emit"`.

        >>> sessions.late("emit").count()["op"].to_pylist()
        ['upsert', 'upsert']
        """
        if policy not in get_args(Late):
            raise unknown_word("policy", policy, get_args(Late))
        return self._with(late=policy)._checked_op("late('emit')")

    def max_ahead(self, duration: Duration) -> WindowedData[Result]:
        """How far ahead of the wall clock a time on a stream may be: any, unless this says how far.

        A record or tick of a stream whose time is more than `duration` ahead of the wall clock at the start of its
        micro-batch is set aside and counted: a record as `ahead`, a tick as `bad_ticks`. It moves no time, so that one
        clock that is wrong by years does not make late what comes after it. Over a batch and in this process it
        changes nothing (rules 1.8). A `StreamDriver` has a wall clock of its own.

        Args:
            duration: zero or more, in words or as a `timedelta`.

        Raises:
            TypeError: neither `str` nor `timedelta`.
            ValueError: negative, or no duration.

        >>> sorted(sessions.max_ahead("1 hour").count()["count"].to_pylist())
        [1, 2]
        """
        return self._with(max_ahead=microseconds("duration", duration, zero=True))

    def flat(self) -> WindowedData[Result]:
        """Has the result the columns `window_start` and `window_end` in place of the struct `window`.

        For CSV files and libraries without structs. Both bounds are inclusive, of the type of the time column.

        Raises:
            ValueError: a key column is called `window_start` or `window_end`.

        >>> sessions.flat().count().column_names
        ['user', 'window_start', 'window_end', 'count']
        """
        for key in self.grouped.keys:
            if key.casefold() in BOUNDS:
                raise bad_value("keys", key, f"any name but {key.casefold()!r}, which flat() adds: rename the column")
        return self._with(flat=True)

    def shards(self, count: int) -> WindowedData[Result]:
        """Cuts the work into `count` ranges of key hashes: 1 to 65,536, 32 unless said otherwise.

        The result is the same for any number. More shards mean more tasks after the shuffle and less memory in each;
        Spark's adaptive execution joins small ones. In this process `to_reader` alone cuts it so.

        Raises:
            TypeError: not an int.
            ValueError: out of range.

        >>> sorted(sessions.shards(128).count()["count"].to_pylist())
        [1, 2]
        """
        return self._with(shards=_count(count, _MOST_SHARDS))

    def threads(self, count: int) -> WindowedData[Result]:
        """Uses `count` threads, 1 to 1,024, for data in this process; one a core unless said otherwise.

        The threads live as long as the call of `agg`. Records are shared among them by key, in 32 parts, so that more
        than 32 threads are as fast as 32; up to 65,536 records take one, and so do Python functions.

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
        """Shows how far a query over data in this process has come, where it takes long.

        Two steps are told, both in records: `"records"`, which are read (sessions grow meanwhile), and `"windows"`,
        which are made of them. True shows a bar: that of `tqdm` in a notebook or a terminal where tqdm is installed,
        else a line of text on stderr where that is a terminal. A callback is told on the calling thread, at most ten
        times a second and at the end of each step. What it raises ends the query, and comes out as it is.

        Args:
            show: True, False, or `callback(step, done, total)`; `total` is None where it is not known, as of a reader.

        Raises:
            TypeError: neither.
            ValueError: the data is a Spark DataFrame.

        >>> told = []
        >>> counted = sessions.progress(lambda *step: told.append(step)).count()
        >>> told[-1]
        ('windows', 3, 3)
        """
        if not isinstance(show, bool) and not callable(show):
            raise bad_type("show", show, "True, False, or a function of the step, the records done, and all of them")
        if show is not False:
            self.grouped._input.check_progress(show)
        return self._with(progress=show)

    def observe(self, observation: Observation | str) -> WindowedData[Result]:
        """Has Spark report the counters of the query to PySpark's `Observation`, at the first action on the result.

        Of a stream they are always in the progress of the query (`StreamingQueryProgress.observedMetrics`), for each
        micro-batch; `observation` is then the name that they have there, in place of `windrow`.

        Of a batch they are `records` (rows that are no ticks), of them left out `null_keys` (every key column is null),
        `null_times` and `bad_gaps`, of them cut `clamped_gaps` (both 0 unless records have their own gaps), then
        `ticks` and `windows`. Of a query in this process `windrow.counters` tells them.

        Only an action that reads the whole result, such as `count()`, `collect()` or a write, reports all. One that
        stops early (`show()`, `first()`, `take()`, `isEmpty()`, any with `limit()`) reports what ran until there, which
        may be `records` of 0 beside some `windows`; later actions do not report again.

        Raises:
            TypeError: not an `Observation`, of a stream not a name, or the data is not a Spark DataFrame.
            ValueError: an empty name.

        >>> from pyspark.sql import Observation, SparkSession
        >>> spark = SparkSession.builder.getOrCreate()
        >>> settings, seen = wr.configure(spark), Observation("visits")
        >>> clicks = spark.sql("SELECT 'ann' AS user, TIMESTAMP '2026-01-01 08:00:00' AS ts")
        >>> visits = wr.group_by(clicks, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
        >>> len(visits.observe(seen).count().collect()), seen.get["records"], seen.get["null_times"]
        (1, 1, 0)
        """
        self.grouped._input.check_observation(observation)
        return self._with(observation=observation)

    def agg(self, /, *_by_position: Never, **aggregates: Aggregate) -> Result:
        """The windows of each key and the aggregates over their records (Kafka's `aggregate`, several at once).

        Returns:
            A DataFrame for a DataFrame, lazily; a `pyarrow.Table` for anything else, whose counters
            `windrow.counters` tells; where records are left out, it warns (`windrow.LeftOut`). Columns: the keys,
            `window` (a struct of `start` and `end`, both inclusive, of the type of the time column; after `flat()` two
            columns), one column for each aggregate, and `op` after `emit("update")`. Rows are in no particular order.

        Raises:
            ValueError: no aggregate, a column that the data does not have or has twice, or a name that a key, `window`
                or `op` has too (names that differ in case only are the same to Spark).
            TypeError: not an aggregate, one without a name, one that is not defined for the type of its column, or, on
                Spark, Python functions that cannot be pickled.
            RuntimeError: a Python function of `reduce` or `aggregate` raised. On Spark the job fails with it.
            ValueError: of a streaming DataFrame, windows without a grace, `every_record` without `order`, or a session
                whose state store is not RocksDB (`windrow.configure` sets it).
            OverflowError: a result or a bound of a window does not fit its type. On Spark the job fails with it.
            MemoryError: in this process, memory is refused, or lists of sliding windows would take more than is free.

        With a dynamic gap and `invalid_gap="error"` a record whose gap is null, zero or negative is a `ValueError`
        that names its key and time; on Spark the job fails with it.

        >>> answer = sessions.agg(n=wr.count(), spend=wr.sum("amount"))
        >>> for row in answer.sort_by("spend").to_pylist():
        ...     print(row["user"], row["window"]["start"].hour, row["window"]["end"].hour, row["n"], row["spend"])
        ann 8 8 1 3.0
        ann 10 11 2 9.0
        """
        if _by_position:
            raise without_names(_by_position)
        return self._result(aggregates)

    def with_columns(self, /, *_by_position: Never, **aggregates: Aggregate) -> Result:
        """Every record with all its columns, its window, and the aggregates of that window.

        As SQL's `OVER`: of sessions it is the session that the record belongs to; of sliding windows the one that ends
        at the record, `[t - difference, t]`, both inclusive, so that a record sees those before it, itself, and those
        of the same time: `RANGE BETWEEN difference PRECEDING AND CURRENT ROW`. Kafka Streams has no such thing.

        Returns:
            A DataFrame for a DataFrame, lazily, in any order; for anything else a `pyarrow.Table` in the order of the
            data, with the counters in its schema metadata. Columns: those of the data, then `window` (a struct of
            `start` and `end`, both inclusive, of the type of the time column), one column for each aggregate, if there
            is any. A record that is left out, as its key or its time is null or its gap not allowed, comes back too,
            with null for `window` and for all aggregates. So do ticks, which are no records, but not on a stream.

            Of a cogroup the records of all inputs, in this process one input after the other: the columns are those of
            all inputs by name, null where an input has none, and before `window` comes `input`, the name of the
            record's input.

            In Spark a task holds the rows of its keys in memory, or where they are more than 128 MiB or two million in
            a temporary file; then those of a window are in memory together until it is final, those of one very long
            session as well. Not `shards` decides how many tasks there are, but `spark.sql.shuffle.partitions`. A
            window's aggregates are the same in each of its rows.

            Of a streaming DataFrame records of sessions come when their session closes, and wait in the state until
            then; records of sliding windows come in their own micro-batch, with the window as it is then. A late record
            of a session does not come back, one of sliding windows does, with nulls; both are counted (`late`).
            `docs/streaming.md` has all of it.

        Raises:
            ValueError: a name that the data, `window` or another aggregate has, `emit("update")` or `late("emit")`, a
                cogroup with a streaming DataFrame, or a Python function of `reduce` or `aggregate`. Of a streaming
                DataFrame also windows without a grace or with `retention`, and a session whose state store is not
                RocksDB.
            TypeError: not an aggregate, one without a name, one that is not defined for the type of its column, columns
                of one name and different types in the inputs of a cogroup, a column of the data that cannot be read as
                Arrow data, or, on Spark, one of a type that Spark does not hand over to Python.
            OverflowError: as of `agg`.
            MemoryError: in this process, memory is refused, or lists, of which each row has that of its window, would
                take more than is free.

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
            given = "emit('update')" if self.options.emit == "update" else "late('emit')"
            raise bad_value(
                "with_columns", given, "neither of emit('update') and late('emit'): a record comes back once"
            )
        return self.grouped._input.with_windows(self._plan(aggregates, rows=True))

    def count(self) -> Result:
        """How many records each window has: short for `agg(count=windrow.count())`, and raises what that raises.

        >>> sorted(sessions.count()["count"].to_pylist())
        [1, 2]
        """
        return self._result({"count": builtin.count()})

    def to_reader(self, /, *_by_position: Never, **aggregates: Aggregate) -> pa.RecordBatchReader:
        """The same as `agg` over data in this process, as a `pyarrow.RecordBatchReader`: the result in batches.

        For results, and inputs, larger than memory: hand over a reader, and write what comes as it comes. The call
        itself reads all records; what is packed of them beyond 16 MiB waits in an unnamed temporary file (where
        `tempfile.gettempdir()` says, so `TMPDIR`) until the reader is read to its end or dropped. Batches have about
        65,536 rows, in no particular order. Memory holds some million records while they are read, and then what is
        open at a time in one shard: for records that come in no order of time that is a whole shard, so more `shards`
        take less. One thread works.

        `windrow.counters` of the reader tells what was counted, without `windows`.

        Raises:
            TypeError: a Spark DataFrame. Else as `agg`.
            ValueError, OverflowError, RuntimeError: as `agg`; of results, when their batch is read.
            OSError: the disk is full.

        >>> reader = sessions.to_reader(n=wr.count())
        >>> sorted(row["n"] for batch in reader for row in batch.to_pylist())
        [1, 2]
        """
        if _by_position:
            raise without_names(_by_position)
        return self.grouped._input.reader(self._plan(aggregates))

    if not TYPE_CHECKING:  # to a type checker there is no such attribute

        def __getattr__(self, name: str) -> Never:
            raise no_attribute(self, name, None if name.startswith("_") else _to_rows(name))

    def _with(self, **chosen: Any) -> WindowedData[Result]:
        return replace(self, options=replace(self.options, **chosen))

    def _checked_op(self, adds: str) -> WindowedData[Result]:
        for key in self.grouped.keys if self.options.op else ():
            if key.casefold() == "op":
                raise bad_value("keys", key, f"any name but 'op', which {adds} adds: rename the column")
        return self

    def _result(self, chosen: dict[str, Aggregate]) -> Result:
        return self.grouped._input.run(self._plan(chosen))

    def _plan(self, chosen: dict[str, Aggregate], *, rows: bool = False) -> Plan:
        return resolved(self.grouped, self.windows, self.options, chosen, rows=rows)


def _to_rows(name: str) -> str:
    """What to write for a method of the result, or for an aggregate."""
    if name in functions.__all__:
        return f'aggregates go into agg, by name: .agg(result=windrow.{name}("column"))'
    if name == "windowed_by":
        return "it is windowed already; other windows start from the same group_by(...)"
    return "its rows come from agg, which gives a DataFrame of Spark or a pyarrow.Table: .agg(n=windrow.count())"


def _count(count: object, most: int) -> int:
    return integer("count", count, f"an int from 1 to {most:,}", least=1, most=most, bounds=f"1 to {most:,}")
