"""A data file of a Delta table, which one task reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow._executor.batches import Batches
from windrow._executor.scan.location import Location
from windrow._executor.scan.parquet_part import ParquetPart, row_groups_of


@dataclass(frozen=True)
class DeltaPart:
    """A data file of a Delta table.

    Attributes:
        uri: where it is.
        size: its bytes, by the log of the table.
        partition: an IPC stream with the values of the partition columns, in one row, by their names in the file.
        names: the name in the file of each column of the table.
        keep: the deletion vector: for each row whether it is still there. Rows after its end are. None for all rows.
    """

    uri: str
    size: int
    partition: bytes | None
    names: Mapping[str, str]
    keep: pa.BooleanArray | None

    def batches(self, columns: pa.Schema) -> Batches:
        """These columns of its rows, in Spark's types. `RuntimeError` names a file that does not have them."""
        location = Location.of(self.uri)
        if location.size != self.size:
            raise RuntimeError(
                f"{self.uri}: the file has {location.size} bytes, and {self.size} by the log of the Delta table"
            )
        groups, _ = row_groups_of(self.uri, None, None)
        numbers = tuple(number for number, _ in groups)
        part = ParquetPart(location, numbers, self.partition, ignore_case=False, is_strict=False)
        first = 0
        for batch in part.batches(pa.schema([field.with_name(self.names[field.name]) for field in columns])):
            rows = pa.RecordBatch.from_arrays(batch.columns, schema=columns)
            if self.keep is not None:
                rows = rows.filter(self._mask(first, batch.num_rows))
            first += batch.num_rows
            yield rows

    def _mask(self, first: int, count: int) -> Any:
        keep: Any = self.keep
        mask = keep.slice(min(first, len(keep)), count)
        rest: Any = pa.repeat(pa.scalar(True), count - len(mask))
        return pa.concat_arrays([mask, rest])
