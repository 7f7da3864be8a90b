"""Some row groups of a Parquet file, which one task reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from windrow._executor.batches import Batches
from windrow._executor.scan.conversion import converted, is_convertible, place_of
from windrow._executor.scan.location import Location, unreadable
from windrow._executor.scan.row_mask import kept

ROWS = 1 << 17
"""Rows of a batch."""

_OPTIONS: Any = ds.ParquetReadOptions
FORMAT = ds.ParquetFileFormat(read_options=_OPTIONS(coerce_int96_timestamp_unit="us"))

_GREGORIAN_DAYS = -141_427
"""1582-10-15, the first day of the Gregorian calendar."""

_GREGORIAN_MICROS = -2_208_988_800_000_000
"""1900-01-01: before it, zones have local mean times that depend on the calendar."""


@dataclass(frozen=True)
class ParquetPart:
    """Some row groups of a Parquet file.

    Attributes:
        location: the file as it was planned.
        row_groups: the numbers of its row groups, in order.
        partition: an IPC stream with the values of the partition columns, in one row.
        ignore_case: whether Spark ignores the case of names.
        is_strict: whether Spark refuses old dates and times of files that do not say their calendar.
        names: the name in the file of each column that has another one there.
        keep: for each row of the file whether it is still there (Delta's deletion vector). Rows after its end are.
    """

    location: Location
    row_groups: tuple[int, ...]
    partition: bytes | None
    ignore_case: bool
    is_strict: bool
    names: Mapping[str, str] | None = None
    keep: pa.BooleanArray | None = None

    @property
    def file(self) -> str:
        """The file. A task joins the parts of one file."""
        return self.location.uri

    def batches(self, columns: pa.Schema) -> Batches:
        """These columns of its rows, in Spark's types. `RuntimeError` names a file that does not have them."""
        uri = self.location.uri
        self.location.check()
        filesystem, path = self.location.opened()
        try:
            fragment: Any = FORMAT.make_fragment(path, filesystem, row_groups=list(self.row_groups))
            constants = self._constants()
            read = {field.name: self._expression(fragment.physical_schema, field, constants) for field in columns}
            scanner = fragment.scanner(columns=read, use_threads=False, batch_size=ROWS)
            is_old = _may_be_old(fragment.metadata, strict=self.is_strict)
            for batch in kept(scanner.to_batches(), self.keep, fragment.metadata, self.row_groups):
                arrays = []
                for array, field in zip(batch.columns, columns, strict=True):
                    arrays.append(converted(array, field.type, ignore_case=self.ignore_case))
                    if is_old and field.name not in constants:
                        _check_calendar(uri, field.name, arrays[-1])
                yield pa.RecordBatch.from_arrays(arrays, schema=columns)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(uri, error) from error
        self.location.check()

    def _constants(self) -> dict[str, Any]:
        if self.partition is None:
            return {}
        row = pa.ipc.open_stream(self.partition).read_next_batch()
        return dict(zip(row.schema.names, row.columns, strict=True))

    def _expression(self, own: pa.Schema, field: Any, constants: dict[str, Any]) -> Any:
        """What to read of the file for a column. `RuntimeError` for a type that Spark's type cannot hold."""
        if field.name in constants:
            return pc.scalar(constants[field.name].cast(field.type)[0])
        name = (self.names or {}).get(field.name, field.name)
        place = place_of(own.names, name, ignore_case=self.ignore_case)
        if place is None:
            return pc.scalar(pa.scalar(None, field.type))
        kind = own.field(place).type
        if not is_convertible(kind, field.type, ignore_case=self.ignore_case):
            fault = f"column {field.name!r} has type {kind} in this file; the files of the scan have {field.type}"
            raise RuntimeError(f"{self.location.uri}: {fault}")
        return pc.field(own.names[place])


def _may_be_old(metadata: Any, *, strict: bool) -> bool:
    """Whether dates and times before 1900 may be of the Julian calendar, so that Spark changes or refuses them."""
    words = metadata.metadata or {}
    version = words.get(b"org.apache.spark.version")
    if version is None:
        return strict
    numbers = tuple(int(part) for part in version.decode().split(".")[:2])
    types = {metadata.schema.column(number).physical_type for number in range(metadata.num_columns)}
    is_legacy = b"org.apache.spark.legacyDateTime" in words or b"org.apache.spark.legacyINT96" in words
    return is_legacy or numbers < ((3, 1) if "INT96" in types else (3, 0))


def _check_calendar(uri: str, name: str, array: Any) -> None:
    for leaf in _leaves(array):
        least = pc.min(leaf.cast(pa.int32() if pa.types.is_date(leaf.type) else pa.int64())).as_py()
        if least is not None and least < (_GREGORIAN_DAYS if pa.types.is_date(leaf.type) else _GREGORIAN_MICROS):
            raise RuntimeError(
                f"{uri}: column {name!r} has dates or times before 1900 that may be in the Julian calendar; Spark "
                "converts them and windrow does not: read the file with spark.read.parquet"
            )


def _leaves(array: Any) -> list[Any]:
    kind = array.type
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is not None):
        return [array]
    if pa.types.is_struct(kind):
        return [leaf for place in range(kind.num_fields) for leaf in _leaves(array.field(place))]
    return _leaves(array.values) if isinstance(kind, pa.ListType | pa.MapType) else []
