"""Some row groups of a data file of an Iceberg table, which one task reads with PyIceberg's rules for schemas."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from windrow._executor.batches import Batches
from windrow._executor.scan.conversion import converted
from windrow._executor.scan.filter import filtered, row_groups_in
from windrow._executor.scan.parquet_part import FORMAT, ROWS
from windrow._executor.scan.row_mask import kept, mask_without


class IcebergTable(NamedTuple):
    """What the parts of a table share.

    Attributes:
        metadata: PyIceberg's metadata of the table.
        io: PyIceberg's access to files.
        projection: the columns of the scan, in PyIceberg's schema.
        condition: PyIceberg's expression that rows meet.
        is_case_sensitive: whether the condition distinguishes names by case.
    """

    metadata: Any
    io: Any
    projection: Any
    condition: Any
    is_case_sensitive: bool


@dataclass(frozen=True)
class IcebergPart:
    """Some row groups of a Parquet file of an Iceberg table, without the rows that the table has deleted.

    Attributes:
        table: what all parts share.
        task: PyIceberg's `FileScanTask`.
        row_groups: the numbers of the row groups, in order.
    """

    table: IcebergTable
    task: Any
    row_groups: tuple[int, ...] = ()

    @property
    def file(self) -> str:
        """The file. A task joins the parts of one file."""
        return str(self.task.file.file_path)

    def planned(self) -> list[tuple[int, int]]:
        """The number and bytes of each row group that may meet the condition."""
        with self._opened() as file:
            fragment = FORMAT.make_fragment(file)
            _, _, condition = self._columns(fragment.physical_schema, self.table.projection)
            groups = [group for part in row_groups_in(fragment, condition) for group in part.row_groups]
            return [(group.id, group.total_byte_size) for group in groups]

    def batches(self, columns: pa.Schema) -> Batches:
        """These columns of its rows, in Spark's types. `RuntimeError` names a file that does not have them."""
        from pyiceberg.io.pyarrow import _to_requested_schema

        projection = self.table.projection.select(*columns.names)
        with self._opened() as file:
            fragment: Any = FORMAT.make_fragment(file, row_groups=list(self.row_groups))
            in_file, missing, condition = self._columns(fragment.physical_schema, projection)
            names = [column.name for column in in_file.columns]
            scanner = fragment.scanner(columns=names, use_threads=False, batch_size=ROWS)
            keep = self._keep(fragment.metadata.num_rows)
            for batch in kept(scanner.to_batches(), keep, fragment.metadata, self.row_groups):
                rows = batch if condition is None else filtered(batch, condition)
                rows = _to_requested_schema(
                    projection,
                    in_file,
                    rows,
                    downcast_ns_timestamp_to_us=self._is_microseconds,
                    projected_missing_fields=missing,
                    allow_timestamp_tz_mismatch=True,
                )
                arrays = [converted(rows.column(field.name), field.type) for field in columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=columns)

    @property
    def _is_microseconds(self) -> bool:
        """Whether nanoseconds in files are read as microseconds, as in tables before format version 3."""
        return bool(self.table.metadata.format_version < 3)

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """The file, as an input of Arrow. `RuntimeError` if it is not as the table says, or cannot be read."""
        from pyiceberg.exceptions import ResolveError
        from pyiceberg.io.pyarrow import UnsupportedPyArrowTypeException

        refused = (OSError, pa.ArrowException, TypeError, ValueError, NotImplementedError)
        try:
            source = self.table.io.new_input(self.file)
            self._check(len(source))
            with source.open() as file:
                yield file
            self._check(len(self.table.io.new_input(self.file)))
        except (*refused, ResolveError, UnsupportedPyArrowTypeException) as error:
            raise RuntimeError(f"{self.file}: {error}") from error

    def _check(self, size: int) -> None:
        recorded = self.task.file.file_size_in_bytes
        if size != recorded:
            raise RuntimeError(
                f"{self.file}: the file has {size} bytes, but the metadata of the Iceberg table says {recorded}"
            )

    def _columns(self, own: pa.Schema, projection: Any) -> tuple[Any, dict[int, Any], Any]:
        """What to read of a file.

        Returns:
            The columns to read, in PyIceberg's schema; the values of columns that are only in the partition; and the
            condition over the columns of the file, None if all rows meet it.
        """
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.expressions.visitors import bind, extract_field_ids, translate_column_names
        from pyiceberg.io.pyarrow import _get_column_projection_values, expression_to_pyarrow, pyarrow_to_schema
        from pyiceberg.schema import prune_columns
        from pyiceberg.types import ListType, MapType

        metadata, is_case_sensitive = self.table.metadata, self.table.is_case_sensitive
        in_file = pyarrow_to_schema(
            own,
            metadata.name_mapping(),
            downcast_ns_timestamp_to_us=self._is_microseconds,
            format_version=metadata.format_version,
        )
        spec = metadata.specs().get(self.task.file.spec_id)
        missing = _get_column_projection_values(self.task.file, projection, metadata.schema(), spec, in_file.field_ids)
        bound = bind(metadata.schema(), self.table.condition, case_sensitive=is_case_sensitive)
        leaves = {id for id in projection.field_ids if not isinstance(projection.find_type(id), ListType | MapType)}
        needed = prune_columns(in_file, leaves | extract_field_ids(bound), select_full_types=False)
        if bound == AlwaysTrue():
            return needed, missing, None
        translated = translate_column_names(bound, in_file, is_case_sensitive, missing)
        of_file = bind(in_file, translated, case_sensitive=is_case_sensitive)
        return needed, missing, expression_to_pyarrow(of_file, in_file)

    def _keep(self, size: int) -> Any:
        """Whether the table still has each row of the file; None if it has all."""
        from pyiceberg.io.pyarrow import _read_deletes

        if not self.task.delete_files:
            return None
        deletes = (_read_deletes(self.table.io, file).get(self.file) for file in self.task.delete_files)
        numbers: Any = (number for positions in deletes if positions is not None for number in positions.to_pylist())
        return mask_without(numbers, size)
