"""Python functions over sliding windows: windrow in-process compared with the same folds in loops of plain Python, over
windows that these find by themselves; in one process, by turns, answers compared.

    python benches/python/functions.py                            1,000,000 events, ten in a window
    python benches/python/functions.py --events 100000 --records 2 --repeats 1 --fold dict

Prints medians of processor time and how many times as fast windrow is, and how often it calls the function: once for
each pair of a record and a record at which windows begin that hold it. Exit 1 when two answers differ.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import events
import pyarrow as pa
import pyarrow.compute as pc

import windrow as wr


class Row(NamedTuple):
    """What the loops of plain Python pass to a function."""

    amount: float
    cents: int
    user: str


class Fold(NamedTuple):
    """An aggregate: what makes an accumulator, what adds a row to it, its type, its columns."""

    init: Callable[[], Any]
    add: Callable[[Any, Any], Any]
    schema: str
    columns: list[str]


def counted(held: dict[str, int], row: Any) -> dict[str, int]:
    """Changes what it gets."""
    held["n"] += 1
    held["cents"] += row.cents
    return held


def listed(held: list[int], row: Any) -> list[int]:
    """The same."""
    held.append(row.cents)
    return held


FOLDS = {
    "int": Fold(int, lambda held, row: held + row.cents, "bigint", ["cents"]),
    "float": Fold(float, lambda held, row: held + row.amount, "double", ["amount"]),
    "string": Fold(str, lambda held, row: max(held, row.user), "string", ["user"]),
    "dict": Fold(lambda: {"n": 0, "cents": 0}, counted, "n bigint, cents bigint", ["cents"]),
    "list": Fold(list, listed, "array<bigint>", ["cents"]),
}


def sliding(times: list[int], difference: int) -> Iterator[tuple[int, int, int]]:
    """Start of each window, and its rows: the two windows of each of ascending times since 1970."""
    lefts = {max(0, end - difference) for end in times}
    rights = {at + 1 for at, later in itertools.pairwise(times) if at < later <= at + 1 + difference}
    first = last = 0
    for start in sorted(lefts | rights):
        while times[first] < start:
            first += 1
        while last < len(times) and times[last] <= start + difference:
            last += 1
        yield start, first, last


def plain_python(table: pa.Table, fold: Fold, difference: int) -> Iterator[tuple[str, int, int, Any]]:
    """Key, start, records and accumulator of each window; and nothing is shared."""
    of_user: dict[str, list[tuple[int, Row]]] = {}
    columns = [table[name].to_pylist() for name in Row._fields]
    for ts, *values in zip(table["ts"].cast(pa.int64()).to_pylist(), *columns, strict=True):
        of_user.setdefault(values[2], []).append((ts, Row(*values)))
    for user, members in of_user.items():
        members.sort(key=lambda member: member[0])
        rows = [row for _, row in members]
        for start, first, last in sliding([ts for ts, _ in members], difference):
            held = fold.init()
            for row in rows[first:last]:
                held = fold.add(held, row)
            yield user, start, last - first, held


def windrow(table: pa.Table, fold: Fold, difference: int) -> pa.Table:
    """The same by windrow."""
    windows = wr.SlidingWindows.with_time_difference(datetime.timedelta(microseconds=difference))
    folded = wr.aggregate(fold.init, fold.add, schema=fold.schema, columns=fold.columns)
    return wr.group_by(table, "user", time="ts").windowed_by(windows).agg(x=folded)


def same(table: pa.Table, windows: list[tuple[str, int, int, Any]]) -> bool:
    """Whether two answers are equal, window by window."""
    starts = pc.struct_field(table["window"], "start").cast(pa.int64()).to_pylist()
    ours = dict(zip(zip(table["user"].to_pylist(), starts, strict=True), table["x"].to_pylist(), strict=True))
    return ours == {(user, start): held for user, start, _, held in windows}


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor time, and what was made."""
    begin = time.process_time()
    made = work()
    return time.process_time() - begin, made


def main() -> int:
    """Each fold by windrow and by plain Python."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--records", type=float, default=10, help="in a window, on average")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fold", choices=FOLDS, action="append")
    args = parser.parse_args()
    table = events.table(args.events, "shuffled", "string")
    table = table.append_column("cents", pc.round(pc.multiply(table["amount"], 100)).cast(pa.int64()))
    difference = round((args.records - 1) * events.MEAN_DISTANCE)
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, medians of {args.repeats}")
    agree = True
    for name in args.fold or FOLDS:
        fold, calls = FOLDS[name], 0

        def counting(held: Any, row: Any, add: Callable[[Any, Any], Any] = fold.add) -> Any:
            nonlocal calls
            calls += 1
            return add(held, row)

        windrow(table, fold._replace(add=counting), difference)
        found: dict[str, list[float]] = {"windrow": [], "plain Python": []}
        for _ in range(args.repeats):
            spent, ours = seconds(lambda fold=fold: windrow(table, fold, difference))
            found["windrow"].append(spent)
            spent, windows = seconds(lambda fold=fold: list(plain_python(table, fold, difference)))
            found["plain Python"].append(spent)
        equal = same(ours, windows)
        agree = agree and equal
        held = sum(records for _, _, records, _ in windows)
        ours_s, plain_s = (statistics.median(spent) for spent in found.values())
        print(
            f"{name:<8}{args.events:,} events, {len(windows):,} windows of {held / len(windows):.1f} records: "
            f"windrow {ours_s:.2f} s, {calls / 1e6:.1f} M calls; "
            f"plain Python {plain_s:.2f} s, {held / 1e6:.1f} M calls: "
            f"{plain_s / ours_s:.1f} times as fast{'' if equal else '  DIFFERS'}",
            flush=True,
        )
    print("all answers agree" if agree else "ANSWERS DIFFER")
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
