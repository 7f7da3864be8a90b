"""`active_time` and `active_runs`: how long sessions were active, against the distances of neighbours."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.examples import usually
from ..harness.families import often, some
from ..harness.shuffle import after_a_shuffle
from ..harness.tables import by_sessions, in_batches, records, rows_of
from ..oracle.activity import active_runs, active_time
from ..oracle.records import Record, by_key
from ..scenes import all_at, keyed

EPOCH = datetime(1970, 1, 1)
TICK = timedelta(microseconds=1)
GAP = 12


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Records of two keys near time 0 in any order, with ties and nulls, and a flag."""
    row = st.tuples(often(st.integers(1, 2)), often(st.integers(-30, 60)), often(st.booleans()))
    rows = draw(some(row, 60))
    keys, times, flags = (list(column) for column in zip(*rows, strict=True)) if rows else [[]] * 3
    table = keyed(keys, times, flag=pa.array(flags, pa.bool_()))
    return in_batches(table, draw(st.lists(st.integers(0, 60), max_size=3)))


def asked_for(limit: int) -> dict[str, wr.Aggregate]:
    length = limit * TICK
    return {
        "cut": wr.active_time(length),
        "drop": wr.active_time(length, breaks="drop"),
        "runs": wr.active_runs(length),
        "some": wr.active_time(length).where("flag"),
        "few": wr.active_runs(length).where("flag"),
        "whole": wr.active_time(GAP * TICK),
        "length": wr.window_length(),
    }


def expected(rows: list[Record], limit: int) -> dict[str, Any]:
    times = [row.time or 0 for row in rows]
    flagged = [row.time or 0 for row in rows if row.values["flag"]]
    length = (max(times) - min(times)) * TICK
    return {
        "cut": active_time(times, limit) * TICK,
        "drop": active_time(times, limit, drop=True) * TICK,
        "runs": active_runs(times, limit),
        "some": active_time(flagged, limit) * TICK,
        "few": active_runs(flagged, limit),
        "whole": length,
        "length": length,
    }


def answers(table: pa.Table, limit: int) -> dict[Any, Any]:
    """The values of all sessions, by the oracle."""
    return {
        (key, start, end): expected(rows, limit)
        for key, members in by_key(records(table, ["k"])).items()
        for start, end, rows in by_sessions(GAP)(members)
    }


def windowed(data: Any, grace: int | None = None, **rules: Any) -> Any:
    allowed = {} if grace is None else {"grace": grace * TICK}
    return wr.group_by(data, "k", time="ts").windowed_by(wr.SessionWindows.with_gap(GAP * TICK, **allowed, **rules))


LIMITS = st.integers(0, GAP + 2)


@usually(60)
@given(tables(), LIMITS, st.integers(1, 3), st.lists(st.integers(0, 60), max_size=3))
def test_active_time_is_the_sum_of_the_distances_of_neighbours(
    table: pa.Table, limit: int, shards: int, cuts: list[int]
) -> None:
    grouped, asked, wanted = windowed(table).shards(shards), asked_for(limit), answers(table, limit)
    assert rows_of(grouped.agg(**asked), ["k"]) == wanted
    assert rows_of(after_a_shuffle(grouped._plan(asked), table, cuts), ["k"]) == wanted


@usually(60)
@given(tables(), LIMITS, st.integers(0, 2))
def test_each_record_has_the_active_time_of_its_session(table: pa.Table, limit: int, rules: int) -> None:
    most = {"max_records": rules} if rules else {}
    windows, asked = windowed(table, **most), asked_for(limit)
    sessions = rows_of(windows.agg(**asked), ["k"]) if not rules else {}
    found = windows.with_columns(**asked)
    assert len(found) == len(table)
    for row in found.to_pylist():
        if row["window"] is None:
            assert [row[name] for name in asked] == [None] * len(asked)
        elif not rules:
            start, end = ((row["window"][bound] - EPOCH) // TICK for bound in ("start", "end"))
            assert {name: row[name] for name in asked} == sessions[(row["k"],), start, end]
        else:
            assert row["runs"] <= rules
            assert row["whole"] == row["length"]


@usually(40)
@given(tables(), tables(), LIMITS)
def test_a_cogroup_counts_the_records_of_all_inputs_or_of_one(one: pa.Table, other: pa.Table, limit: int) -> None:
    inputs = {name: wr.group_by(table, "k", time="ts") for name, table in (("one", one), ("other", other))}
    both = wr.cogroup(**inputs).windowed_by(wr.SessionWindows.with_gap(GAP * TICK))
    length = limit * TICK
    found = both.agg(all=wr.active_time(length), runs=wr.active_runs(length).where("one.flag"))
    columns = ["k", "ts", "flag"]
    first, second = (table.select(columns) for table in (one, other))
    unflagged = second.set_column(2, "flag", pa.nulls(len(second), pa.bool_()))
    wanted = answers(pa.concat_tables([first, unflagged]), limit)
    assert rows_of(found, ["k"]) == {
        window: {"all": values["cut"], "runs": values["few"]} for window, values in wanted.items()
    }


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_active_time_has_the_type_of_the_length_of_a_window(unit: Any) -> None:
    for zone in (None, "Europe/Madrid"):
        table = keyed([1, 1, 1], [0, 2, 9], unit).cast(
            pa.schema({"k": pa.int64(), "ts": pa.timestamp(unit, zone), "id": pa.int64()})
        )
        windows, limit = sessions(table, "1 minute"), f"3{unit}"
        found = windows.agg(
            length=wr.window_length(), cut=wr.active_time(limit), drop=wr.active_time(limit, breaks="drop")
        )
        assert {found.schema.field(name).type for name in ("length", "cut", "drop")} == {pa.duration(unit)}
        assert [found[name].cast(pa.int64()).to_pylist() for name in ("length", "cut", "drop")] == [[9], [5], [2]]
        nothing = windows.agg(cut=wr.active_time(limit).where(pc.field("id") > 9), runs=wr.active_runs(limit))
        assert nothing.select(["cut", "runs"]).to_pylist() == [{"cut": timedelta(0), "runs": 2}]
        empty = sessions(table.slice(0, 0), "1 minute").agg(cut=wr.active_time(limit))
        assert empty.schema.field("cut").type == pa.duration(unit)


def test_shares_of_a_session_are_computed() -> None:
    calls = visits(0, 3, 5, 25, 26)
    busy = sessions(calls).agg(share=wr.active_time("5 minutes") / wr.window_length())
    assert busy["share"].to_pylist() == [11 / 26]


@pytest.mark.parametrize(
    ("limit", "error", "says"),
    [
        ("-1 minute", ValueError, "'-1 minute'.*zero or more"),
        (timedelta(minutes=-1), ValueError, "zero or more"),
        (5, TypeError, "5.*a bare number has no unit"),
        (None, TypeError, "None"),
        ("1 month", ValueError, "a month has no fixed length"),
        ("soon", ValueError, "'soon'"),
    ],
)
@pytest.mark.parametrize("maker", [wr.active_time, wr.active_runs])
def test_a_limit_that_is_no_length_is_refused_at_once(
    maker: Any, limit: Any, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=rf"{maker.__name__}\(limit=\).*{says}"):
        maker(limit)


@pytest.mark.parametrize("breaks", ["keep", "", None, True, ["cut"]])
def test_an_unknown_word_for_breaks_is_refused_at_once(breaks: Any) -> None:
    with pytest.raises(ValueError, match=r"active_time\(breaks=\): got .*; allowed: 'cut' or 'drop'"):
        wr.active_time("5 minutes", breaks=breaks)


@pytest.mark.parametrize(
    ("unit", "limit", "allowed"),
    [
        ("s", "1500 ms", "a multiple of 1 second, as the time column 'ts' counts in seconds"),
        ("ms", "1 us", "a multiple of 1 millisecond"),
        ("us", "1 ns", "a multiple of 1 microsecond"),
        ("ns", "200000 days", "at most "),
    ],
)
def test_a_limit_that_the_time_column_cannot_count_is_refused(unit: Any, limit: str, allowed: str) -> None:
    for maker in (wr.active_time, wr.active_runs):
        message = rf'^aggregate "busy": {maker.__name__}\(limit=\): got .*{allowed}'
        with pytest.raises(ValueError, match=message):
            sessions(keyed([1], [0], unit), "1 minute").agg(busy=maker(limit))


def test_only_sessions_have_active_times() -> None:
    sliding = wr.group_by(visits(0), "k", time="ts").windowed_by(wr.SlidingWindows.with_time_difference("1 hour"))
    for aggregate in (wr.active_time("5 minutes"), wr.active_runs("5 minutes")):
        for call in (sliding.agg, sliding.with_columns):
            with pytest.raises(ValueError, match=r"aggregate \"busy\": .*; allowed: session windows: runs are parts"):
                call(busy=aggregate)
        with pytest.raises(ValueError, match=r"\.over: got '1 minute'; allowed: no over\(...\)"):
            aggregate.over("1 minute")
        with pytest.raises(ValueError, match=r"\.over: got '1 minute'; allowed: no over\(...\)"):
            (aggregate - aggregate).over("1 minute")


def test_breaks_may_change_at_a_restart_and_the_limit_may_not() -> None:
    before, after = visits(0, 3), visits(20)

    def driver(aggregate: wr.Aggregate) -> StreamDriver:
        return StreamDriver(lambda data: sessions(data, grace="1 hour").agg(busy=aggregate), before.schema)

    first = driver(wr.active_time("5 minutes"))
    first.pipe_batch(before)
    second = driver(wr.active_time("5 minutes", breaks="drop")).restore(first.snapshot())
    second.pipe_batch(after)
    assert [change.values for change in second.finish()] == [{"busy": timedelta(minutes=3)}]
    for other in (wr.active_time("6 minutes"), wr.active_runs("5 minutes")):
        with pytest.raises(ValueError, match=r"active_time\(limit=\"5 minutes\"\)"):
            driver(other).restore(first.snapshot())


def visits(*minutes: float) -> pa.Table:
    return pa.table({"k": [1] * len(minutes), "ts": pa.array(all_at(*minutes), pa.timestamp("us"))})


def sessions(data: Any, gap: str = "30 minutes", **options: Any) -> Any:
    return wr.group_by(data, "k", time="ts").windowed_by(wr.SessionWindows.with_gap(gap, **options))
