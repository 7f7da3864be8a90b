"""Packed blocks that wait for the merge: a few in memory, more in a temporary file."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

if TYPE_CHECKING:
    from windrow._native import Packer

_IN_MEMORY = 16 << 20
"""Above this many bytes, blocks go to a file."""

_TOGETHER = 128
"""Blocks per batch. A block has about 16 KiB."""

_FIELDS: list[pa.Field[Any]] = [
    pa.field("shard", pa.int32()),
    pa.field("first", pa.int64()),
    pa.field("block", pa.binary()),
]
_SCHEMA = pa.schema(_FIELDS)


class Blocks:
    """Rows of (shard, first time, block) from a packer.

    The file is unnamed, in `tempfile.gettempdir()`, and disappears with this object.
    """

    def __init__(self) -> None:
        """No blocks yet."""
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  closed by `close`
        self._shards, self._firsts = array("i"), array("q")
        self._ends = array("q", [0])

    @classmethod
    def of(cls, packer: Packer, batches: Iterable[pa.RecordBatch]) -> Self:
        """Packs all these rows. Raises `OSError` if the disk is full."""
        blocks = cls()
        try:
            for batch in batches:
                for packed in packer.push(batch):
                    blocks._add(packed)
            for packed in packer.finish():
                blocks._add(packed)
        except BaseException:
            blocks.close()
            raise
        return blocks

    def _add(self, packed: pa.RecordBatch) -> None:
        end = self._ends[-1]
        for shard, first, block in zip(*(packed.column(name) for name in _SCHEMA.names), strict=True):
            buffer = block.as_buffer()
            self._file.write(buffer)
            end += buffer.size
            self._shards.append(shard.as_py())
            self._firsts.append(first.as_py())
            self._ends.append(end)

    def __len__(self) -> int:
        """The number of blocks."""
        return len(self._shards)

    def in_order(self) -> Iterator[pa.RecordBatch]:
        """All blocks in batches, ordered by shard and first time."""
        order = sorted(range(len(self)), key=lambda number: (self._shards[number], self._firsts[number]))
        for start in range(0, len(order), _TOGETHER):
            numbers = order[start : start + _TOGETHER]
            shards = pa.array([self._shards[number] for number in numbers], pa.int32())
            firsts = pa.array([self._firsts[number] for number in numbers], pa.int64())
            blocks = pa.array([self._read(number) for number in numbers], pa.binary())
            yield pa.RecordBatch.from_arrays([shards, firsts, blocks], schema=_SCHEMA)

    def close(self) -> None:
        """Frees the memory and the file."""
        self._file.close()

    def _read(self, number: int) -> bytes:
        start, end = self._ends[number], self._ends[number + 1]
        self._file.seek(start)
        return self._file.read(end - start)
