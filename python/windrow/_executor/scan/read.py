"""The steps that read files: as rows for Spark, or straight into a packer."""

from __future__ import annotations

import pickle
from typing import Any, Protocol

import pyarrow as pa

from windrow._executor.batch import pack, pack_rows
from windrow._executor.batches import Batches, read_schema
from windrow._executor.scan.filter import filtered, read_filter


class Part(Protocol):
    """What one task reads at a time: some row groups of a file, or all of a file that has none."""

    @property
    def row_groups(self) -> tuple[int, ...]:
        """The numbers of the row groups."""

    @property
    def file(self) -> str:
        """The file. A task joins the parts of one file."""

    def batches(self, columns: pa.Schema) -> Batches:
        """These columns of the rows."""


ScanTasks = tuple[tuple[bytes, ...], bytes, tuple[str, ...], bytes | None]
"""What a scan reads, as plain data: the pickled parts of each task; the serialized columns to read, with those of the
filter; the names of the columns that the scan gives; the pickled filter."""


def read(batches: Batches, scan: ScanTasks) -> Batches:
    """The rows of the tasks whose numbers the batches hold."""
    tasks, serialized, names, pickled = scan
    columns, condition = read_schema(serialized), read_filter(pickled)
    for batch in batches:
        for number in batch.column(0):
            parts: list[Part] = pickle.loads(tasks[int(number.as_py())])
            for part in parts:
                for rows in part.batches(columns):
                    kept = rows if condition is None else filtered(rows, condition)
                    if kept.num_rows:
                        yield kept.select(list(names))


def read_and_pack(batches: Batches, scan: ScanTasks, step: str, *query: Any) -> Batches:
    """As `pack` or `pack_rows`, for the rows of a scan."""
    return {"pack": pack, "pack_rows": pack_rows}[step](read(batches, scan), *query)
