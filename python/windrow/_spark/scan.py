"""Queries over files that the tasks read with Arrow.

```text
range(tasks)                                   a row for each task
└─ mapInArrow(read_and_pack)                   reads the task's row groups: rows of (shard, first time, block)
   └─ ...                                      as over a DataFrame: `batch`
```
Steps that need rows in Spark (`with_columns`, expressions, cogroups) read them as a DataFrame: `mapInArrow(read)`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Self, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from windrow._arguments.column import column_position
from windrow._arguments.errors import bad_type, bad_value
from windrow._arguments.expression import ColumnExpression
from windrow._executor.scan.filter import NO_FILTER, Filter, filter_columns
from windrow._executor.scan.read import Part, ScanTasks, read, read_and_pack
from windrow._executor.shipping import shipped
from windrow._spark.batch import BatchInput
from windrow._spark.declared import with_schema
from windrow._spark.expressions import columns_read, with_columns
from windrow._spark.step import mapped
from windrow._spark.types import arrow_field, returned_type

AnyPart = TypeVar("AnyPart", bound=Part)

_TASK_BYTES = 128 << 20
"""The most bytes of a task, as in Spark's own scan."""

_LEAST_BYTES = 1 << 20
"""Below this many bytes for each core, a scan has fewer tasks than cores."""


@dataclass(frozen=True)
class Files:
    """What a scan reads.

    Attributes:
        spark: the session.
        schema: the columns, in Spark's types.
        arrow: the columns that tasks read, in Arrow's types.
        names: the columns that the scan gives; the others serve its filter.
        tasks: the pickled parts that each task reads.
        filter: the condition, and the columns that it reads.
    """

    spark: Any
    schema: StructType
    arrow: pa.Schema
    names: tuple[str, ...]
    tasks: tuple[bytes, ...]
    filter: Filter

    @classmethod
    def of(
        cls,
        spark: Any,
        schema: StructType,
        names: Sequence[str],
        parts: Sequence[tuple[Part, int]],
        filter: Filter = NO_FILTER,
    ) -> Files:
        """Files whose parts are divided among tasks by their bytes."""
        tasks = tuple(pickle.dumps(joined(task)) for task in balanced(parts, cores_of(spark)))
        return cls(spark, schema, read_columns(schema, names, filter), tuple(names), tasks, filter)

    def mapped(self, step: Callable[..., Any], names: Sequence[str], *query: Any, output: StructType) -> DataFrame:
        """A DataFrame of what a step makes of these columns."""
        read_names = {*names, *self.filter.columns}
        columns = pa.schema([field for field in self.arrow if field.name in read_names])
        scan: ScanTasks = (self.tasks, columns.serialize().to_pybytes(), tuple(names), self.filter.pickled)
        numbers = self.spark.range(0, len(self.tasks), 1, max(len(self.tasks), 1))
        return mapped(numbers, shipped(step, scan, *query), output)

    def rows(self, names: Sequence[str]) -> DataFrame:
        """These columns of all rows."""
        fields = [self.schema[name] for name in names]
        output = StructType([StructField(f.name, returned_type(f.dataType), True, f.metadata) for f in fields])
        return with_schema(self.mapped(read, names, output=output), output.fields)


class ScanInput(BatchInput):
    """Files as a DataFrame, whose rows reach a packer without passing through Spark."""

    def __init__(self, files: Files) -> None:
        """Over the columns that the scan gives."""
        super().__init__(files.rows(files.names))
        self._files, self._whole = files, self._frame

    def with_expressions(self, expressions: Mapping[str, ColumnExpression]) -> Self:
        """The same with columns that Spark computes."""
        other = super().with_expressions(expressions)
        if self._frame is self._whole:
            other._whole = other._frame
        return other

    def _with(self, names: Iterable[str]) -> DataFrame:
        if self._frame is not self._whole:
            return self._frame
        wanted = set(names)
        for name, expression in reversed([*self.expressions.items()]):  # one may read those before it
            wanted |= columns_read(self._frame, expression) if name in wanted else set()
        names_read = [name for name in self._files.names if name in wanted]
        frame = self._files.rows(names_read or self._files.names[:1])
        for name, expression in self.expressions.items():
            frame = with_columns(frame, {name: expression}) if name in wanted else frame
        return frame

    def _packed(self, step: Callable[..., Any], schema: pa.Schema, *query: Any, output: StructType) -> DataFrame:
        if self._frame is not self._whole or self.expressions:
            return super()._packed(step, schema, *query, output=output)
        return self._files.mapped(read_and_pack, schema.names, step.__name__, *query, output=output)


def chosen(columns: object, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that `columns=` names, in their order; all without it.

    Raises:
        TypeError: not a list of names.
        ValueError: an empty list, a name twice, or one that the files lack.
    """
    if columns is None:
        return tuple(names)
    if isinstance(columns, str) or not isinstance(columns, Sequence) or not all(isinstance(c, str) for c in columns):
        raise bad_type("columns", columns, 'a list of names, such as ["user", "ts"]')
    if not columns:
        raise bad_value("columns", columns, "at least one column, or None for all")
    for place, name in enumerate(columns):
        column_position("columns", name, names)
        if name in columns[:place]:
            raise bad_value("columns", name, "each column once")
    return tuple(columns)


def read_columns(schema: StructType, names: Sequence[str], filter: Filter = NO_FILTER) -> pa.Schema:
    """The Arrow types of the columns that are named or filtered. `TypeError` for one that windrow cannot read."""
    wanted = {*names, *filter.columns}
    return pa.schema([arrow_field("columns", field, compared=False) for field in schema if field.name in wanted])


def checked_filter(condition: object, schema: StructType) -> Filter:
    """`filter=` over these columns.

    Raises:
        TypeError: not an expression of pyarrow.
        ValueError: one that does not fit the columns.
    """
    import pyarrow.compute as pc

    if condition is None:
        return NO_FILTER
    if not isinstance(condition, pc.Expression):
        raise bad_type("filter", condition, 'an expression of pyarrow, such as pc.field("amount") > 10')
    fields = []
    for field in schema.fields:
        try:
            fields.append(arrow_field("filter", field, compared=False))
        except TypeError:
            continue  # a filter cannot read it, and need not
    try:
        return Filter(pickle.dumps(condition), tuple(filter_columns(condition, pa.schema(fields))))
    except (pa.ArrowException, TypeError) as error:
        names, reason = [field.name for field in fields], str(error).partition("\n")[0]
        raise bad_value("filter", str(condition), f"an expression over the columns {names} ({reason})") from error


def balanced(parts: Sequence[tuple[AnyPart, int]], cores: int) -> list[list[AnyPart]]:
    """Parts with their bytes, cut in their order into tasks of about as many bytes.

    >>> [len(task) for task in balanced([(None, 4 << 20)] * 6, 2)]
    [3, 3]
    """
    total = sum(size for _, size in parts)
    rounds = -(-total // (max(cores, 1) * _TASK_BYTES)) or 1
    count = min(len(parts), max(1, min(rounds * cores, -(-total // _LEAST_BYTES))))
    tasks: list[list[AnyPart]] = [[] for _ in range(count)]
    done = 0
    for part, size in parts:
        middle = done + size / 2
        tasks[min(int(middle * count / max(total, 1)), count - 1)].append(part)
        done += size
    return [task for task in tasks if task]


def joined(task: Sequence[Any]) -> list[Any]:
    """The same row groups, joined by file, so that a task opens each file once."""
    files = [list(of_file) for _, of_file in groupby(task, lambda part: part.file)]
    return [
        replace(parts[0], row_groups=tuple(number for part in parts for number in part.row_groups)) for parts in files
    ]


def cores_of(spark: Any) -> int:
    """How many tasks Spark runs at once. Connect does not report it, but cuts a range into as many."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Connect, and platforms that refuse the context; each has its own error
        pass
    numbers = spark.range(1 << 16).select(F.spark_partition_id().alias("partition"))
    return int(numbers.agg(F.max("partition")).first()[0]) + 1
