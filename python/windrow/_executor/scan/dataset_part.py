"""A fragment of a pyarrow dataset, which one task reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow._executor.batches import Batches
from windrow._executor.scan.conversion import converted
from windrow._executor.scan.parquet_part import ROWS


@dataclass(frozen=True)
class DatasetPart:
    """A fragment of a dataset: a file, or a row group of one.

    Attributes:
        fragment: the fragment, with its filesystem.
        schema: the columns of the dataset.
    """

    fragment: Any
    schema: pa.Schema

    def batches(self, columns: pa.Schema) -> Batches:
        """These columns of its rows, in Spark's types. `RuntimeError` names a file that does not have them."""
        try:
            scanner = self.fragment.scanner(
                schema=self.schema, columns=columns.names, use_threads=False, batch_size=ROWS
            )
            for batch in scanner.to_batches():
                arrays = [converted(array, field.type) for array, field in zip(batch.columns, columns, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=columns)
        except (OSError, pa.ArrowException) as error:
            raise RuntimeError(f"{getattr(self.fragment, 'path', self.fragment)}: {error}") from error
