"""`top_k` and `histogram_numeric`: what they are called with, and where they run."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from math import inf
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

US = pa.timestamp("us")
GAP = wr.SessionWindows.with_gap("1 second", grace="0 seconds")
TAGS = ["b", "a", None, "b", "c", "a", None, "b"]
SIZES = [1, 2, 6, 30, None, 5, 1, 2]
ON = [size is not None and size < 10 for size in SIZES]
PAGES = pa.table(
    {"user": [1] * 8, "ts": pa.array(range(8), US), "tag": TAGS, "size": pa.array(SIZES, pa.int32()), "on": ON}
)
TOP = [{"item": "b", "count": 3}, {"item": "a", "count": 2}, {"item": None, "count": 2}]
BINS = [{"x": 1, "y": 4.0}, {"x": 5, "y": 2.0}, {"x": 30, "y": 1.0}]


def windowed(data: Any = PAGES) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(GAP)


def frequencies(data: Any) -> Any:
    return windowed(data).agg(top=wr.top_k("tag", 3), bins=wr.histogram_numeric("size", 3))


def test_they_are_the_same_in_a_batch_on_a_stream_and_for_each_row() -> None:
    assert frequencies(PAGES).drop_columns(["user", "window"]).to_pylist() == [{"top": TOP, "bins": BINS}]
    rows = windowed().with_columns(top=wr.top_k("tag", 3), bins=wr.histogram_numeric("size", 3))
    assert rows["top"].to_pylist() == [TOP] * 8
    assert rows["bins"].to_pylist() == [BINS] * 8
    driver = StreamDriver(frequencies, PAGES.schema)
    driver.pipe_batch(PAGES.slice(0, 3))
    driver = StreamDriver(frequencies, PAGES.schema).restore(driver.snapshot())
    driver.pipe_batch(PAGES.slice(3))
    assert [change.values for change in driver.finish()] == [{"top": TOP, "bins": BINS}]


def test_they_go_with_conditions_cogroups_and_computed_columns() -> None:
    got = windowed().agg(
        top=wr.top_k("tag").where("on"),
        bins=wr.histogram_numeric("size", 2).where("on"),
        kinds=wr.top_k("tag", 3).then(lambda top: top.value_lengths(), schema="int"),
    )
    (row,) = got.drop_columns(["user", "window"]).to_pylist()
    assert [each["item"] for each in row["top"]] == ["a", "b", None]
    assert [each["count"] for each in row["top"]] == [2, 2, 2]
    assert row["bins"] == [{"x": 1, "y": 4.0}, {"x": 5, "y": 2.0}]
    assert row["kinds"] == 3
    both = wr.cogroup(one=wr.group_by(PAGES, "user", time="ts"), two=wr.group_by(PAGES, "user", time="ts"))
    twice = both.windowed_by(GAP).agg(top=wr.top_k("one.tag", 1), bins=wr.histogram_numeric("two.size", 3))
    assert twice.drop_columns(["user", "window"]).to_pylist() == [{"top": TOP[:1], "bins": BINS}]


BIG = 1 << 60


@pytest.mark.parametrize(
    ("values", "kind", "most", "expected"),
    [
        ([1, 6, 8, 13], pa.int64(), 2, [(5, 3.0), (13, 1.0)]),  # the mean of 1, 6 and 8 is 5
        # no float lies between these two: a mean stays between the least and the largest of its values
        (
            [BIG + 127, BIG + 129, BIG + 130, BIG + 200],
            pa.int64(),
            3,
            [(BIG + 127, 1.0), (BIG + 130, 2.0), (BIG + 200, 1.0)],
        ),
        ([2**64 - 1, 2**64 - 2, 0], pa.uint64(), 2, [(0, 1.0), (2**64 - 1, 2.0)]),
    ],
)
def test_a_bin_lies_between_its_values(
    values: list[int], kind: Any, most: int, expected: list[tuple[int, float]]
) -> None:
    (bins,) = of(pa.array(values, kind)).agg(bins=wr.histogram_numeric("x", most))["bins"].to_pylist()
    assert [(each["x"], each["y"]) for each in bins] == expected


def test_times_are_binned_and_a_window_without_values_is_null() -> None:
    days = pa.array([date(2026, 1, 1), date(2026, 1, 2), date(2026, 3, 1)])
    seconds = [timedelta(seconds=2), None, timedelta(seconds=8)]
    table = PAGES[:3].select(["user", "ts"]).append_column("day", days)
    table = table.append_column("wait", [seconds]).append_column("none", pa.nulls(3, pa.int8()))
    names = ("day", "ts", "wait", "none")
    got = windowed(table).agg(**{name: wr.histogram_numeric(name, 2) for name in names})
    assert got.select(names).to_pylist() == [
        {
            "day": [{"x": date(2026, 1, 1), "y": 2.0}, {"x": date(2026, 3, 1), "y": 1.0}],
            "ts": [{"x": datetime(1970, 1, 1), "y": 2.0}, {"x": datetime(1970, 1, 1, 0, 0, 0, 2), "y": 1.0}],
            "wait": [{"x": timedelta(seconds=2), "y": 1.0}, {"x": timedelta(seconds=8), "y": 1.0}],
            "none": None,
        }
    ]


@pytest.mark.parametrize(("make", "least"), [(wr.top_k, 1), (wr.histogram_numeric, 2)])
def test_how_many_is_an_int_within_bounds(make: Any, least: int) -> None:
    for wrong in (True, 2.0, "3", None):
        with pytest.raises(TypeError, match=f"allowed: an int from {least} to 1,000,000"):
            make("size", wrong)
    for wrong in (least - 1, 1_000_001):
        with pytest.raises(ValueError, match=f"allowed: an int from {least} to 1,000,000"):
            make("size", wrong)
    for right in (least, 1_000_000):
        assert windowed().agg(x=make("size", right)).num_rows == 1


def test_columns_without_an_order_or_without_a_mean_are_refused() -> None:
    pairs = pa.array([[("a", 1)]] * 8, pa.map_(pa.string(), pa.int64()))
    with pytest.raises(TypeError, match="no maps"):
        windowed(PAGES.append_column("pairs", pairs)).agg(x=wr.top_k("pairs"))
    for column in ("tag", "on"):
        with pytest.raises(TypeError, match=f'histogram_numeric: column "{column}" has type .*allowed: integers'):
            windowed().agg(x=wr.histogram_numeric(column, 3))


def of(values: Any) -> Any:
    """Windows of one session of these values."""
    return windowed(pa.table({"user": [1] * len(values), "ts": pa.array(range(len(values)), US), "x": values}))


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")], ids=str)
def test_bins_of_times_of_day_are_times_of_day(kind: pa.DataType) -> None:
    got = of(pa.array([2_000, 1_000, 9_000], kind)).agg(h=wr.histogram_numeric("x", 2))["h"].combine_chunks()
    assert got.type.value_type.field("x").type == kind
    codes = got.values.field("x").cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    assert codes.to_pylist() == [1_500, 9_000]


@pytest.mark.parametrize(
    ("values", "most", "bins"),
    [
        ([-inf, 1.0, 2.0, 7.0, inf], 4, [(-inf, 1), (1.5, 2), (7.0, 1), (inf, 1)]),
        ([-inf, 1.0, 2.0, 7.0, inf], 3, [(-inf, 1), (10 / 3, 3), (inf, 1)]),
        ([-inf, 1.0, 2.0, 7.0, inf], 2, [(-inf, 4), (inf, 1)]),
    ],
)
def test_an_infinity_shares_a_bin_only_where_all_numbers_are_in_one(
    values: list[float], most: int, bins: list[tuple[float, int]]
) -> None:
    (got,) = of(values).agg(h=wr.histogram_numeric("x", most))["h"].to_pylist()
    assert [(each["x"], each["y"]) for each in got] == bins


def test_a_percentile_between_a_number_and_an_infinity_is_the_infinity() -> None:
    assert of([1.0, inf]).agg(p=wr.percentile("x", [0, 0.5, 1]))["p"].to_pylist() == [[1.0, inf, inf]]
    low, middle, high = of([-inf, inf]).agg(p=wr.percentile("x", [0, 0.25, 1]))["p"].to_pylist()[0]
    assert (low, high) == (-inf, inf)
    assert middle != middle


@pytest.mark.parametrize("aggregate", [wr.mode("x"), wr.top_k("x")], ids=["mode", "top_k"])
def test_ordered_dictionaries_have_an_order_of_their_own(aggregate: wr.Aggregate) -> None:
    sizes = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.int8()), pa.array(["small", "large"]), ordered=True)
    with pytest.raises(TypeError, match="cast ordered categories to their values"):
        of(sizes).agg(n=aggregate)
    assert of(sizes.cast(pa.string())).agg(n=wr.mode("x"))["n"].to_pylist() == ["large"]
