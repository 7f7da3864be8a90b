"""Bids as Nexmark's generator makes them: its proportions, its active and hot bidders and auctions, its sizes.

Of fifty events one is a person, three are auctions and 46 are bids; only the bids are made here, with the times that
they have among all events. The numbers are the defaults of Nexmark for Flink:

* An event comes each 1/rate seconds, in order, with a time in milliseconds.
* One bid in four is of any of the last 1,000 people or of the next ten. The other three are of the hot bidder: the
  second person of the last hundred.
* Every other bid is for any of the last 100 auctions or the next ten, the others for the first of the last hundred.
* The price is 100 times 10 to a power between 0 and 6. Half of the bids come from one of four channels, the others from
  one of 10,000. `extra` fills the bid up to some 100 bytes.

So a person gets 46 bids on average, the hot ones some 3,500 and the others 11, all while the next thousand people come:
5 s of time at 10,000 events a second, Nexmark's default. Its published runs have 10,000,000.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

SEED = 20_261_125
PEOPLE, AUCTIONS, BIDS = 1, 3, 46
EVENTS = PEOPLE + AUCTIONS + BIDS
FIRST_ID = 1_000
ACTIVE_PEOPLE, IN_FLIGHT_AUCTIONS, LEAD = 1_000, 100, 10
HOT = 100
"""The people or auctions of which one is hot."""
HOT_BIDDERS, HOT_AUCTIONS, HOT_CHANNELS = 4, 2, 2
"""One event in this many is not for the hot one."""
CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
OTHER_CHANNELS = 10_000
BYTES, FIXED_BYTES = 100, 32
EPOCH = 1_767_225_600_000  # 2026-01-01
POOL = 8_192
"""Different texts in `extra`."""
FAR = 3_600_000
"""How many milliseconds after the last bid the closing bid comes."""
NOBODY = 0
"""The bidder of the closing bid."""


def bids(count: int, rate: int, at_once: int = 1_000_000) -> Iterator[pa.Table]:
    """The first `count` bids, in order, in tables of `at_once`.

    Columns: auction, bidder, price (int64), channel, url, extra (string), dateTime (timestamp of milliseconds).
    """
    random = np.random.default_rng(SEED)
    texts = _texts(random)
    for first in range(0, count, at_once):
        yield _bids(random, np.arange(first, min(first + at_once, count)), rate, texts)


def closing(count: int, rate: int) -> pa.Table:
    """A bid of nobody, an hour after the last of `count`: with it a stream closes all sessions before."""
    nothing = pa.array([""])
    return _table([np.array([NOBODY])] * 3, nothing, nothing, nothing, _times(np.array([count]), rate) + FAR)


def _bids(random: np.random.Generator, number: np.ndarray, rate: int, texts: dict[str, pa.Array]) -> pa.Table:
    count = len(number)
    epoch = number // BIDS
    last_person, last_auction = epoch * PEOPLE, epoch * AUCTIONS + AUCTIONS - 1
    people = last_person + 1
    active = np.minimum(people, ACTIVE_PEOPLE)
    any_bidder = people - active + random.integers(0, active + LEAD)
    hot_bidder = last_person // HOT * HOT + 1
    bidder = FIRST_ID + np.where(random.integers(0, HOT_BIDDERS, count) > 0, hot_bidder, any_bidder)
    oldest = np.maximum(last_auction - IN_FLIGHT_AUCTIONS, 0)
    any_auction = oldest + random.integers(0, last_auction - oldest + 1 + LEAD)
    hot_auction = last_auction // HOT * HOT
    auction = FIRST_ID + np.where(random.integers(0, HOT_AUCTIONS, count) > 0, hot_auction, any_auction)
    price = np.round(10 ** (6 * random.random(count)) * 100).astype(np.int64)
    is_hot = random.integers(0, HOT_CHANNELS, count) > 0
    any_channel = len(CHANNELS) + random.integers(0, OTHER_CHANNELS, count)
    channel = pa.array(np.where(is_hot, random.integers(0, len(CHANNELS), count), any_channel))
    extra = pa.array(random.integers(0, POOL, count))
    return _table(
        [auction, bidder, price],
        texts["channel"].take(channel),
        texts["url"].take(channel),
        texts["extra"].take(extra),
        _times(number, rate),
    )


def _times(number: np.ndarray, rate: int) -> np.ndarray:
    """Milliseconds of the bids with these numbers."""
    event = number // BIDS * EVENTS + PEOPLE + AUCTIONS + number % BIDS
    return EPOCH + event * 1_000 // rate


def _table(numbers: list[np.ndarray], channel: pa.Array, url: pa.Array, extra: pa.Array, time: np.ndarray) -> pa.Table:
    auction, bidder, price = (pa.array(column, pa.int64()) for column in numbers)
    columns = {"auction": auction, "bidder": bidder, "price": price, "channel": channel, "url": url}
    return pa.table(columns | {"dateTime": pa.array(time, pa.timestamp("ms", "UTC")), "extra": extra})


def _texts(random: np.random.Generator) -> dict[str, pa.Array]:
    """The texts that bids choose from."""
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))

    def word(size: int) -> str:
        return "".join(random.choice(letters, size))

    def url() -> str:
        return f"https://www.nexmark.com/{word(5)}/{word(5)}/{word(5)}/item.htm?query=1"

    others = range(OTHER_CHANNELS)
    wanted = BYTES - FIXED_BYTES
    spread = round(wanted * 0.2)
    sizes = random.integers(wanted - spread, wanted + spread, POOL)
    return {
        "channel": pa.array([*CHANNELS, *(f"channel-{number}" for number in others)]),
        "url": pa.array([*(url() for _ in CHANNELS), *(f"{url()}&channel_id={number}" for number in others)]),
        "extra": pa.array([word(size) for size in sizes.tolist()]),
    }
