"""Open windows that are not those of the run before: one clear error that names the row or the difference."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow import state
from windrow.testing import StreamDriver

from ..scenes import all_at, at

DAY = pa.table(
    {"user": ["ann", "bob", "eve"], "ts": pa.array(all_at(0, 1, 2), pa.timestamp("us")), "amount": [1, 2, 3]}
)
FLIPS = int(os.environ.get("WINDROW_FLIPS", "500"))
LONG = int(os.environ.get("WINDROW_STATES", "100000"))


def windowed(day: pa.Table = DAY, gap: str = "30 minutes", key: str = "user") -> Any:
    return wr.group_by(day, key, time="ts").windowed_by(wr.SessionWindows.with_gap(gap))


def advanced(opened: Any, minutes: float = 20, **options: Any) -> Any:
    return windowed().advance(opened, to=at(minutes), **(options or {"n": wr.count(), "spend": wr.sum("amount")}))


OPEN: pa.Table = advanced(None).still_open
BOB = 1


def changed(table: pa.Table, row: int, **values: Any) -> pa.Table:
    rows = table.to_pylist()
    rows[row] |= values
    return pa.Table.from_pylist(rows, schema=table.schema)


def place_of(table: pa.Table, user: str | None) -> int:
    return table["user"].to_pylist().index(user)


def as_type(name: str, kind: pa.DataType) -> pa.Table:
    """The open windows with a column that has lost its type on the way."""
    return OPEN.set_column(OPEN.column_names.index(name), name, OPEN[name].cast(kind))


TEXTS = pa.struct({"start": pa.string(), "end": pa.string()})


def without(table: pa.Table, row: int) -> pa.Table:
    return pa.concat_tables([table[:row], table[row + 1 :]])


def test_the_table_is_read_as_it_was_written() -> None:
    assert OPEN.num_rows == 4
    assert advanced(OPEN).still_open.num_rows == 4


CLOCK = place_of(OPEN, None)
NINE_PAST = {"start": at(1), "end": at(9)}
CHANGED = "its key, its window or its `state` was changed"
DAMAGED = "its `state` is damaged or cut off"
TABLES: list[tuple[pa.Table, str]] = [
    (changed(OPEN, BOB, user="ann"), f"the row of user = ann, window .*: {CHANGED}"),
    (
        changed(OPEN, BOB, window=NINE_PAST),
        rf"user = bob, window \[2026-01-01T08:01:00, 2026-01-01T08:09:00\]: {CHANGED}",
    ),
    (changed(OPEN, BOB, window=None), f"a row of user = bob without a window: {CHANGED}"),
    (changed(OPEN, BOB, state=OPEN["state"][0].as_py()), CHANGED),
    (changed(OPEN, BOB, state=OPEN["state"][BOB].as_py()[:-1]), CHANGED),
    (changed(OPEN, BOB, state=b"WR"), DAMAGED),
    (changed(OPEN, BOB, state=b""), DAMAGED),
    (changed(OPEN, BOB, state=b"another value"), "was not written by windrow"),
    (changed(OPEN, BOB, state=None), "user = bob: it has no `state`: a closed window"),
    (changed(OPEN, BOB, n=7), "the row of user = bob: 'n' is 7, and its `state` has 1"),
    (changed(OPEN, BOB, spend=None), "the row of user = bob: 'spend' is null, and its `state` has 2"),
    (without(OPEN, BOB), "the table has 2 rows besides the clock row, which says 3: 1 are missing"),
    (pa.concat_tables([OPEN, OPEN[BOB : BOB + 1]]), "the row of user = bob, window .*: it appears twice"),
    (without(OPEN, CLOCK), "got 3 rows and no clock row"),
    (OPEN[:0], "got 0 rows and no clock row"),
    (changed(OPEN, CLOCK, stream_time=at(30)), "the clock row cannot be read: its `stream_time` was changed"),
]


@pytest.mark.parametrize(("table", "says"), TABLES, ids=[says for _, says in TABLES])
def test_a_table_that_was_changed_is_refused(table: pa.Table, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        advanced(table, 30)


def test_tables_of_two_days_are_refused() -> None:
    later = advanced(OPEN, 25).still_open
    with pytest.raises(ValueError, match=r"got 2 clock rows, of runs up to 2026-01-01 08:20:00, 2026-01-01 08:25:00"):
        advanced(pa.concat_tables([OPEN, later]), 30)
    mixed = pa.concat_tables([OPEN[:BOB], later[BOB:]])
    with pytest.raises(
        ValueError, match=r"is of the run up to 2026-01-01T08:20:00, but the clock row of the run up to"
    ):
        advanced(mixed, 30)


def test_rows_of_another_table_of_the_same_run_are_refused() -> None:
    other = windowed(DAY.set_column(2, "amount", pa.array([1, 9, 3])))
    given = other.advance(None, to=at(20), n=wr.count(), spend=wr.sum("amount")).still_open
    with pytest.raises(ValueError, match="the rows are not those that the clock row counts"):
        advanced(pa.concat_tables([without(OPEN, BOB), given[BOB : BOB + 1]]), 30)


def test_a_time_before_the_earlier_one_is_refused() -> None:
    with pytest.raises(ValueError, match=r"to: got 2026-01-01 08:19:59.999999; allowed: 2026-01-01 08:20:00, which"):
        windowed().advance(OPEN, to="2026-01-01 08:19:59.999999", n=wr.count(), spend=wr.sum("amount"))


WHO = ["who", "ts", "amount"]


def first(query: Any = None, **options: Any) -> Any:
    """A first run."""
    return (windowed() if query is None else query).advance(None, **({"to": at(1), "n": wr.count()} | options))


STATES, BOUNDS = pa.array(["WR"] * 4), pa.array([{"from": 1}] * 4)
VALUES: list[tuple[Callable[[], Any], str]] = [
    (lambda: advanced(OPEN.drop_columns("state"), 30), "open: .* allowed: one that has 'state'"),
    (lambda: advanced(OPEN.drop_columns("user"), 30), "one that has 'user'"),
    (lambda: advanced("yesterday", 30), "open: got 'yesterday'; .*; there is no such file or folder"),
    (
        lambda: first(windowed().emit("update")),
        r"^emit: got 'update'; allowed: emit\('close'\) in advance: a run gives each .*still_open has",
    ),
    (
        lambda: first(why=wr.ended_by()),
        r"^aggregate \"why\": got 'ended_by\(\)'; allowed: sessions with a rule, such as max_records=:",
    ),
    (lambda: first(state=wr.count()), "aggregates: got 'state'"),
    (lambda: first(Status=wr.count()), "aggregates: got 'Status'"),
    (lambda: first(windowed(DAY.rename_columns(["source", *WHO[1:]]), key="source")), "keys: got 'source'"),
    (lambda: first(to="May"), "to: got 'May'"),
    (lambda: first(to="2026-05-05T00:00Z"), "a time without a zone"),
    (lambda: windowed().advance(None, to=at(1)), "aggregates: got none"),
]
TYPES: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: advanced(as_type("stream_time", pa.string()), 30),
        r"^open: column 'stream_time' has type string; allowed: timestamp\[us\], as in the query",
    ),
    (lambda: advanced(as_type("stream_time", pa.int64()), 30), "^open: column 'stream_time' has type int64"),
    (
        lambda: advanced(OPEN.set_column(5, "state", STATES), 30),
        "^open: column 'state' has type string; allowed: binary",
    ),
    (lambda: advanced(as_type("window", TEXTS), 30), "^open: column 'window.start' has type string"),
    (
        lambda: advanced(OPEN.set_column(1, "window", BOUNDS), 30),
        "^open: column 'window' has type struct<from: int64>; allowed: a struct of `start` and `end`",
    ),
    (lambda: advanced(advanced(None), 30), "open: got a Run; allowed: its still_open, which is the table"),
    (lambda: first(to=5), "to: got 5"),
    (lambda: windowed().advance(None, wr.count(), to=at(1)), "aggregates by name"),
]
WRONG = [*((ValueError, *each) for each in VALUES), *((TypeError, *each) for each in TYPES)]


@pytest.mark.parametrize(("error", "run", "says"), WRONG, ids=[says for *_, says in WRONG])
def test_wrong_arguments_are_refused_at_the_call(error: type[Exception], run: Callable[[], Any], says: str) -> None:
    with pytest.raises(error, match=says):
        run()


def flipped(table: pa.Table, rng: random.Random) -> pa.Table:
    """The table with some bits of one state flipped."""
    row = rng.randrange(table.num_rows)
    state = bytearray(table["state"][row].as_py())
    for place in rng.sample(range(len(state)), k=rng.choice([1, 1, 1, 2, 5])):
        state[place] ^= 1 << rng.randrange(8)
    return changed(table, row, state=bytes(state))


def check_flips(count: int) -> None:
    tables = [OPEN]
    sliding = wr.group_by(DAY, "user", time="ts").windowed_by(wr.SlidingWindows.with_time_difference("5 minutes"))
    tables.append(sliding.advance(None, to=at(7), n=wr.count(), amounts=wr.collect_list("amount")).still_open)
    runs: list[Any] = [
        lambda table: advanced(table, 30),
        lambda table: sliding.advance(table, to=at(30), n=wr.count(), amounts=wr.collect_list("amount")),
    ]
    rng = random.Random(7)
    for _ in range(count):
        place = rng.randrange(2)
        with pytest.raises(ValueError, match="^open: "):
            runs[place](flipped(tables[place], rng))


def test_flipped_bits_never_give_a_number() -> None:
    check_flips(FLIPS)


@pytest.mark.soak
def test_many_flipped_bits_never_give_a_number(soaked: Callable[[str], None]) -> None:
    check_flips(LONG)
    soaked(f"{LONG} damaged tables of open windows")


def test_the_table_may_be_given_by_its_name() -> None:
    for opened in (None, OPEN):
        by_name = windowed().advance(open=opened, to=at(20), n=wr.count(), spend=wr.sum("amount"))
        assert by_name.rows.equals(advanced(opened).rows)
    windows = wr.SessionWindows.with_gap("30 minutes", grace="0 seconds")

    def begun(rows: Any) -> Any:
        grouped = wr.group_by(rows, "user", time="ts").windowed_by(windows)
        return grouped.start_from(open=advanced(None, n=wr.count()).still_open).agg(n=wr.count())

    assert StreamDriver(begun, DAY.schema).stream_time == at(20)
    assert state.clock(open=OPEN) == state.clock(OPEN)
    assert state.with_clock(open=OPEN, to=at(21)).equals(state.with_clock(OPEN, at(21)))
    assert state.without_keys(open=OPEN, user="bob").equals(state.without_keys(OPEN, user="bob"))


def test_an_aggregate_may_have_the_name_open() -> None:
    prices = {"open": wr.first("amount"), "close": wr.last("amount")}
    first = windowed().advance(None, to=at(20), **prices)
    assert first.still_open["open"].drop_null().to_pylist() == [1, 2, 3]
    assert windowed(DAY[:0]).advance(first.still_open, to=at(90), **prices).closed["open"].to_pylist() == [1, 2, 3]
    for named in (prices, {"n": wr.count()}):
        with pytest.raises(TypeError, match=r"^open: got no table; allowed: .* None, as in advance\(None, to=...\)$"):
            windowed().advance(to=at(20), **named)
    with pytest.raises(TypeError, match='^aggregate "open": got None'):
        windowed().advance(None, to=at(20), open=None)
    with pytest.raises(TypeError, match=r"^open: got no table; allowed: .* without_keys\(still_open, user='ann'\)$"):
        state.without_keys(user="ann")
