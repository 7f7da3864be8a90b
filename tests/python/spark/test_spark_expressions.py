"""Expressions in place of columns over DataFrames: the answer is that of columns that Spark computed before."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import windrow as wr
import windrow.state
from windrow._spark.expressions import is_column

from ..harness.spark_scenes import SetConf, events, rows, spark_sessions
from ..harness.tables import assert_same
from ..scenes import utc

GAP = wr.SessionWindows.with_gap("5 minutes", grace="1 hour")
SLIDING = wr.SlidingWindows.with_time_difference("5 minutes", grace="1 hour")


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return events(spark, rows=600, keys=9).withColumn("nested", F.struct("user_id", F.struct("ts").alias("at")))


def computed() -> dict[str, Column]:
    """Expressions by the names of the columns that they are in `plain`."""
    return {
        "parity": (F.col("user_id") % 3).alias("parity"),
        "at": F.col("ts") + F.expr("INTERVAL 7 SECONDS"),
        "twice": F.col("items") * 2,
        "large": F.col("amount") > 3,
        "gap": F.make_dt_interval(F.lit(0), F.lit(0), F.abs("items") + 1),
    }


def plain(data: DataFrame) -> DataFrame:
    """The data with a column for each expression."""
    return data.withColumns(computed())


def windows_of(data: DataFrame, of: dict[str, Any], windows: Any = GAP) -> DataFrame:
    """A query that names a column in every place."""
    query = wr.group_by(data, of["parity"], time=of["at"], tick=of["large"], source=of["parity"], order=of["twice"])
    return query.windowed_by(windows).agg(
        n=wr.count(),
        total=wr.sum(of["twice"]),
        mean=wr.sum(of["twice"]) / wr.count(of["twice"]),
        most=wr.max_by(of["at"], of["twice"]),
        words=wr.count().where(of["large"]),
        added=wr.reduce(of["twice"], lambda a, b: a + b),
    )


@pytest.mark.parametrize("windows", [GAP, SLIDING], ids=["sessions", "sliding"])
def test_every_place_of_a_column_takes_an_expression(data: DataFrame, windows: Any) -> None:
    names = {name: name for name in computed()}
    got, expected = windows_of(data, dict(computed()), windows), windows_of(plain(data), names, windows)
    assert got.dtypes == expected.dtypes
    assert_same(rows(got, ["parity"]), rows(expected, ["parity"]))


def test_sessions_of_expressions_are_those_of_spark(data: DataFrame) -> None:
    of = computed()
    got = wr.group_by(data, of["parity"], time="nested.at.ts").windowed_by(GAP)
    some = "amount > 3 AND items <> 1"
    ours = got.agg(n=wr.count(), total=wr.sum(of["twice"]), large=wr.sum("items").where(some))
    large = F.sum(F.expr(f"CASE WHEN {some} THEN items END"))
    aggregates = {"n": F.count("*"), "total": F.sum("twice"), "large": large}
    theirs = spark_sessions(plain(data), ["parity"], "5 minutes", **aggregates)
    assert_same(rows(ours, ["parity"]), rows(theirs, ["parity"]))


def test_gaps_and_ends_are_expressions(data: DataFrame) -> None:
    of = computed()
    windows = wr.SessionWindows.with_dynamic_gap(of["gap"], end_when=F.col("items") == 5)
    expected = wr.SessionWindows.with_dynamic_gap("gap", end_when="last")
    got = wr.group_by(data, "user_id", time="ts").windowed_by(windows).count()
    known = wr.group_by(plain(data).withColumn("last", F.col("items") == 5), "user_id", time="ts")
    assert_same(rows(got, ["user_id"]), rows(known.windowed_by(expected).count(), ["user_id"]))


def test_rows_come_back_without_the_columns_of_expressions(data: DataFrame) -> None:
    of = computed()
    small = data.drop("nested").limit(200).localCheckpoint()

    def tagged(given: DataFrame, of: dict[str, Any]) -> DataFrame:
        query = wr.group_by(given, of["parity"], time=of["at"]).windowed_by(SLIDING)
        return query.with_columns(twice=wr.sum(of["twice"]), share=wr.sum(of["twice"]) / wr.count())

    got = tagged(small, dict(of))
    names = {name: f"_{name}" for name in of}
    expected = tagged(small.withColumns({f"_{name}": column for name, column in of.items()}), names)
    assert got.columns == [*small.columns, "window", "twice", "share"]
    order = sorted(map(str, got.collect()))
    assert order == sorted(map(str, expected.drop(*names.values()).collect()))


NAMED: dict[str, tuple[Callable[[], Column], str]] = {
    "an alias": (lambda: F.to_date("ts").alias("day"), "day"),
    "Spark's name": (lambda: F.lower("word"), "lower(word)"),
    "the name of a column": (lambda: F.lower("word").alias("word"), "word"),
    "a cast": (lambda: F.col("items").cast("double"), "items"),
    "a field": (lambda: F.col("nested.user_id"), "user_id"),
    "another case": (lambda: F.col("WORD"), "word"),
    "the column of windows": (lambda: F.col("word").alias("window"), "window"),
}


@pytest.mark.parametrize("case", NAMED)
def test_a_key_goes_by_its_alias_or_by_sparks_name(data: DataFrame, case: str) -> None:
    make, name = NAMED[case]
    windowed = wr.group_by(data, make(), time="ts").windowed_by(GAP).flat()
    got = windowed.agg(n=wr.count(), first=wr.any_value("word"))
    assert got.columns == [name, "window_start", "window_end", "n", "first"]
    expected = data.where("ts IS NOT NULL").select(make().alias("key")).distinct().collect()
    assert {row[0] for row in got.collect()} == {row["key"] for row in expected}


def test_a_literal_is_not_the_column_of_the_same_text(data: DataFrame) -> None:
    windowed = wr.group_by(data, F.lit("word"), time="ts").windowed_by(GAP)
    got = windowed.agg(n=wr.count(), text=wr.first(F.lit("items")), twice=wr.sum(F.col("items") * 2))
    expected = wr.group_by(data, time="ts").windowed_by(GAP).agg(n=wr.count(), twice=wr.sum(F.col("items") * 2))
    assert {(row["word"], row["text"]) for row in got.collect()} == {("word", "items")}
    assert sorted(got.drop("word", "text").collect()) == sorted(expected.collect())


def test_the_columns_of_a_join_stay_distinct(spark: SparkSession) -> None:
    left = spark.sql("SELECT id AS user, timestamp_seconds(id) AS ts FROM range(4)")
    right = spark.sql("SELECT id * 10 AS user, id AS other FROM range(4)")
    joined = left.join(right, left["user"] == right["other"])
    windowed = wr.group_by(joined, right["user"], time="ts").windowed_by(GAP)
    got = windowed.agg(mine=wr.sum(left["user"]), theirs=wr.sum(right["user"]))
    assert got.columns == ["user", "window", "mine", "theirs"]
    assert sorted((row["user"], row["mine"], row["theirs"]) for row in got.collect()) == [
        (10 * user, user, 10 * user) for user in range(4)
    ]
    for key in ("user", F.col("user")):
        with pytest.raises(ValueError, match="^keys: got 'user'; allowed: .*2 columns|^keys: got 'user'; .*ambiguous"):
            wr.group_by(joined, key, time="ts")


@pytest.mark.parametrize("how", ["left", "right", "full"])
def test_a_column_that_a_join_hides_is_not_the_column_of_its_name(spark: SparkSession, how: str) -> None:
    left = spark.createDataFrame([("ann", 1), ("bob", 2), ("bob", 3)], "user string, x int")
    right = spark.createDataFrame([("ann", 10), ("zed", 20)], "user string, y int")
    joined = left.join(right, "user", how).withColumn("ts", F.timestamp_seconds(F.lit(0)))
    assert joined.columns.count("user") == 1
    for key in (left["user"], right["user"], F.col("user")):
        windowed = wr.group_by(joined, key, time="ts").windowed_by(GAP)
        both = {"l": wr.count(left["user"]), "r": wr.count(right["user"])}
        got = windowed.agg(n=wr.count(), **both, u=wr.count(F.col("USER")))
        counts = [F.count(column) for column in (F.lit(1), left["user"], right["user"], joined["user"])]
        expected = joined.where(key.isNotNull()).groupBy(key).agg(*counts)
        assert sorted(map(tuple, got.drop("window").collect())) == sorted(map(tuple, expected.collect()))


PLAIN: dict[str, tuple[str, Callable[[DataFrame], Column], bool]] = {
    "a name": ("maybe", lambda data: F.col("maybe"), True),
    "a column without nulls": ("sure", lambda data: F.col("sure"), True),
    "a column of the frame": ("maybe", lambda data: data["maybe"], True),
    "another case": ("maybe", lambda data: F.col("MAYBE"), True),
    "SQL": ("maybe", lambda data: F.expr("maybe"), True),
    "a type without groups": ("pairs", lambda data: F.col("pairs"), True),
    "a column of type void": ("void", lambda data: F.col("void"), True),
    "a column called NULL": ("NULL", lambda data: F.col("NULL"), True),
    "a null": ("NULL", lambda data: F.lit(None), False),
    "a text": ("maybe", lambda data: F.lit("maybe"), False),
    "a column of another frame": ("maybe", lambda data: data.select(F.upper("maybe").alias("maybe"))["maybe"], False),
    "a name that is not there": ("maybe", lambda data: F.col("mabye"), False),
}
"""The name of a column of the data, a Column of Spark, and whether it is that column."""


def test_a_plain_name_is_a_column_of_the_data_or_not(spark: SparkSession) -> None:
    data = spark.sql(
        "SELECT if(id = 1, NULL, id) AS maybe, id AS sure, map(id, id) AS pairs, NULL AS void FROM range(3)"
    )
    data = data.withColumn("NULL", F.col("maybe") + 1)
    found = {case: is_column(data, name, make(data)) for case, (name, make, _) in PLAIN.items()}
    assert found == {case: expected for case, (_, _, expected) in PLAIN.items()}


def test_names_with_dots_go_with_backticks(data: DataFrame) -> None:
    dotted = data.withColumnRenamed("user_id", "user.id").withColumnRenamed("items", "a `b`")
    for key in (F.col("`user.id`"), "user.id"):
        got = wr.group_by(dotted, key, time="ts").windowed_by(GAP).agg(s=wr.sum(F.col("`a ``b```") + 1))
        expected = wr.group_by(data, "user_id", time="ts").windowed_by(GAP).agg(s=wr.sum(F.col("items") + 1))
        assert got.columns[0] == "user.id"
        assert_same(rows(got, ["user.id"]), rows(expected.withColumnRenamed("user_id", "user.id"), ["user.id"]))


def test_rows_of_aggregate_and_values_of_apply_are_expressions(data: DataFrame) -> None:
    twice = F.col("items") * 2
    added = wr.aggregate(
        int,
        lambda held, row: held + row.twice + row.items,
        lambda a, b: a + b,
        schema="bigint",
        columns=[twice.alias("twice"), F.col("items").cast("bigint")],
    )
    sums = wr.apply(lambda lists: pa.array([sum(each) for each in lists.to_pylist()]), twice, schema="bigint")
    got = wr.group_by(data, "user_id", time="ts").windowed_by(GAP).agg(a=added, b=sums, c=wr.sum("items"))
    assert all(row["a"] == 3 * row["c"] and row["b"] == 2 * row["c"] for row in got.collect())


def test_inputs_of_a_cogroup_name_themselves_in_expressions(data: DataFrame) -> None:
    of = computed()
    one, other = (data.where(f"items % 2 = {part}") for part in (0, 1))

    def cogrouped(parts: list[DataFrame], of: dict[str, Any]) -> Any:
        inputs = {name: wr.group_by(part, of["parity"], time=of["at"]) for name, part in zip("ab", parts, strict=True)}
        return wr.cogroup(**inputs).windowed_by(GAP)

    got = cogrouped([one, other], dict(of)).agg(
        n=wr.count(),
        a=wr.sum(F.col("a.items") * 2),
        b=wr.sum(F.col("b.items") * 2),
        c=wr.count("b.*").where("b.amount > 3"),
        d=wr.count("a.*").where(F.col("a.amount") > 3),
    )
    expected = cogrouped([plain(one), plain(other)], {name: name for name in of}).agg(
        n=wr.count(),
        a=wr.sum("a.twice"),
        b=wr.sum("b.twice"),
        c=wr.count("b.*").where("b.large"),
        d=wr.count("a.*").where("a.large"),
    )
    assert_same(rows(got, ["parity"]), rows(expected, ["parity"]))
    tagged = cogrouped([one, other], dict(of)).with_columns(a=wr.sum(F.col("a.items") * 2))
    assert tagged.columns == [*data.columns, "input", "window", "a"]
    with pytest.raises(ValueError, match=r"got '.*items.*2.*'; allowed: an expression over columns of one input"):
        cogrouped([one, other], dict(of)).agg(x=wr.sum(F.col("items") * 2))


def test_without_keys_all_records_are_one_series(data: DataFrame) -> None:
    windowed = wr.group_by(data, time="ts").windowed_by(GAP)
    got = windowed.agg(n=wr.count(), total=wr.sum("items"))
    last = (F.col("window.end") - F.expr("INTERVAL 5 minutes")).alias("end")
    theirs = data.groupBy(F.session_window("ts", "5 minutes").alias("window"))
    expected = theirs.agg(F.count("*").alias("n"), F.sum("items").alias("total"))
    bounds = F.struct(F.col("window.start").alias("start"), last).alias("window")
    assert got.columns == ["window", "n", "total"]
    assert sorted(got.collect()) == sorted(expected.select(bounds, "n", "total").collect())
    tagged = windowed.with_columns(n=wr.count())
    assert tagged.columns == [*data.columns, "window", "n"]
    assert sorted({row["n"] for row in tagged.collect()}) == sorted({row["n"] for row in got.collect()})


def test_an_explained_record_is_found_by_expressions(data: DataFrame) -> None:
    small = data.limit(20).localCheckpoint()
    row = small.orderBy("ts").first()
    assert row is not None
    windowed = wr.group_by(small, (F.col("user_id") + 1).alias("next"), time=F.col("ts")).windowed_by(GAP)
    at = row["ts"].astimezone(utc(0).tzinfo)
    assert wr.explain_record(windowed, row["user_id"] + 1, at).startswith(f"next {row['user_id'] + 1} at ")
    assert wr.plot.timeline(small, windowed, row["user_id"] + 1)
    series = wr.group_by(small, time=F.col("ts")).windowed_by(GAP)
    assert wr.explain_record(series, None, at).startswith("the series at ")


REFUSED: dict[str, tuple[Callable[[DataFrame], Any], type[Exception], str]] = {
    "a name that is not there": (lambda data: F.col("usr") + 1, ValueError, "which has 'user_id', 'ts'"),
    "several rows": (lambda data: F.explode(F.array("items")), ValueError, "(.*generator"),
    "an aggregate": (lambda data: F.sum("items"), ValueError, "(an aggregate of Spark takes many records; those of"),
    "an order": (lambda data: F.desc("items"), ValueError, "allowed: a column without asc() and desc()"),
    "a column of another frame": (
        lambda data: data.select("ts", F.upper("word").alias("word"))["word"],
        ValueError,
        "got 'word'; allowed: an expression that gives one column of the data",
    ),
    "windows of Spark": (
        lambda data: F.window("ts", "10 minutes", "5 minutes"),
        ValueError,
        "allowed: windows in windowed_by",
    ),
    "sessions of Spark": (lambda data: F.session_window("ts", "10 minutes"), ValueError, "SessionWindows.with_gap"),
    "the time of a window": (
        lambda data: F.window_time("window"),
        ValueError,
        "allowed: window.end, because windows end",
    ),
    "several columns": (lambda data: F.col("*"), ValueError, "an expression that gives one column"),
    "of Polars": (
        lambda data: pl.col("word").str.to_lowercase(),
        TypeError,
        "got an expression of Polars (.*) for a Spark DataFrame; allowed: the name of a column, or a Column of Spark",
    ),
    "a type without an order": (lambda data: F.create_map("word", "word"), TypeError, "column 'map(word, word)'"),
    "SQL text": (lambda data: "user_id + 1", ValueError, "got 'user_id + 1'; allowed: a column of the data"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(data: DataFrame, case: str) -> None:
    make, kind, text = REFUSED[case]
    pattern = ".*".join(map(re.escape, text.split(".*")))
    with pytest.raises(kind, match=f"keys: .*{pattern}"):
        wr.group_by(data, make(data), time="ts")


@pytest.mark.parametrize(("sql", "text"), [("amout > 3", "amout"), ("amount >", "PARSE_SYNTAX_ERROR")])
def test_wrong_sql_is_refused(data: DataFrame, sql: str, text: str) -> None:
    windowed = wr.group_by(data, "user_id", time="ts").windowed_by(GAP)
    with pytest.raises(ValueError, match=rf'^aggregate "n": count\(\).where: got {sql!r}; allowed: .*{text}'):
        windowed.agg(n=wr.count().where(sql))


def test_aggregates_of_spark_name_those_of_windrow(data: DataFrame) -> None:
    windowed: Any = wr.group_by(data, "user_id", time="ts").windowed_by(GAP)
    for column, text in [(F.sum("items"), 'windrow.sum("items")'), (F.count("*"), "windrow.count()")]:
        with pytest.raises(TypeError, match=rf'^aggregate "x": got Column.*; write {re.escape(text)}$'):
            windowed.agg(x=column)
        with pytest.raises(TypeError, match=re.escape(text)):
            windowed.agg(column.alias("x"))


def test_an_aggregate_of_windrow_does_not_combine_with_a_column(spark: SparkSession) -> None:
    with pytest.raises(TypeError, match="^arithmetic: got Column<'items'>, a Column; allowed: aggregates of windrow"):
        wr.count() * F.col("items")  # type: ignore[operator]
    with pytest.raises(AttributeError, match="a Column of Spark takes no aggregate"):
        F.col("items") * wr.count()  # type: ignore[operator]


def test_the_case_of_names_is_that_of_the_session(data: DataFrame, set_conf: SetConf) -> None:
    got = wr.group_by(data, "USER_ID", time="Ts").windowed_by(GAP).agg(s=wr.sum("ITEMS"))
    assert got.columns == ["user_id", "window", "s"]
    for name in ("User_Id", "WINDOW", "S"):
        with pytest.raises(ValueError, match="aggregates: got .*; allowed: a new name"):
            wr.group_by(data, "user_id", time="ts").windowed_by(GAP).agg(s=wr.count(), **{name: wr.count()})
    set_conf("spark.sql.caseSensitive", "TRUE")
    cased = data.select("user_id", F.lit("x").alias("User_Id"), F.lit("y").alias("Window"), "ts", "items")
    with pytest.raises(ValueError, match="keys: got 'USER_ID'; allowed: a column of the data"):
        wr.group_by(cased, "USER_ID", time="ts")
    windowed = wr.group_by(cased, "user_id", "User_Id", "Window", time="ts").windowed_by(GAP)
    got = windowed.agg(n=wr.count(), N=wr.sum("items"), USER_ID=wr.count())
    assert got.columns == ["user_id", "User_Id", "Window", "window", "n", "N", "USER_ID"]
    expected = wr.group_by(data, "user_id", time="ts").windowed_by(GAP).agg(n=wr.count(), N=wr.sum("items"))
    found = got.drop("User_Id", "Window", "USER_ID")
    assert_same(rows(found, ["user_id"]), rows(expected, ["user_id"]))
    assert windowed.with_columns(N=wr.count()).columns == [*cased.columns, "window", "N"]


def test_fields_that_differ_only_in_case_have_no_path_while_spark_ignores_case(data: DataFrame) -> None:
    cased = data.select(F.struct(F.col("user_id").alias("a"), F.col("items").alias("A")).alias("r"), "ts")
    with pytest.raises(ValueError, match=r"keys: got 'r.a'; .*the struct 'r' has the fields 'a', 'A'"):
        wr.group_by(cased, "r.a", time="ts").windowed_by(GAP).agg(n=wr.count())


def test_flat_results_leave_a_column_called_window_alone(data: DataFrame) -> None:
    named = data.drop("nested").withColumnRenamed("items", "window")
    for key in ("user_id", "window"):
        windowed = wr.group_by(named, key, time="ts").windowed_by(GAP)
        flat = windowed.flat().agg(n=wr.count(), s=wr.sum("window"), share=wr.sum("window") / wr.count())
        assert flat.columns == [key, "window_start", "window_end", "n", "s", "share"]
        of = data.withColumn("key", F.col("items" if key == "window" else key))
        expected = wr.group_by(of, "key", time="ts").windowed_by(GAP).flat().agg(n=wr.count(), s=wr.sum("items"))
        assert sorted(flat.drop("share").collect()) == sorted(expected.collect())
        tagged = windowed.flat().with_columns(s=wr.sum("window"), share=wr.sum("window") / wr.count())
        assert tagged.columns == [*named.columns, "window_start", "window_end", "s", "share"]
        assert sum(row["window"] for row in tagged.collect()) == sum(row["items"] for row in data.collect())
        with pytest.raises(ValueError, match="got 'window'; allowed: any name but 'window', .* or flat"):
            windowed.with_columns(n=wr.count())


def test_metadata_of_columns_comes_back(data: DataFrame) -> None:
    described = data.withMetadata("items", {"comment": "clicks"})
    tagged = wr.group_by(described, F.lower("word"), time="ts").windowed_by(GAP).with_columns(n=wr.count())
    assert tagged.schema["items"].metadata == {"comment": "clicks"}
    assert {field.name: field.metadata for field in tagged.schema if field.name != "items" and field.metadata} == {}
