"""Converts Arrow tables to the oracle's records, and checks results against the oracle's windows."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import windrow as wr

from ..oracle.aggregates import answer, taken
from ..oracle.answers import accepts
from ..oracle.records import Record, by_key, canonical
from ..oracle.sessions import GapOf, dynamic_sessions, sessions
from ..oracle.sliding import sliding
from ..scenes import TICK

Window = tuple[Any, int, int]
Rows = dict[Window, dict[str, Any]]


@dataclass(frozen=True)
class Call:
    """One aggregate of a query: the name of a windrow function, and its columns."""

    function: str
    columns: tuple[str, ...] = ()
    ignore_nulls: bool = False
    digits: int = 0
    percentage: float | tuple[float, ...] | None = None
    where: str | None = None
    most: int | None = None
    least: int = 0

    def of(self, rows: Sequence[Record]) -> Any:
        """The oracle's answer over the rows of one window."""
        seen = [row for row in rows if self.where is None or row.values[self.where] is True]
        options = {"ignore_nulls": self.ignore_nulls, "digits": self.digits, "percentage": self.percentage}
        options["most"] = self.most
        if taken(self.function, seen, *self.columns, ignore_nulls=self.ignore_nulls) < self.least:
            return None
        return answer(self.function, seen, *self.columns, **options)

    def build(self, windrow: Any) -> Any:
        """The aggregate in the public API."""
        options: dict[str, Any] = {"ignore_nulls": True} if self.ignore_nulls else {}
        options |= {"percentage": self.percentage} if self.percentage is not None else {}
        most = () if self.most is None else (self.most,)
        aggregate = getattr(windrow, self.function)(*self.columns, *most, **options)
        aggregate = aggregate if self.where is None else aggregate.where(self.where)
        return aggregate.min_samples(self.least) if self.least else aggregate

    def plan(self, name: str) -> dict[str, Any]:
        """The aggregate in the form sent to executors."""
        plan = {"name": name, "function": self.function, "columns": list(self.columns)}
        options = {"ignore_nulls": self.ignore_nulls, "percentage": self.percentage, "where": self.where}
        options["most"] = self.most
        return plan | {option: value for option, value in options.items() if value not in (None, False)}


def arrow(result: Any) -> pa.Table:
    """A result of any library as a table of pyarrow."""
    if isinstance(result, pa.Table):
        return result
    if hasattr(result, "collect_schema"):
        return result.lazy().collect().to_arrow()
    if hasattr(result, "iloc"):
        return pa.Table.from_pandas(result, preserve_index=False)
    return result.to_arrow_table()


def ticks(column: pa.ChunkedArray | pa.Array) -> list[int | None]:
    """Timestamps as whole ticks of their own unit."""
    found: list[int | None] = column.cast(pa.int64()).to_pylist()
    return found


def window_bounds(table: pa.Table) -> list[tuple[int | None, int | None]]:
    """The start and the end of each window, in ticks."""
    windows = table["window"].combine_chunks()
    return list(zip(*(ticks(pc.struct_field(windows, bound)) for bound in ("start", "end")), strict=True))


def records(table: pa.Table, keys: Sequence[str], time: str = "ts") -> list[Record]:
    """The rows of a table as the oracle's records."""
    key_columns = [table[key].to_pylist() for key in keys]
    names = [name for name in table.column_names if name not in (*keys, time)]
    value_columns = [table[name].to_pylist() for name in names]
    return [
        Record(
            tuple(column[row] for column in key_columns),
            at,
            row,
            {name: column[row] for name, column in zip(names, value_columns, strict=True)},
        )
        for row, at in enumerate(ticks(table[time]))
    ]


def rows_of(result: pa.Table, keys: Sequence[str], skip: Iterable[str] = ()) -> Rows:
    """A result's rows by key, start and end. Fails for a repeated window."""
    window = result["window"].combine_chunks()
    starts, ends = ticks(window.field("start")), ticks(window.field("end"))
    names = [name for name in result.column_names if name not in (*keys, "window", *skip)]
    values = {name: result[name].to_pylist() for name in names}
    key_columns = [result[key].to_pylist() for key in keys]
    rows: Rows = {}
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        key = canonical(tuple(column[row] for column in key_columns))
        assert start is not None, f"a window of {key} has no start"
        assert end is not None, f"a window of {key} has no end"
        assert (key, start, end) not in rows, f"window {key, start, end} appears twice"
        rows[key, start, end] = {name: column[row] for name, column in values.items()}
    return rows


Windows = Callable[[list[Record]], list[tuple[int, int, list[Record]]]]


def by_sessions(gap: int) -> Windows:
    """The oracle's sessions of one key, with the gap in ticks."""
    return functools.partial(sessions, gap=gap)


def gap_of(column: str) -> GapOf:
    """The dynamic gap of a record, in microseconds."""

    def gap(record: Record) -> int | None:
        own = record.values[column]
        return None if own is None else own // TICK

    return gap


def by_dynamic_gap(column: str, longest: int) -> Windows:
    """The oracle's sessions of one key with dynamic gaps. Times and gaps are microseconds."""
    return functools.partial(dynamic_sessions, gap_of=gap_of(column), longest=longest)


def by_sliding(difference: int, resolution: int) -> Windows:
    """The oracle's sliding windows of one key, with lengths in ticks."""
    return functools.partial(sliding, difference=difference, resolution=resolution)


KINDS: dict[str, tuple[Any, Windows]] = {
    "session": (wr.SessionWindows.with_gap(5 * TICK), by_sessions(5)),
    "sliding": (wr.SlidingWindows.with_time_difference(12 * TICK, resolution=3 * TICK), by_sliding(12, 3)),
}
"""Both kinds of windows of times in microseconds, as the package and as the oracle take them."""


def assert_answers(got: Rows, expected: Mapping[Any, Any], aggregates: Mapping[str, Call]) -> None:
    """Asserts that the result has exactly the expected windows, with the oracle's values for their records."""
    missing, surplus = expected.keys() - got.keys(), got.keys() - expected.keys()
    assert not missing | surplus, f"missing {missing}, surplus {surplus}"
    for window, rows in expected.items():
        for name, aggregate in aggregates.items():
            wanted, found = aggregate.of(rows), got[window][name]
            assert accepts(wanted, found), f"{name} of {window}: got {found!r}, expected {wanted!r}, rows {rows}"


def assert_windows(
    got: Rows, table: pa.Table, keys: Sequence[str], windows: Windows, aggregates: Mapping[str, Call]
) -> None:
    """Asserts that the result has exactly the oracle's windows and values."""
    expected = {
        (key, start, end): rows
        for key, members in by_key(records(table, keys)).items()
        for start, end, rows in windows(members)
    }
    assert_answers(got, expected, aggregates)


def alike(got: Any, expected: Any) -> bool:
    """Whether two values are equal. Floats, also in lists, may differ by 1e-9."""
    if isinstance(got, list) and isinstance(expected, list):
        return len(got) == len(expected) and all(map(alike, got, expected))
    if isinstance(got, float) and isinstance(expected, float) and math.isfinite(expected):
        return math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-9)
    return type(got) is type(expected) and canonical(got) == canonical(expected)


def assert_same(got: Rows, expected: Rows, unordered: Sequence[str] = ()) -> None:
    """Asserts equal windows and values. Lists named in `unordered` may have any order."""
    missing, surplus = expected.keys() - got.keys(), got.keys() - expected.keys()
    assert not missing | surplus, f"missing {list(missing)[:5]}, surplus {list(surplus)[:5]}"
    for window, values in expected.items():
        for name, value in values.items():
            ours, theirs = got[window][name], value
            if name in unordered:
                ours, theirs = (sorted(found, key=lambda x: repr(canonical(x))) for found in (ours, theirs))
            assert alike(ours, theirs), f"{name} of {window}: got {ours!r}, expected {theirs!r}"


def cut(table: pa.Table, cuts: Iterable[int]) -> list[pa.RecordBatch]:
    """The table as record batches, cut at the given rows. A repeated cut makes an empty batch."""
    edges = [0, *sorted(min(at, table.num_rows) for at in cuts), table.num_rows]
    whole = table.combine_chunks().to_batches()
    batch = whole[0] if whole else pa.RecordBatch.from_pylist([], schema=table.schema)
    return [batch.slice(start, end - start) for start, end in itertools.pairwise(edges)]


def in_batches(table: pa.Table, cuts: Iterable[int]) -> pa.Table:
    """The table in several chunks."""
    return pa.Table.from_batches(cut(table, cuts), table.schema)
