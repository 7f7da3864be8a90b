"""Values of keys as columns, to find rows by."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructType


def literal(value: Any, kind: Any) -> Column:
    """A value of Python as a column of a type. Structs are dicts."""
    if isinstance(kind, StructType) and value is not None:
        return F.struct(*[literal(value[field.name], field.dataType).alias(field.name) for field in kind])
    if isinstance(kind, ArrayType) and value:
        return F.array(*[literal(each, kind.elementType) for each in value])
    return (F.array() if value == [] else F.lit(value)).cast(kind)
