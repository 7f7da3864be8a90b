"""Reads control messages in Spark: which rows of a Kafka source are ticks, and the time of each row.

Uses only Spark expressions, so it works alike on batches, on streams and over Spark Connect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windrow._arguments.errors import ambiguous_column, bad_column_type, bad_type, listed, unknown_column
from windrow._spark.environment import check_pyspark
from windrow._spark.quoted_name import quoted
from windrow._spark.release import try_cast
from windrow.kafka._control import HEADER, LATEST, POC_DIGITS, POC_HEADER, SIZE, VERSION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

TICK = "tick"
"""The column that marks control messages."""

TIME = "event_time"
"""The column with the time of a row."""


def with_ticks(frame: DataFrame, *, time: str = "timestamp") -> DataFrame:
    """Adds the columns `tick` and `event_time` to a frame of Spark's Kafka source. Keeps all rows.

    * `tick`, a boolean: true for control messages of this version or of the proof of concept (header `control`, no key,
      no value). A row with a value is always data.
    * `event_time`: for data, the column `time`. For a tick, its time, or null if the message is damaged, of another
      version, or beyond the year 9999. windrow ignores a tick without a time and counts it (`bad_ticks`).

    Use them as `group_by(..., tick="tick", time="event_time", source=["topic", "partition"])`, which gives each
    partition its own stream time. `.max_ahead(...)` also drops ticks too far in the future and counts them as
    `bad_ticks`.

    Args:
        frame: a batch or streaming DataFrame with the columns `key`, `value` and `headers` of Spark's Kafka source,
            read with the option `includeHeaders`; it may have other columns.
        time: the TIMESTAMP or TIMESTAMP_NTZ column with the event time of data; by default Kafka's record timestamp.

    Raises:
        TypeError: not a Spark DataFrame, or a column has another type.
        ValueError: a column is missing or there twice, or the frame already has a column `tick` or `event_time`.
        ImportError: PySpark is older than 3.5.

    Source: `docs/explanation/stream-time.md` describes the bytes of a control message.

    >>> from uuid import UUID
    >>> from pyspark.sql import SparkSession
    >>> from windrow.kafka import ControlMessage
    >>> spark = SparkSession.builder.getOrCreate()
    >>> tick = ControlMessage(1_767_254_400_000, 0, UUID(int=1)).headers()
    >>> columns = "key binary, value binary, timestamp timestamp, headers array<struct<key: string, value: binary>>"
    >>> rows = [(b"ann", b"5.0", None, None), (None, None, None, tick)]
    >>> [row.tick for row in with_ticks(spark.createDataFrame(rows, columns)).collect()]
    [False, True]
    """
    kinds = type(frame).__mro__
    if not any(kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.") for kind in kinds):
        raise bad_type("frame", frame, "a DataFrame of Spark's Kafka source")
    check_pyspark("frame", "a DataFrame")
    if not isinstance(time, str):
        raise bad_type("time", time, "the name of a column")

    from pyspark.sql import functions as F

    from windrow._spark.declared import schema_or_none

    schema, kind = schema_or_none(frame), "timestamp"
    if schema is not None:  # a pipeline gives none
        _check(schema, time)
        kind = schema[schema.names.index(time)].dataType.simpleString()
    bare = F.col("value").isNull()
    ours, theirs = _values(HEADER), _values(POC_HEADER)
    is_ours = bare & (F.size(ours) > 0)
    is_poc = bare & F.col("key").isNull() & (F.size(theirs) > 0)
    tick_time = F.when(is_ours, _milliseconds(ours)).otherwise(_digits(theirs))
    event_time = F.when(tick_time <= LATEST, F.timestamp_millis(tick_time)).cast(kind)
    is_tick = is_ours | is_poc
    data_time = F.col(quoted(time))
    return frame.withColumns({TICK: is_tick, TIME: F.when(is_tick, event_time).otherwise(data_time)})


def _values(name: str) -> Any:
    """The values of all headers with this name."""
    from pyspark.sql import functions as F

    matching = F.filter("headers", lambda header: header["key"] == name)
    return F.coalesce(F.transform(matching, lambda header: header["value"]), F.array().cast("array<binary>"))


def _milliseconds(values: Any) -> Any:
    """The milliseconds in a windrow message; null if it is damaged."""
    from pyspark.sql import functions as F

    body = F.get(values, F.lit(0))
    is_whole = (F.size(values) == 1) & (F.length(body) == SIZE) & (F.hex(F.substring(body, 1, 1)) == f"{VERSION:02X}")
    # A time in range has 0 in its first two bytes. The other six fit a bigint.
    in_range = F.hex(F.substring(body, 2, 2)) == "0000"
    return F.when(is_whole & in_range, try_cast(F.conv(F.hex(F.substring(body, 4, 6)), 16, 10), "bigint"))


def _digits(values: Any) -> Any:
    """The milliseconds in a message of the proof of concept; null if it is damaged."""
    from pyspark.sql import functions as F

    body = F.get(values, F.lit(0))
    text = body.cast("string")
    is_whole = (F.size(values) == 1) & (F.length(body) <= POC_DIGITS) & text.rlike(r"\A[0-9]+\z")
    return F.when(is_whole, try_cast(text, "bigint"))


def _check(schema: StructType, time: str) -> None:
    from pyspark.sql.types import ArrayType, BinaryType, StringType, StructType, TimestampNTZType, TimestampType

    columns = schema.names
    if "headers" not in columns:
        raise ValueError(
            f"frame: got a DataFrame without the column 'headers', which has {listed(columns)}; allowed: one of "
            "Spark's Kafka source that was read with .option('includeHeaders', 'true')"
        )
    for argument, column in (("frame", "headers"), ("frame", "key"), ("frame", "value"), ("time", time)):
        if column not in columns:
            raise unknown_column(argument, column, columns)
        if [one.casefold() for one in columns].count(column.casefold()) > 1:
            raise ambiguous_column(argument, column, [column for one in columns if one.casefold() == column.casefold()])
    for column in columns:
        if column.casefold() in (TICK, TIME):
            raise ValueError(f"frame: got a DataFrame with a column {column!r}; allowed: one without it: rename that")
    headers = schema[columns.index("headers")].dataType
    element = headers.elementType if isinstance(headers, ArrayType) else None
    fields = [(one.name, type(one.dataType)) for one in element.fields] if isinstance(element, StructType) else []
    if fields != [("key", StringType), ("value", BinaryType)]:
        allowed = "array<struct<key:string,value:binary>>, as Spark's Kafka source has it"
        raise bad_column_type("frame", "headers", headers.simpleString(), allowed)
    kind = schema[columns.index(time)].dataType
    if not isinstance(kind, TimestampType | TimestampNTZType):
        raise bad_column_type("time", time, kind.simpleString(), "timestamp or timestamp_ntz")
