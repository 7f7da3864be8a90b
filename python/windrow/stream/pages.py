"""The state of a shard in Spark's state store: pages by name, and an index of them.

| name | value |
|---|---|
| `index` | JSON: `format`; `source`, the source columns; `stream_time`; `sources`, the values of each source, by number; `inputs`, the inputs that have seen each; `pages`, the checksum of each page; `gauges`, stream time and open windows of each operator |
| `0/head`, `0/17/0/0` | the pages of an operator, after the number of its source (0 where sources share one) |

A state store may be damaged, or hold values of two states: the index tells, and nothing is emitted.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any, Protocol

from windrow.stream.control import Source

FORMAT = 1
INDEX = "index"


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

    def __init__(self, state: PageState, source: tuple[str, ...], stream_time: str) -> None:
        """Reads all pages.

        Raises:
            ValueError: pages are damaged or missing, or of a query with other sources.
        """
        self._state = state
        self._about: dict[str, Any] = {"format": FORMAT, "source": list(source), "stream_time": stream_time}
        self._read = {name[0]: bytes(value[0]) for name, value in state.iterator()}
        index = self._read.pop(INDEX, None)
        self.sources = list[Source]()
        """The known sources; their numbers are their positions."""
        self.inputs = list[set[int]]()
        """The inputs that have seen each source."""
        self._checksums = dict[str, int]()
        self._sizes = {name: len(page) for name, page in self._read.items()}
        self.gauges = dict[str, tuple[int | None, int]]()
        """Stream time and the number of open windows of each operator, by its number."""
        self.written = 0
        """How many pages were written."""
        if index is not None:
            self._open(index)
        elif self._read:
            raise ValueError(f"state: has pages such as {next(iter(self._read))!r} and no index: it is damaged")

    def _open(self, index: bytes) -> None:
        try:
            known = json.loads(index)
            found = {name: known[name] for name in self._about}
            self.sources = [tuple(source) for source in known["sources"]]
            self.inputs = [set(inputs) for inputs in known["inputs"]]
            self._checksums = dict(known["pages"])
            self.gauges = {number: (time, count) for number, (time, count) in known["gauges"].items()}
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"state: its index cannot be read ({error!r}): it is damaged") from None
        differs = [
            f"{name} was {found[name]!r} and is {self._about[name]!r}"
            for name in found
            if found[name] != self._about[name]
        ]
        if differs:
            raise ValueError(f"state: it belongs to another query: {'; '.join(differs)}: start from a new checkpoint")
        for name, checksum in self._checksums.items():
            if name not in self._read:
                raise ValueError(f"state: page {name!r} is missing: the checkpoint is damaged")
            if zlib.crc32(self._read[name]) != checksum:
                raise ValueError(
                    f"state: page {name!r} is not the one that was written last: the checkpoint is damaged"
                )
        for name in self._read:
            if name not in self._checksums:
                raise ValueError(f"state: page {name!r} is of no state: the checkpoint is damaged")

    def see(self, source: Source, number: int | None = None) -> None:
        """A source is known from now on, and was seen by an input."""
        if source not in self.sources:
            self.sources.append(source)
            self.inputs.append(set())
        if number is not None:
            self.inputs[self.sources.index(source)].add(number)

    def of(self, number: int) -> list[bytes]:
        """The pages of the operator with a number; none where it is new."""
        return [page for name, page in self._read.items() if name.startswith(f"{number}/")]

    def write(self, number: int, changed: list[tuple[str, bytes | None]]) -> None:
        """Writes the changed pages of an operator, and removes those that are no more."""
        for own, page in changed:
            name = f"{number}/{own}"
            if page is not None:
                self._state.updateValue((name,), (page,))
                self._checksums[name], self._sizes[name] = zlib.crc32(page), len(page)
                self.written += 1
            elif self._checksums.pop(name, None) is not None:
                self._state.removeKey((name,))
                del self._sizes[name]

    def finish(self) -> None:
        """Writes the index."""
        sources = {"sources": self.sources, "inputs": [sorted(inputs) for inputs in self.inputs]}
        index = {**self._about, **sources, "pages": self._checksums, "gauges": self.gauges}
        self._state.updateValue((INDEX,), (json.dumps(index).encode(),))

    @property
    def count(self) -> int:
        """How many pages there are."""
        return len(self._sizes)

    @property
    def size(self) -> int:
        """How many bytes they have."""
        return sum(self._sizes.values())
