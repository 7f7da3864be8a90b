"""The state with which a stream begins: the open windows of a history as pages of its shards.

```text
 open windows ─▶ pack_open ─▶ (shuffle by shard) ─▶ first_pages ─▶ rows of (shard, name, page)
                                                    one operator a shard
```

A micro-batch would have written the same pages. Spark puts them into the state before the first micro-batch.
Every shard gets some pages, because each shard needs the time of the history.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from windrow._executor.batches import Batches
from windrow._executor.run_blocks import opened_of_shard, shards_of
from windrow._executor.stream.pages import Pages
from windrow._executor.stream.query import Shipment, StreamQuery
from windrow._executor.tasks import Source

_FIELDS: list[pa.Field[Any]] = [
    pa.field("shard", pa.int32(), nullable=False),
    pa.field("name", pa.string(), nullable=False),
    pa.field("page", pa.string(), nullable=False),
]
ENTRIES = pa.schema(_FIELDS)
"""An entry of the state of a shard."""

_CHARACTERS = 1 << 24
"""The least length of the texts in a batch, except the last."""


def first_pages(batches: Batches, shipment: Shipment, spec: str, schema: bytes) -> Batches:
    """The entries of whole shards, in the columns `ENTRIES`.

    Args:
        batches: the rows of `pack_open`, each shard's one after the other.
        shipment: the query.
        spec: the plan of the open windows.
        schema: their columns, serialized.

    Raises:
        ValueError: the table is damaged, incomplete or of another query.
    """
    query = StreamQuery(shipment)
    time: Any = query.schema.field(query.spec.time).type
    for key, parts in shards_of(batches):
        operator, state = query.operator(), Entries()
        opened, by_source = opened_of_shard(parts, spec, schema), shipment["slowest"]
        opened.load(operator, time, by_source=by_source)
        source = shipment["source"]
        pages = Pages(state, query.shard_keys.index(key), source, "slowest" if by_source else "source")
        pages.index.start = shipment["start"]
        sources: dict[Source, set[int]] = opened.sources(time, source) if by_source else {(): set()}
        for each, inputs in sources.items():
            pages.see(each)
            pages.index.inputs[-1] |= inputs
        pages.write(0, operator.changed_pages())
        pages.index.gauges["0"] = (operator.stream_time, operator.counters()["windows_open"])
        pages.finish(f"{query.stored} ")  # another text of the query, so the first micro-batch emits all that is due
        yield from state.batches(key)


class Entries:
    """The entries of a shard's state, before Spark gets them."""

    def __init__(self) -> None:
        """Begins without entries."""
        self._texts = dict[str, str]()

    def getValue(self, key: tuple[str]) -> Any:  # noqa: N802 (Spark's name)
        """The text of a name as a row, or None if the name is missing."""
        return None if key[0] not in self._texts else (self._texts[key[0]],)

    def iterator(self) -> Iterator[tuple[Any, Any]]:
        """All names and texts."""
        return iter([((name,), (text,)) for name, text in self._texts.items()])

    def updateValue(self, key: tuple[str], value: tuple[str]) -> None:  # noqa: N802 (Spark's name)
        """Writes a text."""
        self._texts[key[0]] = value[0]

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802 (Spark's name)
        """Removes a name."""
        del self._texts[key[0]]

    def batches(self, shard: int) -> Iterator[pa.RecordBatch]:
        """The entries as rows of `ENTRIES`."""
        names, length = list[str](), 0
        for name, text in self._texts.items():
            names.append(name)
            length += len(text)
            if length >= _CHARACTERS:
                yield self._batch(shard, names)
                names, length = [], 0
        if names:
            yield self._batch(shard, names)

    def _batch(self, shard: int, names: list[str]) -> pa.RecordBatch:
        columns: list[pa.Array[Any]] = [
            pa.array([shard] * len(names), pa.int32()),
            pa.array(names, pa.string()),
            pa.array([self._texts[name] for name in names], pa.string()),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=ENTRIES)
