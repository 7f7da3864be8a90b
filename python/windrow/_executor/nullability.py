"""Fields that a step declares NOT NULL, in the batches that it returns.

Spark 4.3 can compare both (`spark.sql.execution.arrow.pyspark.validateSchema.enabled`). It then refuses a field that
may be null in Arrow and not in the declared columns, at any depth.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow._arguments.nested import inner_fields, with_inner
from windrow._executor.batches import Batches, read_schema
from windrow._executor.empty_arrays import rebuilt


def with_nullability(batches: Batches, output: bytes) -> Batches:
    """The batches with the types that they have, where the columns `output` say what may be null. Copies no values."""
    declared = read_schema(output)
    for batch in batches:
        schema = pa.schema(map(_like, batch.schema, declared))
        if schema == batch.schema:
            yield batch
            continue
        pairs = zip(batch.columns, schema, strict=True)
        columns = [column if column.type == field.type else rebuilt(column, field.type) for column, field in pairs]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _like(field: pa.Field[Any], declared: pa.Field[Any]) -> pa.Field[Any]:
    return field.with_type(_kind(field.type, declared.type)).with_nullable(declared.nullable)


def _kind(kind: Any, declared: Any) -> Any:
    """The type, where fields of structs, elements and values may be null if they may be in the declared one."""
    if type(kind) is not type(declared):
        return kind
    fields = iter(inner_fields(declared))
    return with_inner(kind, lambda field: _like(field, next(fields)))
