"""A result of pandas: it has the index and the dtypes of the frame, and no value changes."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import windrow as wr

from ..harness.five_records import COUNTS, GAP, LARGE, ROWS, frame, sessions
from ..scenes import all_at, at


def plain(column: Any) -> list[Any]:
    """Values of a Series, with None for every kind of null."""
    return [None if value is pd.NA or value is pd.NaT or value != value else value for value in column]


def test_a_column_of_the_result_can_be_assigned_back_to_a_filtered_frame() -> None:
    data = frame()
    data = data[data["user"] == "ann"].copy()
    data["n"] = sessions(data).with_columns(n=wr.count())["n"]
    assert data["n"].tolist() == [2, 2, 1]
    assert data.index.tolist() == [0, 3, 4]


def test_rows_come_back_with_their_index_and_dtypes() -> None:
    data = frame(
        string=pd.array(["a", None, "b", "c", "d"], dtype="string"),
        flag=pd.array([True, None, False, True, True], dtype="boolean"),
        size=pd.Categorical(["s", "l", None, "s", "l"], categories=["xs", "l", "s"], ordered=True),
        zoned=pd.Series(pd.to_datetime(ROWS["ts"])).dt.tz_localize("Europe/Madrid"),
        fixed=pd.Series(pd.to_datetime(ROWS["ts"])).dt.tz_localize("+02:00"),
        period=pd.period_range("2026-01", periods=5, freq="M"),
        interval=pd.interval_range(0, 5),
        sparse=pd.arrays.SparseArray([0, 0, 1, 0, 0]),
        mixed=[1, "x", None, {}, ()],
        backed=pd.array([1, None, 3, 4, 5], dtype=pd.ArrowDtype(pa.int16())),
        nested=[{"a": [1]}, None, {"a": []}, {"a": [2, None]}, {}],
    )
    for index in (
        pd.Index([9, 9, 3, 1, 0]),
        pd.MultiIndex.from_product([["x"], range(5)], names=["one", None]),
        pd.date_range("2026-01-01", periods=5, tz="UTC", name="day"),
    ):
        data.index = index
        before = data.copy()
        answer = sessions(data).with_columns(n=wr.count(), i=wr.window_id())
        pd.testing.assert_frame_equal(answer[list(data.columns)], before)
        pd.testing.assert_frame_equal(data, before)
        assert answer.index.equals(index)
        assert plain(answer["n"]) == COUNTS
        answer.loc[answer.index[0], "string"] = "changed"
        assert data["string"].iloc[0] == "a"


def test_large_integers_stay_what_they_are_next_to_rows_that_are_left_out() -> None:
    data = frame()
    table = sessions(pa.table(ROWS)).with_columns(i=wr.window_id(), m=wr.max("id"))
    exact = {"i": table["i"].to_pylist(), "m": table["m"].to_pylist()}
    assert exact["m"] == [LARGE + 2, None, None, LARGE + 2, 7]
    assert len({i for i in exact["i"] if i is not None and i != int(float(i))}) > 0
    answer = sessions(data).with_columns(i=wr.window_id(), m=wr.max("id"))
    for result in (answer, table.to_pandas()):
        for name, values in exact.items():
            assert str(result[name].dtype) == "Int64"
            assert plain(result[name]) == values
    assert str(sessions(data[data["user"] == "ann"]).with_columns(i=wr.window_id())["i"].dtype) == "int64"
    small = frame(v=pd.array([200, 1, 1, 3, 4], dtype="uint8"), f=[True, False, False, True, True])
    kept = sessions(small).with_columns(top=wr.max("v"), flag=wr.first("f"))
    assert (str(kept["top"].dtype), plain(kept["top"])) == ("UInt8", [200, 1, None, 200, 4])
    assert (str(kept["flag"].dtype), plain(kept["flag"])) == ("boolean", [True, False, None, True, True])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Madrid", "+02:00"])
def test_windows_of_pandas_have_timestamps_of_any_unit_and_zone(unit: str, zone: str | None) -> None:
    times = pd.Series(pd.to_datetime(ROWS["ts"])).dt.tz_localize(zone).dt.as_unit(unit)
    result = sessions(frame(ts=times)).count()
    assert result["window"].iloc[0].keys() == {"start", "end"}
    assert all(isinstance(window["start"], pd.Timestamp) for window in result["window"])
    found = result.join(pd.json_normalize(result.pop("window")))
    lengths = (found["end"] - found["start"]).dt.total_seconds()
    assert sorted(zip(found["user"], lengths, strict=True)) == [("ann", 0.0), ("ann", 240.0), ("bob", 0.0)]
    assert found["start"].min() == times[0]
    assert str(found["start"].min()) == str(times[0])
    flat = sessions(frame(ts=times)).flat().with_columns()
    assert flat["window_start"].dtype == flat["window_end"].dtype == times.dtype
    assert plain(flat["window_start"]) == [times[0], times[1], None, times[0], times[4]]


@pytest.mark.parametrize("values", [[0, 0, 1, 0, 1], [0.5, None, 0.5, None, 2.0], [True, False, True, True, False]])
def test_sparse_columns_are_keys_and_values(values: list[Any]) -> None:
    data = frame(v=pd.arrays.SparseArray(values))
    dense = frame(v=values)
    for answer in (
        lambda f: sessions(f, "v").agg(n=wr.count()),
        lambda f: sessions(f).agg(f=wr.first("v"), m=wr.max("v")),
    ):
        found = answer(data)
        assert all(found[name].dtype == data["v"].dtype for name in {"v", "f", "m"} & {*found})
        pd.testing.assert_frame_equal(found.astype(dict(answer(dense).dtypes)), answer(dense))
    other = wr.group_by(frame(), "user", time="ts")
    both = wr.cogroup(a=other, b=wr.group_by(data, "user", time="ts")).windowed_by(wr.SessionWindows.with_gap("1 day"))
    assert plain(both.with_columns()["v"]).count(None) >= 5  # the rows of the other input


def test_keys_and_chosen_values_have_the_dtype_of_their_column() -> None:
    data = frame(
        user=pd.Categorical(ROWS["user"], categories=["zoe", "bob", "ann"]),
        string=pd.array(["a", None, "b", "c", "d"], dtype="string"),
        level=pd.Categorical([1, 2, 2, 3, 3], ordered=True),
    )
    result = sessions(data, "user", "string").agg(
        low=wr.min("id"), first=wr.first("level"), by=wr.min_by("string", "id"), n=wr.count("level"), d=wr.count()
    )
    dtypes = {"user": "user", "string": "string", "low": "id", "first": "level", "by": "string"}
    for name, column in dtypes.items():
        assert result[name].dtype == data[column].dtype, name
    assert result["user"].cat.categories.tolist() == ["zoe", "bob", "ann"]
    assert result["n"].sum() == 5
    index = data.set_index(["user", "string"])
    assert sessions(index, "string").count()["string"].dtype == data["string"].dtype


@pytest.mark.parametrize(
    ("seconds", "zone", "is_right"),
    [
        (-62_104_060_801, "UTC", False),
        (-62_104_060_800, "UTC", True),
        (-62_104_060_801, "-12:00", False),
        (-62_104_060_800, "-12:00", True),
        (-9_223_372_037, "Europe/Madrid", False),
        (-9_223_372_036, "Europe/Madrid", True),
        (-9_223_372_037, "America/New_York", False),
        (-9_223_372_036, "America/New_York", True),
        (253_370_764_799, "Europe/Madrid", True),
        (253_370_764_800, "Europe/Madrid", False),
    ],
)
def test_zoned_times_that_pandas_has_not_as_objects_need_flat(seconds: int, zone: str, is_right: bool) -> None:
    times = pa.array([seconds, None], pa.int64()).cast(pa.timestamp("s", zone))
    data = pa.table({"user": ["ann", "ann"], "ts": times}).to_pandas()
    starts = sessions(data).flat().count()["window_start"]
    assert pa.array(starts).cast(pa.timestamp("s", zone)).cast(pa.int64()).to_pylist() == [seconds]
    if is_right:
        assert sessions(data).count()["window"][0]["start"] == starts[0]
        return
    with pytest.raises(OverflowError, match=re.escape(f"in the zone {zone}, of which")):
        sessions(data).count()


@pytest.mark.parametrize(
    "values",
    [
        pd.cut(pd.Series([1.0, 2.5, None, 2.6, 1.0]), [0, 2, 5, 9]),
        pd.Categorical(pd.to_datetime(["2026-05-04", "2026-05-05", None, "2026-05-05", "2026-05-04"], utc=True)),
        pd.Categorical(pd.PeriodIndex(["2026-05", "2026-04", None, "2026-05", "2026-05"], freq="M")),
        pd.Categorical(pd.array([1, 2, None, 2, 1], dtype="Int64")),
        pd.Categorical(pd.array(["a", "b", None, "b", "a"], dtype="string")),
        pd.Categorical(pd.array([1, 2, None, 2, 1], dtype=pd.ArrowDtype(pa.int64()))),
        pd.Categorical([True, False, None, False, True]),
    ],
    ids=lambda values: str(pd.Series(values).cat.categories.dtype),
)
def test_categories_of_every_dtype_come_back(values: Any) -> None:
    data = frame(level=values)
    keys = sessions(data, "level").agg(n=wr.count())
    assert keys["level"].dtype == data["level"].dtype
    assert set(keys["level"]) == set(data["level"].dropna())
    chosen = sessions(data).with_columns(first=wr.first("level", ignore_nulls=True))["first"]
    assert chosen.dtype == data["level"].dtype
    assert plain(chosen)[:3] == [*data["level"][:2], None]
    query = sessions(data, "level")
    emitted = query.left_out("emit", columns=["level", "user"]).agg(n=wr.count())
    assert emitted["level"].dtype == data["level"].dtype
    without = sessions(data.assign(user=None)).left_out("emit", columns=["level"]).agg(n=wr.count())
    assert plain(pd.Series([record["level"] for record in without["record"]])) == plain(data["level"])
    lists = sessions(data.dropna(subset="level")).agg(all=wr.collect_list("level"), top=wr.top_k("level", 9))
    levels = set(data["level"].dropna())
    assert {value for values in lists["all"] for value in values} == levels
    assert {pair["item"] for pairs in lists["top"] for pair in pairs} == levels
    assert emitted["op"].tolist().count("left_out") == data["level"].isna().sum() == 1
    first = query.advance(None, to=at(22), n=wr.count())
    second = sessions(data[:0], "level").advance(first.still_open, to=at(40), n=wr.count())
    shown = pd.concat([first.closed, second.closed])
    assert shown["level"].dtype == data["level"].dtype
    assert sorted(shown["level"].map(str)) == sorted(keys["level"].map(str))


def test_intervals_of_integers_next_to_a_row_that_is_left_out_are_null() -> None:
    data = frame(interval=pd.interval_range(0, 5))
    chosen = sessions(data).with_columns(first=wr.first("interval"))["first"]
    assert plain(chosen) == [data["interval"][place] if place is not None else None for place in (0, 1, None, 0, 4)]
    assert chosen.dtype == pd.IntervalDtype("float64", "right")


def test_arrow_backed_frames_give_arrow_backed_results() -> None:
    kinds = {"user": pa.string(), "ts": pa.timestamp("ns", "UTC"), "id": pa.int64()}
    data = pd.DataFrame({name: pd.array(ROWS[name], dtype=pd.ArrowDtype(kind)) for name, kind in kinds.items()})
    answer = sessions(data).agg(n=wr.count(), m=wr.max("id"), all=wr.collect_list("id"))
    assert all(isinstance(dtype, pd.ArrowDtype) for dtype in answer.dtypes)
    assert (answer["m"].dtype, answer["user"].dtype) == (data["id"].dtype, data["user"].dtype)
    rows = sessions(data).with_columns(i=wr.window_id())
    pd.testing.assert_frame_equal(rows[list(data.columns)], data)
    assert str(rows["i"].dtype) == "int64[pyarrow]"


def test_lists_and_structs_of_pandas_hold_exact_values() -> None:
    data = frame(ts=pd.Series(pd.to_datetime(ROWS["ts"])).dt.tz_localize("Europe/Madrid"))
    result = sessions(data).agg(
        ids=wr.collect_list("id", ignore_nulls=False), times=wr.collect_list("ts"), top=wr.top_k("ts", 1)
    )
    found = {(user, len(ids)): ids for user, ids in zip(result["user"], result["ids"], strict=True)}
    assert found == {("ann", 2): [LARGE, LARGE + 2], ("ann", 1): [7], ("bob", 1): [None]}
    assert {times[0] for times in result["times"]} == {data["ts"][0], data["ts"][1], data["ts"][4]}
    assert {top[0]["item"] for top in result["top"]} <= set(data["ts"])


def test_labels_that_are_no_strings_stay() -> None:
    data = pd.DataFrame({0: ["a", "a"], ("x", 1): all_at(0, 1), 2: [1, 2]})
    query = wr.group_by(data, "0", time="('x', 1)").windowed_by(GAP)
    assert list(query.agg(n=wr.sum("2")).columns) == [0, "window", "n"]
    assert list(query.with_columns(n=wr.sum("2")).columns) == [0, ("x", 1), 2, "window", "n"]
    for key, time, text in ((0, "ts", "'0'"), ("0", ("x", 1), "\"('x', 1)\"")):
        with pytest.raises(TypeError, match=re.escape(f"(write a label of pandas as text: {text})")):
            wr.group_by(data, key, time=time)
    levels = data.set_axis(pd.MultiIndex.from_tuples([("k", ""), ("t", ""), ("v", "x")]), axis=1)
    two = wr.group_by(levels, "('k', '')", time="('t', '')").windowed_by(GAP).with_columns(n=wr.count())
    assert two["n"].tolist() == [2, 2]


def test_the_metadata_of_pandas_stays_in_a_table_of_pyarrow() -> None:
    data = frame(string=pd.array(list("abcde"), dtype="string")).set_index(pd.Index(list("vwxyz"), name="row"))
    table = pa.Table.from_pandas(data).replace_schema_metadata(
        {**pa.Table.from_pandas(data).schema.metadata, b"mine": b"kept"}
    )
    answer = sessions(table).with_columns(n=wr.count())
    assert answer.schema.metadata[b"mine"] == b"kept"
    assert wr.counters(answer)["null_keys"] == 1
    back = answer.to_pandas()
    pd.testing.assert_frame_equal(back[list(data.columns)], data)
    assert plain(back["n"]) == COUNTS
    assert sessions(table, "string").count().to_pandas()["string"].dtype == data["string"].dtype


class Kept(pd.DataFrame):
    """A frame with an attribute of its own."""

    _metadata: ClassVar[list[str]] = ["unit"]

    @property
    def _constructor(self) -> type[Kept]:
        return Kept


def test_only_values_of_a_column_have_the_types_that_pandas_gave_it() -> None:
    """An aggregate often has the name of the column that it reads."""
    data = frame(
        ok=pd.array([True, None, True, False, True], dtype="boolean"),
        day=pd.period_range("2026-05-04", periods=5),
        small=pd.array([100] * 5, dtype="Int8"),
        page=list("xyzxx"),
    )
    table = pa.Table.from_pandas(data)
    counts = sessions(table).agg(ok=wr.count_if("ok"), day=wr.count("day"), small=wr.mean("small")).to_pandas()
    assert [str(counts[name].dtype) for name in ("ok", "day", "small")] == ["int64", "int64", "float64"]
    sums = sessions(table).agg(small=wr.sum("small"), page=wr.count_distinct("page"), id=wr.max("id").where("ok"))
    expected = sessions(data).agg(a=wr.sum("small"), b=wr.count_distinct("page"), c=wr.max("id").where("ok"))
    for name, other in (("small", "a"), ("page", "b"), ("id", "c")):
        assert plain(sums.to_pandas()[name]) == plain(expected[other])
    chosen = sessions(table).agg(day=wr.first("day"), small=wr.last("small")).to_pandas()
    assert [str(chosen[name].dtype) for name in ("day", "small")] == ["period[D]", "Int8"]
    rows = sessions(table).with_columns(n=wr.count()).to_pandas()
    pd.testing.assert_frame_equal(rows[list(data.columns)], data)


def test_integers_beside_the_null_of_a_row_without_a_key_stay_exact(tmp_path: Path) -> None:
    """The rows of a daily job have a clock row, whose keys are null."""
    frame(user=[LARGE, LARGE, LARGE + 2, LARGE, LARGE]).to_parquet(tmp_path / "day.parquet")
    run = sessions(str(tmp_path / "day.parquet")).advance(None, to=at(0), n=wr.count())
    assert set(run.rows.to_pandas()["user"].dropna()) == {LARGE, LARGE + 2}
    pq.write_table(run.still_open, tmp_path / "open.parquet")
    assert set(pd.read_parquet(tmp_path / "open.parquet")["user"].dropna()) == {LARGE, LARGE + 2}


def test_many_columns_are_added_at_once_and_the_frame_keeps_what_is_its_own() -> None:
    index = pd.MultiIndex.from_tuples([("x", 1), ("x", 1), ("y", 2)], names=["shop", "till"])
    data = Kept({"user": ["ann", "ann", "bob"], "ts": all_at(0, 1, 2), "amount": [1.0, 2.0, 3.0]}, index=index)
    data = pd.concat([data, data[["amount"]]], axis=1).rename_axis("columns", axis=1)
    data.unit, data.attrs["mine"] = "EUR", ["kept"]
    features = {f"n_{n}": wr.count().over(f"{n} minutes") for n in range(1, 121)}
    query = wr.group_by(data, "user", time="ts").windowed_by(wr.SlidingWindows.with_time_difference("2 hours"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # pandas warns of columns that are added one by one
        answer = query.with_columns(**features)
    assert (type(answer), answer.unit, answer.attrs["mine"]) == (Kept, "EUR", ["kept"])
    assert list(answer.columns) == [*data.columns, "window", *features]
    assert answer.columns.name == "columns"
    assert answer.index.equals(index)
    assert answer["n_1"].tolist() == [1, 2, 1]
    pd.testing.assert_frame_equal(answer.iloc[:, :4], data)
    for names in (["user", "ts", "amount", 7], pd.CategoricalIndex(["user", "ts", "amount", "other"])):
        named = sessions(data.set_axis(names, axis=1)).with_columns(n=wr.count())
        assert list(named.columns) == [*names, "window", "n"]
    flagged = data.iloc[:, :3].reset_index(drop=True).set_flags(allows_duplicate_labels=False)
    assert not sessions(flagged).with_columns(n=wr.count()).flags.allows_duplicate_labels
    assert sessions(data[:0]).with_columns(n=wr.count()).shape == (0, 6)


@pytest.mark.parametrize("mixed", [True, False])
def test_times_of_day_keep_their_nanoseconds_wherever_they_come_back(mixed: bool) -> None:
    of_day = pa.array([1, 86_399_999_999_999, None, 7, 7], pa.time64("ns"))
    columns = {"of day": of_day, "s": pa.StructArray.from_arrays([of_day], ["t"])}
    data = frame(**{name: pd.Series(pd.arrays.ArrowExtensionArray(column)) for name, column in columns.items()})
    if not mixed:
        data = data.convert_dtypes(dtype_backend="pyarrow")
    field = pc.field("s", "t")
    aggregates = {
        "min": wr.min("of day"),
        "field": wr.first(field),
        "set": wr.collect_set("of day"),
        "top": wr.top_k(field, 1),
        "structs": wr.collect_list("s"),
        "same": wr.max("of day").then(lambda value: value),
    }
    result = wr.group_by(data, "of day", time="ts").windowed_by(GAP).agg(**aggregates)
    ticks = {1: "00:00:00.000000001", 86_399_999_999_999: "23:59:59.999999999", 7: "00:00:00.000000007"}
    for key, text in ticks.items():
        row = result[[tick == key for tick in pa.array(result["of day"]).cast(pa.int64()).to_pylist()]]
        for name in ("of day", *aggregates):
            assert text in str(pa.array(row[name])), name
