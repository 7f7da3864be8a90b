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
        wanted = pa.schema([field.with_name((self.names or {}).get(field.name, field.name)) for field in columns])
        try:
            fragment: Any = FORMAT.make_fragment(path, filesystem, row_groups=list(self.row_groups))
            own, constants = fragment.physical_schema, self._constants()
            places = check_columns(uri, own, wanted, constants, ignore_case=self.ignore_case)
            in_file = {name: own.names[place] for name, place in places.items()}
            names = list(dict.fromkeys(in_file.values()))
            scanner = fragment.scanner(columns=names, use_threads=False, batch_size=ROWS)
            is_old = _may_be_old(fragment.metadata, strict=self.is_strict)
            for batch in kept(scanner.to_batches(), self.keep, fragment.metadata, self.row_groups):
                rows = self._converted(batch, wanted, in_file, constants, is_old)
                yield pa.RecordBatch.from_arrays(rows.columns, schema=columns)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(uri, error) from error
        self.location.check()

    def _constants(self) -> dict[str, Any]:
        if self.partition is None:
            return {}
        row = pa.ipc.open_stream(self.partition).read_next_batch()
        return dict(zip(row.schema.names, row.columns, strict=True))

    def _converted(
        self, batch: pa.RecordBatch, columns: pa.Schema, names: dict[str, str], constants: dict[str, Any], is_old: bool
    ) -> pa.RecordBatch:
        arrays: list[Any] = []
        for field in columns:
            if field.name in constants:
                value = constants[field.name].cast(field.type)[0]
                arrays.append(
                    pa.repeat(value, batch.num_rows) if value.is_valid else pa.nulls(batch.num_rows, field.type)
                )
            elif field.name in names:
                array = converted(batch.column(names[field.name]), field.type, ignore_case=self.ignore_case)
                if is_old:
                    _check_calendar(self.location.uri, field.name, array)
                arrays.append(array)
            else:
                arrays.append(pa.nulls(batch.num_rows, field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=columns)


def check_columns(uri: str, own: pa.Schema, columns: pa.Schema, constants: Any, *, ignore_case: bool) -> dict[str, int]:
    """The positions in a file of the columns that it has. `RuntimeError` for one whose type Spark's cannot hold."""
    places = {}
    for field in columns:
        place = None if field.name in constants else place_of(own.names, field.name, ignore_case=ignore_case)
        if place is None:
            continue
        kind = own.field(place).type
        if not is_convertible(kind, field.type, ignore_case=ignore_case):
            raise RuntimeError(
                f"{uri}: column {field.name!r} has type {kind} in this file; the files of the scan have {field.type}"
            )
        places[field.name] = place
    return places


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
