"""The table of open windows of a streaming query as a DataFrame."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from windrow._executor.shipping import shipped
from windrow._executor.stream.index import INDEX, QUERY
from windrow._plan.open_table import RESERVED, STATE, STREAM_TIME
from windrow.state._open_rows import pack_shards, rows_of_table, table_schema
from windrow.state._shard import NO_SHARDS, opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from windrow._executor.stream.index import Index
    from windrow.state._stored_query import StoredQuery


def open_frame(stored: DataFrame, batch: int) -> DataFrame:
    """The table, from the entries that a micro-batch has left."""
    from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

    from windrow._spark.step import mapped

    shards = dict[int, dict[str, str]]()
    for row in stored.where(stored["name"].isin([INDEX, QUERY])).collect():
        shards.setdefault(row["shard"], {})[row["name"]] = row["page"]
    if not shards:
        raise ValueError(NO_SHARDS)
    indexes = [opened(pages) for pages in shards.values()]
    _, query = indexes[0]
    _check(query, [index for index, _ in indexes])
    schema = table_schema(query).serialize().to_pybytes()
    kinds: Any = {"kind": IntegerType(), "shard": IntegerType(), "block": BinaryType()}
    packed = StructType([StructField(name, kind, False) for name, kind in kinds.items()])
    rows = mapped(stored.sortWithinPartitions("shard"), shipped(pack_shards, schema, batch), packed)
    return mapped(rows.repartition("shard"), shipped(rows_of_table, schema, len(shards)), _columns(query))


def _columns(query: StoredQuery) -> StructType:
    """The columns of the table, all nullable, also what is within them."""
    from pyspark.sql.types import BinaryType, StructField, StructType

    from windrow._spark.types import returned_type

    *fields, time = StructType.fromJson(json.loads(query.result)).fields
    kinds = [returned_type(field.dataType, nulls=True) for field in fields]
    shown = [StructField(field.name, kind, True, field.metadata) for field, kind in zip(fields, kinds, strict=True)]
    return StructType([*shown, StructField(STREAM_TIME, time.dataType), StructField(STATE, BinaryType())])


def _check(query: StoredQuery, indexes: list[Index]) -> None:
    """Raises `ValueError` for a state that a table of open windows cannot hold."""
    if indexes[0].source and indexes[0].stream_time == "source":
        sources = ", ".join(indexes[0].source)
        raise ValueError(
            f"state: got a query whose sources ({sources}) each have their own windows; allowed: a query whose "
            'windows have one stream time: without source=, or with stream_time="slowest"'
        )
    names = [name for name in query.names[:-1] if name.casefold() in RESERVED]
    if names:
        raise ValueError(
            f"state: got a query with the column {names[0]!r}; allowed: any name but {', '.join(RESERVED)}, "
            "which the table uses: rename the aggregate at a restart"
        )
    if len(indexes) != query.spec.shards:
        raise ValueError(f"state: has {len(indexes)} shards of {query.spec.shards}: the checkpoint is damaged")
    if any(time is None for index in indexes for time, _ in index.gauges.values() or [(None, 0)]):
        raise ValueError("state: it has no stream time yet: each input needs a record or a tick first")
