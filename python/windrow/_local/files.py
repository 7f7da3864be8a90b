"""Parquet files of this machine, by their path: a file, a folder or a pattern. Arrow's threads read ahead of the core.

The columns and the order of rows are those of `pyarrow.parquet.read_table`. The footers of all files are read when the
data is named; each query then reads the columns that it needs.
"""

from __future__ import annotations

import glob
import os
import re
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from windrow._arguments.errors import bad_value
from windrow._arguments.expression import FIELD, ColumnExpression, Reference
from windrow._local.columns import SAMPLE, Columns, without_metadata
from windrow._local.counters import described
from windrow._local.results import Kinds, pyarrow_table
from windrow._plan.casts import Casts

_ROWS = 1 << 17
"""Rows of a batch. With fewer, the threads of Arrow and of the core wait for each other."""

_AHEAD = 4
"""Batches that Arrow reads ahead."""

_URI = re.compile(r"[A-Za-z][\w+.-]+:/")
_REMOTE = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")
"""The file systems of pyarrow that are elsewhere."""

_FORMATS = {".csv": "csv", ".jsonl": "json", ".ndjson": "json", ".arrow": "ipc", ".feather": "feather", ".orc": "orc"}
"""The other formats that pyarrow reads, by the ends of names."""

_ALLOWED = "the path of a Parquet file, of a folder of them, or a pattern such as 'days/*.parquet', on this machine"


class FileColumns(Columns):
    """The columns of Parquet files. A query fails if a file has changed since they were opened."""

    kind = "Parquet files"

    def __init__(self, path: str, argument: str) -> None:
        """Reads the footers. `ValueError` names the path or the file that is no Parquet."""
        self._path, self._argument = path, argument
        self._dataset = _opened(path, argument)
        self._versions: dict[str, object] = {}
        self._others: dict[str, str] = {}  # columns that not all files have in one type, and why
        self._nullable: set[str] = set()
        self._rows = 0
        own: list[pa.Field[Any]] | None = None  # without the columns that the names of folders hold
        for file in self._dataset.files:
            try:
                self._versions[file] = _version(file)
                # A fragment of the dataset would give the dataset's schema.
                fragment = self._dataset.format.make_fragment(file, self._dataset.filesystem)
                schema, metadata = fragment.physical_schema, fragment.metadata
            except (OSError, pa.ArrowException) as error:
                raise bad_value(argument, file, f"{_ALLOWED} ({_reason(error)})") from error
            self._rows += metadata.num_rows
            own = [field for field in self._dataset.schema if field.name in schema.names] if own is None else own
            of_folders = set(self.names).difference(field.name for field in own)
            if both := sorted(of_folders.intersection(schema.names)):
                allowed = f"folders whose values are no columns of their files; this file has a column {both[0]!r} too"
                raise bad_value(argument, file, allowed)
            self._compare(file, schema, own)

    @property
    def names(self) -> Sequence[str]:
        names: list[str] = self._dataset.schema.names
        return names

    @property
    def rows(self) -> int | None:
        return self._rows

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        schema = without_metadata(self._dataset.schema, positions)
        for name in schema.names:
            if name in self._others:
                allowed = f"files that all have the columns of the query, in one type; {self._others[name]}"
                raise bad_value(self._argument, self._path, allowed)
        # Each file declares for itself whether a column has nulls.
        return pa.schema([field.with_nullable(field.nullable or field.name in self._nullable) for field in schema])

    def stream(self, positions: Sequence[int]) -> Any:
        schema = self.schema(positions)
        self._check()
        return pa.RecordBatchReader.from_batches(schema, self._remembered(self._batches(schema)))

    def written(self, column: Reference) -> tuple[str, Casts]:
        return super().written(ColumnExpression(FIELD, (column,)) if isinstance(column, str) else column)

    def sample(self, position: int) -> list[Any]:
        name = self.names[position]
        values = self._dataset.head(SAMPLE, columns=[name], batch_size=SAMPLE)[name]
        return [value for value in values.to_pylist() if value is not None]

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        return described(pyarrow_table(rows, kinds), counted, self._dataset.schema, kinds)

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        try:
            columns = schema.names
            scanner = self._dataset.scanner(columns=columns, batch_size=_ROWS, batch_readahead=_AHEAD)
            for batch in scanner.to_reader():
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
        except (OSError, pa.ArrowException) as error:
            self._check()
            raise self._unreadable(schema.names, error) from error
        self._check()

    def _compare(self, file: str, schema: pa.Schema, own: Sequence[pa.Field[Any]]) -> None:
        """Notes the columns that a file lacks, or has in another type."""
        for field in own:
            places = schema.get_all_field_indices(field.name)
            if not places:
                self._others.setdefault(field.name, f"{file!r} has no column {field.name!r}")
                continue
            other = schema.field(places[0])
            if other.nullable:
                self._nullable.add(field.name)
            if other.type != field.type:
                said = f"{file!r} has column {field.name!r} in {other.type}, other files have {field.type}"
                self._others.setdefault(field.name, said)

    def _check(self) -> None:
        """Raises `RuntimeError` if a file has been removed or written since it was opened."""
        for file, version in self._versions.items():
            try:
                now = _version(file)
            except OSError as error:
                raise RuntimeError(f"{self._argument}: {file!r} cannot be read any more ({error.strerror})") from error
            if now != version:
                again = "call group_by again, or read files that do not change"
                raise RuntimeError(f"{self._argument}: {file!r} has changed since its columns were read; {again}")

    def _unreadable(self, names: Sequence[str], error: Exception) -> RuntimeError:
        """The error of the file that cannot be read; a scanner does not say which."""
        for fragment in self._dataset.get_fragments():
            try:
                for _ in fragment.scanner(schema=self._dataset.schema, columns=list(names)).to_reader():
                    pass
            except (OSError, pa.ArrowException) as own:
                return RuntimeError(f"{self._argument}: {fragment.path!r} cannot be read ({_reason(own)})")
        return RuntimeError(f"{self._argument}: {self._path!r} cannot be read ({_reason(error)})")


def _opened(path: str, argument: str) -> Any:
    """The files of a path, as `pyarrow.parquet.read_table` finds them."""
    files: Any = os.path.abspath(path)  # a later query may run in another folder
    base = None
    if not path or not os.path.exists(path):
        if _URI.match(path):
            raise bad_value(argument, path, f"{_ALLOWED}{_of_uri(path)}")
        if not glob.has_magic(path):
            raise bad_value(argument, path, f"{_ALLOWED}, or spark.table(...); there is no such file or folder")
        base = files
        while glob.has_magic(base):
            base = os.path.dirname(base)
        found = glob.glob(files, recursive=True)
        files = sorted(file for file in found if os.path.isfile(file) and not _is_hidden(os.path.relpath(file, base)))
        if not files:
            folders = ", only folders do; add /*.parquet" if any(map(os.path.isdir, found)) else ""
            raise bad_value(argument, path, f"{_ALLOWED}; no file matches this pattern{folders}")
    try:
        is_file = base is None and os.path.isfile(path)
        partitioning: Any = None if is_file else ds.HivePartitioning.discover(infer_dictionary=True)
        dataset = ds.dataset(files, format="parquet", partitioning=partitioning, partition_base_dir=base)
    except (OSError, pa.ArrowException) as error:
        form = _FORMATS.get(os.path.splitext(path)[1].lower())
        allowed = f"{_ALLOWED}, in which no two columns have one name, and no column has that of a folder"
        if form is not None:
            allowed = f"{_ALLOWED}; or pyarrow.dataset.dataset({path!r}, format={form!r}).scanner().to_reader()"
        raise bad_value(argument, path, f"{allowed} ({_reason(error)})") from error
    if not dataset.files:
        raise bad_value(argument, path, f"{_ALLOWED}; the folder has no files whose names begin without _ or .")
    return dataset


def _of_uri(uri: str) -> str:
    """How to read what a URI names; it may have characters that no URI has, such as blanks."""
    scheme, _, rest = uri.partition(":")
    scheme = {"s3a": "s3", "s3n": "s3"}.get(scheme.lower(), scheme.lower())
    if scheme == "file":
        local = re.sub("^//[^/]*", "", rest)
        there = [path for path in (local, urllib.parse.unquote(local)) if os.path.exists(path)]
        return f": {there[0]!r}" if there else "; there is no such file or folder"
    if scheme not in _REMOTE:
        return f"; pyarrow reads no {scheme!r}, so download the files first"
    written = f"{scheme}:{urllib.parse.quote(rest, safe='/:?=&%@+,')}"
    return f"; or pyarrow.dataset.dataset({written!r}).scanner().to_reader(), which one query reads"


def _is_hidden(file: str) -> bool:
    """Whether pyarrow would not read this file as part of its folder, such as `_SUCCESS` and `.part-0.crc`."""
    return any(part.startswith(("_", ".")) for part in file.split(os.sep))


def _version(file: str) -> object:
    found = os.stat(file)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _reason(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
