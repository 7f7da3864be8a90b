"""`left_out("emit")` over data in this process: the records in no window come back, and say why."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import windrow as wr

from ..harness.layouts import Marked
from ..harness.libraries import LIBRARIES
from ..harness.tables import arrow
from ..scenes import at

GAP = wr.SessionWindows.with_gap("5 minutes")
PAIRS = wr.SlidingWindows.with_time_difference("5 minutes")
OWN = wr.SessionWindows.with_dynamic_gap("gap")
TICKS = pa.timestamp("us")

HOLES = pa.table(
    {
        "user": ["ann", None, "ann", None, "bob", "ann"],
        "ts": pa.array([at(0), at(1), None, None, at(2), at(3)], TICKS),
        "amount": [1, 2, 3, 4, 5, 6],
        "gap": pa.array([300, 300, 300, 300, 0, 300], pa.int64()).cast(pa.duration("s")),
    }
)


def kept(
    data: Any = HOLES, windows: Any = GAP, columns: Any = ("amount",), keys: Any = ("user",), **options: Any
) -> Any:
    grouped = wr.group_by(data, *keys, time="ts", **options)
    return grouped.windowed_by(windows).left_out("emit", columns=list(columns))


def left_out(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of records, in the order of their amounts."""
    rows = [row for row in table.to_pylist() if row["op"] == "left_out"]
    return sorted(rows, key=lambda row: row["record"]["amount"])


def window(start: float, end: float) -> dict[str, Any]:
    return {"start": at(start), "end": at(end)}


@pytest.fixture(autouse=True)
def _no_warnings() -> Any:
    """A query that returns what it leaves out does not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_each_record_without_a_window_comes_back_with_its_reason_and_the_window_it_would_have_had() -> None:
    # 0    1     2    3         amounts 2 and 4 have no key, 3 and 4 no time
    # ann  —     bob  ann
    answer = kept().agg(n=wr.count())
    assert answer.column_names == [
        "user", "window", "n", "time", "reason", "late_by", "stream_time", "record", "op"
    ]  # fmt: skip
    assert answer.schema.field("late_by").type == pa.duration("us")
    blank = {"n": None, "late_by": None, "stream_time": None, "op": "left_out"}
    assert left_out(answer) == [
        {**blank, "user": None, "window": window(1, 1), "time": at(1), "reason": "null_key", "record": {"amount": 2}},
        {**blank, "user": "ann", "window": None, "time": None, "reason": "null_time", "record": {"amount": 3}},
        {**blank, "user": None, "window": None, "time": None, "reason": "null_key", "record": {"amount": 4}},
    ]
    blank = dict.fromkeys(("time", "reason", "late_by", "stream_time", "record")) | {"op": "upsert"}
    windows = [row for row in answer.to_pylist() if row["op"] == "upsert"]
    assert sorted(windows, key=lambda row: row["user"]) == [
        {**blank, "user": "ann", "window": window(0, 3), "n": 2},
        {**blank, "user": "bob", "window": window(2, 2), "n": 1},
    ]


TWO_KEYS = pa.table(
    {
        "user": ["ann", None, None, None],
        "shop": [None, 1, None, None],
        "ts": pa.array([at(0), at(0), at(0), None], TICKS),
        "tick": [None, False, False, True],
        "amount": [1, 2, 3, 4],
    }
)
PACKED = HOLES.set_column(0, "user", pa.DictionaryArray.from_arrays([0, 1, None, 0, 0, 0], pa.array(["ann", None])))
LEFT: dict[str, tuple[Any, list[tuple[str, int]]]] = {
    "without all of two keys, and no tick": (kept(TWO_KEYS, keys=("user", "shop"), tick="tick"), [("null_key", 3)]),
    "a null within a dictionary": (kept(PACKED), [("null_key", 2), ("null_key", 3), ("null_time", 4)]),
    "no keys": (kept(keys=()), [("null_time", 3), ("null_time", 4)]),
    "nothing late": (
        kept(windows=wr.SessionWindows.with_gap("1 minute", grace="0 minutes")).late("emit"),
        [("null_key", 2), ("null_time", 3), ("null_key", 4)],
    ),
}


@pytest.mark.parametrize(("query", "expected"), LEFT.values(), ids=LEFT)
def test_the_first_reason_counts(query: Any, expected: list[tuple[str, int]]) -> None:
    answer = query.agg(n=wr.count())
    assert [(row["reason"], row["record"]["amount"]) for row in left_out(answer)] == expected
    assert wr.counters(answer)["null_keys"] == [reason for reason, _ in expected].count("null_key")


@pytest.mark.parametrize(("nanoseconds", "is_bad"), [(-1, True), (0, True), (999, True), (1000, False), (1001, False)])
def test_a_gap_that_rounds_to_nothing_in_the_unit_of_the_time_is_bad(nanoseconds: int, is_bad: bool) -> None:
    gap = pa.array([nanoseconds], pa.duration("ns"))
    data = pa.table({"user": ["ann"], "ts": pa.array([at(0)], TICKS), "gap": gap})
    answer = kept(data, OWN, ["gap"]).agg(n=wr.count())
    assert answer["op"].to_pylist() == ["left_out" if is_bad else "upsert"]


@pytest.mark.parametrize(
    ("time", "unit", "start", "end"),
    [
        (20, None, 10, 20),
        (10, None, 0, 10),
        (9, None, 0, 10),  # the early window
        (0, None, 0, 10),
        (-1, None, -11, -1),  # no window crosses 1970
        (29, "5 microseconds", 15, 25),
        (9, "5 microseconds", 0, 10),
        (-1, "5 microseconds", -15, -5),
        (-(2**63), None, -(2**63), -(2**63)),  # times go no further
    ],
)
def test_the_window_of_a_record_is_the_one_that_it_would_have_alone(
    time: int, unit: str | None, start: int, end: int
) -> None:
    windows = wr.SlidingWindows.with_time_difference("10 microseconds", resolution=unit)
    data = pa.table({"user": pa.array([None], pa.string()), "ts": pa.array([time], pa.int64()).cast(TICKS)})
    bounds = kept(data, windows, ["user"]).agg(n=wr.count())["window"].combine_chunks().flatten()
    assert [bound.cast(pa.int64()).to_pylist() for bound in bounds] == [[start], [end]]
    if time > -(2**62):
        whole = data.set_column(0, "user", pa.array(["ann"]))
        alone = wr.group_by(whole, "user", time="ts").windowed_by(windows).count()["window"].combine_chunks().flatten()
        assert [bound.cast(pa.int64()).to_pylist() for bound in alone] == [[start], [end]]


def test_lengths_are_counted_in_the_unit_of_the_time() -> None:
    for unit in ("s", "ms", "us", "ns"):
        data = pa.table({"user": pa.array([None], pa.string()), "ts": pa.array([at(7)], pa.timestamp(unit, "UTC"))})
        answer = kept(data, PAIRS, ["ts"]).agg(n=wr.count())
        bounds = [bound.cast(TICKS).to_pylist() for bound in answer["window"].combine_chunks().flatten()]
        assert bounds == [[at(2)], [at(7)]]
        assert answer.schema.field("time").type == answer.schema.field("record").type.field(0).type
        assert answer.schema.field("late_by").type == pa.duration(unit)


@pytest.mark.parametrize("windows", [GAP, PAIRS, OWN])
@pytest.mark.parametrize(
    "values",
    [
        {"n": wr.count()},
        {"mean": wr.sum("amount") / wr.count(), "n": wr.count().then(lambda counts: counts.fill_null(7))},
        {"total": wr.reduce("amount", lambda one, other: one + other)},
        {"all": wr.collect_list("amount"), "most": wr.collect_list("amount").then(lambda lists: lists)},
        {"span": wr.window_length(), "last": wr.last("ts")},
    ],
)
def test_windows_are_those_of_the_query_without_it_and_aggregates_of_records_are_null(
    windows: Any, values: dict[str, Any]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wr.LeftOut)
        plain = wr.group_by(HOLES, "user", time="ts").windowed_by(windows).agg(**values)
    query = kept(windows=windows)
    for answer in (query.agg(**values), query.to_reader(**values).read_all(), query.flat().agg(**values)):
        is_window = [op == "upsert" for op in answer["op"].to_pylist()]
        of_windows = answer.filter(pa.array(is_window))
        if "window" in answer.column_names:
            shown = of_windows.select(plain.column_names).cast(plain.schema.remove_metadata())
            assert sorted(shown.to_pylist(), key=repr) == sorted(plain.to_pylist(), key=repr)
        rows = left_out(answer)
        assert len(rows) == (4 if windows is OWN else 3)
        assert all(row[name] is None for row in rows for name in values)


def test_counters_do_not_count_records_as_windows() -> None:
    seen = wr.Observation()
    answer = kept().observe(seen).agg(n=wr.count())
    assert seen.get["records"] == 6
    assert seen.get["null_keys"] == 2
    assert seen.get["null_times"] == 1
    assert seen.get["windows"] == wr.counters(answer)["windows"] == 2
    listed = kept(windows=PAIRS).agg(most=wr.collect_list("amount").then(lambda lists: lists))
    assert wr.counters(listed)["windows"] == listed["op"].to_pylist().count("upsert") == 4


def test_a_gap_that_is_cut_still_warns() -> None:
    with pytest.warns(wr.LeftOut, match=r"^gaps are cut to max_gap \(clamped_gaps 2\)"):
        kept(windows=wr.SessionWindows.with_dynamic_gap("gap", max_gap="1 minute")).agg(n=wr.count())


@pytest.mark.parametrize("made", [*LIBRARIES.values(), lambda table: table.to_reader(max_chunksize=2)])
def test_records_of_every_kind_of_data_come_back(made: Callable[[pa.Table], Any]) -> None:
    data = HOLES.drop_columns(["gap"])
    whole = arrow(kept(made(data), columns=["amount", "user"]).agg(n=wr.count()))
    found = [(row["reason"], row["user"], *row["record"].values()) for row in left_out(whole)]
    assert found == [("null_key", None, 2, None), ("null_time", "ann", 3, "ann"), ("null_key", None, 4, None)]
    query = wr.group_by(made(data), "user", time="ts").windowed_by(GAP).left_out("emit")
    without = arrow(query.agg(n=wr.count()))
    assert sorted(without.to_pylist(), key=repr) == sorted(whole.drop_columns(["record"]).to_pylist(), key=repr)
    nothing = arrow(kept(made(data[:0])).agg(n=wr.count()))
    assert (nothing.num_rows, "reason" in nothing.column_names) == (0, True)


KINDS: dict[str, pa.DataType] = {
    "place": pa.struct({"town": pa.string(), "at": pa.list_(pa.int8())}),
    "kind": pa.dictionary(pa.int32(), pa.string()),
    "raw": pa.binary(),
    "ts": TICKS,
}


def test_columns_may_be_of_any_type_and_fields_of_structs() -> None:
    record = {"place": {"town": "Lugo", "at": [1, 2]}, "kind": "a", "raw": b"\x00", "ts": at(0)}
    data = pa.Table.from_pylist([{"user": None, **record}], pa.schema({"user": pa.string()} | KINDS))
    answer = kept(data, columns=[*KINDS, "place.town"]).agg(n=wr.count())
    assert answer["record"].to_pylist() == [{**record, "place.town": "Lugo"}]


def test_columns_may_be_slices_of_structs_in_structs() -> None:
    nested = pa.array([{"p": {"a": number}} for number in range(len(HOLES))])
    rows = kept(HOLES.append_column("v", nested)[2:], columns=["v"]).agg(f=wr.first("v")).to_pylist()
    assert [row["record"]["v"] for row in rows if row["op"] == "left_out"] == [{"p": {"a": 2}}, {"p": {"a": 3}}]
    assert [row["f"] for row in rows if row["user"] == "bob"] == [{"p": {"a": 4}}]


def test_columns_may_be_of_an_extension_type_that_is_not_registered() -> None:
    texts = pa.StructArray.from_arrays([HOLES["amount"].chunk(0).cast(pa.string())], ["x"])
    data = HOLES.append_column("x", pa.ExtensionArray.from_storage(Marked(), texts))
    rows = kept(data, columns=["x", "amount"]).agg(n=wr.count())
    assert [row["record"]["x"] for row in left_out(rows)] == [{"x": "2"}, {"x": "3"}, {"x": "4"}]


def test_each_record_of_a_cogroup_names_its_input() -> None:
    orders = pa.table({"user": [None, "ann"], "ts": pa.array([at(9), None], TICKS), "paid": [10, 20]})
    grouped = {"clicks": wr.group_by(HOLES, "user", time="ts"), "orders": wr.group_by(orders, "user", time="ts")}
    windowed = wr.cogroup(**grouped).windowed_by(GAP)
    answer = windowed.left_out("emit", columns=["clicks.amount", "orders.paid"]).agg(n=wr.count())
    assert answer.column_names[-3:] == ["input", "record", "op"]
    rows = [row for row in answer.to_pylist() if row["op"] == "left_out"]
    assert sorted(((row["input"], row["reason"], *row["record"].values()) for row in rows), key=repr) == [
        ("clicks", "null_key", 2, None),
        ("clicks", "null_key", 4, None),
        ("clicks", "null_time", 3, None),
        ("orders", "null_key", None, 10),
        ("orders", "null_time", None, 20),
    ]
    without = windowed.left_out("emit").agg(n=wr.count())
    assert without.column_names[-3:] == ["stream_time", "input", "op"]
    assert without["input"].drop_null().to_pylist() == [row["input"] for row in rows]


def test_drop_is_the_default_and_takes_the_rows_back() -> None:
    with pytest.warns(wr.LeftOut):
        answer = kept().left_out("drop").agg(n=wr.count())
    assert answer.column_names == ["user", "window", "n"]


QUERY = wr.group_by(HOLES, "user", time="ts").windowed_by(GAP)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: QUERY.left_out("keep"), "policy: got 'keep'; allowed: 'drop' or 'emit'"),
        (lambda: QUERY.left_out("emit", columns=[]), r"columns: got \[\]; allowed: the columns .* at least one"),
        (lambda: QUERY.left_out("emit", columns=["ts", "ts"]), "columns: got 'ts'; allowed: .* each once"),
        (lambda: QUERY.left_out("drop", columns=["ts"]), r"columns: got \['ts'\]; allowed: none with left_out\("),
        (lambda: kept(columns=["amuont"]).agg(n=wr.count()), "columns: got 'amuont'.*did you mean 'amount'"),
        (lambda: kept().agg(reason=wr.count()), "'reason'.*a column that left_out"),
        (lambda: kept().agg(op=wr.count()), "'op'.*left_out"),
        (lambda: kept().with_columns(n=wr.count()), r"with_columns: got \"left_out\('emit'\)\""),
        (
            lambda: kept().advance(None, to="2026-01-02", n=wr.count()),
            r"left_out: got 'emit'; allowed: 'drop' in advance: open windows travel",
        ),
    ],
)
def test_a_wrong_argument_is_an_error_at_the_call(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("columns", ["amount", [1], ("amount", None), {"amount": 1}, pl.col("amount")])
def test_columns_are_names_in_a_list(columns: Any) -> None:
    with pytest.raises(TypeError, match="columns: got .* a list of names"):
        QUERY.left_out("emit", columns=columns)


@pytest.mark.parametrize("name", ["time", "reason", "late_by", "stream_time", "record", "op"])
def test_a_key_may_not_have_the_name_of_a_column_that_is_added(name: str) -> None:
    data = HOLES.rename_columns([name, *HOLES.column_names[1:]])
    query = wr.group_by(data, name, time="ts").windowed_by(GAP)
    with pytest.raises(ValueError, match=f"keys: got '{name}'; allowed: any name but '{name}'"):
        query.left_out("emit", columns=["amount"]).agg(n=wr.count())


def test_the_time_and_without_columns_a_result_may_have_the_name_of_a_column_that_is_added() -> None:
    data = HOLES.rename_columns(["user", "time", "amount", "gap"])
    answer = wr.group_by(data, "user", time="time").windowed_by(GAP).left_out("emit", columns=["amount"]).count()
    assert [row["time"] for row in left_out(answer)] == [at(1), None, None]
    assert QUERY.left_out("emit").agg(record=wr.count()).column_names[2] == "record"
