"""What a query reads: a Spark frame or Arrow data in this process, behind one face."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

import pyarrow as pa

from windrow.errors import ambiguous_column, bad_type, unknown_column
from windrow.plan import Origins, Plan

Result = TypeVar("Result")
"""What a query over an input gives: a Spark `DataFrame` or a `pyarrow.Table`."""

ALLOWED = (
    "a Spark DataFrame, a pyarrow Table, RecordBatch or RecordBatchReader, a Polars frame, a DuckDB relation, "
    "a pandas DataFrame, or anything else that gives an Arrow stream (__arrow_c_stream__)"
)

_FILE = (
    "what is read from it, such as pyarrow.parquet.read_table(path), polars.scan_parquet(path), "
    "duckdb.read_parquet(path), spark.read.parquet(path), or pyarrow.dataset.dataset(path).scanner().to_reader()"
)
_FILES = ("ParquetFile", "ParquetDataset", "Dataset", "Scanner")
"""Classes of pyarrow that read files and, so far, give no Arrow stream."""


class Input(ABC, Generic[Result]):
    """Columns that a query may name, and the way to run it over them."""

    @property
    @abstractmethod
    def columns(self) -> Sequence[str]:
        """The names of all columns, in order; a name may be there twice."""

    @abstractmethod
    def check_observation(self, observation: object) -> None:
        """Raises unless the counters of a query over this input can be reported to `observation`."""

    @abstractmethod
    def check_threads(self, count: int) -> None:
        """Raises unless a query over this input runs on threads of its own."""

    @abstractmethod
    def run(self, plan: Plan) -> Result:
        """The result of a plan; the core's own checks of types come first (`TypeError`, `ValueError`)."""

    @abstractmethod
    def union(self, inputs: Sequence[Any], schema: pa.Schema, origins: Origins) -> Input[Result]:
        """The rows of the inputs of a cogroup, all of this very kind, in the schema of a plan."""

    @abstractmethod
    def _field_at(self, argument: str, position: int, compared: bool) -> pa.Field[Any]:
        """The Arrow field of one column, or `TypeError` where it has none."""

    def position(self, argument: str, column: str) -> int:
        """Where the column is; `ValueError` when the data has none of this name, or several."""
        columns = list(self.columns)
        if column not in columns:
            struct = next((known for known in _before_dots(column) if self._is_struct(known)), None)
            raise unknown_column(argument, column, columns, struct=struct)
        if columns.count(column) > 1:
            raise ambiguous_column(argument, column, columns)
        return columns.index(column)

    def field(self, argument: str, column: str, *, compared: bool = False) -> pa.Field[Any]:
        """The Arrow field of the column that `argument` names; `compared` where values meet each other."""
        if not isinstance(column, str):
            raise bad_type(argument, column, "the name of a column")
        return self._field_at(argument, self.position(argument, column), compared)

    @property
    def allowed_gaps(self) -> str:
        """What a column of gaps holds, and how one is made."""
        return "a duration (integers cast to pa.duration(...); of a DuckDB INTERVAL what epoch_us(...) gives, cast so)"

    def _is_struct(self, column: str) -> bool:
        if column not in self.columns:
            return False
        try:
            return pa.types.is_struct(self._field_at("column", list(self.columns).index(column), False).type)
        except TypeError:  # it cannot be read as Arrow data
            return False


def open_input(data: object) -> Input[Any]:
    """The input that fits `data`, told by where its type is defined: no library is imported that is not in use.

    Raises:
        TypeError: nothing that windrow reads.
        ValueError: a streaming DataFrame.
    """
    if isinstance(data, Input):
        return data
    if isinstance(data, type):
        raise bad_type("data", data, ALLOWED)
    if isinstance(data, str | os.PathLike):
        raise bad_type("data", data, _FILE)
    libraries = {kind.__module__.partition(".")[0] for kind in type(data).__mro__}
    if "pyspark" in libraries:
        from windrow.dataframe import SparkInput

        return SparkInput.over(data)
    is_file = "pyarrow" in libraries and any(kind.__name__ in _FILES for kind in type(data).__mro__)
    if is_file and not hasattr(data, "__arrow_c_stream__"):
        raise bad_type("data", data, _FILE)
    from windrow.local import LocalInput

    return LocalInput.over(data, libraries)


def _before_dots(column: str) -> Iterator[str]:
    """What stands before each dot of a name, the shortest first."""
    return (column[:place] for place, letter in enumerate(column) if letter == ".")
