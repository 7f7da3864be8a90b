"""Arrow tables into Spark and back, on every Spark. From 4.0 on it has its own methods for it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema


def table_of(frame: DataFrame) -> pa.Table:
    """The rows of a frame."""
    if hasattr(type(frame), "toArrow"):
        return frame.toArrow()
    of_frame: Any = frame
    if "interval" in frame.schema.simpleString():  # Spark 3.5 fails to write many into an Arrow batch
        rows, schema = frame.collect(), to_arrow_schema(frame.schema)
        columns = [pa.array([row[place] for row in rows], field.type) for place, field in enumerate(schema)]
        return pa.Table.from_arrays(columns, schema=schema)
    if hasattr(of_frame, "_jdf"):
        batches = of_frame._collect_as_arrow()
        return pa.Table.from_batches(batches, batches[0].schema if batches else to_arrow_schema(frame.schema))
    table, _ = of_frame._session.client.to_table(of_frame._plan.to_proto(of_frame._session.client))
    return table


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """The rows of a table."""
    if hasattr(DataFrame, "toArrow"):
        return spark.createDataFrame(table)
    schema = from_arrow_schema(table.schema)
    whole = table.cast(to_arrow_schema(schema))  # Python has no nanoseconds
    rows = zip(*(column.to_pylist() for column in whole.columns), strict=True)
    return spark.createDataFrame([*rows], schema)
