"""Frames of other libraries that give an Arrow stream: a new one for each query, or one that can be read once."""

from __future__ import annotations

import importlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakSet

import pyarrow as pa

from windrow._arguments.errors import bad_type, class_of
from windrow._executor.batches import stream_reader
from windrow._local.columns import Columns, without_metadata
from windrow._local.pandas_types import pandas_frame
from windrow._local.results import Kinds, pyarrow_table
from windrow._plan.input import libraries_of

_spent: WeakSet[pa.RecordBatchReader] = WeakSet()

_NEW = "allowed: a table, or a new stream"


def is_read_once(data: object) -> bool:
    """Whether an object with `__arrow_c_stream__` is a stream itself, which a second reader would find empty.

    Asks its class, because a frame may give a column for any attribute.
    """
    return any(hasattr(type(data), name) for name in ("__next__", "read_next_batch"))


def opened(data: Any, argument: str) -> pa.RecordBatchReader:
    """The stream of an object with `__arrow_c_stream__`. Raises an error that names the object if it gives none."""
    try:
        return stream_reader(data)
    except pa.ArrowInvalid as error:
        raise bad_type(argument, data, f"data of columns with names ({error})") from error
    except (OSError, RuntimeError) as error:
        raise ValueError(f"{argument}: got {class_of(data)}, which gives no Arrow stream ({error}); {_NEW}") from error


def batch_of(data: Any, argument: str) -> pa.RecordBatch:
    """The rows of an object with `__arrow_c_array__`: a record batch, or an array of structs without nulls."""
    try:
        return pa.record_batch(data)
    except (pa.ArrowInvalid, TypeError, ValueError) as error:
        raise bad_type(argument, data, f"data of columns with names ({error})") from error


class StreamColumns(Columns):
    """The columns of batches, which `_opened` gives to each query."""

    def __init__(self, schema: pa.Schema, argument: str) -> None:
        self._schema = schema
        self._argument = argument

    @abstractmethod
    def _opened(self) -> pa.RecordBatchReader:
        """The stream of one query."""

    @property
    def names(self) -> Sequence[str]:
        return self._schema.names

    def schema(self, positions: Sequence[int]) -> pa.Schema:
        return without_metadata(self._schema, positions)

    def stream(self, positions: Sequence[int]) -> Any:
        schema = self.schema(positions)
        batches = self._remembered(self._projected(self._opened(), list(positions), schema))
        return pa.RecordBatchReader.from_batches(schema, batches)

    def _projected(
        self, reader: pa.RecordBatchReader, positions: list[int], schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        for batch in reader:
            yield pa.RecordBatch.from_arrays([batch.column(i) for i in positions], schema=schema)


class ReaderColumns(StreamColumns):
    """A reader can be read once. A second query over it would see nothing, so it is an error."""

    is_read_once = True

    def __init__(self, reader: pa.RecordBatchReader, argument: str) -> None:
        super().__init__(reader.schema, argument)
        self._reader = reader

    def _opened(self) -> pa.RecordBatchReader:
        if self._reader in _spent:
            raise ValueError(f"{self._argument}: got a stream that an earlier query has read; {_NEW}")
        _spent.add(self._reader)
        return self._reader


class FrameColumns(StreamColumns):
    """A frame gives a new stream to each query. A lazy frame computes its rows again each time."""

    def __init__(self, frame: Any, argument: str) -> None:
        self._frame = frame
        self._unread: pa.RecordBatchReader | None = None
        if hasattr(type(frame), "__arrow_c_schema__"):
            schema = pa.schema(frame)
        else:  # only a stream has the schema, and the first query reads it
            self._unread = opened(frame, argument)
            schema = self._unread.schema
        super().__init__(schema, argument)

    def _opened(self) -> pa.RecordBatchReader:
        reader, self._unread = self._unread or opened(self._frame, self._argument), None
        if not reader.schema.equals(self._schema):
            raise ValueError(
                f"{self._argument}: got {class_of(self._frame)}, whose columns have changed from "
                f"{_column_types(self._schema)} to {_column_types(reader.schema)}; {_NEW}"
            )
        return reader

    def result(self, rows: pa.Table, kinds: Kinds, counted: Mapping[str, int]) -> Any:
        build = next((build for (library, kind), build in _BUILT.items() if _is_of(self._frame, library, kind)), None)
        return super().result(rows, kinds, counted) if build is None else build(self._frame, pyarrow_table(rows, kinds))


def _narwhals_frame(frame: Any, rows: pa.Table) -> Any:
    if str(frame.implementation) == "Implementation.PANDAS":  # from_arrow makes floats of integers next to nulls
        module = importlib.import_module(type(frame).__module__.removesuffix(".dataframe"))
        return module.from_native(pandas_frame(rows, {}, arrow=False), eager_only=True)
    return type(frame).from_arrow(rows, backend=frame.implementation)


def _ibis_table(_frame: Any, rows: pa.Table) -> Any:
    import ibis

    return ibis.memtable(rows)


def _datafusion_frame(_frame: Any, rows: pa.Table) -> Any:
    from datafusion import SessionContext

    return SessionContext.global_ctx().from_arrow(rows)


_BUILT: dict[tuple[str, str], Callable[[Any, pa.Table], Any]] = {
    ("arro3", "Table"): lambda frame, rows: type(frame).from_arrow(rows),
    ("datafusion", "DataFrame"): _datafusion_frame,
    ("ibis", "Table"): _ibis_table,
    ("narwhals", "DataFrame"): _narwhals_frame,
}
"""How libraries build their frames from a table of pyarrow."""


def _is_of(frame: object, library: str, kind: str) -> bool:
    return library in libraries_of(frame) and type(frame).__name__ == kind


def _column_types(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)
