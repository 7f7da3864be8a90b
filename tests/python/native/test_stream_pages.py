"""Damaged states of a streaming query: a clear error, and nothing is emitted."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from datetime import timedelta
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

    def given(self, pages: dict[str, str], shard: int = 0) -> list[Any]:
        """What the next micro-batch gives from pages; an error comes after what was given."""
        state = DictState()
        state.pages = pages
        query = StreamQuery(self.stream.shipment)
        rows = [row for row in self.next if row.shard == query.shard_keys[shard]]
        found: list[Any] = []
        try:
            for each in changes(rows, state, query):
                found.append(each)  # noqa: PERF402 (what came before an error counts)
        except Exception as error:
            found.append(error)
        return found


@pytest.fixture(scope="module", params=QUERIES)
def played(request: pytest.FixtureRequest) -> Played:
    return Played(request.param)


def refused(found: list[Any], *words: str) -> None:
    """Fails unless nothing but an error was given, which says what is wrong with the state."""
    (error,) = found
    assert type(error) is ValueError
    message = str(error)
    assert message.startswith("state: ")
    for word in words:
        assert word in message


def read_index(pages: dict[str, str]) -> dict[str, Any]:
    index: dict[str, Any] = json.loads(pages["index"])
    del index["checksum"]
    return index


def sealed(text: str) -> str:
    """An index of this text with a good checksum."""
    return f'{text[:-1]}, "checksum": {zlib.crc32(text.encode())}}}'


def test_a_whole_state_gives_rows(played: Played) -> None:
    found = played.given(played.pages())
    assert len(found) > 1
    assert found[-1][1]["windows_closed"] > 0


def test_a_missing_page_is_named(played: Played) -> None:
    names = [name for name in played.pages() if name != "index"]
    assert len(names) > 2
    for name in names:
        pages = played.pages()
        del pages[name]
        refused(played.given(pages), f"page {name!r} is missing", "the checkpoint is damaged")


def test_a_page_that_the_index_does_not_know_is_named() -> None:
    with pytest.raises(ValueError, match="state: page '0/head' is not the one that was written last"):
        Index(0, (), "source").check("0/head", "a page")


def test_a_page_of_an_older_micro_batch_is_named(played: Played) -> None:
    torn = 0
    for ago in (1, 2):
        for name, page in played.pages(ago=ago).items():
            pages = played.pages()
            if name != "index" and pages.get(name, page) != page:
                torn += 1
                refused(played.given({**pages, name: page}), f"page {name!r} is not the one that was written last")
    assert torn > 2


def test_an_index_of_an_older_micro_batch_is_found(played: Played) -> None:
    for ago in (1, 2):
        refused(played.given({**played.pages(), "index": played.pages(ago=ago)["index"]}), "the checkpoint is damaged")


def test_a_flipped_bit_is_found_wherever_it_is(played: Played) -> None:
    draw, flips = random.Random(1), 0
    for name, page in played.pages().items():
        places = {0, len(page) // 2, len(page) - 1, *(draw.randrange(len(page)) for _ in range(20))}
        for place in places:
            flipped = chr(ord(page[place]) ^ 1 << draw.randrange(8))
            found = played.given({**played.pages(), name: page[:place] + flipped + page[place + 1 :]})
            refused(found, "damaged") if name == "index" else refused(found, repr(name), "damaged")
            flips += 1
    assert flips > 100


def test_a_page_that_was_cut_short_is_named(played: Played) -> None:
    for name, page in played.pages().items():
        for short in (page[:-1], page[: len(page) // 2], ""):
            refused(
                played.given({**played.pages(), name: short}), repr(name) if name != "index" else "its index", "damaged"
            )


def test_a_missing_index_is_reported(played: Played) -> None:
    pages = played.pages()
    del pages["index"]
    refused(played.given(pages), "no index", "damaged")


def test_an_index_that_is_none_is_reported(played: Played) -> None:
    for text in ("", "null", "[]", "7", '"index"', "{}", '{"format": 1}', "\0", "[" * 100_000):
        refused(played.given({**played.pages(), "index": text}), "its index", "damaged")
        refused(played.given({**played.pages(), "index": sealed(text)}), "its index", "damaged")


def test_an_index_of_other_values_is_reported(played: Played) -> None:
    for name in ("sources", "inputs", "pages", "gauges"):
        for value in (None, 7, [None]):
            index = {**read_index(played.pages()), name: value}
            refused(played.given({**played.pages(), "index": sealed(json.dumps(index))}), "damaged")


def test_a_page_too_many_is_named(played: Played) -> None:
    pages = played.pages()
    name = next(name for name in pages if name != "index")
    for more in ("0/more", "7/head", "", "head"):
        refused(played.given({**pages, more: pages[name]}), f"page {more!r} belongs to no state", "damaged")


def test_a_page_of_another_shard_is_named(played: Played) -> None:
    here, there, others = played.pages(0), played.pages(1), 0
    for name, page in there.items():
        if name != "index" and name in here and here[name] != page:
            others += 1
            refused(played.given({**here, name: page}), f"page {name!r} is not the one that was written last")
    assert others > 0


def test_the_state_of_another_shard_is_reported(played: Played) -> None:
    refused(played.given(played.pages(1), shard=0), "shard 1", "shard 0", "damaged")


def test_a_state_of_a_later_format_is_reported(played: Played) -> None:
    index = {**read_index(played.pages()), "format": 2}
    refused(
        played.given({**played.pages(), "index": sealed(json.dumps(index))}),
        "it has format 2, and this version of windrow reads format 1",
    )


@pytest.fixture(scope="module", params=IN_PART)
def in_part(request: pytest.FixtureRequest) -> Played:
    return Played(request.param)


class TestStatesReadInPart:
    """What is not read of a state harms nothing."""

    @pytest.mark.parametrize("damage", ["gone", "older", "flipped", "cut"])
    def test_damage_is_named_where_it_is_read_and_harms_nothing_elsewhere(self, in_part: Played, damage: str) -> None:
        whole, messages = in_part.given(in_part.pages()), set()
        for name, page in in_part.pages().items():
            pages = in_part.pages()
            if damage == "gone":
                del pages[name]
            elif damage == "older":
                pages[name] = in_part.pages(ago=1).get(name, page[::-1])
            else:
                pages[name] = page[:-1] if damage == "cut" else page[:50] + chr(ord(page[50]) ^ 1) + page[51:]
            found = in_part.given(pages)
            if isinstance(found[-1], Exception):
                assert found[:-1] == whole[: len(found) - 1]
                refused(found[-1:], "damaged")
                messages.add(name)
            else:
                assert found == whole
        assert {"index", "0/head", "1/head"} <= messages
        assert len(messages) > 4

    def test_pages_of_an_older_micro_batch_are_torn(self, in_part: Played) -> None:
        older = in_part.pages(ago=1)
        for name in ("index", "0/head"):
            refused(in_part.given({**in_part.pages(), name: older[name]}), "damaged")
            refused(in_part.given({**older, name: in_part.pages()[name]}), "damaged")

    def test_the_state_of_another_shard_is_reported(self, in_part: Played) -> None:
        refused(in_part.given(in_part.pages(1), shard=0), "shard 1", "shard 0", "damaged")


def test_a_state_of_other_sources_is_refused() -> None:
    stream = Played("close").stream
    stream.define(QUERIES["sessions"])
    with pytest.raises(ValueError, match=r"(?s)^state: .*source was 'part', is none"):
        stream.push([micro_batch(5)])
