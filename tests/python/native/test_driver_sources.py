"""Several sources in a driver, and their pages: each with its own time, or all by the slowest (rules 1.4, 5.2)."""

from __future__ import annotations

import functools
import itertools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.testing import Change, StreamDriver

from ..harness.examples import usually
from ..harness.sources import (
    CLICKS,
    ORDERS,
    ROWS,
    SCHEMA,
    SESSIONS,
    SLIDING,
    cogrouped,
    driven,
    feeds,
    of,
    table,
)
from ..scenes import at


def test_a_source_is_known_by_a_record_or_by_a_tick_of_its_own() -> None:
    driver = driven()
    assert driver.tick(at(50)) == []
    assert (driver.stream_time, driver.stream_times, driver.counters["ticks"]) == (None, {}, 0)
    driver.pipe(user="bob", ts=at(30), partition=1)
    driver.tick(at(60), source=3)
    assert (driver.stream_time, driver.stream_times) == (at(30), {(1,): at(30), (3,): at(60)})


def test_null_is_the_source_of_a_record_and_every_source_of_a_tick() -> None:
    driver = driven()
    driver.pipe(user="ann", ts=at(0))
    driver.pipe(user="bob", ts=at(0), partition=0)
    assert driver.stream_times == {(None,): at(0), (0,): at(0)}
    driver.tick(at(3), source=(None,))
    assert driver.stream_times == {(None,): at(3), (0,): at(0)}
    driver.pipe(ts=at(4), beat=True)
    assert driver.stream_times == {(None,): at(4), (0,): at(4)}
    driver.pipe(ts=at(5), beat=True, partition=0)
    assert driver.stream_times == {(None,): at(4), (0,): at(5)}


def test_a_source_has_the_values_of_all_its_columns() -> None:
    driver = driven(source=["topic", "partition"])
    for topic, partition in (("a", 0), ("b", 0), ("a", 1), (None, 0)):
        driver.pipe(user="ann", ts=at(0), topic=topic, partition=partition)
    driver.tick(at(2), source=("b", 0))
    driver.pipe(ts=at(3), topic="a", beat=True)  # a tick with a value is of one source, this one new
    assert driver.stream_times == {
        ("a", 0): at(0),
        ("b", 0): at(2),
        ("a", 1): at(0),
        (None, 0): at(0),
        ("a", None): at(3),
    }


def test_a_failure_in_one_source_stops_all_until_a_restore() -> None:
    def added(held: int, value: int) -> int:
        return held + [0, 1, 2][value]

    def definition(data: Any) -> Any:
        grouped = wr.group_by(data, "user", time="ts", source="partition").windowed_by(SESSIONS)
        return grouped.agg(a=wr.reduce("amount", added))

    driver = StreamDriver(definition, SCHEMA)
    for partition in (0, 1):
        driver.pipe(user="ann", ts=at(0), amount=1, partition=partition)
    saved = driver.snapshot()
    with pytest.raises(RuntimeError, match="IndexError"):
        driver.pipe(user="ann", ts=at(0), amount=9, partition=1)
    piping = functools.partial(driver.pipe, user="ann", ts=at(0), amount=1, partition=0)
    for ask in (piping, driver.finish, driver.snapshot, driver.changed_pages, driver.sessions.all):
        with pytest.raises(ValueError, match="an earlier batch failed halfway: restore"):
            ask()
    assert driver.restore(saved).pipe(user="ann", ts=at(1), amount=2, partition=0) == []
    assert [final.values for final in driver.finish()] == [{"a": 3}, {"a": 1}]


DEFINITIONS: dict[str, tuple[Any, bool | None]] = {
    "sessions": (SESSIONS, None),
    "sessions, each update": (SESSIONS, True),
    "sliding": (SLIDING, None),
    "sliding, each update": (SLIDING, True),
    "sessions that stay": (wr.SessionWindows.with_gap("5 minutes", grace="1 minute", retention="20 minutes"), None),
}


class Alone:
    """The reference: a driver without sources for each of them."""

    def __init__(self, windows: Any, every: bool | None) -> None:
        self._make = lambda: StreamDriver(of(windows, every), SCHEMA)
        self.drivers: dict[Any, StreamDriver] = {}

    def feed(self, row: dict[str, Any]) -> list[Change]:
        every = row["beat"] and row["partition"] is None
        if not every:
            self.drivers.setdefault(row["partition"], self._make())
        to = list(self.drivers) if every else [row["partition"]]
        return [change for source in to for change in self.drivers[source].pipe(**row)]

    @property
    def counters(self) -> Counter[str]:
        return sum((Counter(driver.counters) for driver in self.drivers.values()), Counter[str]())


@pytest.mark.parametrize("name", DEFINITIONS)
@usually(40)
@given(feeds(), st.integers(1, 9), st.integers(0, 30))
def test_each_source_is_like_a_separate_driver(
    name: str, rows: list[tuple[Any, int, Any]], size: int, restart: int
) -> None:
    windows, every = DEFINITIONS[name]
    alone, piped, cut = Alone(windows, every), driven(windows, every), driven(windows, every)
    expected: list[Change] = []
    for place, row in enumerate(table(*rows).to_pylist()):
        if place == restart:
            pages = piped.snapshot()
            piped = driven(windows, every).restore(random.Random(place).sample(pages, len(pages)))
        own = alone.feed(row)
        assert piped.pipe(**row) == own
        expected += own
    assert cut.pipe_batch(table(*rows), rows=size) == expected
    for driver in (piped, cut):
        assert +Counter(driver.counters) == +alone.counters
        assert driver.stream_times == {(source,): held.stream_time for source, held in alone.drivers.items()}
    store = "windows" if windows is SLIDING else "sessions"
    found = [row for held in alone.drivers.values() for row in getattr(held, store).all().to_pylist()]
    found.sort(key=lambda row: (row["user"].encode(), row["window"]["end"], row["window"]["start"]))
    assert getattr(piped, store).all().to_pylist() == found
    assert getattr(piped, store).backward_all().to_pylist() == found[::-1]
    found.sort(key=lambda row: (row["window"]["end"], row["window"]["start"], row["user"].encode()))
    assert getattr(piped, store).find_closed().to_pylist() == found
    assert getattr(piped, store).backward_find_closed().to_pylist() == found[::-1]
    last = [change for held in alone.drivers.values() for change in held.finish()]
    assert piped.finish() == cut.finish() == last


def test_windows_of_all_sources_are_found_by_key_and_bounds() -> None:
    driver = driven()
    assert driver.sessions.all().num_rows == 0
    assert driver.sessions.all().column_names == ["user", "window", "n", "spent", "time"]
    for user, minute, partition in (("b", 0, 0), ("a", 1, 1), ("a", 0, 0), ("a", 1, 2), ("ab", 0, 1)):
        driver.pipe(user=user, ts=at(minute), amount=partition, partition=partition)
    assert driver.sessions.fetch("a")["spent"].to_pylist() == [0, 1, 2]
    assert driver.sessions.fetch("a", "ab")["user"].to_pylist() == ["a", "a", "a", "ab"]
    assert driver.sessions.backward_fetch("a", "ab")["spent"].to_pylist() == [1, 2, 1, 0]
    assert driver.sessions.find_sessions("a", at(1), at(1))["spent"].to_pylist() == [1, 2]
    found = driver.sessions.fetch_session("a", at(1), at(1))
    assert found is not None
    assert found["spent"] == 1  # of the source that was known before the other
    assert driver.sessions.fetch_session("b", at(1), at(1)) is None


def test_keys_of_several_columns_are_in_their_order_over_all_sources() -> None:
    def definition(data: Any) -> Any:
        grouped = wr.group_by(data, "partition", "user", time="ts", source=["partition", "topic"])
        return grouped.windowed_by(SESSIONS).count()

    driver = StreamDriver(definition, SCHEMA)
    for partition, user in itertools.product((2, None, -1, 0), ("b", None, "a")):
        driver.pipe(user=user, ts=at(0), partition=partition, topic=user)
    named = [(row["partition"], row["user"]) for row in driver.sessions.all().to_pylist()]
    # Nulls first; the key that is null in all of its columns has no windows.
    assert named == list(itertools.product((None, -1, 0, 2), (None, "a", "b")))[1:]


def test_a_record_without_an_order_is_refused_and_a_tick_without_one_is_not() -> None:
    driver = driven(order="offset")
    with pytest.raises(ValueError, match="record: column 'offset': got None; allowed: a value for every record"):
        driver.pipe(user="ann", ts=at(0), partition=0)
    rows = table(("ann", 0, 0), (None, 3, 0))
    with pytest.raises(ValueError, match="data: column 'offset': got None; allowed: a value for every record"):
        driver.pipe_batch(rows)
    with pytest.raises(ValueError, match="data: got 'offset'; allowed: a column of the data"):
        driver.pipe_batch(rows.drop_columns("offset"))
    assert (driver.counters["records"], driver.stream_times) == (0, {})
    driver.pipe_batch(rows.set_column(5, "offset", pa.array([1, None], pa.int64())))
    driver.pipe(ts=at(4), beat=True, partition=0)
    driver.tick(at(5))
    assert driver.stream_times == {(0,): at(5)}


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: driven(order="offset", stream_time="slowest"), "order: got 'offset'; allowed: None with stream_time="),
    (lambda: StreamDriver(of(), SCHEMA).tick(at(0), source=0), "source: got 0; allowed: none: the definition names no"),
    (
        lambda: driven(source=("topic", "partition")).tick(at(0), source="a"),
        "source: got 'a'; allowed: a tuple of the values of 'topic', 'partition'",
    ),
    (
        lambda: driven().pipe_batch(ROWS.drop_columns("partition")),
        "data: got 'partition'; allowed: a column of the data",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_wrong_sources_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_sources_of_another_type_are_refused() -> None:
    with pytest.raises(TypeError, match="source: column 'partition': got '0', a str; allowed: an int"):
        driven().tick(at(0), source="0")
    with pytest.raises(TypeError, match="record: column 'partition': got '0', a str; allowed: an int"):
        driven().pipe(user="ann", ts=at(0), partition="0")
    says = "orders: column 'partition' has type string; allowed: int32, the type of column 'part' of clicks"
    with pytest.raises(TypeError, match=says):
        cogrouped(orders=ORDERS.set(2, pa.field("partition", pa.string())))


@pytest.mark.parametrize("kind", [pa.float64(), pa.timestamp("us"), pa.list_(pa.int32()), pa.bool_(), pa.null()])
def test_a_source_is_named_by_values_that_tell_it_apart(kind: pa.DataType) -> None:
    schema = SCHEMA.set(4, pa.field("partition", kind))
    with pytest.raises(TypeError, match="source: column 'partition' has type .*; allowed: strings or integers"):
        StreamDriver(of(source="partition"), schema)


# By the slowest


@usually(60)
@given(feeds(), st.integers(1, 9), st.sampled_from([SESSIONS, SLIDING]))
def test_any_cut_gives_the_same_by_the_slowest(rows: list[tuple[Any, int, Any]], size: int, windows: Any) -> None:
    piped, cut, whole = (driven(windows, stream_time="slowest") for _ in range(3))
    expected = [change for row in table(*rows).to_pylist() for change in piped.pipe(**row)]
    assert sorted(map(str, cut.pipe_batch(table(*rows), rows=size))) == sorted(map(str, expected))
    assert sorted(map(str, whole.pipe_batch(table(*rows)))) == sorted(map(str, expected))
    assert piped.counters == cut.counters == whole.counters
    assert piped.stream_times == cut.stream_times == whole.stream_times
    times: dict[Any, int] = {}
    reached: int | None = None
    for user, minute, source in rows:
        for known in times if user is None and source is None else (source,):
            times[known] = max(minute, times.get(known, minute))
        if times:
            reached = max(min(times.values()), reached if reached is not None else 0)
    assert piped.stream_time == (None if reached is None else at(reached))


def test_interleaved_rows_have_the_sources_of_their_inputs() -> None:
    rows = [
        {"of": "clicks", "k": "a", "ts": at(0), "part": 0, "partition": 9},
        {"of": "orders", "k": "a", "at": at(1), "partition": 1, "part": 9},
        {"of": "orders", "k": "a", "at": at(2), "partition": 0},
        {"of": "clicks", "k": "b", "ts": at(3)},
        {"at": at(9), "tick": True, "partition": 0, "part": 9},
    ]
    fields = {field.name: field for schema in (CLICKS, ORDERS) for field in schema} | {
        "of": pa.field("of", pa.string())
    }
    data = pa.Table.from_pylist(rows, pa.schema(fields.values()))
    driver = cogrouped()
    (final,) = driver.pipe_batch(data, input_column="of")
    assert final.values == {"clicks": 1, "n": 2}
    assert driver.stream_times == {(0,): at(9), (1,): None, (None,): None}
    again = cogrouped().restore(driver.snapshot())
    assert (again.stream_times, again.sessions.all()) == (driver.stream_times, driver.sessions.all())


def state(driver: StreamDriver) -> dict[str, bytes]:
    """The pages of a driver that has saved none before, by name."""
    return {name: page for name, page in driver.changed_pages().items() if page is not None}


@pytest.mark.parametrize("options", [{}, {"stream_time": "slowest"}, {"source": None}], ids=str)
def test_changed_pages_continue_from_each_other(options: dict[str, Any]) -> None:
    driver = driven(**options)
    held: dict[str, bytes] = {}
    for row in ROWS.to_pylist():
        driver.pipe(**row)
        for name, page in driver.changed_pages().items():
            if page is None:
                del held[name]
            else:
                held[name] = page
        again = driven(**options).restore(map(bytearray, held.values()))
        assert sorted(driver.snapshot()) == sorted(held.values())
        assert (again.stream_times, again.counters) == (driver.stream_times, driver.counters)
        assert again.sessions.all() == driver.sessions.all()
    assert again.pipe(user="ann", ts=at(43), partition=0) == driver.pipe(user="ann", ts=at(43), partition=0)
    assert again.finish() == driver.finish()


def test_pages_tell_their_source() -> None:
    driver = driven()
    driver.pipe(user="ann", ts=at(0), partition=7)
    driver.pipe(user="bob", ts=at(0), partition=None)
    pages = state(driver)
    assert {"driver", "0/head", "1/head"} < set(pages)
    listed = pa.ipc.open_stream(pages["driver"])
    assert listed.schema.metadata[b"windrow.page"] == b"driver"
    assert listed.read_all().to_pydict() == {"partition": [7, None]}
    head = pa.ipc.open_stream(pages["1/head"]).read_all().to_pylist()
    assert [row["source"] for row in head] == [1]
    assert pa.ipc.open_stream(head[0]["page"]).read_all().column_names == ["input", "source", "time"]


def test_the_pages_of_a_driver_without_sources_are_those_of_its_operator() -> None:
    driver = StreamDriver(of(), SCHEMA)
    driver.pipe(user="ann", ts=at(0))
    assert "driver" not in state(driver)
    assert pa.ipc.open_stream(driver.snapshot()[0]).schema.metadata[b"windrow.page"] == b"head"
    assert driver.stream_times == {(): at(0)}


@pytest.mark.parametrize("stream_time", ["source", "slowest"])
def test_pages_that_are_damaged_or_missing_are_refused(stream_time: str) -> None:
    driver = driven(stream_time=stream_time)
    driver.pipe_batch(ROWS)
    pages = driver.snapshot()
    drawn = random.Random(1)
    for number, page in enumerate(pages):
        others = [*pages[:number], *pages[number + 1 :]]
        with pytest.raises(ValueError, match="page"):
            driven(stream_time=stream_time).restore(others)
        for place in [*drawn.sample(range(len(page)), 20), 0, 8, len(page) - 1]:
            damaged = bytearray(page)
            damaged[place] ^= 1 << drawn.randrange(8)
            with pytest.raises(ValueError, match="page|schema|Arrow|IPC|message|state"):
                driven(stream_time=stream_time).restore([*others, bytes(damaged)])
    with pytest.raises(ValueError, match="page"):
        driven(stream_time=stream_time).restore([*pages, pages[0]])


@pytest.mark.parametrize(
    ("saved", "restored"),
    [
        ({"source": "partition"}, {"source": None}),
        ({"source": None}, {"source": "partition"}),
        ({"source": "partition"}, {"source": "topic"}),
        ({"source": "partition"}, {"source": ["partition", "topic"]}),
        ({"source": "partition"}, {"stream_time": "slowest"}),
        ({"stream_time": "slowest"}, {"stream_time": "source"}),
        ({"stream_time": "slowest"}, {"source": None}),
        ({"source": None}, {"stream_time": "slowest"}),
    ],
)
def test_pages_of_other_sources_are_refused(saved: dict[str, Any], restored: dict[str, Any]) -> None:
    driver = driven(**saved)
    driver.pipe(user="ann", ts=at(0), partition=1)
    with pytest.raises(ValueError, match="belongs to another query\n(source|stream_time) was|page of the driver"):
        driven(**restored).restore(driver.snapshot())
