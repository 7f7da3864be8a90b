"""Feeds the rows to a stream: records of the keys one by one, and other rows as ticks.

The stream time of earlier records judges each record, as in Kafka. A `StreamDriver` does the work. Rows of other keys
become ticks, because they only move time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._aggregates import builtin
from windrow._arguments.column import Names
from windrow._executor.tasks import Source
from windrow._inspection.lengths import Lengths
from windrow._inspection.rows import Rows
from windrow._inspection.trace import Judgement, Window
from windrow._query.grouped import group_by
from windrow._query.grouping import Grouping
from windrow._windows.session import SessionWindows
from windrow._windows.sliding import SlidingWindows
from windrow.testing._change import Change
from windrow.testing._driver import StreamDriver


class Stream:
    """A single run over the rows."""

    def __init__(
        self, rows: Rows, grouped: Grouping[Any], windows: SessionWindows | SlidingWindows, lengths: Lengths
    ) -> None:
        """Takes rows in the order of their arrival."""
        self._rows = rows
        self._grouped = grouped
        self._lengths = lengths
        further = (name for name in (grouped.end, grouped.tie, rows.gaps, rows.ends) if name is not None)
        table = rows.table.select(list(dict.fromkeys([grouped.time, *further, *grouped.stream.source])))
        names = Names(table.column_names)
        self._tick, self._number, self._held = (names.unused(name) for name in ("ticking", "row", "rows"))
        self._key = names.unused("key")
        self._times: dict[Source, int] = {}
        self._windows: list[Window] = []
        self._records = {record.row: record for record in rows.records}
        self.judgements: dict[int, Judgement] = {}

        def definition(data: Any) -> Any:
            stream = grouped.stream
            chosen: dict[str, Any] = {"source": list(stream.source)} if stream.source else {}
            chosen |= {"tick": self._tick, "tie": grouped.tie, "end": grouped.end, "stream_time": stream.stream_time}
            made = group_by(data, self._key, time=grouped.time, **chosen)
            return made.windowed_by(windows).agg(**{self._held: builtin.collect_list(self._number)})

        number = pa.array(range(table.num_rows), pa.int64())
        keys = {record.row: record.key for record in rows.records}
        key = pa.array([keys.get(row) for row in range(table.num_rows)], pa.int64())
        self._table = table.append_column(self._number, number).append_column(self._key, key)
        schema = self._table.schema.append(pa.field(self._tick, pa.bool_()))
        self._driver = StreamDriver(definition, schema)

    def run(self) -> list[Window]:
        """The windows of the keys, each with its records."""
        for row, ticking in self._steps():
            if ticking:
                self._take(row, ticking=True)
                continue
            source, before = self._source(row), dict(self._driver.counters)
            stream_time = self._time(source)
            self._take(row, ticking=False)
            counted = self._driver.counters
            late = counted["late"] > before["late"]
            refused = counted.get("windows_refused", 0) - before.get("windows_refused", 0)
            self.judgements[row] = Judgement(self._time(source), stream_time, late, refused)
        self._closed(self._driver.finish(), None)
        return self._windows

    @property
    def stream_time(self) -> int | None:
        """The final stream time; for several sources, the slowest one's."""
        return min(self._times.values(), default=None)

    def _steps(self) -> Iterator[tuple[int, bool]]:
        """The rows to feed, in order. True marks a row that only moves time."""
        moving = self._moving()
        if self._grouped.stream.source:
            picked = set(self._rows.picked)
            for row, moves in enumerate(moving.to_pylist()):
                if row in picked:
                    yield row, False
                elif moves:
                    yield row, True
            return
        # The latest of the rows between two records moves stream time as far as all of them.
        times = self._rows.table[self._grouped.time].cast(pa.int64())
        moved = pc.if_else(moving, times, pa.scalar(None, pa.int64()))
        begin = 0
        for row in [*self._rows.picked, self._rows.table.num_rows]:
            between = moved.slice(begin, row - begin)
            latest = pc.max(between)
            if latest.is_valid:
                yield begin + pc.index(between, latest).as_py(), True
            if row < self._rows.table.num_rows:
                yield row, False
            begin = row + 1

    def _moving(self) -> Any:
        """Marks rows that move stream time: ticks, and records with a key, a time, a tie, a valid gap and end."""
        table, grouped = self._rows.table, self._grouped
        moving: Any = pc.is_valid(table[grouped.key_columns[0]])
        for key in grouped.key_columns[1:]:
            moving = pc.or_(moving, pc.is_valid(table[key]))
        if self._rows.gaps is not None:
            is_longer: Any = pc.greater if grouped.end is None else pc.greater_equal
            good: Any = is_longer(table[self._rows.gaps].cast(pa.int64()), pa.scalar(0, pa.int64()))
            moving = pc.and_(moving, pc.fill_null(good, False))
        if grouped.end is not None:
            lasts: Any = pc.greater_equal(table[grouped.end], table[grouped.time])
            moving = pc.and_(moving, pc.fill_null(lasts, False))
        if grouped.tie is not None:
            moving = pc.and_(moving, pc.is_valid(table[grouped.tie]))
        if grouped.tick is not None:
            ticking: Any = table[grouped.tick]
            moving = pc.or_(moving, pc.fill_null(ticking, False))
        return pc.and_(moving, pc.is_valid(table[grouped.time]))

    def _take(self, row: int, *, ticking: bool) -> None:
        pushed = self._table.slice(row, 1).append_column(self._tick, pa.array([ticking], pa.bool_()))
        record = self._records.get(row)
        if ticking or (record is not None and record.left_out is None):
            source = self._source(row)
            time: int = self._table[self._grouped.time][row].cast(pa.int64()).as_py()
            of_all = ticking and source and all(value is None for value in source)
            for each in list(self._times) if of_all else [source]:
                self._times[each] = max(self._times.get(each, time), time)
        self._closed(self._driver.pipe_batch(pushed), self._time(self._source(row)))

    def _source(self, row: int) -> Source:
        return tuple(self._table[name][row].as_py() for name in self._grouped.stream.source)

    def _time(self, source: Source) -> int | None:
        """The stream time of a source."""
        if self._grouped.stream.stream_time == "slowest":
            return self.stream_time
        return self._times.get(source)

    def _closed(self, changes: list[Change], time: int | None) -> None:
        for change in changes:
            row_numbers = frozenset(change.values[self._held])
            start, end = (self._ticks(bound) for bound in change.window)
            reach = max((self._records[row].reach for row in row_numbers), default=end)
            key = change.key[self._key]
            self._windows.append(Window(key, start, end, row_numbers, self._lengths.closes(end, reach), time))

    def _ticks(self, time: Any) -> int:
        ticks: int = pa.scalar(time, self._rows.table.schema.field(self._grouped.time).type).cast(pa.int64()).as_py()
        return ticks
