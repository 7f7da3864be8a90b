"""Batches of a driver's Arrow data, cut to the lengths that are asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from windrow._arguments.integer import integer


def cut(table: pa.Table, rows: int | Iterable[int] | None) -> Sequence[pa.RecordBatch]:
    """Batches of `rows` rows, or of several lengths, the last one of what is left; None: those of the table.

    Raises:
        TypeError: `rows` that are no whole numbers.
        ValueError: batches of no rows.
    """
    if rows is None:
        return table.to_batches()
    whole = table.combine_chunks()
    lengths: Iterator[int]
    if isinstance(rows, Iterable) and not isinstance(rows, str):
        lengths = map(_length, itertools.chain(rows, [whole.num_rows]))
    else:
        lengths = itertools.repeat(_length(rows))
    batches: list[pa.RecordBatch] = []
    start = 0
    while start < whole.num_rows:
        length = min(next(lengths), whole.num_rows)
        batches.extend(whole.slice(start, length).to_batches())
        start += length
    return batches


_ROWS = "a whole number of rows in a batch, or several"


def _length(rows: Any) -> int:
    return integer("rows", rows, _ROWS, least=1, bounds="one row or more in a batch")
