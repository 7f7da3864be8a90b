"""The stateful step of a streaming query: Spark calls a processor for each shard of a micro-batch.

Spark has the operator in two forms, over rows and over pandas frames; both keep the same state. Spark compares the
names of operators at a restart, so a checkpoint of one form does not continue under the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from windrow._executor.shipping import remote
from windrow._executor.stream.pages import probe
from windrow._executor.stream.query import Shipment, StreamQuery
from windrow._executor.stream.shard import SUMS, changes
from windrow._spark.release import PANDAS, ROWS, may_cut

CHANGED = StructType(
    [StructField("block", BinaryType()), *(StructField(name, LongType()) for name in (*SUMS, "stream_time"))]
)


def changed(blocks: DataFrame, shipment: Shipment, first: DataFrame | None = None) -> DataFrame:
    """The changes of all shards in packed blocks, with counters. `first` are the entries of states that begin."""
    shards = blocks.groupBy("shard")
    form = ROWS if hasattr(shards, ROWS) else PANDAS
    processor = _processor(shipment, form, probes=form == PANDAS and may_cut(blocks.sparkSession))
    begun = {} if first is None else {"initialState": first.groupBy("shard")}
    frame: DataFrame = getattr(shards, form)(processor, CHANGED, "Append", "None", **begun)
    return frame


def _processor(shipment: Shipment, form: str, *, probes: bool) -> StatefulProcessor:
    """The processor that Spark calls for each shard. Pickled by value, it loads windrow on the executor.

    `probes`: before it keeps anything in a new state, it tries whether a large value comes back.
    """
    load_probe = remote(probe)
    load_query, load_changes, counted = remote(StreamQuery), remote(changes), tuple(CHANGED.names[1:])

    class Shards(StatefulProcessor):
        def init(self, handle: Any) -> None:
            from pyspark.sql.types import StringType, StructField, StructType

            # Types given as text would cost each task two calls to the JVM.
            name, page = (StructType([StructField(column, StringType())]) for column in ("name", "page"))
            self.pages = handle.getMapState("pages", name, page)
            self.query: Any = None

        def changes(self, rows: Iterator[Any]) -> Any:
            # Each start of a query calls `init` in a new Python of the driver, which needs no windrow.
            self.query = self.query or load_query()(shipment)
            return load_changes()(rows, self.pages, self.query)

        def close(self) -> None:
            pass

    class OfRows(Shards):
        def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802, N803
            self.pages.updateValue((initialState.name,), (initialState.page,))

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
            for block, counters in self.changes(rows):
                yield Row(block=block, **{name: counters.get(name) for name in counted})

    class OfPandas(Shards):
        def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802, N803
            if probes:
                load_probe()(self.pages)
            for entry in initialState.itertuples(index=False):
                self.pages.updateValue((entry.name,), (entry.page,))

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            import pandas

            if probes:
                load_probe()(self.pages)
            packed = (row for frame in rows for row in frame.itertuples(index=False))
            for block, counters in self.changes(packed):
                values = [block, *(counters.get(name) for name in counted)]
                yield pandas.DataFrame([values], columns=["block", *counted], dtype=object)

    return OfRows() if form == ROWS else OfPandas()
