"""When control messages are due: the linear backoff continues, the exponential one doubles, the last is at the end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windrow.kafka._schedule import QuietPartition, Schedule


def due_times(start: int, end: int | None, backoff: int, exponential: bool) -> list[int]:
    """An oracle: step by step."""
    times, step = [start], backoff
    while end is not None and times[-1] < end:
        times.append(min(times[-1] + step, end))
        step *= 2 if exponential else 1
    return times


def test_a_linear_backoff_is_the_same_from_one_to_the_next() -> None:
    schedule = Schedule(10_000, 14_500, 1_000, False)
    assert [schedule.due(n) for n in range(7)] == [10_000, 11_000, 12_000, 13_000, 14_000, 14_500, None]


def test_without_an_end_there_is_one() -> None:
    schedule = Schedule(10_000, None, 1_000, False)
    assert [schedule.due(n) for n in range(3)] == [10_000, None, None]
    assert schedule.last == 10_000


schedules = st.builds(
    Schedule,
    start=st.integers(1, 50),
    end=st.one_of(st.none(), st.integers(51, 300)),
    backoff=st.integers(1, 40),
    exponential=st.booleans(),
)


@given(schedules)
def test_due_times_are_those_step_by_step(schedule: Schedule) -> None:
    wanted = due_times(
        schedule.start, schedule.end, schedule.backoff, schedule.exponential and schedule.end is not None
    )
    assert [schedule.due(n) for n in range(len(wanted) + 2)] == [*wanted, None, None]
    assert schedule.last == wanted[-1]


@given(schedules, st.lists(st.integers(0, 60), max_size=30))
def test_a_cycle_that_is_looked_at_late_sends_one_message_for_all_that_were_due(
    schedule: Schedule, steps: list[int]
) -> None:
    wanted = due_times(
        schedule.start, schedule.end, schedule.backoff, schedule.exponential and schedule.end is not None
    )
    cycle, now, last_sent = QuietPartition(schedule, 1_000), 1_000, -1
    for step in steps:
        now += step
        quiet = now - 1_000
        missed = [due for due in wanted if last_sent < due <= quiet]
        assert cycle.is_due(now) == bool(missed)
        if missed:
            cycle.sent(now)
            last_sent = quiet
        following = [due for due in wanted if due > last_sent]
        assert cycle.next == (1_000 + following[0] if following else None)


def test_the_end_between_two_steps_is_the_last_one() -> None:
    cycle = QuietPartition(Schedule(10, 14, 3, False), 100)
    for now, following in ((110, 113), (113, 114), (114, None)):
        assert cycle.is_due(now)
        cycle.sent(now)
        assert cycle.next == following


def test_the_last_one_is_sent_once_where_the_one_before_was_missed() -> None:
    cycle = QuietPartition(Schedule(10, 14, 3, False), 100)
    cycle.sent(110)
    cycle.sent(114)
    assert cycle.next is None


def test_what_failed_is_tried_again_after_the_backoff_also_after_the_end() -> None:
    cycle = QuietPartition(Schedule(10, 12, 5, False), 0)
    cycle.sent(10)
    assert cycle.next == 12
    cycle.sent(12)
    assert cycle.next is None
    cycle.retry(13)
    assert cycle.next == 18
    cycle.sent(18)
    assert cycle.next is None


def test_what_is_put_off_is_put_off_only_when_it_is_due() -> None:
    cycle = QuietPartition(Schedule(10, None, 3, False), 0)
    cycle.put_off(9)
    assert cycle.next == 10
    cycle.put_off(10)
    assert cycle.next == 13
    cycle.stop()
    cycle.put_off(20)
    assert cycle.next is None
