"""Every type of DuckDB, alone and in other types, comes back whole or is refused with a cast that works."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import windrow as wr
from windrow._aggregates.call import RANKS

GAP = wr.SessionWindows.with_gap("10 minutes")

TYPES = {
    "BOOLEAN": ("true", "false"),
    "TINYINT": ("-128", "127"),
    "SMALLINT": ("-32768", "32767"),
    "INTEGER": ("'-2147483648'", "2147483647"),
    "BIGINT": ("'-9223372036854775808'", "9223372036854775807"),
    "HUGEINT": ("'-170141183460469231731687303715884105727'", "170141183460469231731687303715884105727"),
    "UTINYINT": ("0", "255"),
    "USMALLINT": ("0", "65535"),
    "UINTEGER": ("0", "4294967295"),
    "UBIGINT": ("0", "18446744073709551615"),
    "UHUGEINT": ("9", "340282366920938463463374607431768211455"),
    "BIGNUM": ("'-5'", "'123456789012345678901234567890123456789012345678901234567890'"),
    "FLOAT": ("'-inf'", "'nan'"),
    "DOUBLE": ("-1.5", "'nan'"),
    "DECIMAL(4,1)": ("-999.9", "999.9"),
    "DECIMAL(9,2)": ("-9999999.99", "1.5"),
    "DECIMAL(18,3)": ("-1.5", "999999999999999.999"),
    "DECIMAL(38,10)": ("'-9999999999999999999999999999.9999999999'", "1.5"),
    "VARCHAR": ("''", "'a''b'"),
    "JSON": ("""'{"a": [1, null]}'""", "'null'"),
    "BLOB": (r"'\x00\xFF'", "''"),
    "BIT": ("'101'", "'00000000000000001'"),
    "UUID": ("'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"),
    "DATE": ("'-infinity'", "'infinity'"),
    "TIME": ("'00:00:00'", "'24:00:00'"),
    "TIME_NS": ("'10:00:00.123456789'", "'23:59:59.999999999'"),
    "TIME WITH TIME ZONE": ("'09:00:00+02'", "'08:00:00+01'"),  # one moment; DuckDB puts +02 first
    "TIMESTAMP": ("'-infinity'", "'infinity'"),
    "TIMESTAMP_S": ("'-infinity'", "'1969-12-31 23:59:59'"),
    "TIMESTAMP_MS": ("'2020-01-01 00:00:00.001'", "'infinity'"),
    "TIMESTAMP_NS": ("'2020-01-01 00:00:00.000000001'", "'infinity'"),
    "TIMESTAMP WITH TIME ZONE": ("'-infinity'", "'2020-01-01 00:00:00+02'"),
    "TIMESTAMPTZ_NS": ("'2020-01-01 00:00:00+00'", "'2021-01-01 00:00:00.000000001+00'"),
    "INTERVAL": ("'1 month'", "'-5 days 3000000 hours'"),
    "ENUM('y','x''s')": ("'y'", "'x''s'"),
    "VARIANT": ("42", "'x'"),
    "GEOMETRY": ("'POINT(0 2)'", "'POINT(0.1 2)'"),
    "TUPLE(INTEGER, BIT)": ("ROW(1, '101'::BIT)", "ROW(2, NULL)"),
    '"NULL"': ("NULL", "NULL"),
}
WITHIN = {
    "alone": ("{t}", "{v}"),
    "STRUCT": ('STRUCT("a b" {t}, n INTEGER)', "{{'a b': {v}, 'n': 1}}"),
    "LIST": ("{t}[]", "[{v}, NULL]"),
    "ARRAY": ("{t}[2]", "[{v}, {v}]"),
    "MAP value": ("MAP(VARCHAR, {t})", "MAP{{'a': {v}}}"),
    "MAP key": ("MAP({t}, INTEGER)", "MAP{{{v}: 1}}"),
    "UNION": ("UNION(n INTEGER, u {t})", "union_value(u := {v})"),
    "LIST of STRUCT": ("STRUCT(a {t}[])[]", "[{{'a': [{v}]}}, NULL]"),
    "STRUCT of UNION": ("STRUCT(a UNION(n INTEGER, u {t}))", "{{'a': union_value(u := {v})}}"),
    "STRUCT of MAP": ("STRUCT(m MAP(VARCHAR, {t}[]))", "{{'m': MAP{{'k': [{v}]}}}}"),
}
LEFT = (("BIGNUM", "MAP key"), *(('"NULL"', way) for way in ("MAP key", "UNION", "STRUCT of UNION")))
"""DuckDB makes no maps of these keys. A UNION of NULL becomes NULL."""

OFTEN = ("BIT", "UHUGEINT", "TIME WITH TIME ZONE", "INTERVAL", "ENUM('y','x''s')", "VARIANT")
"""The types of `make test`; the others cross Arrow as they are."""

TRIED = ("alone", "STRUCT", "MAP value", "UNION")
"""Where the casts of errors are tried."""


def windowed(data: Any, *keys: str) -> Any:
    return wr.group_by(data, *keys, time="ts").windowed_by(GAP)


def columns_of(kind: str) -> dict[str, str]:
    """A column for each way to have the type, and what is around it there."""
    return {f"k{place}": way for place, way in enumerate(WITHIN) if (kind, way) not in LEFT}


def data_of(connection: Any, kind: str) -> Any:
    columns: dict[str, list[str]] = {}
    for name, way in columns_of(kind).items():
        outer, form = (part.replace("{t}", kind) for part in WITHIN[way])
        one, other = (f"CAST({form.format(v=f'CAST({value} AS {kind})')} AS {outer})" for value in TYPES[kind])
        columns[name] = [one, other, f"NULL::{outer}", one, other]
    rows = zip(("1, 0", "1, 1", "1, 2", "1, 3", "2, 0"), zip(*columns.values(), strict=True), strict=True)
    values = ", ".join(f"({row}, {', '.join(cells)})" for row, cells in rows)
    connection.execute(f"""
        CREATE OR REPLACE TABLE data AS
        SELECT TIMESTAMP '2026-05-04 09:00' + to_minutes(i) ts, *
        FROM (VALUES {values}) AS t(u, i, {", ".join(columns)})
    """)
    return connection.table("data")


def whole(relation: Any, names: list[str]) -> tuple[list[str], list[str]]:
    """The types and the sorted values of these columns, as DuckDB shows them."""
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    shown = relation.project(", ".join(f'"{name}"::VARCHAR' for name in names)).fetchall()
    return [kinds[name] for name in names], sorted(map(str, shown))


def kept(connection: Any, data: Any, names: list[str], use: Callable[[Any, str], Any]) -> list[str]:
    """The columns that a use takes. It refuses the others, each with a cast that works on this very data."""
    taken = []
    for name in names:
        try:
            use(data, name)
            taken.append(name)
        except TypeError as error:
            refusal = str(error)
            (cast,) = re.findall(rf"column '{name}' has type .+: (\w+\(.+\))$", refusal)
            if list(WITHIN)[int(name[1:])] in TRIED:
                connection.sql(f"SELECT u, ts, {cast} AS {name} FROM data").create_view("other", replace=True)
                assert len(windowed(connection.table("other"), name).agg(x=wr.max(name))) > 0
    return taken


def each(names: list[str], **aggregates: Callable[[str], Any]) -> dict[str, Any]:
    return {f"{use}_{name}": make(name) for use, make in aggregates.items() for name in names}


@pytest.mark.filterwarnings("ignore::windrow.LeftOut")
@pytest.mark.parametrize(
    "kind", [kind if kind in OFTEN else pytest.param(kind, marks=pytest.mark.slow) for kind in TYPES]
)
def test_a_type_of_duckdb_comes_back_whole_or_is_refused_with_a_cast(kind: str) -> None:
    connection = duckdb.connect()
    data, names = data_of(connection, kind), list(columns_of(kind))

    def check(ours: Any, theirs: str) -> None:
        columns = [name for name in ours.columns if name not in ("window", "ts")]
        assert whole(ours, columns) == whole(connection.sql(theirs), columns)

    def of_each(**texts: str) -> str:
        parts = (f"{text.replace('#', name)} AS {use}_{name}" for use, text in texts.items() for name in names)
        return f"SELECT u, {', '.join(parts)} FROM data GROUP BY u"

    check(windowed(data, "u").with_columns(), "FROM data")
    chosen = each(names, first=wr.first, list=wr.collect_list)
    theirs = of_each(first="arg_min(#, i)", list="coalesce(list(# ORDER BY i) FILTER (# IS NOT NULL), [])")
    check(windowed(data, "u").agg(**chosen), theirs)
    first = windowed(data.filter("i < 2"), "u").advance(None, to="2026-05-04 09:02", **chosen)
    first.still_open.create("still_open")
    second = windowed(data.filter("i >= 2"), "u").advance(connection.table("still_open"), to="2026-05-05", **chosen)
    check(second.closed, theirs)
    pair = wr.cogroup(a=wr.group_by(data, "u", time="ts"), b=wr.group_by(data, "u", time="ts")).windowed_by(GAP)
    check(pair.agg(**each(names, first=lambda name: wr.first(f"b.{name}"))), of_each(first="arg_min(#, i)"))
    without = wr.group_by(data.project("NULL::VARCHAR AS u, ts, * EXCLUDE (u, ts)"), "u", time="ts").windowed_by(GAP)
    emitted = without.left_out("emit", columns=names).agg(n=wr.count())
    check(emitted.project("unnest(record)"), f"SELECT {', '.join(names)} FROM data")
    # In text the fields of a TUPLE get names, and JSON in another type gets quotes.
    names = [] if kind.startswith(("TUPLE", "JSON")) else names
    reader = windowed(data, "u").to_reader(n=wr.count(), **each(names, first=wr.first)).read_all()  # noqa: F841
    text = connection.sql(
        f"SELECT u, n, {', '.join(f'first_{name}::VARCHAR first_{name}' for name in names)} FROM reader"
    )
    check(text, of_each(first="arg_min(#, i)::VARCHAR").replace("SELECT u, ", "SELECT u, count(*) n, "))

    names = kept(connection, data, list(columns_of(kind)), windowed)
    if names:
        ours = windowed(data, "u", *names).agg(n=wr.count())
        check(ours, f"SELECT u, {', '.join(names)}, count(*) n FROM data GROUP BY ALL")
        theirs = of_each(count="count(DISTINCT #)")
        check(windowed(data, "u").agg(**each(names, count=wr.count_distinct)), theirs)
    assert bool(names) == (kind not in ("INTERVAL", "VARIANT"))
    names = kept(connection, data, list(columns_of(kind)), lambda data, name: windowed(data, "u").agg(x=wr.max(name)))
    if names:
        ours = windowed(data, "u").agg(**each(names, max=wr.max, by=lambda name: wr.min_by("i", name)))
        check(ours, of_each(max="max(#)", by="arg_min(i, #)"))


def test_the_functions_that_need_an_order_are_those_of_the_core() -> None:
    ordered = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["a"]), ordered=True)
    data = pa.table({"k": ordered, "i": [1], "ts": pa.array([0], pa.timestamp("us"))})
    names = ("min", "max", "mode", "count_distinct", "collect_set", "path", "approx_count_distinct")
    calls = {name: getattr(wr, name)("k") for name in names}
    calls |= {name: getattr(wr, name)("i", "k") for name in ("min_by", "max_by")} | {"top_k": wr.top_k("k", 1)}
    for name, call in calls.items():
        if name in RANKS:
            with pytest.raises(TypeError, match="order"):
                windowed(data).agg(x=call)
        else:
            assert windowed(data).agg(x=call).num_rows == 1


def test_numbers_that_cross_arrow_as_text_are_summed_after_the_cast_of_the_error() -> None:
    connection = duckdb.connect()
    for kind in ("UHUGEINT", "BIGNUM", "INTERVAL"):
        data = data_of(connection, kind)
        with pytest.raises(TypeError, match=f"sum: column 'k0' has type {kind}; allowed: a number: ") as error:
            windowed(data, "u").agg(x=wr.sum("k0"))
        cast = str(error.value).rpartition("number: ")[2]
        ours = windowed(data, "u").agg(x=wr.sum(duckdb.SQLExpression(f"CAST({cast} AS DOUBLE)")))
        assert sorted(ours.project("u, x").fetchall()) == sorted(
            connection.sql(f"SELECT u, sum(CAST({cast} AS DOUBLE)) FROM data GROUP BY u").fetchall()
        )


@pytest.mark.parametrize("value", ["{{'a': {}}}", "[{}]", "[{}]::INTEGER[1]", "[{{'a': [{}]}}]"])
def test_values_with_nulls_in_them_are_in_the_order_of_duckdb_after_the_cast_of_the_error(value: str) -> None:
    values = ", ".join(f"({number}, {value.format(text)})" for number, text in enumerate(("2", "NULL", "1")))
    data = duckdb.connect().sql(f"SELECT 1 u, TIMESTAMP '2026-05-04 09:00' ts, * FROM (VALUES {values}) t(i, k)")
    with pytest.raises(TypeError, match="max: column 'k' has type .*; allowed: a type with order: ") as error:
        windowed(data, "u").agg(x=wr.max("k"))
    cast = duckdb.SQLExpression(str(error.value).rpartition("order: ")[2])
    found = windowed(data, "u").agg(most=wr.max_by("k", cast), least=wr.min_by("k", cast))
    assert found.project("most, least").fetchall() == data.query("d", "SELECT max(k), min(k) FROM d").fetchall()


@pytest.mark.parametrize("collation", ["nocase", "noaccent", "nocase.noaccent", "de.nocase"])
def test_text_with_a_collation_has_the_groups_of_duckdb_after_the_cast_of_the_error(collation: str) -> None:
    connection = duckdb.connect()
    connection.execute(f"""
        CREATE TABLE data AS SELECT 1 u, TIMESTAMP '2026-05-04 09:00' ts,
            unnest(['a', 'A', 'á', 'B']) COLLATE {collation} k
    """)
    data = connection.table("data")
    with pytest.raises(
        TypeError, match="keys: column 'k' has type VARCHAR; allowed: text without a collation: "
    ) as error:
        windowed(data, "k")
    cast = duckdb.SQLExpression(str(error.value).rpartition("collation: ")[2])
    groups = windowed(data, cast).agg(n=wr.count()).project("n").fetchall()
    assert sorted(groups) == sorted(connection.sql("SELECT count(*) FROM data GROUP BY k").fetchall())
    for query in (wr.count_distinct("k"), wr.min("k")):
        with pytest.raises(TypeError, match="column 'k' has type VARCHAR; allowed: text without a collation: "):
            windowed(data, "u").agg(x=query)
    assert windowed(data, "u").agg(x=wr.collect_list("k")).project("x").fetchall() == [(["a", "A", "á", "B"],)]


def test_a_collation_that_only_orders_is_refused_only_where_order_counts() -> None:
    data = duckdb.connect().sql("SELECT 1 u, TIMESTAMP '2026-05-04 09:00' ts, unnest(['a', 'B']) COLLATE de k")
    assert len(windowed(data, "k").agg(n=wr.count_distinct("k"))) == 2
    with pytest.raises(TypeError, match='max: .* allowed: text without a collation: "k" COLLATE C$'):
        windowed(data, "u").agg(x=wr.max("k"))


def test_expressions_over_returned_rows_see_the_types_of_the_data() -> None:
    connection = duckdb.connect()
    data = connection.sql("SELECT '1101'::BIT b, TIMESTAMP '2026-05-04 09:00' ts")
    rows = windowed(data, duckdb.SQLExpression("bit_count(b)")).with_columns(n=wr.count())
    assert rows.project("b, n").fetchall() == [("1101", 1)]


# Times and gaps


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ"])
def test_a_record_of_an_infinite_time_has_no_time(kind: str) -> None:
    connection = duckdb.connect()
    moments = "'infinity', '-infinity', '2026-05-04 09:00', '2026-05-04 09:05', NULL"
    data = connection.sql(f"SELECT CAST(unnest([{moments}]) AS {kind}) ts")
    observation = wr.Observation()
    with pytest.warns(wr.LeftOut, match="null_times 3"):
        sessions = windowed(data).observe(observation).flat().agg(n=wr.count())
    assert sessions.project("n, window_end - window_start").fetchall()[0][0] == 2
    assert observation.get["null_times"] == 3
    with pytest.warns(wr.LeftOut, match="null_times 3"):
        rows = windowed(data).with_columns(n=wr.count())
    assert rows.project("ts::VARCHAR, n").fetchall()[:2] == [("infinity", None), ("-infinity", None)]


def test_an_interval_without_months_is_a_gap() -> None:
    connection = duckdb.connect()
    # Monday 9:00 ── 1 day ──▶│ 9:00   9:00:01: too late        ▸ two sessions; months, zero and nulls are bad gaps
    data = connection.sql("""
        SELECT * FROM (VALUES (1, TIMESTAMP '2026-05-04 09:00', INTERVAL '1 day -1 hour 60 minutes'),
            (1, TIMESTAMP '2026-05-05 09:00', INTERVAL 1 SECOND),
            (1, TIMESTAMP '2026-05-05 09:00:02', INTERVAL 1 SECOND),
            (1, TIMESTAMP '2026-05-05 09:00', INTERVAL 1 MONTH),
            (1, TIMESTAMP '2026-05-05 09:00', INTERVAL (-14) MONTH),
            (1, TIMESTAMP '2026-05-05 09:00', INTERVAL 0 DAY), (1, TIMESTAMP '2026-05-05 09:00', NULL)) t(u, ts, gap)
    """)
    windows = wr.SessionWindows.with_dynamic_gap("gap")
    grouped = wr.group_by(data, "u", time="ts")
    for query, inputs in ((grouped, 1), (wr.cogroup(a=grouped, b=grouped), 2)):
        with pytest.warns(wr.LeftOut, match=f"bad_gaps {4 * inputs}"):
            sessions = query.windowed_by(windows).flat().agg(n=wr.count())
        assert sorted(sessions.project("n").fetchall()) == [(inputs,), (2 * inputs,)]
    with pytest.warns(wr.LeftOut, match="bad_gaps 4"):
        rows = wr.group_by(data, "u", time="ts").windowed_by(windows).with_columns(n=wr.count())
    assert whole(rows, ["u", "ts", "gap"]) == whole(data, ["u", "ts", "gap"])
    assert rows.project("n").fetchall()[:3] == [(2,), (2,), (1,)]


def test_the_longest_interval_reaches_to_the_end_of_time() -> None:
    data = duckdb.connect().sql("""
        SELECT * FROM (VALUES (TIMESTAMP '2026-05-04 09:00', INTERVAL '2000000000 days'),
                              (TIMESTAMP '9026-05-04 09:00', INTERVAL 1 SECOND)) t(ts, gap)
    """)
    sessions = wr.group_by(data, time="ts").windowed_by(wr.SessionWindows.with_dynamic_gap("gap")).count()
    assert sessions.project("count").fetchall() == [(2,)]


@pytest.mark.parametrize("within", ["alone", "STRUCT", "LIST"])
@pytest.mark.parametrize("value", ["INTERVAL '1 day'", "18446744073709551615::UBIGINT"])
def test_a_variant_that_duckdb_does_not_hand_over_is_refused_with_a_cast(value: str, within: str) -> None:
    connection = duckdb.connect()
    kind, form = (part.format(t="VARIANT", v=f"CAST({value} AS VARIANT)") for part in WITHIN[within])
    data = connection.sql(f"SELECT 1 AS u, TIMESTAMP '2026-05-04' AS ts, CAST({form} AS {kind}) AS v")
    for ask in (
        lambda data: windowed(data, "u").with_columns(n=wr.count()),
        lambda data: windowed(data, "u").agg(v=wr.first("v")),
        lambda data: windowed(data, "u").advance(None, to="2026-05-05", v=wr.first("v")).closed,
        lambda data: windowed(data, "u").to_reader(v=wr.first("v")).read_all(),
    ):
        with pytest.raises(TypeError, match=r"data: DuckDB does not .* VARIANT .*; allowed: CAST\(") as refused:
            ask(data)
        cast = str(refused.value).rpartition("allowed: ")[2]
        ask(data.project(f"u, ts, {cast} AS v"))


def test_a_union_whose_member_is_null_is_null_as_in_arrow_data_of_duckdb() -> None:
    connection = duckdb.connect()
    connection.execute("""
        CREATE TABLE data AS SELECT 1 u, TIMESTAMP '2026-05-04 09:00' ts, union_value(m := NULL::INTEGER) v
    """)
    data = connection.table("data")
    assert data.project("v IS NULL").fetchall() == [(False,)]
    assert data.to_arrow_table()["v"].to_pylist() == [None]
    sessions = windowed(data, "u")
    for made in (sessions.with_columns(n=wr.count()), sessions.agg(v=wr.first("v"))):
        assert made.project("v IS NULL").fetchall() == [(True,)]
    assert sessions.agg(v=wr.collect_list("v")).project("v").fetchall() == [([],)]


@pytest.mark.parametrize("member", ["1::VARIANT", "'POINT(1 2)'::GEOMETRY"])
@pytest.mark.parametrize("within", ["{}", "[{}]", "{{'a': {}}}", "MAP {{1: {}}}"])
def test_a_union_of_a_type_with_metadata_goes_from_day_to_day(member: str, within: str) -> None:
    value = within.format(f"union_value(v := {member})")
    for _ in range(5):  # the metadata have no order
        data = duckdb.connect().sql(f"SELECT 1 u, TIMESTAMP '2026-05-04 09:00' ts, {value} v")
        first = windowed(data, "u").advance(None, to="2026-05-04 09:01", v=wr.last("v"))
        second = windowed(data.limit(0), "u").advance(first.still_open, to="2026-05-05", v=wr.last("v"))
        assert whole(second.closed, ["v"]) == whole(data, ["v"])
