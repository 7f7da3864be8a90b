"""Packed rows that wait for the rows before them: a few blocks in memory, more in a temporary file."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from windrow._executor.batches import Batches

if TYPE_CHECKING:
    from windrow._native import Packer

_IN_MEMORY = 16 << 20
"""Above this many bytes, blocks go to a file."""

_TOGETHER = 128
"""Blocks per batch. A block has about 16 KiB."""

ORDER = ("shard", "first")
"""The columns by which the merge wants its rows in order."""


def pushed(packer: Packer, batches: Iterable[pa.RecordBatch]) -> Batches:
    """The rows of (shard, first time, block) that a packer makes of all these records."""
    for batch in batches:
        yield from packer.push(batch)
    yield from packer.finish()


def in_order(rows: Batches, order: Sequence[str]) -> Batches:
    """Packed rows, ordered by these columns. Waits for the last row."""
    blocks = Blocks.of(rows, order)
    try:
        yield from blocks.in_order()
    finally:
        blocks.close()


class Blocks:
    """Packed rows: columns of integers, and columns of blocks, which may be null.

    The file is unnamed, in `tempfile.gettempdir()`, and disappears with this object.
    """

    def __init__(self, order: Sequence[str]) -> None:
        """No rows yet."""
        self._order = order
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  closed by `close`
        self._written, self._count = 0, 0
        self._schema = pa.schema([])
        self._numbers: dict[str, array[int]] = {}
        self._spans: dict[str, array[int]] = {}

    @classmethod
    def of(cls, rows: Batches, order: Sequence[str] = ORDER) -> Self:
        """Keeps all these rows. Raises `OSError` if the disk is full."""
        blocks = cls(order)
        try:
            for batch in rows:
                blocks._add(batch)
        except BaseException:
            blocks.close()
            raise
        return blocks

    def _add(self, batch: pa.RecordBatch) -> None:
        if not self._count:
            self._schema = batch.schema
            self._numbers = {each.name: array("q") for each in batch.schema if pa.types.is_integer(each.type)}
            self._spans = {name: array("q") for name in batch.schema.names if name not in self._numbers}
        for name, numbers in self._numbers.items():
            values: list[Any] = batch.column(name).to_pylist()
            numbers.extend(values)
        for name, spans in self._spans.items():
            for block in batch.column(name):
                buffer: Any = block.as_buffer()
                start = self._written
                if buffer is not None:
                    self._file.write(buffer)
                    self._written += buffer.size
                spans.extend((start, -1 if buffer is None else self._written))
        self._count += batch.num_rows

    def __len__(self) -> int:
        """The number of rows."""
        return self._count

    def in_order(self) -> Iterator[pa.RecordBatch]:
        """All rows in batches, in order."""
        by = [self._numbers[name] for name in self._order] if self._count else []
        order = sorted(range(self._count), key=lambda row: [numbers[row] for numbers in by])
        for start in range(0, len(order), _TOGETHER):
            rows = order[start : start + _TOGETHER]
            values: dict[str, list[Any]] = {
                name: [numbers[row] for row in rows] for name, numbers in self._numbers.items()
            }
            values |= {name: [self._read(spans, row) for row in rows] for name, spans in self._spans.items()}
            yield pa.RecordBatch.from_arrays(
                [pa.array(values[each.name], each.type) for each in self._schema], schema=self._schema
            )

    def close(self) -> None:
        """Frees the memory and the file."""
        self._file.close()

    def _read(self, spans: array[int], row: int) -> bytes | None:
        start, end = spans[2 * row], spans[2 * row + 1]
        if end < 0:
            return None
        self._file.seek(start)
        return self._file.read(end - start)
