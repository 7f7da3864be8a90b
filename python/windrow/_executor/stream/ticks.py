"""The sources of rows, and the ticks that move their times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import pyarrow as pa

from windrow._executor.stream.control import Control
from windrow._executor.stream.query import StreamQuery
from windrow._executor.tasks import Source

Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)

_ROW = "windrow.row"


def observe_ticks(query: StreamQuery, ticks: pa.RecordBatch | pa.Table, control: Control) -> None:
    """Moves time by ticks. A tick without a source moves all sources, a tick without an input all inputs."""
    count, input, order = ticks.num_rows, query.spec.input, query.shipment["order"]
    times = ticks.column(query.spec.time).cast(pa.int64()).to_pylist()
    numbers = [0] * count if input is None else ticks.column(input).to_pylist()
    orders = [None] * count if order is None else ticks.column(order).to_pylist()
    sources = _values(ticks, query.shipment["source"])
    for source, number, time, order in zip(sources, numbers, times, orders, strict=True):
        if time is None:
            control.count([("bad_ticks", 1)])
            continue
        control.count([("ticks", 1)])
        for each in range(query.spec.input_count) if number is None else [number]:
            if source and all(value is None for value in source):
                control.observe_all(each, time, order)
            else:
                control.observe(source, each, time)


def by_source(rows: Rows, columns: tuple[str, ...]) -> Iterator[tuple[Source, Rows]]:
    """The rows of each source, in their order."""
    if not columns:
        yield (), rows
        return
    numbers = pa.array(range(rows.num_rows), pa.int64())
    numbered = pa.table([*(rows.column(name) for name in columns), numbers], names=[*columns, _ROW])
    grouped = numbered.group_by(list(columns), use_threads=False).aggregate([(_ROW, "list")])
    for source, rows_of_source in zip(_values(grouped, columns), grouped[f"{_ROW}_list"], strict=True):
        yield source, rows if len(rows_of_source) == rows.num_rows else rows.take(rows_of_source.values)


def _values(rows: pa.RecordBatch | pa.Table, columns: tuple[str, ...]) -> list[Source]:
    if not columns:
        return [()] * rows.num_rows
    return list(zip(*(rows.column(column).to_pylist() for column in columns), strict=True))
