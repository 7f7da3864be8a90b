"""The state of a shard in Spark's state store: pages by name, and an index of them (`index.py`).

A state store may be damaged, or hold values of two states or of another shard: the index tells, and nothing is emitted.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, Protocol

from windrow.stream.index import INDEX, QUERY, Index, Page
from windrow.tasks import Source


class PageState(Protocol):
    """A map of Spark's state store: names to bytes, each in a row of one column."""

    def iterator(self) -> Iterator[tuple[Any, Any]]:
        """All names and values."""

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:  # noqa: N802 (Spark's name)
        """Writes a value."""

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802 (Spark's name)
        """Removes a name."""


class Pages:
    """The pages of a shard, as they were read, and those that are written."""

    def __init__(self, state: PageState, shard: int, source: tuple[str, ...], stream_time: str) -> None:
        """Reads all pages.

        Raises:
            ValueError: pages are damaged or missing, of another shard, or of a query with other sources.
        """
        self._state = state
        self._read = {name[0]: bytes(value[0]) for name, value in state.iterator()}
        index = self._read.pop(INDEX, None)
        self.index = Index(shard, source, stream_time)
        """What the pages are, as it is written by `finish`."""
        self.numbers = dict[Source, int]()
        """The number of each known source: its position in the index."""
        self._own: dict[str, list[bytes]] = {}
        for name, page in self._read.items():
            self._own.setdefault(name.partition("/")[0], []).append(page)
        self._sizes = {name: len(page) for name, page in self._read.items()}
        self.written = 0
        """How many pages were written."""
        if index is not None:
            self._open(Index.read(index))
        elif self._read:
            raise ValueError(f"state: has pages such as {next(iter(self._read))!r} and no index: it is damaged")

    def _open(self, found: Index) -> None:
        differs = [
            f"{name} was {was!r} and is {now!r}"
            for name, was, now in (
                ("source", list(found.source), list(self.index.source)),
                ("stream_time", found.stream_time, self.index.stream_time),
            )
            if was != now
        ]
        if differs:
            raise ValueError(f"state: it belongs to another query: {'; '.join(differs)}: start from a new checkpoint")
        if found.shard != self.index.shard:
            raise ValueError(
                f"state: it is of shard {found.shard} and not of shard {self.index.shard}: the checkpoint is damaged"
            )
        found.check_all(self._read)
        self.index = found
        self.numbers = {source: number for number, source in enumerate(found.sources)}

    def see(self, source: Source, number: int | None = None) -> None:
        """A source is known from now on, and was seen by an input."""
        index = self.index
        if source not in self.numbers:
            self.numbers[source] = len(index.sources)
            index.sources.append(source)
            index.inputs.append(set())
        if number is not None:
            index.inputs[self.numbers[source]].add(number)

    def of(self, number: int) -> list[bytes]:
        """The pages of the operator with a number; none where it is new."""
        return self._own.get(str(number), [])

    def write(self, number: int, changed: list[tuple[str, bytes | None]]) -> None:
        """Writes the changed pages of an operator, and removes those that are no more."""
        for own, page in changed:
            name = f"{number}/{own}"
            if page is not None:
                self._write(name, page, Page.of(page))
            elif self.index.pages.pop(name, None) is not None:
                self._state.removeKey((name,))
                del self._sizes[name]

    def is_of(self, query: bytes) -> bool:
        """Whether the state is of exactly this query, and not of one with another grace, say."""
        return self._read.get(QUERY) == query

    def finish(self, query: bytes) -> None:
        """Writes the index, and the query where it is another one than before."""
        if not self.is_of(query):
            self._write(QUERY, query, Page(zlib.crc32(query)))
        self._state.updateValue((INDEX,), (self.index.write(),))

    def _write(self, name: str, page: bytes, known: Page) -> None:
        self._state.updateValue((name,), (page,))
        self.index.pages[name], self._sizes[name] = known, len(page)
        self.written += 1

    @property
    def count(self) -> int:
        """How many pages there are."""
        return len(self._sizes)

    @property
    def size(self) -> int:
        """How many bytes they have."""
        return sum(self._sizes.values())
