"""A step of windrow over the Arrow batches of a DataFrame."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from windrow._executor.batches import Batches
from windrow._executor.shipping import returning
from windrow._spark.types import arrow_field


def mapped(frame: DataFrame, step: Callable[[Batches], Batches], output: StructType) -> DataFrame:
    """What a shipped step makes of the rows: the columns `output`, NOT NULL in Arrow where they are in Spark."""
    fields = (arrow_field("output", field, compared=False).with_nullable(field.nullable) for field in output.fields)
    result: DataFrame = frame.mapInArrow(returning(step, pa.schema(fields).serialize().to_pybytes()), output)
    return result
