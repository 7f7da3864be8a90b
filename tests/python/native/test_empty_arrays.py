"""Arrays without values whose offsets have no buffer, or one without bytes, as Spark up to 4.1 sends them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow._executor.batch import merge, pack
from windrow._executor.empty_arrays import rebuilt, with_offsets
from windrow._executor.row_windows import with_windows
from windrow.testing import StreamDriver

from ..harness.row_steps import LocalRows
from ..harness.steps import LocalStream
from ..scenes import at

NO_BYTES = pa.py_buffer(b"")
SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 hour")
SLIDING = wr.SlidingWindows.with_time_difference("5 minutes", grace="1 hour")
INTS, TEXTS = pa.list_(pa.int32()), pa.list_(pa.string())
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "texts": (TEXTS, [[], None]),
    "large texts": (pa.large_list(pa.large_string()), [[], None]),
    "lists": (pa.list_(INTS), [[], []]),
    "lists with no element": (pa.list_(INTS), [[[]], [None]]),
    "a map with lists": (pa.map_(pa.string(), TEXTS), [[], None]),
    "a map with an empty list": (pa.map_(pa.string(), TEXTS), [[("a", [])], None]),
    "structs": (pa.list_(pa.struct({"l": INTS, "t": pa.string()})), [[], None]),
    "lists in a struct": (pa.struct({"n": pa.int64(), "l": pa.list_(TEXTS)}), [{"n": 1, "l": []}, None]),
    "lists in an array": (pa.list_(INTS, 2), [[[], None], [[], []]]),
}


NOTHING = pa.Array.from_buffers(pa.string(), 0, [None, None, NO_BYTES])
NO_BLOBS = pa.Array.from_buffers(pa.large_binary(), 0, [None, None, NO_BYTES])
NO_LISTS = pa.Array.from_buffers(TEXTS, 0, [None, None], children=[NOTHING])
NULLS = pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int8()), NOTHING)
BARE = {
    "a dictionary": NULLS,
    "a dictionary of bytes": pa.DictionaryArray.from_arrays(NULLS.indices, NO_BLOBS),
    "a dictionary of lists": pa.DictionaryArray.from_arrays(NULLS.indices, NO_LISTS),
    "a struct of dictionaries": pa.StructArray.from_arrays([NULLS], ["a"]),
    "lists of dictionaries": pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), NULLS),
    "runs of dictionaries": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), NULLS),
    "a union": pa.UnionArray.from_dense(
        pa.array([0, 0], pa.int8()), pa.array([0, 1], pa.int32()), [pa.array([1, 2]), NO_LISTS]
    ),
}
"""Two values that are there, and parts of them that have no values and no offsets."""


def bare(array: Any) -> Any:
    """The array, where arrays without values have no offsets: strings an empty buffer, lists none."""
    kind = array.type
    if not len(array) and kind.num_fields == 0:
        return pa.Array.from_buffers(kind, 0, [None if own is None else NO_BYTES for own in array.buffers()])
    if pa.types.is_struct(kind):
        parts = [bare(array.field(number)) for number in range(kind.num_fields)]
        if not len(array):
            return pa.Array.from_buffers(kind, 0, [None], children=parts)
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=mask)
    if kind.num_fields == 0:
        return array
    own: list[Any] = array.buffers()[: 1 if isinstance(kind, pa.FixedSizeListType) else 2]
    if not len(array):
        own = [None] * len(own)
    return pa.Array.from_buffers(kind, len(array), own, children=[bare(array.values)])


def records(name: str) -> pa.RecordBatch:
    """Two records of one session, one minute apart, whose values have bare arrays."""
    kind, values = VALUES[name]
    array = bare(pa.array(values, kind))
    array.validate(full=True)
    times = pa.array([at(0), at(1)], pa.timestamp("us"))
    return pa.RecordBatch.from_arrays([pa.array(["ann", "ann"]), times, array], names=["user", "ts", "v"])


def windowed(data: Any, windows: Any = SESSIONS, key: str = "user") -> Any:
    return wr.group_by(data, key, time="ts").windowed_by(windows)


def shown(name: str) -> list[Any]:
    """The values as pyarrow shows valid arrays of them."""
    kind, values = VALUES[name]
    return pa.array(values, kind).to_pylist()


@pytest.mark.parametrize("name", VALUES)
def test_only_arrays_without_values_get_new_buffers(name: str) -> None:
    batch = records(name)
    for rows in (batch, batch.slice(1), batch.slice(0, 1), batch.slice(2)):
        mended = with_offsets(rows)
        mended.validate(full=True)
        assert mended.schema == rows.schema
        assert mended.nbytes >= 0
        assert mended["v"].to_pylist() == shown(name)[: rows.num_rows] or mended["v"].to_pylist() == shown(name)[1:]


@pytest.mark.parametrize("cut", [slice(0, 3), slice(1, 3), slice(1, 2), slice(2, 3), slice(3, 3)])
def test_leaves_may_change_their_type_and_parts_their_nulls(cut: slice) -> None:
    inner = pa.struct([pa.field("a", pa.int64()), pa.field("b", pa.int64())])
    wanted = pa.struct([pa.field("a", pa.int64()), pa.field("b", pa.duration("us"), nullable=False)])
    lists, maps = [[{"a": 1, "b": 2}], None, []], [[("x", {"a": None, "b": 3})], [], None]
    structs = [{"a": 1, "b": 4}, None, {"a": None, "b": 5}]
    for values, given, kind in (
        (structs, inner, wanted),
        (lists, pa.list_(inner), pa.list_(wanted)),
        (maps, pa.map_(pa.string(), inner), pa.map_(pa.string(), wanted)),
    ):
        found = rebuilt(pa.array(values, given)[cut], kind)
        assert found.type == kind
        expected = pa.array(values, given)[cut].to_pylist()
        assert str(found.to_pylist()).replace("datetime.timedelta(microseconds=", "").replace(")}", "}") == str(
            expected
        )


def fullest(windows: list[dict[str, Any]]) -> dict[str, Any]:
    """The window with the most values."""
    return max(windows, key=lambda row: len(row["all"]))


LISTS = {"all": wr.collect_list("v", ignore_nulls=False), "last": wr.last("v", ignore_nulls=False)}


@pytest.mark.parametrize("windows", [SESSIONS, SLIDING])
@pytest.mark.parametrize("name", VALUES)
def test_queries_in_this_process_read_them(name: str, windows: Any) -> None:
    for data in (records(name), pa.Table.from_batches([records(name)]), [records(name).slice(1)] * 2):
        of_user = windowed(data, windows)
        expected = shown(name)[-1:] * 2 if isinstance(data, list) else shown(name)
        assert of_user.with_columns(n=wr.count())["v"].to_pylist() == expected
        found = fullest(of_user.agg(**LISTS).to_pylist())
        assert (found["all"], found["last"]) == (expected, expected[-1])
        if not name.startswith("a map"):  # which cannot be compared
            keys = windowed(data, windows, "v").count()["v"].to_pylist()
            assert set(map(str, keys)) == set(map(str, expected)) - {"None"}
            assert max(of_user.agg(n=wr.count_distinct("v"))["n"].to_pylist()) == len(
                set(map(str, expected)) - {"None"}
            )
        folded = wr.aggregate(
            list,
            lambda all, row: [*all, row.v],
            lambda one, two: one + two,
            columns=["v"],
            schema=pa.list_(VALUES[name][0]),
        )
        assert fullest(of_user.agg(all=folded).to_pylist())["all"] == expected


@pytest.mark.parametrize("name", VALUES)
def test_a_cogroup_and_a_driver_read_them(name: str) -> None:
    batch = records(name)
    both = wr.cogroup(a=wr.group_by(batch, "user", time="ts"), b=wr.group_by(batch, "user", time="ts"))
    found = both.windowed_by(SESSIONS).agg(last=wr.last("a.v", ignore_nulls=False))
    assert found["last"].to_pylist() == shown(name)[-1:]
    driver = StreamDriver(lambda data: windowed(data).agg(**LISTS), batch.schema)
    driver.pipe_batch(batch)
    (final,) = driver.finish()
    assert final.values["all"] == shown(name)


@pytest.mark.parametrize("windows", [SESSIONS, SLIDING])
@pytest.mark.parametrize("name", VALUES)
def test_the_steps_on_executors_read_them(name: str, windows: Any) -> None:
    batch = records(name)
    plan = windowed(batch, windows)._plan(LISTS)
    spec, schema = plan.spec.text, plan.schema.serialize().to_pybytes()
    rows = [batch.select(plan.schema.names)] * 2
    (packed,) = pack(iter(rows), spec, schema, ())
    merged = pa.Table.from_batches(merge(iter([packed]), spec, schema, {}))
    assert sorted(map(str, fullest(merged.to_pylist())["all"])) == sorted(map(str, shown(name) * 2))
    plan = windowed(batch, windows)._plan({"n": wr.count()}, rows=True)
    for most in (1 << 20, 0):
        returned = with_windows(iter([batch] * 2), plan.spec.text, batch.schema.serialize().to_pybytes(), {}, most)
        found = [row["v"] for rows in returned for row in rows.to_pylist()]
        assert sorted(map(str, found)) == sorted(map(str, shown(name) * 2))


@pytest.mark.parametrize("windows", [SESSIONS, SLIDING])
@pytest.mark.parametrize("name", VALUES)
def test_the_steps_of_streams_read_them(name: str, windows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = records(name)
    monkeypatch.setattr(LocalStream, "_batches", lambda stream, _: [batch.select(stream.read.names)])
    end = pa.table({"user": ["bob"], "ts": pa.array([at(600)], pa.timestamp("us")), "v": pa.nulls(1, batch["v"].type)})
    stream = LocalStream(lambda data: windowed(data, windows).agg(**LISTS), batch.schema, shards=1)
    returned = LocalRows(lambda data: windowed(data, windows), batch.schema, shards=1)
    found = [stream.push([end]), returned.push([end])]
    monkeypatch.undo()
    found = [[*rows, *again.push([end])] for rows, again in zip(found, (stream, returned), strict=True)]
    assert fullest(found[0])["all"] == shown(name)
    assert [row["v"] for row in found[1] if row["user"] == "ann"] == shown(name)


@pytest.mark.parametrize("name", BARE)
def test_parts_without_values_have_buffers_in_dictionaries_runs_and_unions(name: str) -> None:
    column: Any = BARE[name]
    column.validate(full=True)
    table = pa.table({"user": [1, 1], "ts": pa.array([at(0), at(1)], pa.timestamp("us")), "v": column})
    for rows in (table, table.slice(1)):
        expected = rows["v"].to_pylist()
        assert windowed(rows).agg(**LISTS).to_pylist()[0]["all"] == expected
        assert windowed(rows).with_columns(n=wr.count())["v"].to_pylist() == expected
        inputs = {name: wr.group_by(rows, "user", time="ts") for name in ("a", "b")}
        both = wr.cogroup(**inputs).windowed_by(SESSIONS)
        assert both.agg(last=wr.last("a.v", ignore_nulls=False))["last"].to_pylist() == expected[-1:]
        driver = StreamDriver(lambda data: windowed(data).agg(**LISTS), rows.schema)
        driver.pipe_batch(rows)
        (final,) = driver.finish()
        assert final.values["all"] == expected
        if name != "a union":
            keys = windowed(rows, key="v").count()["v"].to_pylist()
            assert keys == ([] if expected[-1] is None else expected[-1:] * len(keys))
