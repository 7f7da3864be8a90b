"""Aggregates over shorter lengths up to a record: `over` equals brute force, and refuses the rest.

```text
 windows of 20            ├───────────────────┤ t
 over(6)                                ├─────┤
 over(6, closed="left")                 ├─────┤        without records at t
 over(6, delay=12)              ├─────┤
```
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow._executor.row_windows import MOST

from ..harness.examples import usually
from ..harness.families import FAMILIES
from ..harness.tables import Call, records
from ..oracle.answers import accepts
from ..oracle.frames import Frame
from ..oracle.records import by_key
from ..scenes import PAYMENTS, TICK, all_at
from .test_property_aggregates import events
from .test_with_columns import after_a_shuffle, refused

CLOSED = ["both", "left", "right", "neither"]


def frames(longest: int, resolution: int) -> st.SearchStrategy[Frame | None]:
    """Frames that fit into windows; None is the window itself."""

    def within(steps: int) -> st.SearchStrategy[Frame]:
        delays = st.integers(0, longest // resolution - steps).map(lambda delay: delay * resolution)
        return st.builds(Frame, st.just(steps * resolution), st.sampled_from(CLOSED), delays)

    return st.none() | st.integers(1, longest // resolution).flatmap(within)


def over(aggregate: wr.Aggregate, frame: Frame | None) -> wr.Aggregate:
    if frame is None:
        return aggregate
    delay = frame.delay * TICK if frame.delay else None
    return aggregate.over(frame.difference * TICK, closed=frame.closed, delay=delay)  # type: ignore[arg-type]


def check(
    table: pa.Table,
    answer: pa.Table,
    aggregates: dict[str, tuple[Call, Frame | None]],
    difference: int,
    resolution: int,
) -> None:
    """All rows as they were; in each what the oracle has over the records in its frame."""
    assert answer.column_names == [*table.column_names, "window", *aggregates]
    assert answer["id"].equals(table["id"])
    got = answer.select(list(aggregates)).to_pylist()
    known = {}
    for group in by_key(records(table, ["k"])).values():
        for record in group:
            known[record.arrival] = (record, group)
    for row, values in enumerate(got):
        if row not in known:
            assert values == dict.fromkeys(aggregates)
            continue
        record, group = known[row]
        assert record.time is not None
        for name, (aggregate, frame) in aggregates.items():
            members = (frame or Frame(difference)).members(record.time, group, resolution)
            wanted = aggregate.of(members)
            assert accepts(wanted, values[name]), f"{name} over {frame} of row {row}: {values[name]!r}, not {wanted!r}"


@pytest.mark.parametrize("name", FAMILIES)
def test_every_aggregate_over_any_frame_equals_the_oracle(name: str) -> None:
    family = FAMILIES[name]

    @usually(6)
    @given(events(family), st.sampled_from([(20, 1), (12, 3)]), st.data(), st.integers(0, 3))
    def prove(table: pa.Table, lengths: tuple[int, int], data: st.DataObject, shuffled: int) -> None:
        difference, resolution = lengths
        some_frames = data.draw(st.lists(frames(difference, resolution), min_size=1, max_size=4))
        aggregates = {
            name: (aggregate, some_frames[place % len(some_frames)])
            for place, (name, aggregate) in enumerate(family.aggregates().items())
        }
        windows = wr.SlidingWindows.with_time_difference(difference * TICK, resolution=resolution * TICK)
        built = {name: over(aggregate.build(wr), frame) for name, (aggregate, frame) in aggregates.items()}
        if shuffled and family.type != pa.string_view():  # pyarrow does not filter views
            answer = after_a_shuffle(table, windows, [MOST, 500, -1][shuffled - 1], 2, built)
        else:
            answer = wr.group_by(table, "k", time="ts").windowed_by(windows).with_columns(**built)
        check(table, answer, aggregates, difference, resolution)

    prove()


PAID = pa.table(
    {
        "user": ["ann"] * 6 + ["bob"],
        "ts": all_at(0, 5, 5, 10, 20, 21, 5),
        "amount": [1, 2, 4, 8, 16, 32, 64],
    },
    PAYMENTS,
)


def paid(data: Any = PAID, longest: str = "30 minutes", **options: Any) -> Any:
    windows = wr.SlidingWindows.with_time_difference(longest, **options)
    return wr.group_by(data, "user", time="ts").windowed_by(windows)


def test_float_sums_do_not_drift() -> None:
    rows = 5_000
    values = [1e16 if row % 50 == 0 else 0.1 * (row % 7) for row in range(rows)]
    table = pa.table({"user": ["ann"] * rows, "ts": pa.array(range(rows), pa.timestamp("us")), "x": values})
    windows = wr.SlidingWindows.with_time_difference("100 microseconds")
    windowed = wr.group_by(table, "user", time="ts").windowed_by(windows)
    answer = windowed.with_columns(s=wr.sum("x").over("20 microseconds", closed="left", delay="3 microseconds"))
    for row, got in enumerate(answer["s"].to_pylist()):
        frame = values[max(0, row - 23) : max(0, row - 3)]
        # what a subtraction of 1e16 leaves behind is whole units
        assert got is None if not frame else math.isclose(got, math.fsum(frame), rel_tol=1e-15)


def last_two(amounts: Any) -> Any:
    return pa.array([each[-2:] for each in amounts.to_pylist()], pa.list_(pa.int64()))


def test_where_arithmetic_then_and_python_functions_go_along() -> None:
    table = PAID.append_column("big", pc.greater(PAID["amount"], pa.scalar(2)))
    aggregates = {
        "share": wr.count().over("5 minutes") / wr.count(),
        "of_big": wr.sum("amount").where("big").over("10 minutes", closed="left"),
        "also_big": wr.sum("amount").over("10 minutes", closed="left").where("big"),
        "twice": wr.sum("amount").over("5 minutes").then(lambda sums: pc.multiply(sums, pa.scalar(2))),
        "ratio": (wr.sum("amount") / wr.count()).over("5 minutes", closed="left"),
        "last_two": wr.apply(last_two, "amount", schema="array<bigint>").over("10 minutes"),
        "n": wr.count_if("big").over("5 minutes"),
    }
    answer = paid(table).with_columns(**aggregates)
    assert answer["share"].to_pylist() == [1.0, 1.0, 1.0, 3 / 4, 1 / 5, 2 / 6, 1.0]
    assert answer["of_big"].to_pylist() == answer["also_big"].to_pylist() == [None, None, None, 4, 8, 16, None]
    assert answer["twice"].to_pylist() == [2, 14, 14, 28, 32, 96, 128]
    assert answer["ratio"].to_pylist() == [None, 1.0, 1.0, 3.0, None, 16.0, None]
    assert answer["last_two"].to_pylist() == [[1], [2, 4], [2, 4], [4, 8], [8, 16], [16, 32], [64]]
    assert answer["n"].to_pylist() == [0, 1, 1, 2, 1, 2, 1]


def test_cogroups_have_frames_of_the_records_of_all_inputs_or_of_one() -> None:
    views = pa.table({"user": ["ann"] * 3, "ts": all_at(0, 10, 11), "page": ["/", "/a", "/b"]})
    inputs = {"views": wr.group_by(views, "user", time="ts"), "paid": wr.group_by(PAID, "user", time="ts")}
    windowed = wr.cogroup(**inputs).windowed_by(wr.SlidingWindows.with_time_difference("1 hour"))
    answer = windowed.with_columns(
        n=wr.count().over("5 minutes"),
        pages=wr.count("views.*").over("10 minutes", closed="left"),
        spend=wr.sum("paid.amount").over("5 minutes", delay="5 minutes"),
    )
    rows = answer.sort_by([("user", "ascending"), ("ts", "ascending"), ("input", "ascending")]).to_pylist()
    assert [(row["n"], row["pages"], row["spend"]) for row in rows] == [
        (2, 0, None),
        (2, 0, None),
        (4, 1, 1),
        (4, 1, 1),
        (4, 1, 7),
        (4, 1, 7),
        (3, 1, 6),
        (1, 2, 8),
        (2, 1, None),
        (1, 0, None),
    ]


def test_a_result_that_does_not_fit_names_its_column() -> None:
    table = pa.table({"user": ["ann"] * 2, "ts": all_at(0, 5), "amount": [2**62, 2**62]}, PAYMENTS)
    aggregates = {"one": wr.sum("amount").over("1 minute"), "n": wr.count(), "two": wr.sum("amount").over("5 minutes")}
    with pytest.raises(OverflowError, match='"two": the sum does not fit'):
        paid(table).with_columns(**aggregates)
    answer = paid(table).overflow("null").with_columns(**aggregates)
    assert answer.select(list(aggregates)).to_pylist() == [
        {"one": 2**62, "n": 1, "two": 2**62},
        {"one": 2**62, "n": 2, "two": None},
    ]
    assert wr.counters(answer)["overflows"] == 1


def test_nanoseconds_and_resolutions_floor_the_times() -> None:
    ticks = [0, 999, 1_000, 1_999, 2_000]
    for unit, scale in (("ns", 1), ("us", 1_000)):
        times = pa.array([tick * scale for tick in ticks] if unit == "ns" else ticks, pa.timestamp(unit))
        table = pa.table({"user": ["ann"] * 5, "ts": times, "amount": range(5)})
        step = timedelta(microseconds=1 if unit == "ns" else 1_000)
        answer = paid(table, resolution=step).with_columns(
            n=wr.count().over(step, closed="left"), own=wr.count().over(step, closed="right")
        )
        assert answer["n"].to_pylist() == [0, 0, 2, 2, 2]
        assert answer["own"].to_pylist() == [2, 2, 2, 2, 1]


def test_what_cannot_be_is_refused_with_the_reason() -> None:
    n = wr.count()
    refused(lambda: n.over(5), TypeError, "over(difference=)", "a bare number has no unit")  # type: ignore[arg-type]
    refused(lambda: n.over("0 seconds"), ValueError, "over(difference=)", "longer than zero")
    refused(lambda: n.over("-1 hour"), ValueError, "over(difference=)", "longer than zero")
    refused(lambda: n.over("1 month"), ValueError, "no fixed length")
    refused(lambda: n.over("1 hour", delay="-1 hour"), ValueError, "over(delay=)", "zero or more")
    refused(lambda: n.over("1 hour", delay=1), TypeError, "over(delay=)")  # type: ignore[arg-type]
    refused(lambda: n.over("1 hour", closed="start"), ValueError, "over(closed=)", "'left'")  # type: ignore[arg-type]
    refused(lambda: n.over("1 hour", closed="rigth"), ValueError, "did you mean 'right'")  # type: ignore[arg-type]
    refused(lambda: n.over("1 hour").over("1 day"), ValueError, "count().over('1 hour').over", "'1 day'")
    refused(lambda: (n.over("1 hour") / n).over("1 day"), ValueError, "count().over('1 hour').over")
    refused(lambda: n.over("1 hour", "left"), TypeError, "over: got 'left' by position", "closed='left'")  # type: ignore[arg-type]
    refused(lambda: wr.window_id().over("1 hour"), ValueError, "window_id().over", "no over")
    refused(lambda: wr.session_number().over("1 hour"), ValueError, "it is the number of a session")
    share = wr.sum("amount") / wr.window_length()
    refused(lambda: share.over("1 hour"), ValueError, "window_length()).over", "no over", "'1 hour'")
    refused(lambda: share.where("flag"), ValueError, "window_length()).where(column=)", "no condition", "'flag'")
    length = wr.window_length().then(lambda lengths: lengths)
    refused(lambda: length.over("1 hour"), ValueError, "window_length().then(", "no over")
    refused(lambda: wr.reduce("amount", max).over("1 hour"), ValueError, "reduce('amount', max).over", "apply")
    longer = lambda: paid().with_columns(n=n.over("31 minutes"))  # noqa: E731
    refused(longer, ValueError, 'aggregate "n": over(difference=)', "31 minutes", "at most 30 minutes")
    both = lambda: paid().with_columns(n=n.over("20 minutes", delay="11 minutes"))  # noqa: E731
    refused(both, ValueError, "over(difference=)", "delay='11 minutes'", "difference + delay of at most 30 minutes")
    assert paid().with_columns(n=n.over("20 minutes", delay="10 minutes"))["n"].to_pylist() == [0, 0, 0, 1, 4, 4, 0]
    coarse = paid(longest="30 minutes", resolution="10 minutes")
    refused(lambda: coarse.with_columns(n=n.over("15 minutes")), ValueError, "difference", "multiple", "10 minutes")
    late = n.over("10 minutes", delay="15 minutes")
    refused(lambda: coarse.with_columns(n=late), ValueError, "over(delay=)", "multiple", "10 minutes")
    seconds = PAID.set_column(1, "ts", PAID["ts"].cast(pa.timestamp("s")))
    odd = lambda: paid(seconds).with_columns(n=n.over("1500 milliseconds"))  # noqa: E731
    refused(odd, ValueError, "a multiple of the resolution, 1 second")
    sessions = wr.group_by(PAID, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    refused(lambda: sessions.with_columns(n=n.over("1 hour")), ValueError, 'aggregate "n": over', "SlidingWindows")
    refused(lambda: sessions.agg(n=n.over("1 hour")), ValueError, 'aggregate "n": over', "with_columns")
    refused(lambda: paid().agg(n=n.over("1 minute")), ValueError, 'aggregate "n": over', "with_columns")
    refused(lambda: paid().to_reader(x=n.over("1 minute") / n), ValueError, "over", "with_columns")
