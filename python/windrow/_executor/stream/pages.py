"""The state of a shard in Spark's state store: pages by name, and an index of them (`index.py`).

A state store may be damaged, or hold values of two states or of another shard. The index shows it, and the query fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from windrow._executor.stream.index import HEAD, INDEX, QUERY, Index, Page
from windrow._executor.tasks import Source
from windrow._native import decode_page, encode_page


class PageState(Protocol):
    """A map of Spark's state store: names to texts, each in a row of one column."""

    def getValue(self, key: tuple[str]) -> Any:  # noqa: N802 (Spark's name)
        """The text of a name in a row, None where there is none."""

    def iterator(self) -> Iterator[tuple[Any, Any]]:
        """All names and texts."""

    def updateValue(self, key: tuple[str], value: tuple[str]) -> None:  # noqa: N802 (Spark's name)
        """Writes a text."""

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802 (Spark's name)
        """Removes a name."""


class Pages:
    """The pages of a shard: what is read of them, and those that are written."""

    def __init__(self, state: PageState, shard: int, source: tuple[str, ...], stream_time: str) -> None:
        """Reads the index.

        Raises:
            ValueError: an index that is damaged or missing, of another shard, or of a query with other sources.
        """
        self._state = state
        self._texts: dict[str, str] | None = None
        self.index = Index(shard, source, stream_time)
        """What the pages are, as it is written by `finish`."""
        self.numbers = dict[Source, int]()
        """The number of each known source: its position in the index."""
        self.operators = 1
        """How many operators the micro-batch has something for."""
        self.written = 0
        """How many pages were written."""
        index = state.getValue((INDEX,))
        if index is not None:
            self._open(Index.read(index[0]))
            return
        for name, _ in state.iterator():
            raise ValueError(f"state: has pages such as {name[0]!r} and no index: it is damaged")

    def _open(self, index: Index) -> None:
        differs = [
            f"{name} was {was!r} and is {now!r}"
            for name, was, now in (
                ("source", list(index.source), list(self.index.source)),
                ("stream_time", index.stream_time, self.index.stream_time),
            )
            if was != now
        ]
        if differs:
            raise ValueError(f"state: it belongs to another query: {'; '.join(differs)}: start from a new checkpoint")
        if index.shard != self.index.shard:
            raise ValueError(
                f"state: it is of shard {index.shard} and not of shard {self.index.shard}: the checkpoint is damaged"
            )
        self.index = index
        self.numbers = {source: number for number, source in enumerate(index.sources)}

    def see(self, source: Source, number: int | None = None) -> None:
        """A source is known from now on, and was seen by an input."""
        index = self.index
        if source not in self.numbers:
            self.numbers[source] = len(index.sources)
            index.sources.append(source)
            index.inputs.append(set())
        if number is not None:
            index.inputs[self.numbers[source]].add(number)

    def read_all(self) -> None:
        """Reads the pages of all operators at once; `read` then gives each of them out once.

        Raises:
            ValueError: pages of the shard are damaged or missing, or not its own.
        """
        if self._texts is None:
            texts = {name[0]: value[0] for name, value in self._state.iterator()}
            texts.pop(INDEX, None)
            self.index.check_all(texts)
            self._texts = texts

    def read(self, number: int, page: str) -> bytes:
        """A page of the operator with a number.

        Raises:
            ValueError: a page that is damaged or missing.
        """
        name = f"{number}/{page}"
        text = None if self._texts is None else self._texts.pop(name, None)
        if text is None:
            value = self._state.getValue((name,))
            text = self.index.check(name, None if value is None else value[0])
        return decode_page(text)

    def knows(self, number: int) -> bool:
        """Whether the operator with a number has pages."""
        return f"{number}/{HEAD}" in self.index.pages

    def head(self, number: int) -> bytes | None:
        """The head of the operator with a number; None where it is new."""
        self._expect(2)
        return self.read(number, HEAD) if self.knows(number) else None

    def of(self, number: int) -> list[bytes]:
        """All pages of the operator with a number; none where it is new.

        Raises:
            ValueError: pages of the shard are damaged or missing, or not its own.
        """
        self.read_all()
        prefix = f"{number}/"
        names = [name for name in self.index.pages if name.startswith(prefix)]
        return [self.read(number, name.removeprefix(prefix)) for name in names]

    def some(self, number: int, names: list[str]) -> list[bytes]:
        """Some pages of the operator with a number.

        Raises:
            ValueError: a page that is damaged or missing.
        """
        self._expect(1 + len(names))
        return [self.read(number, name) for name in names]

    def _expect(self, pages: int) -> None:
        """Reads all pages at once, where most of them are needed if each operator needs so many with its head."""
        if 2 * pages * self.operators > len(self.index.pages):
            self.read_all()

    def write(self, number: int, changed: list[tuple[str, bytes | None]]) -> None:
        """Writes the changed pages of an operator, and removes those that are no more."""
        for own, page in changed:
            name = f"{number}/{own}"
            if page is not None:
                text = encode_page(page)
                self._write(name, text, Page.of(page, text))
            elif self.index.pages.pop(name, None) is not None:
                self._state.removeKey((name,))

    def is_of(self, query: str) -> bool:
        """Whether the state is of exactly this query, and not of one with another grace, say."""
        return self.index.pages.get(QUERY) == Page.of_text(query)

    def finish(self, query: str) -> None:
        """Writes the index, and the query where it is another one than before."""
        if not self.is_of(query):
            self._write(QUERY, query, Page.of_text(query))
        self._state.updateValue((INDEX,), (self.index.write(),))

    def _write(self, name: str, text: str, page: Page) -> None:
        self._state.updateValue((name,), (text,))
        self.index.pages[name] = page
        self.written += 1

    @property
    def count(self) -> int:
        """How many pages there are."""
        return len(self.index.pages)

    @property
    def size(self) -> int:
        """How many bytes they have in the state."""
        return sum(page.size for page in self.index.pages.values())
