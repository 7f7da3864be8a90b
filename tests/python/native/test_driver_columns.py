"""What a driver's columns may be: every type can be left out or cut, and numbers of another type are held exactly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

NOON = datetime(2026, 1, 1, 12)
US = pa.timestamp("us")
SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
NAN = float("nan")
UNIONS = [pa.field("a", pa.int64()), pa.field("b", pa.string())]
CODED = pa.struct({"q": pa.dictionary(pa.int8(), pa.string())})


def of(kind: pa.DataType) -> pa.Schema:
    return pa.schema({"k": pa.string(), "ts": US, "v": kind})


def single(kind: pa.DataType) -> StreamDriver:
    def listed(data: Any) -> Any:
        return wr.group_by(data, "k", time="ts").windowed_by(SESSIONS).agg(n=wr.count(), v=wr.last("v"))

    return StreamDriver(listed, of(kind))


def held(data: pa.Array[Any], kind: pa.DataType) -> list[Any]:
    """What the driver makes of a column, a session for each of its values."""
    times = pa.array([NOON + timedelta(days=day) for day in range(len(data))], US)
    driver = single(kind)
    driver.pipe_batch(pa.table({"k": pa.array(["a"] * len(data)), "ts": times, "v": data}))
    driver.finish()
    found: list[Any] = driver.read_table()["v"].to_pylist()
    return found


LARGE = 2**53
CHANGED: dict[str, tuple[pa.Array[Any], pa.DataType, str]] = {
    "beyond the range": (pa.array([1.0, 1e300]), pa.float32(), "1e.300; allowed: numbers that float holds exactly"),
    "beyond half a float": (pa.array([2**24 + 1]), pa.float16(), "16777217"),
    "a rounded float": (pa.array([0.5, None, 0.1]), pa.float32(), "0.1"),
    "half a float": (pa.array([0.1], pa.float32()), pa.float16(), "0.1"),
    "digits cut": (pa.array([0.15]), pa.decimal128(3, 1), "0.15"),
    "a float as digits": (pa.array([0.1]), pa.decimal128(20, 19), "0.1"),
    "digits as a float": (pa.array([Decimal("0.1")]), pa.float64(), r"Decimal\('0.1'\)"),
    "a large decimal": (pa.array([Decimal(2**60 + 1)], pa.decimal128(38, 0)), pa.float64(), "Decimal"),
    "one above": (pa.array([LARGE + 1]), pa.float64(), "9007199254740993"),
    "in a dictionary": (pa.array([0.1]).dictionary_encode(), pa.float32(), "0.1"),
    "no number": (pa.array([NAN]), pa.int64(), "nan"),
    "digits too fine": (pa.array([Decimal("1.25")]), pa.decimal128(10, 1), "data loss"),
}


@pytest.mark.parametrize("case", CHANGED)
def test_numbers_that_would_change_are_refused(case: str) -> None:
    data, kind, message = CHANGED[case]
    with pytest.raises(ValueError, match=f"^data: column 'v'.*{message}"):
        held(data, kind)


KEPT: dict[str, tuple[pa.Array[Any], pa.DataType, list[Any]]] = {
    "floats": (pa.array([0.5, NAN, float("inf"), None]), pa.float32(), ["0.5", "nan", "inf", "None"]),
    "wider floats": (pa.array([0.1], pa.float32()), pa.float64(), ["0.10000000149011612"]),
    "half floats": (pa.array([0.1], pa.float64()).cast(pa.float16()), pa.float64(), ["0.0999755859375"]),
    "whole floats": (pa.array([-0.0, 3.0]), pa.int8(), ["0", "3"]),
    "the largest": (pa.array([LARGE, -LARGE]), pa.float64(), ["9007199254740992.0", "-9007199254740992.0"]),
    "wider": (pa.array([1, None], pa.int32()), pa.int64(), ["1", "None"]),
    "narrower": (pa.array([127, -128]), pa.int8(), ["127", "-128"]),
    "digits": (pa.array([Decimal("1.50")]), pa.decimal128(3, 1), ["1.5"]),
    "a half as digits": (pa.array([0.5]), pa.decimal128(3, 1), ["0.5"]),
    "digits of a half": (pa.array([Decimal("0.5")]), pa.float64(), ["0.5"]),
    "whole digits": (pa.array([3]), pa.decimal128(20, 1), ["3.0"]),
    "a dictionary": (pa.array([1, 1]).dictionary_encode(), pa.int8(), ["1", "1"]),
    "no rows": (pa.array([], pa.float64()), pa.float32(), []),
    "nulls": (pa.nulls(2), pa.float32(), ["None", "None"]),
}


@pytest.mark.parametrize("case", KEPT)
def test_numbers_that_do_not_change_are_taken(case: str) -> None:
    data, kind, message = KEPT[case]
    assert list(map(str, held(data, kind))) == message


TYPES: list[pa.DataType] = [
    CODED,
    pa.list_(CODED, 1),
    pa.struct({"s": CODED}),
    pa.sparse_union(UNIONS),
    pa.dense_union(UNIONS),
    pa.list_(CODED),
    pa.list_view(pa.int64()),
    pa.list_(pa.struct({"a": pa.string_view()})),
    pa.string_view(),
    pa.binary_view(),
    pa.run_end_encoded(pa.int32(), pa.int64()),
    pa.dictionary(pa.int8(), pa.string()),
    pa.decimal256(50, 1),
    pa.month_day_nano_interval(),
    pa.uuid(),
    pa.bool8(),
    pa.null(),
]


def of_inputs(one: pa.Schema, other: pa.Schema, **aggregates: wr.Aggregate) -> StreamDriver:
    """A driver of two inputs."""

    def both(one: Any, other: Any) -> Any:
        inputs = {"one": wr.group_by(one, "k", time="ts"), "other": wr.group_by(other, "k", time="ts")}
        return wr.cogroup(**inputs).windowed_by(SESSIONS).agg(**aggregates)

    return StreamDriver(both, {"one": one, "other": other})


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_a_column_of_any_type_may_be_left_out_also_of_several_inputs(kind: pa.DataType) -> None:
    driver = single(kind)
    driver.pipe(k="a", ts=NOON)
    driver.restore(driver.snapshot()).pipe(k="a", ts=NOON, v=None)
    both = of_inputs(of(kind), of(kind), n=wr.count("one.*"), v=wr.last("other.v"))
    rows = {"k": ["a"] * 4, "ts": pa.array([NOON] * 4, US), "of": ["one", "other", "other", "one"]}
    both.pipe_batch(pa.table({**rows, "v": pa.nulls(4, kind)}), input_column="of")
    for (final,) in (driver.finish(), both.finish()):
        assert final.values == {"n": 2, "v": None}


def test_rows_of_several_inputs_keep_their_values_and_their_order() -> None:
    kinds = pa.string_view(), pa.run_end_encoded(pa.int32(), pa.int64())
    numbers = pa.schema({"k": pa.string(), "ts": US, "w": kinds[1]})
    lists = {"texts": wr.collect_list("one.v"), "numbers": wr.collect_list("other.w")}
    driver = of_inputs(of(kinds[0]), numbers, **lists)
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 5], pa.int32()), pa.array([7, 8]))
    rows = {"k": ["a"] * 5, "ts": pa.array([NOON] * 5, US), "of": ["other", "one", "other", "other", "one"]}
    texts = pa.array([None, "x", None, None, "a longer text than a view holds"], kinds[0])
    driver.pipe_batch(pa.table({**rows, "v": texts, "w": runs}), input_column="of", rows=[4, 1])
    (final,) = driver.finish()
    assert final.values == {"texts": ["x", "a longer text than a view holds"], "numbers": [7, 8, 8]}


@pytest.mark.parametrize("rows", [None, 3], ids=str)
@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (pa.table({}), ValueError, "data: got 'k'"),
        (pa.schema({"k": pa.string()}).empty_table(), ValueError, "data: got 'ts'"),
        (pa.schema({"k": pa.int64(), "ts": US, "v": US}).empty_table(), TypeError, "data: column 'k' has type int64"),
        (pa.Table.from_batches([], of(US).set(1, pa.field("ts", pa.date32()))), TypeError, "data: column 'ts' has"),
    ],
)
def test_the_columns_of_no_rows_are_checked(data: pa.Table, kind: type[Exception], message: str, rows: Any) -> None:
    with pytest.raises(kind, match=message):
        single(US).pipe_batch(data, rows=rows)


@pytest.mark.parametrize("name", ["windrow.tick", "windrow.series", "windrow.op", "windrow.time"])
def test_a_data_column_has_no_name_of_the_driver(name: str) -> None:
    def last(data: Any) -> Any:
        return wr.group_by(data, "k", time="ts").windowed_by(SESSIONS).agg(v=wr.last(name))

    with pytest.raises(ValueError, match=f"^schema: got '{name}'; allowed: a name that does not begin with"):
        StreamDriver(last, pa.schema({"k": pa.string(), "ts": US, name: pa.int64()}))


def test_zones_and_units_are_other_names_of_the_same_times() -> None:
    zoned = pa.timestamp("us", "Europe/Berlin")
    east = NOON.replace(tzinfo=UTC)
    assert held(pa.array([east], pa.timestamp("s", "Asia/Tokyo")), zoned) == [east]
    assert held(pa.array([timedelta(days=1)], pa.duration("s")), pa.duration("ns")) == [timedelta(days=1)]


def test_a_function_gets_the_values_of_an_extension_type_also_after_a_restart() -> None:
    uuids = [UUID(int=number) for number in (1, 2, 3)]
    seen: list[UUID] = []

    def later(held: UUID, value: UUID) -> UUID:
        seen.extend((held, value))
        return value

    def reduced(data: Any) -> Any:
        return wr.group_by(data, "k", time="ts").windowed_by(SESSIONS).agg(v=wr.reduce("v", later))

    driver = StreamDriver(reduced, of(pa.uuid()))
    for uuid in uuids:
        rows = {"k": ["a"], "ts": pa.array([NOON], US), "v": pa.array([uuid.bytes], pa.uuid())}
        driver.pipe_batch(pa.table(rows))
        driver.restore(driver.snapshot())
    assert seen == [uuids[0], uuids[1], uuids[1], uuids[2]]


def test_truths_of_eight_bits_are_truths_to_functions() -> None:
    def last(data: Any) -> Any:
        one_or_other = wr.reduce("v", lambda held, value: (held, value)[1])
        return wr.group_by(data, "k", time="ts").windowed_by(SESSIONS).agg(v=one_or_other)

    schema = of(pa.bool8())
    driver = StreamDriver(last, schema)
    for value in (True, None, False):
        driver.pipe(k="a", ts=NOON, v=value)
        driver.restore(driver.snapshot())
    (final,) = driver.finish()
    assert final.values == {"v": False}
    with pytest.raises(TypeError, match="record: column 'v': got 1, an int; allowed: a bool"):
        driver.pipe(k="a", ts=NOON, v=1)
    truths = pa.array([1, 0, None, 1], pa.bool8())
    found = last(pa.table({"k": ["a", "b", "c", "a"], "ts": [NOON] * 4, "v": truths}))
    assert found.sort_by("k")["v"].to_pylist() == [True, False, None]
    assert found["v"].type == pa.bool8()


@pytest.mark.parametrize(("name", "emit"), [("op", "close"), ("time", "close"), ("time", "update")])
def test_a_key_or_a_computed_column_may_have_the_name_of_a_part_of_a_change(name: str, emit: Any) -> None:
    def single_change(key: str, result: str) -> Any:
        def doubled(data: Any) -> Any:
            windowed = wr.group_by(data, key, time="ts").windowed_by(SESSIONS).emit(emit)
            return windowed.agg(**{result: wr.count() * 2})

        driver = StreamDriver(doubled, pa.schema({key: pa.string(), "ts": US}))
        (*_, change) = [*driver.pipe(**{key: "delete", "ts": NOON}), *driver.finish()]
        (row,) = driver.read_table().to_pylist()
        assert (row[key], row[result]) == ("delete", 2)
        assert (change.kind, change.key, change.values) == (kind, {key: "delete"}, {result: 2})
        assert change.time == NOON

    kind = "final" if emit == "close" else "upsert"
    single_change(name, "n")
    single_change("k", name)
