"""Every record of a cogroup with its window, in the columns of all inputs. `test_cogroup_order` has the windows."""

from __future__ import annotations

import re
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr

from ..harness.tables import arrow
from ..scenes import all_at

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


PERIODS = {unit: pd.Series(pd.period_range("2026-01", periods=2, freq=unit)) for unit in "MD"}
INTERVALS = {closed: pd.Series(pd.interval_range(0, 2, closed=closed)) for closed in ("left", "right")}
UNLIKE: dict[str, tuple[Any, Any, str]] = {
    "periods": (PERIODS["D"], PERIODS["M"], "has type period[M]; allowed: period[D], the type of column 'x' of a"),
    "categories": (
        PERIODS["D"].astype("category"),
        PERIODS["M"].astype("category"),
        "has type category of period[M]; allowed: category of period[D]",
    ),
    "intervals": (INTERVALS["left"], INTERVALS["right"], "has type interval[int64, right]; allowed: interval[int64, l"),
    "a period and its number": (PERIODS["D"], pd.Series([1, 2]), "has type int64; allowed: period[D]"),
    "bits and text": ("'01'::BIT", "'01'", "has type VARCHAR; allowed: BIT"),
    "bits and numbers": ("'1'::BIT", "1::UHUGEINT", "has type UHUGEINT; allowed: BIT"),
    "parts": ("{'b': ['1'::BIT]}", "{'b': [1::UHUGEINT]}", "has type STRUCT(b UHUGEINT[]); allowed: STRUCT(b BIT[])"),
    "an enum and text": (
        pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"])),
        pl.Series(["a", "c"]),
        "has type String; allowed: Enum(categories=['a', 'b'])",
    ),
}


@pytest.mark.parametrize("case", UNLIKE)
def test_types_that_only_their_library_tells_apart_are_not_one_column(case: str) -> None:
    connection = duckdb.connect()

    def table(column: Any) -> Any:
        if isinstance(column, str):
            return connection.sql(f"SELECT 'k' AS u, TIMESTAMP '2026-05-04' AS ts, {column} AS x")
        return type(column.to_frame())({"u": ["k", "k"], "ts": all_at(0, 1), "x": column})

    def pair(one: Any, other: Any, key: str) -> Any:
        inputs = {name: wr.group_by(table(column), key, time="ts") for name, column in (("a", one), ("b", other))}
        return wr.cogroup(**inputs).windowed_by(SESSIONS)

    one, other, says = UNLIKE[case]
    with pytest.raises(TypeError, match=re.escape(f"b: column 'x' {says}")):
        pair(one, other, "x")
    with pytest.raises(TypeError, match=re.escape(f"with_columns: b: column 'x' {says}")):
        pair(one, other, "u").with_columns(n=wr.count())
    assert len(pair(one, one, "u").with_columns(n=wr.count())) == 2 * len(pair(one, other, "u").agg(n=wr.count())) * (
        1 if isinstance(one, str) else 2
    )
    emitted = pair(one, other, "u").left_out("emit", columns=["a.x", "b.x"]).agg(a=wr.first("a.x"), b=wr.first("b.x"))
    assert len(emitted) == 1


@pytest.mark.parametrize("library", ["pandas", "Polars", "both"])
def test_categories_of_any_number_are_one_column(library: str) -> None:
    def table(count: int, library: str) -> Any:
        names = [f"u{number}" for number in range(count)]
        times = all_at(0) * count
        if library == "pandas":
            return pd.DataFrame({"user": pd.Categorical(names), "ts": pd.Series(times, dtype="datetime64[us]")})
        return pl.DataFrame({"user": pl.Series(names, dtype=pl.Categorical), "ts": times})

    first, second = {"both": ("pandas", "Polars")}.get(library, (library, library))
    inputs = {"a": table(100, first), "b": table(200, second)}
    pair = wr.cogroup(**{name: wr.group_by(each, "user", time="ts") for name, each in inputs.items()})
    users = arrow(pair.windowed_by(SESSIONS).agg(n=wr.count()))
    assert sorted(users["n"].to_pylist()) == [1] * 100 + [2] * 100
    assert len({str(user) for user in users["user"]}) == 200
    alone = {name: wr.group_by(each, time="ts") for name, each in inputs.items()}
    rows = arrow(wr.cogroup(**alone).windowed_by(SESSIONS).with_columns(n=wr.count()))
    assert sorted(map(str, rows["user"])) == sorted(f"u{number}" for count in (100, 200) for number in range(count))


def test_the_cast_of_a_key_of_another_type_works_on_that_data() -> None:
    one = pd.DataFrame({"user": [1, 2], "ts": all_at(0, 1)})
    frame = one.assign(user=[1, None])

    def pair(data: Any) -> Any:
        inputs = {"a": wr.group_by(one, "user", time="ts"), "b": wr.group_by(data, "user", time="ts")}
        return wr.cogroup(**inputs).windowed_by(SESSIONS).agg(n=wr.count())

    with pytest.raises(TypeError, match=r"b: column 'user' has type double; allowed: int64, .* of a: ") as refused:
        pair(frame)
    cast = str(refused.value).rpartition(": ")[2]
    with pytest.warns(wr.LeftOut):
        assert sorted(pair(frame.assign(user=eval(cast)))["n"]) == [1, 2]


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
