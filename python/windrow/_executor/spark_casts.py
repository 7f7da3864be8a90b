"""How Spark gives a column the type that it had on another day of a job, in the words of its users."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow._arguments.nested import inner_fields

_NAMES = {"int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "bool": "boolean"} | {
    "date32[day]": "date",
    "timestamp[us]": "timestamp_ntz",
    "timestamp[us, tz=UTC]": "timestamp",
    "duration[us]": "interval day to second",
    "time64[ns]": "time(6)",
    "null": "void",
}
"""Spark's names of types that Arrow calls otherwise."""


def spark_cast(column: str, kind: Any) -> str:
    """An expression of Spark for a column in another type.

    Spark casts structs by the places of their fields, so this takes fields by their names.

    >>> print(spark_cast("x", pa.list_(pa.struct({"b": pa.int8()}))))
    F.transform(F.col('x'), lambda x: F.when(x.isNotNull(), F.struct(x['b'].cast("tinyint").alias('b'))))
    """
    return _cast(f"F.col({column!r})", kind)


def spark_name(kind: Any) -> str:
    """What Spark calls a type.

    >>> spark_name(pa.struct({"a": pa.list_(pa.int64()), "b": pa.decimal128(9, 2)}))
    'struct<a:array<bigint>,b:decimal(9,2)>'
    """
    fields = inner_fields(kind)
    if isinstance(kind, pa.StructType):
        return f"struct<{','.join(f'{field.name}:{spark_name(field.type)}' for field in fields)}>"
    if fields:
        inner = ",".join(spark_name(field.type) for field in fields)
        return f"map<{inner}>" if isinstance(kind, pa.MapType) else f"array<{inner}>"
    name = f"decimal({kind.precision},{kind.scale})" if isinstance(kind, pa.Decimal128Type) else str(kind)
    return _NAMES.get(name, name)


def spark_names(_: str, was: Any, now: Any) -> tuple[str, str]:
    """What Spark calls the earlier type of a column and its own."""
    return spark_name(was), spark_name(now)


def _cast(values: str, kind: Any) -> str:
    fields = inner_fields(kind)
    if isinstance(kind, pa.StructType):
        casts = (f"{_cast(f'{values}[{field.name!r}]', field.type)}.alias({field.name!r})" for field in fields)
        return f"F.when({values}.isNotNull(), F.struct({', '.join(casts)}))"
    if isinstance(kind, pa.MapType):
        return f"F.transform_values({values}, lambda _, x: {_cast('x', kind.item_type)})"
    if fields:
        return f"F.transform({values}, lambda x: {_cast('x', kind.value_type)})"
    return f'{values}.cast("{spark_name(kind)}")'
