"""Damaged states of a streaming query: a clear error, and nothing is emitted."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow._executor.stream.index import Index
from windrow._executor.stream.pack import pack
from windrow._executor.stream.query import StreamQuery
from windrow._executor.stream.shard import changes

from ..harness.steps import DictState, LocalStream, Row
from ..scenes import MIDNIGHT

SCHEMA = pa.schema(
    [("user", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("part", pa.int32()), ("amount", pa.int64())]
)
SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="10 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("5 minutes", grace="10 minutes")


def query(
    data: Any, windows: Any = SESSIONS, source: str | None = "part", aggregate: Any = None, emit: Any = "close"
) -> Any:
    grouped = wr.group_by(data, "user", time="ts", source=source)
    return grouped.windowed_by(windows).emit(emit).agg(n=wr.count(), spend=aggregate or wr.sum("amount"))


def joined(older: Any, later: Any) -> Any:
    return (older or 0) + (later or 0)


QUERIES: dict[str, Callable[[Any], Any]] = {
    "sessions": lambda data: query(data, source=None, emit="update"),
    "sliding": lambda data: query(data, SLIDING, source=None),
    "python": lambda data: query(data, source=None, aggregate=wr.reduce("amount", joined)),
}
"""Of which the next micro-batch reads all pages."""
IN_PART: dict[str, Callable[[Any], Any]] = {
    "close": query,
    "update": lambda data: query(data, emit="update"),
    "windows": lambda data: query(data, SLIDING),
}
"""Of which it reads some pages."""


def micro_batch(number: int) -> pa.Table:
    """Records of many users, ten minutes after those of the one before."""
    draw = random.Random(number)
    rows = [
        {
            "user": f"user {draw.randint(0, 20)}",
            "ts": MIDNIGHT + timedelta(minutes=10 * number + draw.uniform(0, 10)),
            "part": draw.randint(0, 1),
            "amount": draw.randint(1, 9),
        }
        for _ in range(60)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


class Played:
    """A stream after some micro-batches, and its states after each of them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.stream = LocalStream({**QUERIES, **IN_PART}[name], SCHEMA, shards=2)
        self.history = list[dict[int, dict[str, str]]]()
        for number in range(5):
            assert self.stream.push([micro_batch(number)]) or number < 2
            self.history.append({shard: dict(state.pages) for shard, state in self.stream.states.items()})
        splits = iter(micro_batch(5).select(self.stream.read.names).to_batches())
        self.next = [Row(**row) for packed in pack(splits, self.stream.shipment) for row in packed.to_pylist()]

    def pages(self, shard: int = 0, ago: int = 0) -> dict[str, str]:
        """A copy of the pages of a shard, as they are now or some micro-batches ago."""
        return dict(self.history[-1 - ago][shard])

    def given(self, changed: Mapping[str, str | None] = MappingProxyType({}), pages: int = 0) -> list[Any]:
        """What the next micro-batch gives the first shard, of whose pages some were changed; None is one that is gone.

        An error comes after what was given. `pages` is the shard whose pages these are.
        """
        state = DictState({**self.pages(pages), **changed})
        state.pages = {name: page for name, page in state.pages.items() if page is not None}
        query = StreamQuery(self.stream.shipment)
        rows = [row for row in self.next if row.shard == query.shard_keys[0]]
        found: list[Any] = []
        try:
            for each in changes(rows, state, query):
                found.append(each)  # noqa: PERF402 (what came before an error counts)
        except Exception as error:
            found.append(error)
        return found


@pytest.fixture(scope="module", params=[*QUERIES, *IN_PART])
def played(request: pytest.FixtureRequest) -> Played:
    return Played(request.param)


def refused(found: list[Any], *words: str) -> None:
    """Fails unless nothing but an error was given, which says what is wrong with the state."""
    (error,) = found
    assert type(error) is ValueError
    assert str(error).startswith("state: ")
    assert all(word in str(error) for word in words), error


def with_index(played: Played, **changed: Any) -> dict[str, str]:
    """An index of other values, with a good checksum."""
    index = json.loads(played.pages()["index"])
    del index["checksum"]
    return sealed(json.dumps({**index, **changed}))


def sealed(text: str) -> dict[str, str]:
    return {"index": f'{text[:-1]}, "checksum": {zlib.crc32(text.encode())}}}'}


def test_a_whole_state_gives_rows(played: Played) -> None:
    found = played.given()
    assert len(found) > 1
    assert found[-1][1]["windows_closed"] > 0


def test_a_page_that_the_index_does_not_know_is_named() -> None:
    with pytest.raises(ValueError, match="state: page '0/head' is not the one that was written last"):
        Index(0, (), "source").check("0/head", "a page")


def flipped(page: str) -> Iterator[str]:
    """The page with a bit flipped, at some places."""
    draw = random.Random(len(page))
    for place in {0, len(page) // 2, len(page) - 1, *(draw.randrange(len(page)) for _ in range(20))}:
        yield page[:place] + chr(ord(page[place]) ^ 1 << draw.randrange(8)) + page[place + 1 :]


DAMAGES: dict[str, Callable[[Played, str, str], Iterable[str | None]]] = {
    "gone": lambda played, name, page: [None],
    "older": lambda played, name, page: {played.pages(ago=ago).get(name, page) for ago in (1, 2)} - {page},
    "flipped": lambda played, name, page: flipped(page),
    "cut short": lambda played, name, page: (page[:-1], page[: len(page) // 2], ""),
    "of another shard": lambda played, name, page: {played.pages(1).get(name, page)} - {page},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_where_it_is_read_and_harms_nothing_elsewhere(played: Played, damage: str) -> None:
    whole, named = played.given(), set[str]()
    for name, page in played.pages().items():
        for wrong in DAMAGES[damage](played, name, page):
            found = played.given({name: wrong})
            if played.name in IN_PART and not isinstance(found[-1], Exception):
                assert found == whole
                continue
            if played.name in IN_PART:
                assert found[:-1] == whole[: len(found) - 1]
                found = found[-1:]
            says = f"page {name!r} is {'missing' if wrong is None else 'not the one that was written last'}"
            refused(found, "damaged", *([] if name == "index" else [says]))
            named.add(name)
    assert {"index", "0/head"} <= named
    assert len(named) > 2


def test_an_index_that_is_none_is_reported(played: Played) -> None:
    for text in ("", "null", "[]", "7", '"index"', "{}", '{"format": 1}', "\0", "[" * 100_000):
        refused(played.given({"index": text}), "its index", "damaged")
        refused(played.given(sealed(text)), "its index", "damaged")


def test_an_index_of_other_values_is_reported(played: Played) -> None:
    for name in ("sources", "inputs", "pages", "gauges"):
        for value in (None, 7, [None]):
            refused(played.given(with_index(played, **{name: value})), "damaged")


def test_a_page_too_many_is_named(played: Played) -> None:
    page = next(page for name, page in played.pages().items() if name != "index")
    for more in ("0/more", "7/head", "", "head"):
        refused(played.given({more: page}), f"page {more!r} belongs to no state", "damaged")


def test_the_state_of_another_shard_is_reported(played: Played) -> None:
    refused(played.given(pages=1), "shard 1", "shard 0", "damaged")


def test_a_state_of_a_later_format_is_reported(played: Played) -> None:
    says = "it has format 2, and this version of windrow reads format 1"
    refused(played.given(with_index(played, format=2)), says)


def test_a_state_of_other_sources_is_refused() -> None:
    stream = Played("close").stream
    stream.define(QUERIES["sessions"])
    with pytest.raises(ValueError, match=r"(?s)^state: .*source was 'part', is none"):
        stream.push([micro_batch(5)])
