"""Columns of random nested types, in any layout that Arrow has: values come back whole, and equal ones are one key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.examples import usually
from ..harness.layouts import KEYS, VALUES, Marked, columns
from ..scenes import all_at, at

GAP = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
SLIDING = wr.SlidingWindows.with_time_difference("5 minutes")


@pytest.fixture(scope="module", autouse=True)
def _known() -> Iterator[None]:
    pa.register_extension_type(Marked())
    yield
    pa.unregister_extension_type("test.marked")


def minutes(values: pa.Array[Any], size: int = 5) -> pa.Table:
    """A record a minute of one key, in batches of this size."""
    names, times = pa.array(["a"] * len(values), pa.string()), pa.array(all_at(*range(len(values))), pa.timestamp("us"))
    rows = pa.table({"k": names, "ts": times, "v": values})
    return pa.Table.from_batches(rows.to_batches(max_chunksize=size), rows.schema)


def tables(kinds: list[str]) -> st.SearchStrategy[pa.Table]:
    return st.builds(
        minutes, st.sampled_from([0, 1, 2, 4, 5]).flatmap(lambda rows: columns(rows, kinds)), st.integers(1, 5)
    )


def runs(values: pa.Array[Any]) -> pa.Array[Any]:
    """Two rows, two rows and a row."""
    made: pa.Array[Any] = pa.RunEndEncodedArray.from_arrays(pa.array([2, 4, 5], pa.int32()), values)
    return made


NAMES = pa.array(["a", None, "b"])
LONG_VIEWS = [[["a"]], [["a"]], [[]], None, [["b", None]]]
MARKED: Any = pa.ExtensionArray.from_storage(Marked(), pa.array([{"x": "a"}] * 5))
UUIDS: Any = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16, None, b"1" * 16], pa.binary(16)))
CODES = pa.array([0, 1, None, 2, 0], pa.int8())
ONES = pa.array([1] * 5, pa.int32())
ZEROS = pa.py_buffer(bytes(20))
WITHOUT_BUFFERS: Any = pa.Array.from_buffers(pa.list_(pa.int8()), 0, [None, None], children=[pa.array([], pa.int8())])
CODED_LISTS = pa.DictionaryArray.from_arrays(CODES, pa.array([["a"], None, []]))
ENCODED = [
    runs(NAMES.cast(pa.string_view())),
    pa.StructArray.from_arrays([runs(NAMES)], ["x"]),
    pa.StructArray.from_arrays([runs(NAMES), pa.array(["c"] * 5, pa.string_view())], ["x", "y"]),
    pa.ListArray.from_arrays(pa.array([0, 1, 2, 2, 4, 5], pa.int32()), runs(NAMES)),
    pa.array(LONG_VIEWS, pa.list_view(pa.large_list_view(pa.string_view()))),
    pa.DictionaryArray.from_arrays(pa.array([0, 1, 4, 2, 4], pa.int8()), runs(NAMES)),
    pa.StructArray.from_arrays([MARKED], ["x"]),
    pa.ListArray.from_arrays(
        pa.array(range(6), pa.int32()), pa.ListViewArray.from_arrays(ONES, ONES, MARKED), mask=pa.array([True] * 5)
    ),
    pa.ListArray.from_arrays(pa.array(range(6), pa.int32()), pa.DictionaryArray.from_arrays(CODES, MARKED)),
    pa.ListArray.from_arrays(pa.array(range(6), pa.int32()), pa.DictionaryArray.from_arrays(CODES, UUIDS)),
    pa.DictionaryArray.from_arrays(CODES, UUIDS),
    runs(UUIDS),
    pa.ListViewArray.from_arrays(ONES, ONES, CODED_LISTS, mask=pa.array([False, True] * 2 + [False])),
    pa.Array.from_buffers(pa.list_view(pa.list_(pa.int8())), 5, [None, ZEROS, ZEROS], children=[WITHOUT_BUFFERS]),
    pa.DictionaryArray.from_arrays(CODES, pa.StructArray.from_arrays([runs(NAMES)], ["x"])),
    runs(CODED_LISTS),
    pa.StructArray.from_arrays([CODED_LISTS], ["x"]),
    pa.FixedSizeListArray.from_arrays(
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 1] * 2, pa.int8()), NAMES.dictionary_encode()), 2
    ),
    runs(pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), NAMES[:2])),
]


CHOSEN = {
    "n": wr.count(),
    "first": wr.first("v", ignore_nulls=True),
    "last": wr.last("v", ignore_nulls=True),
    "all": wr.collect_list("v"),
}
FOLD = {"fold": wr.reduce("v", lambda _, other: other)}


@pytest.mark.parametrize("column", ENCODED, ids=lambda column: str(column.type)[:30])
def test_encoded_values_and_keys_come_back_whole(column: pa.Array[Any]) -> None:
    for part in (slice(0, 5), slice(1, 5), slice(2, 3), slice(0, 0)):
        check_values(minutes(column, 2)[part])
        if "marked" not in str(column.type):  # which is no key
            check_keys(minutes(column)[part])


@usually(100)
@given(tables(VALUES))
def test_values_come_back_whole(table: pa.Table) -> None:
    check_values(table)


@usually(100)
@given(tables(KEYS))
def test_keys_are_grouped_by_their_values(table: pa.Table) -> None:
    check_keys(table)


def check_values(table: pa.Table) -> None:
    kind, shown = table.schema.field("v").type, table["v"].to_pylist()
    known = [value for value in shown if value is not None]
    first, last = known[:1] or [None], known[-1:] or [None]
    chosen = CHOSEN | ({} if "extension" in str(kind) else FOLD)  # functions take no nested ones
    whole = {"n": len(shown), "first": first[0], "last": last[0], "all": known, "fold": last[0]}

    def asked(data: Any) -> Any:
        return wr.group_by(data, "k", time="ts").windowed_by(GAP).agg(**chosen)

    windowed = wr.group_by(table, "k", time="ts").windowed_by(GAP)
    result, reader = asked(table), windowed.to_reader(**chosen)
    driver = StreamDriver(asked, table.schema)
    driver.pipe_batch(table, rows=1)
    driver.finish()
    for found in (result, reader.read_all(), asked(table.to_reader()), driver.read_table()):
        found.validate(full=True)
        assert found.select(list(chosen)).to_pylist() == [{name: whole[name] for name in chosen}] * bool(shown)
    assert reader.schema.equals(result.schema)
    if pa.types.is_nested(kind):
        assert "dictionary" not in str(result.schema.field("all").type)
    updates = windowed.flat().emit("update")
    assert updates.to_reader(**chosen).schema.equals(updates.agg(**chosen).schema)
    grouped = wr.group_by(table, "k", time="ts")
    both = wr.cogroup(a=grouped, b=grouped).windowed_by(GAP).agg(last=wr.last("a.v", ignore_nulls=True))
    assert both["last"].to_pylist() == last * bool(shown)
    tagged = windowed.with_columns(n=wr.count())
    assert tagged["v"].to_pylist() == shown
    assert layout(tagged.schema.field("v").type) == layout(kind)


def check_keys(table: pa.Table) -> None:
    kind, grouped = table.schema.field("v").type, wr.group_by(table, "v", time="ts")
    counts = Counter(str(value) for value in table["v"].to_pylist() if value is not None)
    windowed = grouped.windowed_by(GAP)
    whole, reader = (made(n=wr.count(), first=wr.first("v")) for made in (windowed.agg, windowed.to_reader))
    assert reader.schema.equals(whole.schema)
    for found in (whole, reader.read_all()):
        found.validate(full=True)
        assert {str(row["v"]): row["n"] for row in found.to_pylist()} == counts
        assert found["first"].to_pylist() == found["v"].to_pylist()
        assert layout(found.schema.field("v").type) == layout(kind)
    driver = StreamDriver(lambda data: wr.group_by(data, "v", time="ts").windowed_by(GAP).count(), table.schema)
    driver.pipe_batch(table, rows=1)
    driver.finish()
    assert {str(row["v"]): row["count"] for row in driver.read_table().to_pylist()} == counts
    both = wr.cogroup(a=grouped, b=grouped).windowed_by(GAP).count()
    assert {str(row["v"]): row["count"] for row in both.to_pylist()} == {key: 2 * n for key, n in counts.items()}
    assert {str(key) for key in grouped.windowed_by(SLIDING).count()["v"].to_pylist()} == set(counts)
    first = windowed.advance(None, to=at(3), n=wr.count())
    after = wr.group_by(table[:0], "v", time="ts").windowed_by(GAP)
    second = after.advance(first.still_open, to=at(60), n=wr.count())
    assert {str(row["v"]): row["n"] for each in (first, second) for row in each.closed.to_pylist()} == counts


def layout(kind: pa.DataType) -> str:
    """The outermost layout of a type in a result, which has no views of text and bytes."""
    return str(kind).partition("<")[0].replace("string_view", "large_string").replace("binary_view", "large_binary")


def test_a_record_of_an_encoded_key_is_explained() -> None:
    names, lists = pa.array(["a", "b", None]), pa.array([["a"], [], ["b"], None, ["a"]], pa.list_view(pa.string()))
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 3, 4], pa.int8()), lists)
    for column in (runs(names), lists, pa.StructArray.from_arrays([runs(names)], ["x"]), coded):
        table = pa.table({"ts": all_at(*range(5)), "v": column})
        windowed = wr.group_by(table, "v", time="ts").windowed_by(GAP)
        assert "08:00" in wr.explain_record(windowed, column[0].as_py(), at(0))


def test_a_key_without_values_may_be_a_list_of_nulls() -> None:
    nothing = pa.array([], pa.list_view(pa.null()))
    assert wr.group_by(minutes(nothing), "v", time="ts").windowed_by(GAP).count()["v"].type == nothing.type


def test_zeros_and_nans_of_runs_are_one_key_each() -> None:
    table = pa.table({"ts": all_at(*range(5)), "v": runs(pa.array([0.0, -0.0, float("nan")]))})
    result = wr.group_by(table, "v", time="ts").windowed_by(GAP).count()
    assert {str(row["v"]): row["count"] for row in result.to_pylist()} == {"0.0": 4, "nan": 1}


def test_runs_of_int16_may_have_more_rows_in_a_result() -> None:
    count, ends = 40_000, pa.array(range(1, 20_001), pa.int16())
    parts = [
        pa.RunEndEncodedArray.from_arrays(ends, pa.array(range(start, start + 20_000))) for start in (0, count // 2)
    ]
    table = pa.table({"ts": pa.array([at(0)] * count, pa.timestamp("us")), "v": pa.chunked_array(parts)})
    query = wr.group_by(table, "v", time="ts").windowed_by(GAP)
    for result in (query.count(), query.to_reader(n=wr.count()).read_all()):
        result.validate(full=True)
        assert sorted(result["v"].to_pylist()) == list(range(count))


def test_times_are_not_decoded_and_the_error_says_so() -> None:
    table = pa.table({"ts": runs(pa.array(all_at(0, 1, 2))), "v": range(5)})
    with pytest.raises(TypeError, match="time: column 'ts' has type run_end_encoded<.*; allowed: a timestamp"):
        wr.group_by(table, "v", time="ts")
