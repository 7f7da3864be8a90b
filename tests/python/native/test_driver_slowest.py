"""Several sources in a driver that go by the slowest (rules 1.4)."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ..harness.examples import usually
from ..harness.sources import SESSIONS, SLIDING, change_counts, cogrouped, driven, feeds, table
from ..scenes import at


def test_stream_time_is_that_of_the_slowest_source() -> None:
    """
    partition 0   x─────────────x·····      the session of both closes when the slower has passed 3 + 5 + 1
                  0             9.1
    partition 1       x   x────────────
                      3   30
    """
    driver = driven(stream_time="slowest")
    for partition, minute in ((0, 0), (1, 3), (1, 30)):
        assert driver.pipe(user="ann", ts=at(minute), partition=partition) == []
    assert (driver.stream_time, driver.stream_times) == (at(0), {(0,): at(0), (1,): at(30)})
    assert driver.pipe(user="bob", ts=at(1), partition=1) == []  # far behind its own source, in time by the slowest
    assert driver.counters["late"] == 0
    assert change_counts(driver.pipe(user="bob", ts=at(9), partition=0)) == [("final", "bob", 1.0, 1.0, 1)]
    assert change_counts(driver.pipe(user="bob", ts=at(9.1), partition=0)) == [("final", "ann", 0.0, 3.0, 2)]


def test_a_new_source_that_is_behind_turns_no_time_back() -> None:
    driver = driven(stream_time="slowest")
    driver.pipe(user="ann", ts=at(20), partition=0)
    driver.pipe(user="ann", ts=at(2), partition=1)
    assert (driver.counters["late"], driver.stream_time) == (1, at(20))
    driver.pipe(user="ann", ts=at(40), partition=0)
    assert driver.stream_time == at(20), "the new source holds it"
    driver.pipe(user="bob", ts=at(25), partition=1)
    assert driver.stream_time == at(25)


def test_ticks_move_a_quiet_source() -> None:
    driver = driven(stream_time="slowest")
    driver.pipe(user="ann", ts=at(0), partition=0)
    driver.pipe(user="ann", ts=at(30), partition=1)
    assert driver.tick(at(50), source=1) == []
    assert change_counts(driver.tick(at(7), source=0)) == [("final", "ann", 0.0, 0.0, 1)]
    assert change_counts(driver.tick(at(60))) == [("final", "ann", 30.0, 30.0, 1)]
    assert driver.stream_times == {(0,): at(60), (1,): at(60)}
    assert driver.counters["ticks"] == 3
    assert driver.pipe_batch(table((None, 70, None), (None, 80, 1))) == []
    assert driver.stream_times == {(0,): at(70), (1,): at(80)}


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


def test_the_slowest_source_of_the_slowest_input_closes() -> None:
    driver = cogrouped("slowest")
    for name, minute, partition in (("clicks", 0, 0), ("orders", 1, 0), ("orders", 30, 1), ("clicks", 8, 0)):
        named = (
            {"ts": at(minute), "part": partition} if name == "clicks" else {"at": at(minute), "partition": partition}
        )
        assert driver.pipe(name, k=f"{name} {minute}", **named) == []
    assert driver.stream_time == at(1)
    assert driver.stream_times == {(0,): at(1), (1,): at(30)}
    finals = driver.tick(at(7.5), input="orders", source=0)
    assert sorted(change.key["k"] for change in finals) == ["clicks 0", "orders 1"]
