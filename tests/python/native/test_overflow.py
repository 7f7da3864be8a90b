"""A result that does not fit its type: an error that names the key and the window, or null and counted."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from windrow.__main__ import main
from windrow.testing import StreamDriver

from ..harness.steps import LocalStream
from ..scenes import PAYMENTS, all_at, at

MOST = 2**63 - 1
GAP = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
SLIDES = wr.SlidingWindows.with_time_difference("5 minutes", grace="1 minute", resolution="1 millisecond")


def payments(*rows: tuple[str, float, int]) -> pa.Table:
    return pa.Table.from_pylist([{"user": user, "ts": at(minute), "amount": n} for user, minute, n in rows], PAYMENTS)


def query(policy: Any = None, windows: Any = GAP, emit: Any = "close", **aggregates: Any) -> Callable[[Any], Any]:
    def define(data: Any) -> Any:
        windowed: Any = wr.group_by(data, "user", time="ts").windowed_by(windows).emit(emit)
        windowed = windowed if policy is None else windowed.overflow(policy)
        return windowed.agg(**(aggregates or {"total": wr.sum("amount"), "n": wr.count()}))

    return define


#        ann  MOST  1          one session, whose sum does not fit
#        bob  1                one that does
TABLE = payments(("ann", 0, MOST), ("ann", 1, 1), ("bob", 0, 1))


def totals(table: pa.Table) -> list[Any]:
    rows = ((row["user"], row["total"], row["n"]) for row in table.to_pylist())
    return sorted(rows, key=lambda row: row[0])


@pytest.mark.parametrize("policy", [None, "error"])
def test_the_error_names_the_column_the_window_the_key_and_the_option(policy: Any) -> None:
    message = (
        r'^column "total": the sum does not fit the result type in window \[2026-01-01T08:00:00, 2026-01-01T08:01:00\] '
        r'of key ann; overflow\("null"\) makes it null and counts it$'
    )
    with pytest.raises(OverflowError, match=message):
        query(policy)(TABLE)


def test_an_error_names_all_columns_of_a_key() -> None:
    table = TABLE.append_column("shop", pa.array([None, None, 3]))
    windowed = wr.group_by(table, "shop", "user", time="ts").windowed_by(GAP)
    with pytest.raises(OverflowError, match="of key , ann;"):
        windowed.agg(total=wr.sum("amount"))


WAYS: dict[str, Callable[[Any], Any]] = {
    "agg": lambda windowed: windowed.agg(total=wr.sum("amount"), n=wr.count()),
    "reader": lambda windowed: windowed.to_reader(total=wr.sum("amount"), n=wr.count()).read_all(),
    "next to a function": lambda windowed: windowed.agg(
        total=wr.sum("amount"), n=wr.count(), last=wr.reduce("user", max)
    ),
    "distinct": lambda windowed: windowed.agg(total=wr.sum_distinct("amount"), n=wr.count()),
    "arithmetic": lambda windowed: windowed.agg(total=wr.sum("amount") * 2 / 2, n=wr.count()),
}


@pytest.mark.parametrize("way", WAYS)
def test_null_leaves_all_other_results_as_they_are(way: str) -> None:
    windowed = wr.group_by(TABLE, "user", time="ts").windowed_by(GAP)
    result = WAYS[way](windowed.overflow("null"))
    assert totals(result) == [("ann", None, 2), ("bob", 1, 1)]
    fitting = wr.group_by(TABLE.slice(2), "user", time="ts").windowed_by(GAP)
    assert result.schema.remove_metadata() == WAYS[way](fitting).schema.remove_metadata()
    with pytest.raises(OverflowError, match="of key ann"):
        WAYS[way](windowed)
    if way != "reader":  # its counters are those of before it was read
        assert wr.counters(result)["overflows"] == 1
        assert wr.counters(WAYS[way](fitting.overflow("null")))["overflows"] == 0


@pytest.mark.parametrize("sign", [1, -1])
def test_a_sum_at_the_bound_fits_and_one_beyond_does_not(sign: int) -> None:
    bound = MOST if sign > 0 else -MOST - 1
    for last, expected in ((0, bound), (-sign, bound - sign), (sign, None)):
        result = query("null")(payments(("ann", 0, bound), ("ann", 1, last)))
        assert result["total"].to_pylist() == [expected], last


@pytest.mark.parametrize("threads", [1, 3])
def test_many_windows_of_which_some_do_not_fit(threads: int) -> None:
    users = range(70_000)
    amounts = [MOST if user % 997 == 0 else user for user in users]
    times = all_at(0) * len(users) + all_at(1) * len(users)
    table = pa.table({"user": [*users] * 2, "ts": pa.array(times, pa.timestamp("us")), "amount": amounts * 2})
    windowed = wr.group_by(table, "user", time="ts").windowed_by(GAP).threads(threads).overflow("null")
    result = windowed.agg(total=wr.sum("amount"), n=wr.count())
    assert totals(result) == [(user, None if user % 997 == 0 else 2 * user, 2) for user in users]
    assert wr.counters(result)["overflows"] == len(users[::997])


HALF = Decimal("0.5")
NUMBERS: dict[str, tuple[Any, Any, list[Any]]] = {  # of ann, ann, bob
    "sum of decimals": (wr.sum, pa.decimal128(38, 0), [Decimal(10**38 - 1), Decimal(1), Decimal(1)]),
    "sum of durations": (wr.sum, pa.duration("us"), [MOST, 1, 1]),
    "mean of decimals": (wr.mean, pa.decimal128(38, 37), [Decimal(9), Decimal(8), HALF]),
}


@pytest.mark.parametrize(("aggregate", "kind", "values"), NUMBERS.values(), ids=NUMBERS)
def test_each_kind_of_number_that_may_not_fit(aggregate: Any, kind: Any, values: list[Any]) -> None:
    amounts: Any = pa.array(values, pa.int64() if pa.types.is_duration(kind) else kind)
    table = pa.table({"user": ["ann", "ann", "bob"], "ts": all_at(0, 1, 0), "amount": amounts.cast(kind)})
    windowed = wr.group_by(table, "user", time="ts").windowed_by(GAP)
    with pytest.raises(OverflowError, match="of key ann"):
        windowed.agg(total=aggregate("amount"))
    result = windowed.overflow("null").agg(total=aggregate("amount"))
    found = dict(zip(result["user"].to_pylist(), result["total"].is_null().to_pylist(), strict=True))
    assert found == {"ann": True, "bob": False}
    assert wr.counters(result)["overflows"] == 1


def test_sliding_windows_that_do_not_fit_are_null() -> None:
    #          0     3     6        windows [-5, 0], [0+, 5+], [-2, 3], [3+, 8+], [1, 6]
    table = payments(("ann", 0, MOST), ("ann", 3, 1), ("ann", 6, 1))
    result = query("null", SLIDES)(table)
    assert sorted(result["total"].to_pylist(), key=str) == [1, 1, 2, MOST, None]
    assert wr.counters(result)["overflows"] == 1
    with pytest.raises(OverflowError, match=r"08:03:00\] of key ann"):
        query(None, SLIDES)(table)


@pytest.mark.parametrize("windows", [GAP, SLIDES], ids=["sessions", "sliding"])
def test_records_with_their_windows(windows: Any) -> None:
    windowed = wr.group_by(TABLE, "user", time="ts").windowed_by(windows)
    with pytest.raises(OverflowError, match="of key ann"):
        windowed.with_columns(total=wr.sum("amount"))
    result = windowed.overflow("null").with_columns(total=wr.sum("amount"))
    assert result["total"].to_pylist() == ([None, None, 1] if windows is GAP else [MOST, None, 1])
    assert wr.counters(result)["overflows"] == 1


def test_arithmetic_with_results() -> None:
    double = wr.max("amount") + wr.max("amount")
    message = r'aggregate "total": the sum does not fit its type \(int64\) in window \[2026-01-01 08:00.*\] of key ann;'
    with pytest.raises(OverflowError, match=message):
        query(None, total=double, n=wr.count())(TABLE)
    result = query("null", total=double, n=wr.count())(TABLE)
    assert totals(result) == [("ann", None, 2), ("bob", 2, 1)]
    assert wr.counters(result)["overflows"] == 1


def test_another_word_is_refused() -> None:
    with pytest.raises(ValueError, match="policy: got 'nul'; allowed: 'error' or 'null' .did you mean 'null'"):
        query("nul")(TABLE)


@pytest.mark.parametrize("emit", ["close", "update"])
def test_a_driver_that_failed_continues_with_null(emit: Any) -> None:
    driver = StreamDriver(query("error", emit=emit), PAYMENTS)
    driver.pipe(user="bob", ts=at(0), amount=1)
    driver.pipe(user="ann", ts=at(0), amount=MOST)
    if emit == "close":
        driver.pipe(user="ann", ts=at(1), amount=1)
    pages = driver.snapshot()
    user, minute, amount = ("zoe", 60, 0) if emit == "close" else ("ann", 1, 1)
    failing = {"user": user, "ts": at(minute), "amount": amount}
    with pytest.raises(OverflowError, match=r"of key ann; overflow\(\"null\"\)"):
        driver.pipe(**failing)
    again = StreamDriver(query("null", emit=emit), PAYMENTS).restore(pages)
    changes = again.pipe(**failing)
    found = {change.key["user"]: change.values.get("total") for change in changes if change.kind != "delete"}
    assert found["ann"] is None
    assert again.counters["overflows"] == 1
    assert StreamDriver(query("error", emit=emit), PAYMENTS).restore(again.snapshot()).counters["overflows"] == 1


def test_a_driver_keeps_counters_of_computed_columns_in_its_state() -> None:
    definition = query("null", twice=wr.max("amount") + wr.max("amount"))
    driver = StreamDriver(definition, PAYMENTS)
    driver.pipe_batch(payments(("ann", 0, MOST)))
    empty = driver.snapshot()
    driver.pipe_batch(payments(("zoe", 60, 0)))
    assert driver.counters["overflows"] == 1
    again = StreamDriver(definition, PAYMENTS).restore(driver.snapshot())
    assert again.counters["overflows"] == 1
    assert again.restore(empty).counters["overflows"] == 0


def test_an_error_next_to_deleted_windows_names_its_own_key() -> None:
    driver = StreamDriver(query(emit="update"), PAYMENTS)
    driver.pipe_batch(payments(("bob", 0, 1), ("bob", 6, 1), ("ann", 0, MOST)))
    with pytest.raises(OverflowError, match=r"08:01:00\] of key ann;"):
        driver.pipe_batch(payments(("bob", 3, 1), ("ann", 1, 1)))


@pytest.mark.parametrize("functions", [{}, {"last": wr.reduce("user", max)}], ids=["parts", "records"])
def test_a_stream_that_failed_at_close_continues_after_a_restart(functions: dict[str, Any]) -> None:
    aggregates = {"total": wr.sum("amount"), "n": wr.count(), **functions}
    stream = LocalStream(query("error", **aggregates), PAYMENTS, shards=2)
    stream.push([payments(("ann", 0, MOST), ("bob", 0, 1))])
    stream.push([payments(("ann", 1, 1))])
    closing = [payments(("zoe", 60, 0))]
    for _ in range(2):
        states = {shard: dict(state.pages) for shard, state in stream.states.items()}
        with pytest.raises(OverflowError, match="of key ann"):
            stream.push(closing)
        for shard, pages in states.items():  # Spark drops what a failed task wrote
            stream.states[shard].pages = pages
    stream.counters = dict.fromkeys(stream.counters, 0)
    stream.define(query("null", **aggregates))
    rows = stream.push(closing)
    assert totals(pa.Table.from_pylist(rows)) == [("ann", None, 2), ("bob", 1, 1)]
    assert stream.counters["overflows"] == 1


def test_the_command_takes_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"user": ["ann", "ann"], "ts": [at(0)] * 2, "n": [2**63 - 1, 1]})
    pq.write_table(table, tmp_path / "large.parquet")
    command = f"sessions {tmp_path}/large.parquet --key user --time ts --agg t=sum:n --gap"
    arguments = [*command.split(), "5 minutes"]
    assert main(arguments) == 2
    assert "of key ann; --overflow null makes it null and counts it" in capsys.readouterr().err
    assert main([*arguments, "--overflow", "null"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1] == '"ann",2026-01-01 08:00:00.000000,2026-01-01 08:00:00.000000,'
    assert "1 result does not fit its type and is null (overflows)" in printed.err
