"""Ties and ticks in a cogroup: records of all inputs go by (time, tie), ticks without an input are of all inputs."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.examples import usually
from ..scenes import at

OF_BOTH: list[Any] = [("user", pa.string()), ("v", pa.int64()), ("pause", pa.duration("us"))]
CLICKS = pa.schema([*OF_BOTH, ("ts", pa.timestamp("us")), ("offset", pa.int32()), ("out", pa.bool_())])
ORDERS = pa.schema([*OF_BOTH, ("paid", pa.timestamp("us")), ("seq", pa.int32())])
ALL = pa.schema([*CLICKS, pa.field("clicked", pa.int64()), pa.field("ordered", pa.int64())])

Made = tuple[str, int, int | None, bool, bool]
"""The key, the second, the tie, whether a logout, whether a click."""

MADE = st.tuples(
    st.sampled_from(["ann", "bob"]),
    st.integers(0, 6),
    st.sampled_from([None, *range(-2, 4), 2**31 - 1, -(2**31)]),
    st.sampled_from([False, False, False, True]),
    st.booleans(),
)
AGGREGATES = {
    "n": ("count", None),
    "first": ("first", "clicks.v"),
    "last": ("last", "orders.v"),
    "clicks": ("collect_list", "clicks.v"),
    "orders": ("collect_list", "orders.v"),
    "path": ("path", "clicks.v"),
}
COLUMNS = {"clicks.v": "clicked", "orders.v": "ordered", "clicks.*": "clicked", "clicks.out": "out"}


def aggregates(columns: dict[str, str]) -> dict[str, Any]:
    def made(function: str, column: str | None) -> Any:
        options = {"ignore_nulls": True} if function in ("first", "last") else {}  # null in records of other inputs
        return getattr(wr, function)(*(() if column is None else (columns.get(column, column),)), **options)

    own, out = made("count", "clicks.*"), columns.get("clicks.out", "clicks.out")
    computed = {"share": own / wr.count(), "outs": own.where(out), "why": wr.ended_by()}
    return {name: made(*arguments) for name, arguments in AGGREGATES.items()} | computed


def tables(rows: list[Made]) -> tuple[pa.Table, pa.Table, pa.Table]:
    """The clicks, the orders, and all in one table. No two records of a key have the same time and tie."""
    seen, clicks, orders, union = set[Any](), list[Any](), list[Any](), list[Any]()
    for number, (user, second, tie, out, is_click) in enumerate(rows):
        if tie is not None and (user, second, tie) in seen:
            continue
        seen.add((user, second, tie))
        moment, pause = at(0) + timedelta(seconds=second), timedelta(seconds=number % 5 - 1)
        click = {"user": user, "ts": moment, "offset": tie, "out": out and is_click, "v": number, "pause": pause}
        if is_click:
            clicks.append(click)
        else:
            orders.append({"user": user, "paid": moment, "seq": tie, "v": number, "pause": pause})
        union.append({**click, "clicked" if is_click else "ordered": number})
    made = ((clicks, CLICKS), (orders, ORDERS), (union, ALL))
    first, second, third = (pa.Table.from_pylist(each, schema) for each, schema in made)
    return first, second, third


def windows_of(end_when: str, kind: str = "rules", **others: Any) -> Any:
    if kind == "sliding":
        return wr.SlidingWindows.with_time_difference("2 seconds")
    if kind == "own gaps":
        return wr.SessionWindows.with_dynamic_gap("pause", max_gap="2 seconds")
    return wr.SessionWindows.with_gap("2 seconds", max_records=3, end_when=end_when, **others)


def both(clicks: Any, orders: Any) -> Any:
    return wr.cogroup(
        clicks=wr.group_by(clicks, "user", time="ts", tie="offset"),
        orders=wr.group_by(orders, "user", time="paid", tie="seq"),
    )


def counted(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)


def drawn(rows: list[Made], random: Any) -> tuple[Any, Any]:
    """The cogroup of both inputs, their rows in any order, and the records of both as one input."""
    *inputs, union = tables(rows)
    taken = [each.take(pa.array(random.sample(range(len(each)), len(each)), pa.int64())) for each in inputs]
    return both(*taken), wr.group_by(union, "user", time="ts", tie="offset")


KINDS = st.sampled_from(["rules", "own gaps", "sliding"])


@usually(120)
@given(st.lists(MADE, max_size=30), st.randoms(use_true_random=False), KINDS)
def test_records_of_all_inputs_go_by_time_and_tie_in_windows_and_come_back_with_them(
    rows: list[Made], random: Any, kind: str
) -> None:
    inputs, union = drawn(rows, random)
    ours, theirs = (aggregates(columns) for columns in ({}, COLUMNS))
    if kind != "rules":
        del ours["why"], theirs["why"]
    of_inputs, of_union = inputs.windowed_by(windows_of("clicks.out", kind)), union.windowed_by(windows_of("out", kind))
    answer, expected = of_inputs.agg(**ours), of_union.agg(**theirs)
    assert counted(answer.to_pylist()) == counted(expected.to_pylist())
    assert wr.counters(answer)["null_ties"] == wr.counters(expected)["null_ties"]
    places = {"place": wr.position(), "id": wr.window_id()} | (
        {} if kind == "sliding" else {"number": wr.session_number()}
    )
    back, known = of_inputs.with_columns(**ours, **places), of_union.with_columns(**theirs, **places)
    names = ["v", "window", *ours, *places]
    assert counted(back.select(names).to_pylist()) == counted(known.select(names).to_pylist())


@usually(40)
@given(st.lists(MADE, max_size=24))
def test_a_stream_with_rules_orders_the_records_of_all_inputs(rows: list[Made]) -> None:
    _, _, union = tables([row for row in rows if row[2] is not None])
    windows = windows_of("clicks.out", grace="1 minute")
    driver = StreamDriver(
        lambda clicks, orders: both(clicks, orders).windowed_by(windows).agg(**aggregates({})),
        {"clicks": CLICKS, "orders": ORDERS},
    )
    found = list[Any]()
    for row in union.sort_by([("offset", "descending")]).to_pylist():
        own = {"user": row["user"], "v": row["v"]}
        if row["clicked"] is not None:
            found += driver.pipe("clicks", **own, ts=row["ts"], offset=row["offset"], out=row["out"])
        else:
            found += driver.pipe("orders", **own, paid=row["ts"], seq=row["offset"])
    for name in ("clicks", "orders"):
        found += driver.tick(at(0) + timedelta(days=1), input=name)
    tied = wr.group_by(union, "user", time="ts", tie="offset").windowed_by(windows_of("out"))
    expected = tied.agg(**aggregates(COLUMNS)).to_pylist()
    for row in expected:
        row["why"] = "gap" if row["why"] == "open" else row["why"]  # rules 2.8
    shown = [{**change.key, "window": change.window._asdict(), **change.values} for change in found]
    assert counted(shown) == counted(expected)


WRONG: list[tuple[str | None, str | None, type[Exception], str]] = [
    ("offset", None, ValueError, "orders: tie: got None; allowed: one for all inputs or for none; clicks has 'offset'"),
    (None, "seq", ValueError, "orders: tie: got 'seq'; allowed: one for all inputs or for none; clicks has None"),
    ("offset", "v", TypeError, "orders: column 'v' has type int64; allowed: int32, the type of column 'offset' of"),
    ("offset", "none", ValueError, "tie: got 'none'"),
]


@pytest.mark.parametrize(("offset", "seq", "error", "says"), WRONG)
def test_each_input_has_a_tie_of_the_same_type(offset: Any, seq: Any, error: type[Exception], says: str) -> None:
    clicks, orders, _ = tables([("ann", 0, 1, False, True), ("ann", 0, 2, False, False)])
    with pytest.raises(error, match=says):
        wr.cogroup(
            clicks=wr.group_by(clicks, "user", time="ts", tie=offset),
            orders=wr.group_by(orders, "user", time="paid", tie=seq),
        )


def test_an_input_without_rows_has_a_tie_of_any_type() -> None:
    clicks, _, _ = tables([("ann", 0, 1, False, True)])
    orders = pa.table({"user": pa.array([], pa.string()), "paid": pa.array([], pa.timestamp("us")), "seq": pa.nulls(0)})
    answer = both(clicks, orders).windowed_by(wr.SessionWindows.with_gap("1 minute")).agg(last=wr.last("clicks.v"))
    assert answer["last"].to_pylist() == [0]


def test_python_functions_over_sliding_windows_of_a_cogroup_refuse_a_tie() -> None:
    clicks, orders, _ = tables([])
    windowed = both(clicks, orders).windowed_by(wr.SlidingWindows.with_time_difference("1 minute"))
    with pytest.raises(ValueError, match=r"tie: got 'offset'; allowed: None, or sessions: aggregate \"n\" is a Python"):
        windowed.agg(n=wr.reduce("clicks.v", max))


TIME = pa.timestamp("us")
TICKED_CLICKS = pa.schema({"k": pa.string(), "ts": TIME, "beat": pa.bool_()})
TICKED_ORDERS = pa.schema({"k": pa.string(), "at": TIME, "tick": pa.bool_()})
ROWS = pa.schema({"of": pa.string(), "k": pa.string(), "ts": TIME, "beat": pa.bool_(), "at": TIME, "tick": pa.bool_()})
SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="10 minutes")


def driven(beat: str | None = None) -> StreamDriver:
    """Orders have ticks, clicks have them where their column is named."""

    def definition(clicks: Any, orders: Any) -> Any:
        inputs = {
            "clicks": wr.group_by(clicks, "k", time="ts", tick=beat),
            "orders": wr.group_by(orders, "k", time="at", tick="tick"),
        }
        return wr.cogroup(**inputs).windowed_by(SESSIONS).agg(n=wr.count())

    return StreamDriver(definition, {"clicks": TICKED_CLICKS, "orders": TICKED_ORDERS})


def fed(driver: StreamDriver, *rows: dict[str, Any]) -> list[Any]:
    return driver.pipe_batch(pa.Table.from_pylist(list(rows), ROWS), input_column="of")


def test_a_tick_without_an_input_is_of_all() -> None:
    driver = driven()
    assert fed(driver, {"of": "clicks", "k": "a", "ts": at(0)}, {"at": at(15), "tick": True}) == []
    assert driver.stream_time == at(15)
    (final,) = fed(driver, {"at": at(16), "tick": True})
    assert (final.kind, final.window.end, final.values) == ("final", at(0), {"n": 1})
    assert (driver.counters["records"], driver.counters["ticks"]) == (1, 2)


@pytest.mark.parametrize(("beat", "tick", "reached"), [(True, None, 3), (False, True, 4), (True, True, 3)])
def test_the_time_of_a_tick_without_an_input_is_where_its_tick_is(beat: bool, tick: bool | None, reached: int) -> None:
    driver = driven("beat")
    fed(driver, {"ts": at(3), "at": at(4), "beat": beat, "tick": tick})
    assert driver.stream_time == at(reached)


def test_the_column_of_inputs_has_a_name() -> None:
    with pytest.raises(TypeError, match="input_column: got 5, an int; allowed: the name of a column"):
        driven().pipe_batch(ROWS.empty_table(), input_column=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("tick", [False, None])
def test_a_record_without_an_input_is_refused(tick: bool | None) -> None:
    driver = driven()
    with pytest.raises(ValueError, match="input_column: got None; allowed: 'clicks' or 'orders'"):
        fed(driver, {"of": "clicks", "k": "a", "ts": at(0)}, {"k": "a", "at": at(1), "tick": tick})
    assert driver.counters["records"] == 0
