"""Converts Spark types to Arrow types and back, only for columns that a query names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark

from windrow._arguments.errors import bad_column_type
from windrow._spark.quoted_name import quoted

_SIMPLE: tuple[tuple[type[spark.DataType], pa.DataType], ...] = (
    (spark.BooleanType, pa.bool_()),
    (spark.ByteType, pa.int8()),
    (spark.ShortType, pa.int16()),
    (spark.IntegerType, pa.int32()),
    (spark.LongType, pa.int64()),
    (spark.FloatType, pa.float32()),
    (spark.DoubleType, pa.float64()),
    (spark.BinaryType, pa.binary()),
    (spark.DateType, pa.date32()),
    (spark.TimestampType, pa.timestamp("us", tz="UTC")),
    (spark.TimestampNTZType, pa.timestamp("us")),
    (spark.DayTimeIntervalType, pa.duration("us")),
    (spark.NullType, pa.null()),
)

_BINARY_COLLATION = "UTF8_BINARY"
_VARIANTS: Any = getattr(spark, "VariantType", ())  # new in Spark 4.0
# The metadata distinguishes a Spark variant from a struct of two binaries.
_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)


def arrow_field(argument: str, field: spark.StructField, *, compared: bool) -> pa.Field[Any]:
    """The nullable Arrow field in which Spark hands over a column.

    Raises:
        TypeError: Spark does not hand over this type, or `compared` is set and its values cannot be compared.
    """
    kind = field.dataType.simpleString()
    for part in parts(field.dataType):
        allowed = _allowed(part, compared, _named(field.name) if part is field.dataType else "s")
        if allowed:
            raise bad_column_type(argument, field.name, kind, allowed)
    converted = _arrow_type(returned_type(field.dataType))
    if converted is None:
        allowed = "a type that Spark hands over as Arrow data, such as numbers, strings, timestamps and nested ones"
        if kind.startswith("interval"):
            allowed += "; for intervals, day-time ones, such as make_dt_interval(0, 0, minutes)"
        raise bad_column_type(argument, field.name, kind, allowed)
    return pa.field(field.name, converted)


def _allowed(part: spark.DataType, compared: bool, name: str) -> str | None:
    """The allowed alternative to a refused type, also a nested one, else None. SQL calls the values `name`."""
    collation = str(getattr(part, "collation", _BINARY_COLLATION))
    if compared and collation != _BINARY_COLLATION:
        return f"strings of the collation UTF8_BINARY where values are compared ({_regrouped(name, collation)})"
    if compared and isinstance(part, _VARIANTS):
        return "types with an order where values are compared, unlike variants"
    if isinstance(part, spark.StructType) and len(set(part.names)) < len(part.names):
        return "structs with distinct field names, because Spark hands over no others"
    return None


def _named(name: str) -> str:
    return name if name.isidentifier() else quoted(name)


def _regrouped(name: str, collation: str) -> str:
    """How to make strings that form the same groups as `groupBy` makes of this collation."""
    collation = collation.rpartition(".")[2]
    family, binary = collation.removesuffix("_RTRIM"), f"{name} COLLATE {_BINARY_COLLATION}"
    if family == "UTF8_LCASE":
        # The collation takes both forms of the small sigma as one letter, lower() does not.
        same, cast = f"replace(lower({name}) COLLATE {_BINARY_COLLATION}, '\u03c2', '\u03c3')", "'A' and 'a' two groups"
    elif family == _BINARY_COLLATION:
        same, cast = binary, "'a' and 'a ' two groups"
    else:
        return (
            f'in a batch withColumn(..., F.expr("min({binary}) OVER (PARTITION BY {name})")) makes the groups of '
            f"groupBy, and no function of one row does; a cast alone makes each spelling of {collation} a group"
        )
    same = same if family == collation else f"rtrim({same})"
    return f'F.expr("{same}") makes the groups of groupBy; a cast alone makes {cast}'


def parts(data_type: spark.DataType) -> Iterator[spark.DataType]:
    """The type and all types nested in it."""
    yield data_type
    inner: list[spark.DataType] = []
    if isinstance(data_type, spark.ArrayType):
        inner = [data_type.elementType]
    elif isinstance(data_type, spark.MapType):
        inner = [data_type.keyType, data_type.valueType]
    elif isinstance(data_type, spark.StructType):
        inner = [field.dataType for field in data_type]
    elif isinstance(data_type, spark.UserDefinedType):
        inner = [data_type.sqlType()]
    for part in inner:
        yield from parts(part)


def returned_type(data_type: spark.DataType, *, nulls: bool = False) -> spark.DataType:
    """The type in which Spark accepts values back from Python: the same type, with two exceptions.

    CHAR and VARCHAR become strings, and void is always nullable. With `nulls`, so is all that is within the type.
    """
    inner = functools.partial(returned_type, nulls=nulls)
    if isinstance(data_type, spark.CharType | spark.VarcharType):
        return spark.StringType()
    if isinstance(data_type, spark.ArrayType):
        element = inner(data_type.elementType)
        return spark.ArrayType(element, nulls or data_type.containsNull or _void(element))
    if isinstance(data_type, spark.MapType):
        key, value = inner(data_type.keyType), inner(data_type.valueType)
        return spark.MapType(key, value, nulls or data_type.valueContainsNull or _void(value))
    if isinstance(data_type, spark.StructType):
        return spark.StructType(
            [
                spark.StructField(
                    field.name,
                    inner(field.dataType),
                    nulls or field.nullable or _void(field.dataType),
                    field.metadata,
                )
                for field in data_type
            ]
        )
    return data_type


def _void(data_type: spark.DataType) -> bool:
    return isinstance(data_type, spark.NullType)


def spark_type(arrow: pa.DataType) -> spark.DataType | None:
    """The Spark type for an Arrow result type, or None if Spark has none."""
    for spark_class, simple in _SIMPLE:
        if simple == arrow:
            return spark_class()
    if isinstance(arrow, pa.Decimal128Type):
        return spark.DecimalType(arrow.precision, arrow.scale)
    if pa.types.is_string(arrow):
        return spark.StringType()
    if isinstance(arrow, pa.ListType):
        element = spark_type(arrow.value_type)
        return None if element is None else spark.ArrayType(element, arrow.value_field.nullable)
    if isinstance(arrow, pa.MapType):
        key, value = spark_type(arrow.key_type), spark_type(arrow.item_type)
        return None if key is None or value is None else spark.MapType(key, value, arrow.item_field.nullable)
    if isinstance(arrow, pa.StructType):
        return _spark_struct(arrow)
    return None


def _spark_struct(arrow: pa.StructType) -> spark.StructType | None:
    fields = []
    for position in range(arrow.num_fields):
        field = arrow.field(position)
        converted = spark_type(field.type)
        if converted is None:
            return None
        fields.append(spark.StructField(field.name, converted, field.nullable))
    return spark.StructType(fields)


def _arrow_type(data_type: spark.DataType) -> pa.DataType | None:
    for spark_class, simple in _SIMPLE:
        if type(data_type) is spark_class:
            return simple
    if isinstance(data_type, spark.StringType):
        return pa.string()
    if isinstance(data_type, spark.DecimalType):
        return pa.decimal128(data_type.precision, data_type.scale)
    if isinstance(data_type, _VARIANTS):
        return _VARIANT
    if isinstance(data_type, spark.UserDefinedType):
        return _arrow_type(data_type.sqlType())
    if data_type.typeName() == "time":  # TimeType is new in Spark 4.1
        return pa.time64("ns")
    if isinstance(data_type, spark.ArrayType):
        return _list_type(data_type)
    if isinstance(data_type, spark.MapType):
        return _map_type(data_type)
    if isinstance(data_type, spark.StructType):
        return _struct_type(data_type)
    return None


def _list_type(data_type: spark.ArrayType) -> pa.DataType | None:
    element = _arrow_type(data_type.elementType)
    return None if element is None else pa.list_(pa.field("element", element, nullable=data_type.containsNull))


def _map_type(data_type: spark.MapType) -> pa.DataType | None:
    key, value = _arrow_type(data_type.keyType), _arrow_type(data_type.valueType)
    if key is None or value is None or pa.types.is_null(key):
        return None
    of_fields: Callable[..., pa.DataType] = pa.map_  # pyarrow's stubs know no fields here
    entry = pa.field("value", value, nullable=data_type.valueContainsNull)
    return of_fields(pa.field("key", key, nullable=False), entry)


def _struct_type(data_type: spark.StructType) -> pa.DataType | None:
    fields = []
    for field in data_type:
        converted = _arrow_type(field.dataType)
        if converted is None:
            return None
        fields.append(pa.field(field.name, converted, nullable=field.nullable))
    return pa.struct(fields)
