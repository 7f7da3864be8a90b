"""The pages of a driver with sources: whose each is, and what is refused."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from windrow.testing import StreamDriver

from ..harness.sources import ROWS, SCHEMA, driven, of
from ..scenes import at


def state(driver: StreamDriver) -> dict[str, bytes]:
    """The pages of a driver that has saved none before, by name."""
    return {name: page for name, page in driver.changed_pages().items() if page is not None}


@pytest.mark.parametrize("stream_time", ["source", "slowest"])
def test_changed_pages_continue_from_each_other(stream_time: str) -> None:
    driver = driven(stream_time=stream_time)
    held: dict[str, bytes] = {}
    for row in ROWS.to_pylist():
        driver.pipe(**row)
        for name, page in driver.changed_pages().items():
            if page is None:
                del held[name]
            else:
                held[name] = page
        again = driven(stream_time=stream_time).restore(held.values())
        assert sorted(driver.snapshot()) == sorted(held.values())
        assert (again.stream_times, again.counters) == (driver.stream_times, driver.counters)
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


def test_the_sources_of_the_slowest_stay_distinct_after_a_restart() -> None:
    driver = driven(stream_time="slowest")
    driver.pipe(user="ann", ts=at(0), partition=5)
    driver.pipe(user="ann", ts=at(3), partition=4)
    again = driven(stream_time="slowest").restore(driver.snapshot())
    assert again.stream_times == {(5,): at(0), (4,): at(3)}
    again.pipe(user="bob", ts=at(20), partition=4)  # first after the restart, and second before it
    assert (again.stream_time, again.stream_times) == (at(0), {(5,): at(0), (4,): at(20)})


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
