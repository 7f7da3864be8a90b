"""A fragment of a pyarrow dataset, which one task reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow._executor.batches import Batches
from windrow._executor.scan.conversion import converted
from windrow._executor.scan.location import Location
from windrow._executor.scan.parquet_part import ROWS


@dataclass(frozen=True)
class DatasetPart:
    """A fragment of a dataset: a file, or some row groups of one.

    Attributes:
        fragment: the whole file, with its filesystem.
        location: its file as it was planned.
        schema: the columns of the dataset.
        row_groups: the numbers of the row groups of a Parquet file.
    """

    fragment: Any
    location: Location
    schema: pa.Schema
    row_groups: tuple[int, ...] = ()

    @property
    def file(self) -> str:
        """The file. A task joins the parts of one file."""
        return self.location.uri

    def batches(self, columns: pa.Schema) -> Batches:
        """These columns of its rows, in Spark's types. `RuntimeError` names a file that does not have them."""
        self.location.check()
        try:
            fragment = self.fragment.subset(row_group_ids=list(self.row_groups)) if self.row_groups else self.fragment
            scanner = fragment.scanner(schema=self.schema, columns=columns.names, use_threads=False, batch_size=ROWS)
            for batch in scanner.to_batches():
                arrays = [self._converted(*both) for both in zip(batch.columns, columns, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=columns)
        except (OSError, pa.ArrowException) as error:
            raise RuntimeError(f"{self.location.uri}: {error}") from error
        self.location.check()

    def _converted(self, array: Any, field: Any) -> Any:
        try:
            return converted(array, field.type)
        except pa.ArrowException as error:
            fault = f"got {array.type} values that do not fit into {field.type} ({error})"
            raise RuntimeError(f"{self.location.uri}: column {field.name!r}: {fault}") from error
