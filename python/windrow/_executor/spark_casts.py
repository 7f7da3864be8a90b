"""How Spark gives a column the type that it had on another day of a job, in the words of its users."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow._arguments.nested import inner_fields
from windrow._arguments.type_names import is_number
from windrow._plan.earlier_types import arranged, has_cast, is_wider

_NAMES = {"int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "bool": "boolean"} | {
    "date32[day]": "date",
    "timestamp[us]": "timestamp_ntz",
    "timestamp[us, tz=UTC]": "timestamp",
    "duration[us]": "interval day to second",
    "time64[ns]": "time(6)",
    "null": "void",
}
"""Spark's names of types that Arrow calls otherwise."""


def spark_cast(schema: pa.Schema, column: str, kind: Any) -> str | None:
    """An expression of Spark for a column in another type; None if there is none, or only one that may round values.

    Spark casts structs by the places of their fields, so this takes fields by their names.

    >>> schema = pa.schema({"x": pa.list_(pa.struct({"b": pa.int64()})), "y": pa.float64()})
    >>> print(spark_cast(schema, "x", pa.list_(pa.struct({"b": pa.int8()}))))
    F.transform(F.col('x'), lambda x: F.when(x.isNotNull(), F.struct(x['b'].cast("tinyint").alias('b'))))
    >>> print(spark_cast(schema, "y", pa.int64()))
    None
    """
    own = schema.field(column).type
    is_exact = has_cast(arranged(kind, own), own) and _is_exact(arranged(own, kind), kind)
    return _cast(f"F.col({column!r})", kind) if is_exact else None


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


def _is_exact(own: Any, kind: Any) -> bool:
    """Whether a cast gives each value as it is, or an error. Nobody has looked at the values."""
    if inner_fields(own):
        pairs = zip(inner_fields(own), inner_fields(kind), strict=True)
        return all(_is_exact(one.type, other.type) for one, other in pairs)
    if pa.types.is_date(kind):
        return not pa.types.is_timestamp(own)
    if kind == pa.bool_():
        return not is_number(own)
    if not is_number(own) or not is_number(kind) or own == kind or is_wider(kind, own):
        return True
    is_floating = pa.types.is_floating(own) or pa.types.is_floating(kind)
    return not is_floating and _digits(own) <= _digits(kind)


def _digits(kind: Any) -> int:
    """Digits behind the point."""
    return int(kind.scale) if pa.types.is_decimal(kind) else 0


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
