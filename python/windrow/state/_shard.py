"""The open windows of whole shards: what runs on executors."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pyarrow as pa

from windrow._executor.batches import Batches
from windrow._executor.stream.index import HEAD, INDEX, QUERY, Index
from windrow._native import decode_page
from windrow.state._stored_query import StoredQuery

NO_SHARDS = "state: it has no shards yet: no micro-batch with records was committed"


def open_windows(batches: Batches) -> Batches:
    """The open windows of shards.

    Args:
        batches: rows of `shard`, `name` and `page`, each shard's one after the other.

    Raises:
        ValueError: pages are damaged or missing.
    """
    for _, entries in itertools.groupby(entries_of(batches), lambda entry: entry[0]):
        yield from _of_shard({name: page for _, name, page in entries})


def opened(pages: dict[str, str]) -> tuple[Index, StoredQuery]:
    """The index and the query among the entries of a shard."""
    if INDEX not in pages:
        raise ValueError(f"state: has {len(pages)} pages and no index: the checkpoint is damaged")
    index = Index.read(pages[INDEX])
    if QUERY not in index.pages:
        raise ValueError("state: its index names no query: the checkpoint is damaged")
    return index, StoredQuery.open(index.check(QUERY, pages.get(QUERY)))


def operators(index: Index) -> list[int]:
    """The numbers of the operators of a shard."""
    return sorted(int(name.removesuffix(f"/{HEAD}")) for name in index.pages if name.endswith(f"/{HEAD}"))


def _of_shard(pages: dict[str, str]) -> Batches:
    index, query = opened(pages)
    del pages[INDEX]
    index.check_all(pages)
    for number in operators(index):
        head = f"{number}/{HEAD}"
        pages_of_operator = {name: decode_page(text) for name, text in pages.items() if name.startswith(f"{number}/")}
        operator = query.operator(list(pages_of_operator.values()))
        # Sliding windows are kept for a while after they have closed, like sessions with `retention`.
        for windows in operator.select(None, None, _closed(pages_of_operator[head]), None, by="due"):
            yield query.result_rows(operator, windows, query.source(index, number))


def _closed(head: bytes) -> int:
    """The windows that are due before this time have closed."""
    metadata = pa.ipc.open_stream(head).schema.metadata or {}
    closed: int = json.loads(metadata[b"windrow.state"])["closed"]
    return closed


def entries_of(batches: Batches) -> Iterator[tuple[int, str, str]]:
    """The shard, the name and the text of each page."""
    for batch in batches:
        for row in range(batch.num_rows):
            shard, name, page = (batch.column(place)[row].as_py() for place in range(3))
            yield shard, name, page
