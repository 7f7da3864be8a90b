"""The index of a shard's pages: checksums, bounds, sources, and the progress of each operator.

| name in the state | value |
|---|---|
| `index` | JSON: this index |
| `query` | JSON: the query, for readers of the state |
| `0/head`, `0/17/0/0` | pages of an operator as text, prefixed with its source number (0 if sources share it) |

| in the index | |
|---|---|
| `format`, `shard` | 1, the version of the whole state; the number of the shard |
| `source`, `stream_time` | the source columns, and how several sources share stream time |
| `start` | the open windows with which the stream began; null if it began with none |
| `sources`, `inputs` | the values of each source, by number, and the inputs that have seen it |
| `pages` | checksum and text length of each page; for windows also first and last time and key prefixes |
| `gauges` | stream time and open windows of each operator |
| `checksum` | CRC-32 of the text without this entry |

| in the query | |
|---|---|
| `spec` | the plan of a shard's operator |
| `schema`, `columns` | the columns that the query reads, as Arrow IPC in base64, and how many belong to the plan |
| `accumulators` | the result types of Python functions, as Arrow IPC in base64 |
| `result` | the columns of `windrow.state.read`, as Spark's JSON |

A state store may be damaged, or mix values of two states or shards. The index detects this.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from windrow._executor.tasks import Source

FORMAT = 1
"""The version of the state of a shard. Other versions are refused."""
INDEX = "index"
QUERY = "query"
HEAD = "head"
"""The page with the progress of an operator."""

_CHECKSUM = ', "checksum": '
_KEY_DIGITS = 32
"""Hexadecimal digits kept of each key bound. The index must be small, as every micro-batch writes it."""


@dataclass(frozen=True)
class Page:
    """The index entry of a page.

    Attributes:
        checksum: CRC-32 of its text.
        size: the length of its text, in characters.
        times: for windows, the least start, and the greatest reach of sessions or start of sliding windows.
        keys: for windows, prefixes of the first and last sort key, in hexadecimal digits.
    """

    checksum: int
    size: int
    times: tuple[int, int] | None = None
    keys: tuple[str, str] | None = None

    @classmethod
    def of(cls, page: bytes, text: str) -> Page:
        """The entry of a page with this text."""
        metadata = pa.ipc.open_stream(page).schema.metadata or {}
        if b"windrow.first_time" not in metadata:
            return cls.of_text(text)
        first, last = (int(metadata[name]) for name in (b"windrow.first_time", b"windrow.last_time"))
        least, most = (metadata[name].decode()[:_KEY_DIGITS] for name in (b"windrow.first_key", b"windrow.last_key"))
        return replace(cls.of_text(text), times=(first, last), keys=(least, most))

    @classmethod
    def of_text(cls, text: str) -> Page:
        """The entry of a text without windows."""
        return cls(_checksum(text), len(text))

    def may_hold(self, key: str, start: int | None, end: int | None) -> bool:
        """Whether the page may hold a window of this sort key between two times."""
        if self.times is None or self.keys is None:
            return False
        first, last = self.times
        digits = key[:_KEY_DIGITS]
        in_time = (end is None or first <= end) and (start is None or last >= start)
        return in_time and self.keys[0] <= digits <= self.keys[1]

    def write(self) -> list[int | str]:
        """The entry as a JSON array."""
        return [self.checksum, self.size, *(self.times or ()), *(self.keys or ())]

    @classmethod
    def read(cls, values: list[Any]) -> Page:
        """Reads the result of `write`."""
        checksum, size, *bounds = values
        if not bounds:
            return cls(checksum, size)
        first, last, least, most = bounds
        return cls(checksum, size, (first, last), (least, most))


@dataclass
class Index:
    """The index of the pages of a shard.

    Attributes:
        shard: the number of the shard.
        source: the source columns.
        stream_time: how several sources share stream time.
        sources: the known sources; their numbers are their positions.
        inputs: the inputs that have seen each source.
        pages: the entry of each page, by name.
        gauges: stream time and the number of open windows of each operator, by its number.
        start: the open windows with which the stream began.
    """

    shard: int
    source: tuple[str, ...]
    stream_time: str
    sources: list[Source] = field(default_factory=list)
    inputs: list[set[int]] = field(default_factory=list)
    pages: dict[str, Page] = field(default_factory=dict)
    gauges: dict[str, tuple[int | None, int]] = field(default_factory=dict)
    start: str | None = None

    @classmethod
    def read(cls, text: str) -> Index:
        """Reads the result of `write`. Raises `ValueError` for anything else."""
        if text != _sealed(text.rpartition(_CHECKSUM)[0] + "}"):
            raise ValueError("state: its index is not the one that was written: the checkpoint is damaged")
        try:
            fields = json.loads(text)
            version = fields["format"]
            if version == FORMAT:
                return cls(
                    fields["shard"],
                    tuple(fields["source"]),
                    fields["stream_time"],
                    [tuple(source) for source in fields["sources"]],
                    [set(inputs) for inputs in fields["inputs"]],
                    {name: Page.read(page) for name, page in fields["pages"].items()},
                    {number: (time, count) for number, (time, count) in fields["gauges"].items()},
                    fields["start"],
                )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"state: its index cannot be read ({error!r}): it is damaged") from None
        raise ValueError(f"state: it has format {version}, and this version of windrow reads format {FORMAT}")

    def write(self) -> str:
        """The index as JSON."""
        index = {
            "format": FORMAT,
            "shard": self.shard,
            "source": self.source,
            "stream_time": self.stream_time,
            "sources": self.sources,
            "inputs": [sorted(inputs) for inputs in self.inputs],
            "pages": {name: page.write() for name, page in self.pages.items()},
            "gauges": self.gauges,
            "start": self.start,
        }
        return _sealed(json.dumps(index))

    def check(self, name: str, text: str | None) -> str:
        """Returns the text of a page. Raises `ValueError` if it is missing or not the last one written."""
        if text is None:
            raise ValueError(f"state: page {name!r} is missing: the checkpoint is damaged")
        page = self.pages.get(name)
        if page is None or _checksum(text) != page.checksum:
            raise ValueError(f"state: page {name!r} is not the one that was written last: the checkpoint is damaged")
        return text

    def check_all(self, texts: dict[str, str]) -> None:
        """Raises `ValueError` unless the texts are exactly the pages written last."""
        for name in self.pages:
            self.check(name, texts.get(name))
        for name in texts:
            if name not in self.pages:
                raise ValueError(f"state: page {name!r} belongs to no state: the checkpoint is damaged")


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode())


def _sealed(text: str) -> str:
    """A JSON object with its checksum as the last member."""
    return f"{text[:-1]}{_CHECKSUM}{_checksum(text)}}}"
