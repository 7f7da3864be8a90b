"""Expressions in place of columns: the answer is that of the same query over columns that plain Python computes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.tables import arrow
from ..scenes import at

ROWS = [
    {"user": user, "seen": {"at": at(minute)}, "amount": amount, "wait": wait}
    for user, minute, amount, wait in [
        ("ann", 0, 1, 4),
        ("Ann", 4, 5, 2),
        ("ANN", 7, None, 9),
        ("bob", 1, 7, 1),
        ("ann", 30, 2, None),
        (None, 3, 9, 3),
    ]
]
TABLE = pa.Table.from_pylist(
    ROWS,
    pa.schema(
        {"user": pa.string(), "seen": pa.struct({"at": pa.timestamp("us")}), "amount": pa.int64(), "wait": pa.int64()}
    ),
)
AMOUNTS = TABLE["amount"].to_pylist()
COMPUTED = pa.table(
    {
        "user": [user and user.lower() for user in TABLE["user"].to_pylist()],
        "ts": [row["seen"]["at"] for row in ROWS],
        "twice": [None if amount is None else amount * 2 for amount in AMOUNTS],
        "large": [None if amount is None else amount > 3 for amount in AMOUNTS],
        "gap": [None if wait is None else timedelta(minutes=wait) for wait in TABLE["wait"].to_pylist()],
    }
)
"""The same rows with what the expressions give, computed here in Python."""

DUCK: Any = duckdb
SQL: Callable[[str], Any] = DUCK.SQLExpression
LANGUAGES: dict[str, dict[str, Any]] = {
    "pyarrow": {
        "user": pc.utf8_lower(pc.field("user")),
        "ts": pc.field("seen", "at"),
        "twice": pc.field("amount") * pc.scalar(2),
        "large": pc.field("amount") > pc.scalar(3),
        "gap": pc.field("wait").cast("duration[s]").cast("duration[us]") * pc.scalar(60),
    },
    "polars": {
        "user": pl.col("user").str.to_lowercase(),
        "ts": pl.col("seen").struct.field("at"),
        "twice": pl.col("amount") * 2,
        "large": pl.col("amount") > 3,
        "gap": pl.duration(minutes=pl.col("wait")),
    },
    "duckdb": {
        "user": SQL('lower("user")').alias("user"),
        "ts": SQL("seen.at"),
        "twice": DUCK.ColumnExpression("amount") * DUCK.ConstantExpression(2),
        "large": "amount > 3",
    },
}
KINDS: dict[str, tuple[Callable[[], Any], str]] = {
    "pyarrow": (lambda: TABLE, "pyarrow"),
    "batches of one row": (lambda: TABLE.to_batches(max_chunksize=1), "pyarrow"),
    "a reader": (lambda: TABLE.to_reader(max_chunksize=2), "pyarrow"),
    "polars": (lambda: pl.from_arrow(TABLE), "polars"),
    "lazy polars": (lambda: pl.from_arrow(TABLE).lazy(), "polars"),  # type: ignore[union-attr]
    "duckdb": (lambda: duckdb.from_arrow(TABLE), "duckdb"),
    "pandas": (lambda: TABLE.to_pandas(integer_object_nulls=True), "pyarrow"),
}
GAP = wr.SessionWindows.with_gap("5 minutes")
PLAIN = {name: name for name in COMPUTED.column_names}


@pytest.fixture(params=KINDS)
def case(request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any]]:
    """Data, and the expressions of its language."""
    make, language = KINDS[request.param]
    return make(), LANGUAGES[language]


def windows_of(data: Any, of: dict[str, Any], windows: Any = GAP) -> list[tuple[Any, ...]]:
    """Windows of a query that names a column in every place."""
    query = wr.group_by(data, of["user"], time=of["ts"], tick=of["large"], source=of["user"], order=of["twice"])
    answer = query.windowed_by(windows).agg(
        n=wr.count(),
        total=wr.sum(of["twice"]),
        mean=wr.sum(of["twice"]) / wr.count(of["twice"]),
        most=wr.max_by(of["user"], of["twice"]),
        added=wr.reduce(of["twice"], lambda a, b: a + b),
    )
    return sorted(tuple(row.values()) for row in rows(answer))


def rows(answer: Any) -> list[dict[str, Any]]:
    """The rows of a result of any kind."""
    return [{**row, "window": tuple((row["window"] or {}).values())} for row in arrow(answer).to_pylist()]


def test_every_place_of_a_column_takes_an_expression(case: tuple[Any, dict[str, Any]]) -> None:
    data, of = case
    of = {**of, "large": SQL("amount > 3")} if of is LANGUAGES["duckdb"] else of
    assert windows_of(data, of) == windows_of(COMPUTED, PLAIN)
    assert len(windows_of(COMPUTED, PLAIN)) == 3


def test_where_takes_an_expression_and_duckdb_sql(case: tuple[Any, dict[str, Any]]) -> None:
    data, of = case
    answer = wr.group_by(data, of["user"], time=of["ts"]).windowed_by(GAP).agg(n=wr.count().where(of["large"]))
    expected = wr.group_by(COMPUTED, "user", time="ts").windowed_by(GAP).agg(n=wr.count().where("large"))
    assert sorted(row["n"] for row in rows(answer)) == sorted(row["n"] for row in rows(expected)) == [0, 1, 1]


def test_a_column_wins_over_sql_of_its_name() -> None:
    named = COMPUTED.append_column("twice > 3", pa.array([True] * COMPUTED.num_rows))
    windowed = wr.group_by(duckdb.from_arrow(named), "user", time="ts").windowed_by(GAP)
    answer = windowed.agg(column=wr.count().where("twice > 3"), sql=wr.count().where("twice>3"))
    assert sorted((row["column"], row["sql"]) for row in rows(answer)) == [(1, 1), (1, 1), (3, 1)]


@pytest.mark.parametrize("kind", ["pyarrow", "polars"])
def test_gaps_and_ends_are_expressions(kind: str) -> None:
    of = LANGUAGES[kind]
    windows = wr.SessionWindows.with_dynamic_gap(of["gap"], end_when=of["large"])
    plain = wr.SessionWindows.with_dynamic_gap("gap", end_when="large")
    answer = wr.group_by(KINDS[kind][0](), of["user"], time=of["ts"]).windowed_by(windows).count()
    expected = wr.group_by(COMPUTED, "user", time="ts").windowed_by(plain).count()
    found = [sorted((str(row["window"]), row["count"]) for row in rows(each)) for each in (answer, expected)]
    assert found[0] == found[1]
    assert len(found[0]) == 3


def test_rows_come_back_without_the_columns_of_expressions(case: tuple[Any, dict[str, Any]]) -> None:
    data, of = case
    answer = wr.group_by(data, of["user"], time=of["ts"]).windowed_by(GAP).with_columns(total=wr.sum(of["twice"]))
    expected = wr.group_by(COMPUTED, "user", time="ts").windowed_by(GAP).with_columns(total=wr.sum("twice"))
    table = arrow(answer)
    assert table.column_names == [*TABLE.column_names, "window", "total"]
    assert table["total"].to_pylist() == expected["total"].to_pylist()


def test_a_key_goes_by_the_name_that_its_library_gives() -> None:
    frame = pl.from_arrow(TABLE)
    lower = pl.col("user").str.to_lowercase()
    for key, name in [(lower, "user"), (lower.alias("who"), "who"), (pl.col("seen").struct.field("at"), "at")]:
        answer = wr.group_by(frame, key, time="seen.at").windowed_by(GAP).agg(first=wr.first("user"))
        assert next(iter(rows(answer)[0])) == name
    answer = wr.group_by(frame, lower, time="seen.at").windowed_by(GAP).agg(first=wr.first("user"), user_2=wr.count())
    assert sorted(row["first"] for row in rows(answer)) == ["ann", "ann", "bob"]


def test_two_keys_of_one_name_are_refused_with_alias() -> None:
    with pytest.raises(ValueError, match=r"^keys: got 'user'; allowed: each key column once; alias\(...\) renames"):
        wr.group_by(pl.from_arrow(TABLE), "user", pl.col("user").str.to_lowercase(), time="seen.at")


def test_fields_of_structs_go_by_their_path(case: tuple[Any, dict[str, Any]]) -> None:
    data, _ = case
    answer = wr.group_by(data, "seen.at", time="seen.at").windowed_by(GAP).agg(last=wr.last("seen.at"))
    table = arrow(answer)
    assert table.column_names == ["at", "window", "last"]
    assert sorted(table["last"].to_pylist()) == sorted(row["seen"]["at"] for row in ROWS)


def test_the_name_of_a_column_wins_over_a_field() -> None:
    table = TABLE.append_column("seen.at", pa.array([at(0)] * TABLE.num_rows, pa.timestamp("us")))
    assert wr.group_by(table, "user", time="seen.at").windowed_by(GAP).count().num_rows == 4


def test_results_are_grouped_again_by_their_windows() -> None:
    first = wr.group_by(COMPUTED, "user", time="ts").windowed_by(GAP).count()
    again = wr.group_by(first, "user", time="window.start").windowed_by(GAP).flat().agg(n=wr.sum("count"))
    assert sorted(again["n"].to_pylist()) == [1, 1, 3]


def test_rows_of_aggregate_go_by_aliases() -> None:
    doubled = pl.col("amount") * 2
    frame = pl.from_arrow(TABLE)

    def add(held: int, row: Any) -> int:
        return held + (row.twice or 0) + (row.amount or 0) + (row.at is None)

    columns = [doubled.alias("twice"), "amount", "seen.at"]
    added = wr.aggregate(int, add, lambda a, b: a + b, schema="bigint", columns=columns)
    answer = wr.group_by(frame, pl.col("user").str.to_lowercase(), time="seen.at").windowed_by(GAP).agg(x=added)
    assert sorted(row["x"] for row in rows(answer)) == [6, 18, 21]
    twice = wr.aggregate(int, lambda held, row: held, lambda a, b: a, schema="bigint", columns=["amount", doubled])
    with pytest.raises(ValueError, match=r"^aggregate\(columns=\): got 'amount'; allowed: a name for each"):
        wr.group_by(frame, "user", time="seen.at").windowed_by(GAP).agg(x=twice)


def test_one_expression_is_one_column() -> None:
    of = pc.field("amount") * pc.scalar(2)
    windowed = wr.group_by(TABLE, "user", time="seen.at").windowed_by(GAP)
    _, plan = windowed._resolved({"a": wr.sum(of), "b": wr.mean(of) / wr.count(of)})
    assert sorted(plan.schema.names) == ["at", "multiply_checked(amount, 2)", "user"]


def test_inputs_of_a_cogroup_name_themselves_in_expressions() -> None:
    lower = COMPUTED.select(["user", "ts"])
    cases: list[tuple[Any, Any, Any, Any]] = [
        (TABLE, TABLE, LANGUAGES["pyarrow"], pc.field("b.amount") * pc.scalar(2)),
        (pl.from_arrow(TABLE), pl.from_arrow(TABLE), LANGUAGES["polars"], pl.col("b.amount") * 2),
        # A connection of DuckDB has one open result at a time.
        (lower, duckdb.from_arrow(TABLE), LANGUAGES["duckdb"], SQL("b.amount * 2")),
    ]
    for first, second, of, twice in cases:
        key, time = ("user", "ts") if first is lower else (of["user"], of["ts"])
        inputs = {"a": wr.group_by(first, key, time=time), "b": wr.group_by(second, of["user"], time=of["ts"])}
        grouped = wr.cogroup(**inputs).windowed_by(GAP)
        answer = grouped.agg(n=wr.count(), twice=wr.sum(twice), large=wr.count().where(twice > 6))
        found = sorted((row["n"], row["twice"], row["large"]) for row in rows(answer))
        assert found == [(2, 4, 0), (2, 14, 1), (6, 12, 1)]
        tagged = grouped.with_columns(twice=wr.sum(twice))
        table = arrow(tagged)
        names = dict.fromkeys([*(lower.column_names if first is lower else []), *TABLE.column_names])
        assert table.column_names == [*names, "input", "window", "twice"]
        assert sorted(row["twice"] for row in rows(table)[:3]) == [12, 12, 12]
    with pytest.raises(ValueError, match=r"an expression over columns of one input, .*, as in a\.amount"):
        wr.cogroup(a=inputs["b"], b=inputs["b"]).windowed_by(GAP).agg(x=wr.sum(SQL("amount * 2")))


def test_without_keys_all_records_are_one_series(case: tuple[Any, dict[str, Any]]) -> None:
    data, of = case
    answer = wr.group_by(data, time=of["ts"]).windowed_by(GAP).agg(n=wr.count(), total=wr.sum("amount"))
    assert sorted(tuple(row.values()) for row in rows(answer)) == [((at(0), at(7)), 5, 22), ((at(30), at(30)), 1, 2)]


def test_a_series_in_every_form() -> None:
    windowed = wr.group_by(COMPUTED, time="ts").windowed_by(GAP)
    assert windowed.grouped.keys == ()
    assert windowed.to_reader(n=wr.count()).schema.names == ["window", "n"]
    assert windowed.flat().emit("update").agg(n=wr.count()).column_names == ["window_start", "window_end", "n", "op"]
    assert windowed.agg(x=wr.reduce("twice", max)).column_names == ["window", "x"]
    assert windowed.agg(x=wr.sum("twice") / wr.count()).column_names == ["window", "x"]
    tagged = windowed.with_columns(n=wr.count())
    assert tagged.column_names == [*COMPUTED.column_names, "window", "n"]
    assert tagged["n"].to_pylist() == [5, 5, 5, 5, 1, 5]
    inputs = {name: wr.group_by(COMPUTED, time="ts") for name in ("a", "windrow")}
    both = wr.cogroup(**inputs).windowed_by(GAP)
    assert sorted(both.agg(n=wr.count(), t=wr.sum("windrow.twice"))["n"].to_pylist()) == [2, 10]
    sliding = wr.group_by(COMPUTED, time="ts").windowed_by(wr.SlidingWindows.with_time_difference("5 minutes")).count()
    assert sliding.column_names == ["window", "count"]
    assert "the series at 2026-01-01 08:01:00" in wr.explain_record(windowed, None, at(1))
    late = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
    in_order = wr.group_by(COMPUTED, time="ts").windowed_by(late)
    assert "the series at 2026-01-01 08:01:00, row" in wr.explain_record(in_order, None, at(1))
    with pytest.raises(ValueError, match="^key: got 'ann'; allowed: None, as the query has no keys"):
        wr.explain_record(windowed, "ann", at(1))
    assert wr.plot.timeline(COMPUTED, windowed, None)


def test_a_driver_takes_a_query_without_keys() -> None:
    def visits(data: Any) -> Any:
        windows = wr.SessionWindows.with_gap("5 minutes", grace="0 seconds")
        return wr.group_by(data, time="ts").windowed_by(windows).agg(n=wr.count())

    driver = StreamDriver(visits, pa.schema({"user": pa.string(), "ts": pa.timestamp("us")}))
    driver.pipe_batch(pa.table({"user": ["a", None], "ts": [at(0), at(3)]}))
    driver.pipe(user="b", ts=at(4))
    (final,) = driver.pipe(user="b", ts=at(30))
    assert (final.key, final.values) == ({}, {"n": 3})
    assert driver.read_table().to_pylist() == [{"window": {"start": at(0), "end": at(4)}, "n": 3}]
