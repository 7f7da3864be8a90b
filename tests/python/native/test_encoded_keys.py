"""Keys of run-end encoded columns and of views of lists: grouped by their values, and given back in their layout."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

TIMES = [datetime(2026, 5, 4, 9, minute) for minute in range(5)]
GAP = wr.SessionWindows.with_gap("5 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("1 hour")
LISTS = [["a"], ["a"], [], None, ["b", None]]


def runs(values: pa.Array[Any], ends: pa.DataType = pa.int32()) -> pa.Array[Any]:  # noqa: B008
    """Two rows, two rows and a row."""
    made: pa.Array[Any] = pa.RunEndEncodedArray.from_arrays(pa.array([2, 4, 5], ends), values)
    return made


NAMES = pa.array(["a", None, "b"])
VIEWS = pa.array(LISTS, pa.list_view(pa.string()))
COLUMNS: dict[str, pa.Array[Any]] = {
    "runs": runs(NAMES),
    "runs of int16": runs(NAMES, pa.int16()),
    "runs of views": runs(NAMES.cast(pa.string_view()), pa.int64()),
    "runs of dictionaries": runs(NAMES.dictionary_encode()),
    "runs of lists": runs(pa.array([["a"], [], ["b"]])),
    "runs of list views": runs(VIEWS[1:4]),
    "runs of floats": runs(pa.array([0.0, -0.0, float("nan")])),
    "list views": VIEWS,
    "large list views": pa.array(LISTS, pa.large_list_view(pa.string())),
    "list views of views": pa.array([[x] for x in LISTS], pa.list_view(pa.large_list_view(pa.string_view()))),
    "struct of list views": pa.StructArray.from_arrays([VIEWS], ["x"]),
    "struct of runs": pa.StructArray.from_arrays([runs(NAMES)], ["x"]),
    "list of runs": pa.ListArray.from_arrays(pa.array([0, 1, 2, 2, 4, 5], pa.int32()), runs(NAMES)),
    "dictionary of list views": pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 3, 4], pa.int8()), VIEWS),
    "dictionary of runs": pa.DictionaryArray.from_arrays(pa.array([0, 1, 4, 2, 4], pa.int8()), runs(NAMES)),
}


def counted(values: list[Any]) -> list[tuple[str, int]]:
    """How often each value comes, without null keys, as plain Python counts it."""
    shown = [str(value) for value in values if value is not None]
    return sorted((value, shown.count(value)) for value in set(shown))


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("part", [slice(0, 5), slice(1, 5), slice(2, 3), slice(0, 0)], ids=str)
@pytest.mark.filterwarnings("ignore::windrow.LeftOut")
def test_keys_are_grouped_by_their_values(name: str, part: slice) -> None:
    if name == "runs of floats":
        return  # zeros are one key: below
    table = pa.table({"ts": TIMES, "v": COLUMNS[name]})[part]
    expected = counted(table["v"].to_pylist())
    query = wr.group_by(table, "v", time="ts").windowed_by(GAP)
    chosen = {"n": wr.count(), "first": wr.first("v"), "folded": wr.reduce("v", lambda one, _other: one)}
    for result in (query.agg(**chosen), query.to_reader(**chosen).read_all(), query.flat().agg(**chosen)):
        result.validate(full=True)
        assert sorted((str(row["v"]), row["n"]) for row in result.to_pylist()) == expected
        assert result["first"].to_pylist() == result["folded"].to_pylist() == result["v"].to_pylist()
        assert layout(result.schema.field("v").type) == layout(table.schema.field("v").type)
    tagged = query.with_columns(n=wr.count())
    assert tagged.select(["ts", "v"]).equals(table)
    assert [n for n in tagged["n"].to_pylist() if n is not None] == [
        dict(expected)[str(value)] for value in table["v"].to_pylist() if value is not None
    ]
    sliding = wr.group_by(table, "v", time="ts").windowed_by(SLIDING).agg(n=wr.count())
    assert {str(value) for value in sliding["v"].to_pylist()} == {value for value, _ in expected}


def layout(kind: pa.DataType) -> str:
    """The outermost layout of a type."""
    return str(kind).partition("<")[0]


def test_zeros_and_nans_of_runs_are_one_key_each() -> None:
    table = pa.table({"ts": TIMES, "v": COLUMNS["runs of floats"]})
    result = wr.group_by(table, "v", time="ts").windowed_by(GAP).count()
    assert sorted(zip(map(str, result["v"].to_pylist()), result["count"].to_pylist(), strict=True)) == [
        ("0.0", 4),
        ("nan", 1),
    ]


@pytest.mark.parametrize("name", ["runs", "list views", "struct of runs", "dictionary of list views"])
@pytest.mark.filterwarnings("ignore::windrow.LeftOut")
def test_a_daily_job_and_a_cogroup_take_such_keys(name: str) -> None:
    table = pa.table({"ts": TIMES, "v": COLUMNS[name]})
    query = wr.group_by(table, "v", time="ts")
    windowed = query.windowed_by(wr.SessionWindows.with_gap("5 minutes", grace="0 minutes"))
    first = windowed.advance(None, to=TIMES[4], n=wr.count())
    again = wr.group_by(table[:0], "v", time="ts").windowed_by(windowed.windows)
    closed, _ = again.advance(first.still_open, to=datetime(2026, 5, 5), n=wr.count())
    expected = counted(table["v"].to_pylist())
    assert sorted((str(row["v"]), row["n"]) for row in closed.to_pylist()) == expected
    both = wr.cogroup(a=query, b=query).windowed_by(GAP).agg(n=wr.count())
    assert sorted((str(row["v"]), row["n"]) for row in both.to_pylist()) == [
        (value, 2 * n) for value, n in counted(table["v"].to_pylist())
    ]
    found = wr.explain_record(query.windowed_by(GAP), table["v"][0].as_py(), TIMES[0])
    assert "09:00" in found


def test_runs_of_int16_may_have_more_rows_in_a_result() -> None:
    count = 40_000
    parts = [
        pa.RunEndEncodedArray.from_arrays(
            pa.array(range(1, count // 2 + 1), pa.int16()), pa.array(range(start, start + count // 2))
        )
        for start in (0, count // 2)
    ]
    table = pa.table({"ts": pa.array([TIMES[0]] * count), "v": pa.chunked_array(parts)})
    query = wr.group_by(table, "v", time="ts").windowed_by(GAP)
    for result in (query.count(), query.to_reader(n=wr.count()).read_all()):
        result.validate(full=True)
        assert sorted(result["v"].to_pylist()) == list(range(count))


def test_times_and_ties_are_not_decoded_and_the_error_says_so() -> None:
    table = pa.table({"ts": runs(pa.array(TIMES[:3])), "v": COLUMNS["runs"]})
    with pytest.raises(TypeError, match="time: column 'ts' has type run_end_encoded<.*; allowed: a timestamp"):
        wr.group_by(table, "v", time="ts")
