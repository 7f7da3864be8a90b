"""Every record of a cogroup with its window: in the columns of all inputs by name, equal to the oracle."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

from ..harness.examples import usually
from ..harness.families import often, some
from ..harness.tables import arrow, in_batches, ticks
from ..oracle.cogroup import InputRecord, together
from ..oracle.records import Record, by_key
from ..oracle.row_windows import RowWindows
from ..scenes import all_at
from .test_with_columns import check_windows, kinds

Row = tuple[int | None, int | None, int | None, bool]
Tables = dict[str, pa.Table]

AGGREGATES = {
    "n": wr.count(),
    "n_b": wr.count("b.*"),
    "total": wr.sum("a.v"),
    "earned": wr.sum("b.v").where("b.paid"),
    "own": wr.collect_list("b.only_b"),
    "share": wr.count("a.*") / wr.count(),
    "window_id": wr.window_id(),
}


def table_of(name: str, time: str, rows: list[Row], cuts: list[int]) -> pa.Table:
    """Records of a key, a time and a gap in ticks, a boolean; a column that both have, and one that this one has."""
    keys, times, gaps, paid = ([row[place] for row in rows] for place in range(4))
    columns = {
        "k": pa.array(keys, pa.int64()),
        time: pa.array(times, pa.int64()).cast(pa.timestamp("us")),
        "gap": pa.array(gaps, pa.int64()).cast(pa.duration("us")),
        "v": pa.array([row * row + len(name) for row in range(len(rows))], pa.int64()),
        "paid": pa.array(paid, pa.bool_()),
        f"only_{name}": pa.array([f"{name} {row}" for row in range(len(rows))], pa.string()),
    }
    return in_batches(pa.table(columns), cuts)


@st.composite
def inputs(draw: st.DrawFn) -> tuple[Tables, dict[str, str]]:
    """Two or three tables, and the columns of their times: of one name, or of several."""
    around = draw(st.sampled_from([0, 0, 10**6, -(10**6)]))
    row = st.tuples(
        often(st.integers(1, 3)),
        often(st.integers(around - 20, around + 60)),
        often(st.integers(-1, 15)),
        st.booleans(),
    )
    names = ["a", "b", "c"][: draw(st.integers(2, 3))]
    times = {name: draw(st.sampled_from(["ts", f"ts_{name}"])) for name in names}
    cuts = st.lists(st.integers(0, 20), max_size=3)
    return {name: table_of(name, times[name], draw(some(row, 20)), draw(cuts)) for name in names}, times


def cogrouped(tables: Tables, times: dict[str, str], windows: Any) -> Any:
    grouped = {name: wr.group_by(table, "k", time=times[name]) for name, table in tables.items()}
    return wr.cogroup(**grouped).windowed_by(windows)


def oracle_rows(tables: Tables, times: dict[str, str]) -> list[InputRecord]:
    return together(
        {
            name: [
                Record((row["k"],), time, 0, {**row, "gap": gap})
                for row, time, gap in zip(
                    table.to_pylist(), ticks(table[times[name]]), ticks(table["gap"]), strict=True
                )
            ]
            for name, table in tables.items()
        }
    )


def check(tables: Tables, times: dict[str, str], answer: pa.Table, windows: RowWindows) -> None:
    """All records, one input after the other, in the columns of all, with the name of the input and their windows."""
    records = oracle_rows(tables, times)
    columns = list(dict.fromkeys(name for table in tables.values() for name in table.column_names))
    assert answer.column_names == [*columns, "input", "window", *AGGREGATES]
    unioned = pa.concat_tables(tables.values(), promote_options="default").select(columns)
    assert answer.select(columns).replace_schema_metadata(None).equals(unioned)
    assert answer["input"].to_pylist() == [record.input for record in records]
    known = {row: window for group in by_key(records).values() for row, window in windows(list(group)).items()}

    def values(members: list[int]) -> dict[str, Any]:
        of = {name: [records[place].values for place in members if records[place].input == name] for name in tables}
        return {
            "n": len(members),
            "n_b": len(of["b"]),
            "total": total(values["v"] for values in of["a"]),
            "earned": total(values["v"] for values in of["b"] if values["paid"]),
            "own": sorted(values["only_b"] for values in of["b"]),
            "share": len(of["a"]) / len(members) if members else None,
        }

    check_windows(answer, [record.key for record in records], known, values)


def total(values: Any) -> int | None:
    held = list(values)
    return sum(held) if held else None


@usually(160)
@given(inputs(), kinds())
def test_each_record_has_the_window_of_the_oracle(
    drawn: tuple[Tables, dict[str, str]], kind: tuple[Any, RowWindows]
) -> None:
    windows, oracle = kind
    check(*drawn, cogrouped(*drawn, windows).with_columns(**AGGREGATES), oracle)


CLICKS = pa.table({"user": ["ann", "bob", "ann", None], "ts": all_at(0, 1, 3, 4), "url": ["/", "/a", "/b", "/c"]})
ORDERS = pa.table({"user": ["ann", "bob"], "paid": all_at(4, 30), "amount": [30, 5], "ts": ["noon", "later"]})
SESSIONS = wr.SessionWindows.with_gap("5 minutes")


def visits(clicks: Any, orders: Any, **options: Any) -> Any:
    grouped = wr.group_by(clicks, "user", time="ts", **options), wr.group_by(orders, "user", time="paid")
    return wr.cogroup(clicks=grouped[0], orders=grouped[1]).windowed_by(SESSIONS)


def test_a_time_column_of_one_input_may_be_any_column_of_another() -> None:
    orders = ORDERS.set_column(3, "ts", pa.array([None, all_at(50)[0]], pa.timestamp("us")))
    answer = visits(CLICKS, orders).with_columns(n=wr.count(), spent=wr.sum("orders.amount"))
    assert answer.column_names == ["user", "ts", "url", "paid", "amount", "input", "window", "n", "spent"]
    assert answer["ts"].to_pylist() == [*all_at(0, 1, 3, 4), None, *all_at(50)]
    assert answer["paid"].to_pylist() == [None, None, None, None, *all_at(4, 30)]
    assert answer["n"].to_pylist() == [3, 1, 3, None, 3, 1]
    assert answer["spent"].to_pylist() == [30, None, 30, None, 30, 5]
    assert wr.counters(answer)["windows"] == 3


def test_inputs_of_other_libraries_ticks_bounds_and_progress_go_along() -> None:
    clicks = CLICKS.append_column("is_tick", pa.array([False, False, True, False]))
    orders = ORDERS.drop_columns(["ts"]).append_column("tick", pa.array(["a", "b"]))
    steps: list[str] = []
    for each, other in [
        (pl.from_arrow(clicks), orders.to_reader()),
        (clicks.to_batches(), pl.from_arrow(orders).lazy()),
    ]:
        query = visits(each, other, tick="is_tick").flat().progress(lambda step, *_: steps.append(step))
        answer = arrow(query.with_columns(n=wr.count()))
        assert answer.column_names[-5:] == ["tick", "input", "window_start", "window_end", "n"]
        assert [str(tick) for tick in answer["tick"]] == ["None"] * 3 + ["a", "b"]
        assert answer["n"].to_pylist() == [2, 1, None, 2, 1]
    assert set(steps) == {"records", "windows"}


def test_columns_of_one_name_have_one_type_in_any_layout() -> None:
    large = ORDERS.set_column(3, "url", pa.array(["x", "y"], pa.large_string()))
    assert visits(CLICKS, large).with_columns()["url"].to_pylist() == ["/", "/a", "/b", "/c", "x", "y"]
    with pytest.raises(
        TypeError, match=r"with_columns: orders: column 'url' has type int64; allowed: string.*of clicks"
    ):
        visits(CLICKS, ORDERS.set_column(3, "url", pa.array([1, 2]))).with_columns()
    with pytest.raises(TypeError, match=r"with_columns: orders: column 'ts' has type string; allowed: timestamp"):
        visits(CLICKS, ORDERS).with_columns()


def test_nulls_that_one_input_allows_within_its_values_are_allowed_in_the_rows() -> None:
    filled = pa.list_(pa.field("item", pa.struct([pa.field("n", pa.int64(), nullable=False)]), nullable=False))
    mapped = pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False))
    kinds = {"list": (filled, [[{"n": 1}]] * 4), "map": (mapped, [[("a", 1)]] * 4)}
    clicks = CLICKS
    for name, (kind, values) in kinds.items():
        clicks = clicks.append_column(name, pa.array(values, kind))
    orders = ORDERS.drop_columns(["ts"])
    orders = orders.append_column("list", pa.array([[{"n": None}], [None]], pa.list_(pa.struct([("n", pa.int64())]))))
    orders = orders.append_column("map", pa.array([[("a", None)], None], pa.map_(pa.string(), pa.int64())))
    answer = visits(clicks, orders).with_columns()
    assert answer["list"].to_pylist() == [[{"n": 1}]] * 4 + [[{"n": None}], [None]]
    assert answer["map"].to_pylist() == [[("a", 1)]] * 4 + [[("a", None)], None]


def test_names_that_the_result_adds_and_names_twice_are_refused() -> None:
    orders = ORDERS.drop_columns(["ts"])
    named = CLICKS.rename_columns(["user", "ts", "Input"])
    with pytest.raises(ValueError, match=r"'Input'; allowed: any name but 'input', which the result adds"):
        visits(named, orders).with_columns()
    with pytest.raises(ValueError, match=r"'amount'.*a column of the data"):
        visits(CLICKS, orders).with_columns(amount=wr.count())
    with pytest.raises(ValueError, match=r"'input'.*the column of the records' inputs"):
        visits(CLICKS, orders).with_columns(input=wr.count())
    with pytest.raises(ValueError, match=r"reduce\(\.\.\.\).*built-in"):
        visits(CLICKS, orders).with_columns(u=wr.reduce("clicks.url", max))
    with pytest.raises(ValueError, match="with_columns: orders: got 'amount'"):
        visits(CLICKS, orders.append_column("amount", pa.array([1, 2]))).with_columns()
