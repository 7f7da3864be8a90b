"""Random days of two tickers over one topic: what they write is what the logs allow.

The oracle looks at the logs alone: what stood there, since when, and which transactions were aborted.
"""

from __future__ import annotations

import struct
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from ..harness.examples import usually
from ..harness.virtual_kafka import Entry
from .scene import NINE
from .watch_scene import INTERVAL, Scene

START, BACKOFF, ALLOWANCE = 2_000, 500, 250

steps = st.one_of(
    st.tuples(st.just("wait"), st.integers(1, 12)),
    st.tuples(st.just("data"), st.integers(0, 1), st.integers(0, 20_000)),
    st.tuples(st.just("aborted"), st.integers(0, 1), st.integers(0, 20_000)),
    st.tuples(st.just("fail")),
    st.tuples(st.just("silence"), st.booleans()),
)


def control_time(entry: Entry) -> int | None:
    """The time of a control message, after nine."""
    for name, body in entry.headers:
        if name == "windrow.progress" and body is not None:
            return int(struct.unpack(">BQQ16s", body)[1]) - NINE
    return None


@usually(400)
@given(plan=st.lists(steps, max_size=20), end=st.sampled_from([None, 3_200, 6_000]), tickers=st.sampled_from([1, 2]))
def test_what_tickers_write_is_what_may_stand_there(plan: list[tuple[Any, ...]], end: int | None, tickers: int) -> None:
    options = {"start.ms": START, "backoff.ms": BACKOFF, "end.ms": end, "allowance.ms": ALLOWANCE}
    scene = Scene({f"progress.control.{name}": value for name, value in options.items() if value is not None})
    watches = [scene.watch] + [scene.another() for _ in range(tickers - 1)]
    scene.look(*watches)
    for what, *rest in plan:
        if what == "wait":
            scene.advance(INTERVAL * rest[0], *watches)
        elif what == "data":
            scene.data(NINE + rest[1], rest[0])
        elif what == "aborted":
            scene.broker.aborted.add(7)
            scene.data(NINE + rest[1], rest[0], transaction=7)
        elif what == "fail":
            scene.fails.append(TimeoutError("failed"))
        else:
            scene.cluster.error = TimeoutError("no answer") if rest[0] else None
    scene.cluster.error = None
    scene.fails.clear()
    scene.advance(60_000, *watches)
    lengths = [len(scene.broker.log("events", partition)) for partition in (0, 1)]
    scene.advance(60_000, *watches)
    assert [len(scene.broker.log("events", partition)) for partition in (0, 1)] == lengths  # it comes to an end

    count = 0
    for partition in (0, 1):
        log = scene.broker.log("events", partition)
        data = [one for one in log if one.writer == "others" and one.transaction is None]
        for entry in log:
            time = control_time(entry)
            if time is None:
                continue
            count += 1
            before = [one for one in log if one.writer == "others" and one.offset < entry.offset]
            assert entry.written - before[-1].written >= START  # it had stood still, aborted records too
            times = [one.timestamp - NINE for one in data if one.offset < entry.offset]
            last = max(one.written for one in data if one.offset < entry.offset)
            assert time <= max(times) + entry.written - last - ALLOWANCE
        if data:
            largest = max(one.timestamp for one in data) - NINE
            found = [time for one in log if (time := control_time(one)) is not None]
            assert max(found) >= largest + (end or START) - ALLOWANCE
        else:
            assert all(one.writer == "others" for one in log)
    event(f"ticks: {min(count, 5)}")
