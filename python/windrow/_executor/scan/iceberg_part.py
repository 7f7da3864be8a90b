"""A data file of an Iceberg table, which PyIceberg reads inside of a task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow._executor.batches import Batches
from windrow._executor.scan.conversion import converted


@dataclass(frozen=True)
class IcebergPart:
    """A data file of an Iceberg table, with its deletes by position.

    Attributes:
        metadata: PyIceberg's metadata of the table.
        io: PyIceberg's access to files.
        projection: the columns of the scan, in PyIceberg's schema.
        condition: PyIceberg's expression that rows meet.
        is_case_sensitive: whether the condition distinguishes names by case.
        task: PyIceberg's `FileScanTask`.
    """

    metadata: Any
    io: Any
    projection: Any
    condition: Any
    is_case_sensitive: bool
    task: Any

    def batches(self, columns: pa.Schema) -> Batches:
        """These columns of its rows, in Spark's types. `RuntimeError` names a file that does not have them."""
        from pyiceberg.io.pyarrow import ArrowScan

        projection = self.projection.select(*columns.names)
        try:
            scan = ArrowScan(self.metadata, self.io, projection, self.condition, self.is_case_sensitive)
            for batch in scan.to_record_batches([self.task]):
                arrays = [converted(batch.column(field.name), field.type) for field in columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=columns)
        except (OSError, pa.ArrowException, ValueError) as error:
            raise RuntimeError(f"{self.task.file.file_path}: {error}") from error
