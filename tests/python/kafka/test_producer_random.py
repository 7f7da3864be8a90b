"""`ProgressProducer` through random days of two producers: what is in the logs is what the page says.

What each control message may tell is worked out from the logs alone: from what stood before it, who wrote it and when
it was acknowledged. Nothing of windrow is asked.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from windrow.kafka import ProgressProducer

from ..harness.examples import usually
from ..harness.virtual_kafka import Entry, VirtualBroker, VirtualCluster, VirtualProducer, VirtualTimer
from .scene import NINE

PARTITIONS = 2


@dataclass
class Day:
    """Two wrapped producers on one topic, and the oracle's notes of what was acknowledged to whom, and when."""

    config: dict[str, Any]
    latency: int
    timer: VirtualTimer = field(default_factory=VirtualTimer)
    acknowledged: dict[tuple[str, int], list[tuple[int, int, int]]] = field(default_factory=dict)
    in_flight: list[tuple[str, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.broker = VirtualBroker(self.timer, partitions={"events": PARTITIONS})
        self.cluster = VirtualCluster(self.broker)
        self.timers: list[VirtualTimer] = []
        self.inner, self.wrapped = {}, {}
        for name in ("one", "two"):
            timer = Shared(self.timer)
            self.timers.append(timer)
            self.inner[name] = VirtualProducer(self.broker, name, self.latency)
            self.wrapped[name] = ProgressProducer(self.inner[name], self.config, cluster=self.cluster, timer=timer)

    def write(self, name: str, partition: int, time: int, chosen: bool) -> None:
        key = self.inner[name].key_of("events", partition)

        def settled(error: Any, message: Any) -> None:
            if error is None:
                notes = self.acknowledged.setdefault((name, partition), [])
                notes.append((self.timer.time, message.offset(), time))

        self.wrapped[name].produce(
            "events", b"v", key, partition if chosen else -1, timestamp=NINE + time, callback=settled
        )

    def advance(self, milliseconds: int) -> None:
        for _ in range(milliseconds // 50):
            self.timer.time += 50
            self.broker.flow()
            for timer in self.timers:
                timer.run()


class Shared(VirtualTimer):
    """A timer whose time is another one's."""

    def __init__(self, clock: VirtualTimer) -> None:
        self.clock = clock
        super().__init__()

    @property
    def time(self) -> int:
        return self.clock.time

    @time.setter
    def time(self, value: int) -> None: ...


def control_time(entry: Entry) -> int | None:
    """The time of a control message, after nine."""
    for name, body in entry.headers:
        if name == "windrow.progress" and entry.value is None and body is not None:
            version, time, _, _ = struct.unpack(">BQQ16s", body)
            assert version == 1
            return int(time) - NINE
    return None


steps = st.one_of(
    st.tuples(st.just("wait"), st.integers(1, 60).map(lambda n: n * 50)),
    st.tuples(
        st.just("write"),
        st.sampled_from(["one", "two"]),
        st.integers(0, PARTITIONS - 1),
        st.integers(1, 20_000),
        st.booleans(),
    ),
    st.tuples(st.just("fail"), st.sampled_from(["one", "two"])),
    st.tuples(st.just("silence"), st.booleans()),
    st.tuples(st.just("marker"), st.integers(0, PARTITIONS - 1)),
)


@usually(500)
@given(
    plan=st.lists(steps, min_size=3, max_size=25),
    latency=st.sampled_from([0, 0, 100, 700]),
    end=st.sampled_from([None, 1_500, 4_000]),
    allowance=st.sampled_from([0, 300]),
)
def test_the_logs_hold_only_what_they_may_hold(
    plan: list[tuple[Any, ...]], latency: int, end: int | None, allowance: int
) -> None:
    options = {"start.ms": 1_000, "backoff.ms": 250, "end.ms": end, "allowance.ms": allowance}
    config = {f"progress.control.{name}": value for name, value in options.items() if value is not None}
    day = Day(config, latency)
    for what, *rest in plan:
        if what == "wait":
            day.advance(rest[0])
        elif what == "write":
            day.write(*rest)
        elif what == "fail":
            day.inner[rest[0]].fails.append("failed")
        elif what == "silence":
            day.cluster.error = TimeoutError("no answer") if rest[0] else None
        else:
            day.broker.append(("events", rest[0]), "marker", is_marker=True)
    day.cluster.error = None
    for inner in day.inner.values():
        inner.fails.clear()
    day.advance(20_000)  # all that was begun comes to its end

    count = 0
    for partition in range(PARTITIONS):
        log = day.broker.log("events", partition)
        data = [entry for entry in log if control_time(entry) is None and not entry.is_marker]
        for entry in log:
            time = control_time(entry)
            if time is None:
                continue
            count += 1
            # It is of the producer that had written last, and may be later than that one's records.
            sent = entry.written - latency
            before = [one for one in data if one.written <= sent and one.offset < entry.offset]
            assert before[-1].writer == entry.writer
            own = [one.timestamp - NINE for one in before if one.writer == entry.writer]
            assert time > max(own)
            # It is as far on as the clock was then, from the last acknowledgement before that.
            notes = [note for note in day.acknowledged[entry.writer, partition] if note[0] <= sent]
            quiet = sent - max(note[0] for note in notes)
            assert quiet >= 1_000
            assert time <= max(note[2] for note in notes) + quiet - allowance
        # The last writer has sent its time until the end of the cycle, if it had a time to send.
        if data:
            last_writer = data[-1].writer
            times = [time for entry in log if entry.writer == last_writer and (time := control_time(entry)) is not None]
            largest = max(note[2] for note in day.acknowledged[last_writer, partition])
            assert max(times) >= largest + (end or 1_000) - allowance
    event(f"control messages: {min(count, 5)}")
    for wrapped in day.wrapped.values():
        counters = wrapped.counters()
        assert counters["sent"] == counters["acknowledged"] + counters["failed"]
