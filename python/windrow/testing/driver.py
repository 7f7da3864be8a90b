"""A driver of a query: virtual time, no Spark, one record at a time or batches cut at will."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

import pyarrow as pa

from windrow import _worker
from windrow.errors import bad_type, bad_value
from windrow.functions.python_values import values_of
from windrow.local.sources import rebased
from windrow.plan import Plan
from windrow.testing.batches import cut
from windrow.testing.change import Change, changes_of
from windrow.testing.definition import Definition, Schemas, plan_of
from windrow.testing.feed import Feed, without_rows
from windrow.testing.stores import SessionStore, Store, WindowStore
from windrow.windows.session import SessionWindows

_DROPPED = ("late", "windows_refused", "null_keys", "null_times", "null_values", "bad_gaps")


class StreamDriver:
    """Runs the query that a job runs on a stream, record by record, in this process.

    Time is virtual: it moves by the records and by `tick`, never by a clock. The order of feeding is the order of the
    stream; each record is judged by the stream time that those before it have reached, as Kafka Streams does it.

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

    A cogroup has a stream time for each input. A record is late by its own input, and a window closes by the slowest:

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
    """

    def __init__(self, definition: Definition, schema: Schemas, *, value: str | None = None) -> None:
        """A driver of what `definition` makes of data with the columns of `schema`.

        Args:
            definition: a function from data to `group_by(data, ...).windowed_by(...).agg(...)`; for a cogroup a
                function that takes the inputs by name.
            schema: the columns of the data and their Arrow types; for a cogroup a dict of those of its inputs.
            value: the column that is the record's value in Kafka. With it, nulls there are what they are in Kafka:
                sliding windows drop the record and count it (`null_values`), `reduce` is handed them. Not for a
                cogroup.

        A single Python aggregate that becomes None deletes its window, as in Kafka; not where it leaves out the records
        of an input.

        Raises:
            TypeError: no function, or one that returns anything but what `agg` returned.
            ValueError: windows without a grace, which every stream needs, sliding windows without a resolution whose
                lengths are no multiples of a driver's, a millisecond, schemas of other inputs than the definition has,
                or a column that is read under the name of the driver's own ticks, `windrow.tick`.
        """
        plan = plan_of(definition, schema)
        plan = replace(plan, windows=plan.windows.on_stream(plan.schema.field(plan.time)))
        if plan.windows.grace is None:
            allowed = "how far behind stream time a record may be, such as grace='1 hour'; '0 seconds' for not at all"
            raise bad_value("grace", None, allowed)
        self._plan = plan
        self._feed = Feed(plan, schema, value)
        self._schema = self._feed.schema
        self._spec = json.dumps(plan.asked() | {"tick": self._feed.tick, "kafka": {"value": value}})
        self._folds = plan.folds(kafka=value is not None)
        self._operator = _worker.operator(self._spec, self._schema, self._folds)
        self._unread: list[pa.RecordBatch] = []

    def pipe(self, input: str | None = None, /, **record: Any) -> list[Change]:
        """Takes one record, by column; columns that are left out are null. Returns what it changes.

        For a cogroup the name of the record's input comes first: `pipe("clicks", user="ann", ...)`.

        Values are those of Python for the type of their column, and none is changed: a number is no time, as it has no
        unit.

        Raises:
            TypeError: a value of another class than its column holds.
            ValueError: a column that the data does not have, an input that the definition does not have, or a value
                that its column does not hold as it is: finer than its unit, or a time with a zone where it has none.
                While the record is worked on: a gap that `invalid_gap="error"` refuses, or a string in data of Arrow
                that is no UTF-8.
            OverflowError: a result or a bound does not fit its type, or Python has no such time.
            RuntimeError: a Python function failed; its exception is the cause.

        An error of the work (the last two, such a gap or such a string) leaves a batch half done: then the driver takes
        nothing more, nor can it be asked for windows or pages, until it is restored. All others come before anything is
        taken.
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
        """Takes Arrow data in its order, cut into batches of `rows` rows. Returns what they change.

        Unless the query asks for `every_record`, a batch gives one update for each window that it changed.

        Args:
            data: a pyarrow Table or RecordBatch, or anything else that gives an Arrow stream.
            input: for a cogroup, the name of the input that the data is of.
            input_column: for a cogroup, in place of `input`: the column of the data that holds the name of each row's
                input, in any order. A row's other columns are those of its input. A tick without a name is of all
                inputs, its time in the columns of an input whose tick it is.
            rows: the length of a batch, or the lengths of batches, after which the last batch takes what is left; None
                for the batches of the data.

        Raises:
            TypeError: no Arrow data, a column of a type whose values are not those of the declared type, or `rows` that
                are no whole numbers.
            ValueError: a column that the data does not have, or has twice, a value that the declared type does not
                hold exactly, an input that the definition does not have, or batches of no rows.

        All of these come before anything is taken. While the batches are worked on, errors are those of `pipe`, and as
        there the driver has to be restored after one. The changes of the batches before it are then not returned, but
        `read_table` has their rows.
        """
        fed = self._feed.taking(input, input_column)
        if isinstance(data, pa.RecordBatch):
            table = pa.Table.from_batches([data])
        elif hasattr(data, "__arrow_c_stream__"):
            table = pa.RecordBatchReader.from_stream(data).read_all()
        else:
            raise bad_type("data", data, "Arrow data: a pyarrow Table or RecordBatch, or any Arrow stream")
        # All of them, so that an error comes before any is taken; of a named input its columns also without rows.
        fed(without_rows(table.schema))
        batches = [rebased(fed(batch)) for batch in cut(table, rows)]
        return [change for batch in batches for change in self._push(batch)]

    def tick(self, time: Any, *, input: str | None = None) -> list[Change]:
        """Moves stream time, as a tick does: nothing else happens but what closes. Returns what that closes.

        For a cogroup it is the time of all inputs, or of the one that is named. Raises as `pipe` does.
        """
        return self._push(self._feed.tick_at(input, time))

    def finish(self) -> list[Change]:
        """Closes every window that is open, as at the end of a batch query. Returns the finals.

        Stream time does not move. So a record that is piped afterwards may still be in time, and then makes a new
        window, also within the gap of a session that was final here.
        """
        return self._changes(self._operator.finish())

    def read_table(self) -> pa.Table:
        """The rows that the streaming query has given since this was last called or the state restored, in its schema.

        With `emit("update")` every aggregate may be null there, as it is where a window is deleted.
        """
        output = self._operator.output_schema
        if self._plan.options.emit == "update":  # where deletes come, which have no aggregates
            output = pa.schema(list(self._operator.change_schema)[: len(output)])
        batches = [pa.RecordBatch.from_arrays(batch.columns[: len(output)], schema=output) for batch in self._unread]
        self._unread.clear()
        return pa.Table.from_batches(batches, schema=output)

    @property
    def counters(self) -> dict[str, int]:
        """What was counted, by name, also in the part of a batch that came before an error of the work itself."""
        return self._operator.counters()

    @property
    def dropped(self) -> int:
        """Records and windows left out, as Kafka's `dropped-records` counts them."""
        counters = self.counters
        return sum(counters[name] for name in _DROPPED)

    @property
    def stream_time(self) -> Any:
        """The largest time so far, as the time column shows it; None before the first record.

        Raises:
            OverflowError: a time that Python does not have, such as one past the year 9999.
        """
        ticks = pa.array([self._operator.stream_time], pa.int64())
        (time,) = values_of(self._plan.time, ticks.cast(self._schema.field(self._plan.time).type))
        return time

    @property
    def sessions(self) -> SessionStore:
        """The visible sessions, to be queried; `TypeError` for sliding windows."""
        if not isinstance(self._plan.windows, SessionWindows):
            raise TypeError("sessions: got a query of sliding windows; allowed: .windows")
        return SessionStore(self._store)

    @property
    def windows(self) -> WindowStore:
        """The visible sliding windows, to be queried; `TypeError` for sessions."""
        if isinstance(self._plan.windows, SessionWindows):
            raise TypeError("windows: got a query of sessions; allowed: .sessions")
        return WindowStore(self._store)

    def snapshot(self) -> list[bytes]:
        """The whole state as pages: Arrow IPC streams, as a checkpoint holds them."""
        return self._operator.pages()

    def changed_pages(self) -> dict[str, bytes | None]:
        """The pages, by name, that differ from the last call, or from what was restored; None where one is no more."""
        return dict(self._operator.changed_pages())

    def restore(self, pages: Iterable[bytes]) -> Self:
        """Goes on from a snapshot, and forgets the state so far, but not where it raises.

        Of what `changed_pages` has given, a state is the last page of each name, without those that are no more.

        Args:
            pages: all pages of one state, in any order.

        Raises:
            TypeError: no pages, or a page that is no bytes.
            ValueError: a page is damaged, missing, of another version or of another query.
        """
        if isinstance(pages, Mapping | str | bytes | bytearray | memoryview) or not isinstance(pages, Iterable):
            hint = "; of the dict that its changes made, the values()" if isinstance(pages, Mapping) else ""
            raise bad_type("pages", pages, f"all pages of a state, as snapshot() gives them{hint}")
        held = list(pages)
        for number, page in enumerate(held):
            if not isinstance(page, bytes | bytearray):
                raise bad_type(f"pages[{number}]", page, "bytes, as snapshot() gives them")
        operator = _worker.operator(self._spec, self._schema, self._folds)
        operator.restore(held)
        self._operator = operator
        self._unread.clear()
        return self

    def _push(self, batch: pa.RecordBatch) -> list[Change]:
        return self._changes(self._operator.push(batch))

    def _changes(self, batches: list[pa.RecordBatch]) -> list[Change]:
        self._unread += [batch for batch in batches if batch.num_rows]
        keys, final = len(self._plan.keys), self._plan.options.emit == "close"
        return [change for batch in batches for change in changes_of(batch, keys, final=final)]

    @property
    def _store(self) -> Store:
        return Store(lambda: self._operator, self._schema, self._plan.keys, self._plan.time)

    @property
    def plan(self) -> Plan:
        """The query that is driven."""
        return self._plan
