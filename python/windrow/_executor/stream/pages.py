"""The state of a shard in Spark's state store: pages by name, and their index (`index.py`).

A state store may be damaged, or mix values of two states or shards. The index detects this, and the query fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from windrow._arguments.errors import changed_query
from windrow._executor.stream.index import HEAD, INDEX, QUERY, Index, Page
from windrow._executor.tasks import Source
from windrow._native import decode_page, encode_page

_PROBE = "probe"
"""The name of a large text that is there for a moment."""


class PageState(Protocol):
    """A map in Spark's state store, from names to texts. Each name and text is a row of one column."""

    def getValue(self, key: tuple[str]) -> Any:  # noqa: N802 (Spark's name)
        """The text of a name as a row, or None if the name is missing."""

    def iterator(self) -> Iterator[tuple[Any, Any]]:
        """All names and texts."""

    def updateValue(self, key: tuple[str], value: tuple[str]) -> None:  # noqa: N802 (Spark's name)
        """Writes a text."""

    def removeKey(self, key: tuple[str]) -> None:  # noqa: N802 (Spark's name)
        """Removes a name."""


def probe(state: PageState, size: int = 1 << 20) -> None:
    """Writes a large text to a state without an index, and reads it again.

    Raises:
        RuntimeError: the text that comes back is another one.
    """
    if state.getValue((INDEX,)) is not None:
        return
    text = "".join(map(str, range(size // 4)))[:size]
    state.updateValue((_PROBE,), (text,))
    back = state.getValue((_PROBE,))
    state.removeKey((_PROBE,))
    if back is None or back[0] != text:
        raise RuntimeError(
            f"state: a value of {len(text):,} characters came back changed, so this Spark cuts large state "
            "values (SPARK-53870); allowed: a Spark without this error, from 4.0.2 on"
        )


class Pages:
    """Reads and writes the pages of a shard."""

    def __init__(self, state: PageState, shard: int, source: tuple[str, ...], stream_time: str) -> None:
        """Reads the index.

        Raises:
            ValueError: the index is damaged or missing, or belongs to another shard or a query with other sources.
        """
        self._state = state
        self._texts: dict[str, str] | None = None
        self.index = Index(shard, source, stream_time)
        """The index of the pages. `finish` writes it."""
        self.numbers = dict[Source, int]()
        """The number of each known source: its position in the index."""
        self.operators = 1
        """The number of operators that have work in the micro-batch."""
        self.written = 0
        """The number of pages written."""
        index = state.getValue((INDEX,))
        if index is not None:
            self._open(Index.read(index[0]))
            return
        for name, _ in state.iterator():
            raise ValueError(f"state: has pages such as {name[0]!r} and no index: it is damaged")

    def _open(self, index: Index) -> None:
        saved, own = (
            {"source": ", ".join(each.source) or None, "stream_time": each.stream_time} for each in (index, self.index)
        )
        if saved != own:
            raise ValueError(f"state: {changed_query(saved, own)}")
        if index.shard != self.index.shard:
            raise ValueError(
                f"state: it belongs to shard {index.shard}, not to shard {self.index.shard}: the checkpoint is damaged"
            )
        self.index = index
        self.numbers = {source: number for number, source in enumerate(index.sources)}

    def see(self, source: Source, number: int | None = None) -> None:
        """Adds a source if it is new, and notes the input that saw it."""
        index = self.index
        if source not in self.numbers:
            self.numbers[source] = len(index.sources)
            index.sources.append(source)
            index.inputs.append(set())
        if number is not None:
            index.inputs[self.numbers[source]].add(number)

    def read_all(self) -> None:
        """Reads the pages of all operators at once. `read` then returns each of them once.

        Raises:
            ValueError: pages of the shard are damaged, missing or foreign.
        """
        if self._texts is None:
            texts = {name[0]: value[0] for name, value in self._state.iterator()}
            texts.pop(INDEX, None)
            self.index.check_all(texts)
            self._texts = texts

    def read(self, number: int, page: str) -> bytes:
        """A page of operator `number`.

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
        """Whether operator `number` has pages."""
        return f"{number}/{HEAD}" in self.index.pages

    def head(self, number: int) -> bytes | None:
        """The head page of operator `number`, or None if it is new."""
        self._expect(2)
        return self.read(number, HEAD) if self.knows(number) else None

    def of(self, number: int) -> list[bytes]:
        """All pages of operator `number`; an empty list if it is new.

        Raises:
            ValueError: pages of the shard are damaged, missing or foreign.
        """
        self.read_all()
        prefix = f"{number}/"
        names = [name for name in self.index.pages if name.startswith(prefix)]
        return [self.read(number, name.removeprefix(prefix)) for name in names]

    def some(self, number: int, names: list[str]) -> list[bytes]:
        """Some pages of operator `number`.

        Raises:
            ValueError: a page that is damaged or missing.
        """
        self._expect(1 + len(names))
        return [self.read(number, name) for name in names]

    def _expect(self, pages: int) -> None:
        """Reads all pages at once if most are needed, assuming that each operator needs `pages` with its head."""
        if 2 * pages * self.operators > len(self.index.pages):
            self.read_all()

    def write(self, number: int, changed: list[tuple[str, bytes | None]]) -> None:
        """Writes the changed pages of an operator and removes deleted ones."""
        for page_name, page in changed:
            name = f"{number}/{page_name}"
            if page is not None:
                text = encode_page(page)
                self._write(name, text, Page.of(page, text))
            elif self.index.pages.pop(name, None) is not None:
                self._state.removeKey((name,))

    def is_of(self, query: str) -> bool:
        """Whether the state belongs to exactly this query and not, for example, to one with another grace."""
        return self.index.pages.get(QUERY) == Page.of_text(query)

    def finish(self, query: str) -> None:
        """Writes the index, and the query if it has changed."""
        if not self.is_of(query):
            self._write(QUERY, query, Page.of_text(query))
        self._state.updateValue((INDEX,), (self.index.write(),))

    def _write(self, name: str, text: str, page: Page) -> None:
        self._state.updateValue((name,), (text,))
        self.index.pages[name] = page
        self.written += 1

    @property
    def count(self) -> int:
        """The number of pages."""
        return len(self.index.pages)

    @property
    def size(self) -> int:
        """The bytes of all pages in the state."""
        return sum(page.size for page in self.index.pages.values())
