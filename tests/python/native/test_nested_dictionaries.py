"""Values of nested types that hold dictionaries: aggregates give them without, whatever the type and the depth."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

from ..scenes import EIGHT

GAP = wr.SessionWindows.with_gap("5 minutes")

NAMES = ["a", None, "b", "a", "c", "b"]
CODED = pa.array(NAMES).dictionary_encode()
KEYS = pa.array(["k", "l", "k", "l", "k", "l"]).dictionary_encode()
OFFSETS = pa.array([0, 2, 2, 5, 6], pa.int32())
STARTS, SIZES = pa.array([4, 0, 3, 0], pa.int32()), pa.array([2, 0, 1, 3], pa.int32())
ENTRIES = [[0, 1], [], [2, 3, 4], [5]]
VIEWED = [[4, 5], [], [3], [0, 1, 2]]


def names_of(rows: list[list[int]]) -> list[Any]:
    return [[NAMES[row] for row in rows_of_one] for rows_of_one in rows]


PAIRS = [[(KEYS[row].as_py(), NAMES[row]) for row in rows] for rows in ENTRIES]
RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 4], pa.int32()), pa.array(["a", "b", "c"]).dictionary_encode())
LARGE = [column.cast(pa.int64()) for column in (STARTS, SIZES)]

SHAPES: dict[str, tuple[pa.Array[Any], list[Any]]] = {
    "list": (pa.ListArray.from_arrays(OFFSETS, CODED), names_of(ENTRIES)),
    "map of values": (pa.MapArray.from_arrays(OFFSETS, KEYS.dictionary_decode(), CODED), PAIRS),
    "map of keys": (pa.MapArray.from_arrays(OFFSETS, KEYS, CODED.dictionary_decode()), PAIRS),
    "map of both": (pa.MapArray.from_arrays(OFFSETS, KEYS, CODED), PAIRS),
    "list view": (pa.ListViewArray.from_arrays(STARTS, SIZES, CODED), names_of(VIEWED)),
    "large list view": (pa.LargeListViewArray.from_arrays(*LARGE, CODED), names_of(VIEWED)),
    "runs": (RUNS, ["a", "b", "c", "c"]),
    "struct of runs": (pa.StructArray.from_arrays([RUNS], ["r"]), [{"r": name} for name in "abcc"]),
    "map of lists": (
        pa.MapArray.from_arrays(
            pa.array([0, 1, 1, 2, 4], pa.int32()),
            KEYS.slice(0, 4),
            pa.ListArray.from_arrays(OFFSETS, CODED),
        ),
        [[("k", ["a", None])], [], [("l", [])], [("k", ["b", "a", "c"]), ("l", ["b"])]],
    ),
}


def sessions(values: pa.Array[Any], **aggregates: Any) -> dict[str, Any]:
    times = [EIGHT + datetime.timedelta(minutes=minute) for minute in range(len(values))]
    events = pa.table({"user": [1] * len(values), "ts": pa.array(times, pa.timestamp("us")), "v": values})
    (row,) = wr.group_by(events, "user", time="ts").windowed_by(GAP).agg(**aggregates).to_pylist()
    found: dict[str, Any] = row
    return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("part", [slice(0, 4), slice(1, 4), slice(2, 3)], ids=str)
def test_nested_dictionaries_come_out_as_their_values(shape: str, part: slice) -> None:
    values, expected = SHAPES[shape]
    found = sessions(values[part], first=wr.first("v"), last=wr.last("v"), all=wr.collect_list("v"))
    wanted = expected[part]
    assert (found["first"], found["last"], found["all"]) == (wanted[0], wanted[-1], wanted)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("function", [wr.first, wr.collect_list])
def test_the_type_of_the_result_has_no_dictionary(shape: str, function: Callable[[str], Any]) -> None:
    values, _ = SHAPES[shape]
    events = pa.table({"user": [1], "ts": pa.array([EIGHT], pa.timestamp("us")), "v": values[:1]})
    result = wr.group_by(events, "user", time="ts").windowed_by(GAP).agg(v=function("v"))
    assert "dictionary" not in str(result.schema.field("v").type)
