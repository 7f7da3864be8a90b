"""Changes on their way to the last step of a stream: blocks of a bounded size, of the columns that it needs."""

from __future__ import annotations

import datetime
import decimal
import random
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow._executor.stream import change_block
from windrow._executor.stream.change_block import blocks_of, rows_of
from windrow._executor.stream.pack import pack
from windrow._executor.stream.query import StreamQuery
from windrow._executor.stream.shard import changes
from windrow._native import decode_changes

from ..harness.row_steps import LocalRows
from ..harness.steps import DictState, LocalStream

LARGEST = 256 << 10


def through(batch: pa.RecordBatch) -> list[tuple[int, int]]:
    """The rows of each block of a batch, and its bytes; together they are those of the batch, with any types."""
    blocks = list(blocks_of(batch))
    received = list(rows_of(iter([pa.record_batch([pa.array(blocks, pa.binary())], names=["block"])])))
    assert pa.Table.from_batches(received, batch.schema).equals(pa.table(batch), check_metadata=True)
    assert all(rows.schema.equals(batch.schema, check_metadata=True) for rows in received)
    return [(rows.num_rows, len(block)) for block, rows in zip(blocks, received, strict=True)]


def incompressible(draw: random.Random, rows: int) -> pa.Array[Any]:
    return pa.array([draw.getrandbits(63) for _ in range(rows)], pa.int64())


NOW = datetime.datetime(2026, 11, 24, tzinfo=datetime.UTC)
VALUES: dict[pa.DataType, Any] = {
    pa.int64(): lambda draw: draw.randrange(-(2**63), 2**63),
    pa.uint64(): lambda draw: draw.randrange(2**64),
    pa.int16(): lambda draw: draw.randrange(100),
    pa.float64(): lambda draw: draw.choice([0.0, -0.0, 1e300, float("inf")]),
    pa.bool_(): lambda draw: draw.random() < 0.5,
    pa.decimal128(38, 3): lambda draw: decimal.Decimal(draw.randrange(-(10**37), 10**37)).scaleb(-3),
    pa.date32(): lambda draw: datetime.date(1, 1, 1) + datetime.timedelta(days=draw.randrange(3_000_000)),
    pa.timestamp("us", "Europe/Berlin"): lambda draw: NOW + datetime.timedelta(seconds=draw.randrange(1_000_000)),
    pa.timestamp("ns", "+01:30"): lambda draw: draw.randrange(2**63),
    pa.timestamp("us"): lambda draw: draw.randrange(-(2**63), 2**63),
    pa.time64("us"): lambda draw: draw.randrange(86_400_000_000),
    pa.duration("us"): lambda draw: draw.randrange(300),
    pa.string(): lambda draw: draw.choice(["", "upsert", "delete", "é" * 40]),
    pa.large_string(): lambda draw: draw.choice(["", "upsert"]),
    pa.binary(): lambda draw: draw.randbytes(draw.randrange(9)),
    pa.binary(3): lambda draw: draw.randbytes(3),
    pa.null(): lambda _: None,
    pa.list_(pa.timestamp("us", "UTC")): lambda draw: [draw.randrange(99)] * draw.randrange(3),
    pa.map_(pa.string(), pa.int64()): lambda draw: [("a", draw.randrange(9))],
    pa.month_day_nano_interval(): lambda draw: (draw.randrange(9), -3, 2**62),
    pa.list_(pa.int64(), 2): lambda draw: [draw.randrange(9), None],
    pa.list_(pa.struct({"own": pa.struct({"n": pa.int64()})})): lambda draw: [{"own": {"n": draw.randrange(9)}}] * 2,
    pa.struct([]): lambda _: {},
    pa.struct({"n": pa.int64(), "at": pa.timestamp("ms"), "own": pa.struct({"text": pa.string()})}): lambda draw: {
        "n": draw.randrange(9),
        "at": draw.randrange(9),
        "own": {"text": draw.choice([None, "x"])},
    },
}


def column(draw: random.Random, kind: pa.DataType, rows: int) -> pa.Array[Any]:
    """Values of a type: any, or close ones, or one, with or without nulls, or nulls alone."""
    value = VALUES[kind]
    form = draw.choice(["any", "any", "one", "null", "close"])
    if form == "null":
        return pa.nulls(rows, kind)
    if form == "one":
        return pa.array([value(draw)] * rows, kind)
    if form == "close" and (pa.types.is_int64(kind) or pa.types.is_timestamp(kind) or pa.types.is_duration(kind)):
        least = draw.choice([-(2**63), -7, 2**63 - 2**33])
        span = draw.choice([0, 0xFF, 0x100, 0xFFFF, 0x10000, 0xFFFFFFFF, 0x100000000])
        drawn = pa.array([least + draw.choice([0, span]) for _ in range(rows)], pa.int64())
        return pa.Array.from_buffers(kind, rows, drawn.buffers())
    nulls = draw.choice([0, 0, 0.1, 0.9])
    return pa.array([None if draw.random() < nulls else value(draw) for _ in range(rows)], kind)


@pytest.mark.parametrize("rows", [1, 2, 15, 16, 17, 300])
@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_values_of_any_type_come_back(kind: pa.DataType, rows: int) -> None:
    for seed in range(10):
        draw = random.Random(f"{kind} {rows} {seed}")
        columns = [column(draw, kind, rows) for _ in range(draw.randrange(1, 4))]
        through(pa.record_batch(columns, names=[f"c{n}" for n in range(len(columns))]))


@pytest.mark.parametrize("seed", range(6))
def test_rows_of_any_columns_come_back_from_a_part_of_a_batch(seed: int) -> None:
    draw = random.Random(seed)
    columns = [column(draw, draw.choice([*VALUES]), 900) for _ in range(draw.randrange(1, 30))]
    batch = pa.record_batch(columns, names=[f"c{n}" for n in range(len(columns))])
    for _ in range(9):
        through(batch.slice(draw.randrange(900), draw.randrange(300)))


def test_what_is_said_of_rows_and_columns_comes_back() -> None:
    times = pa.field("at", pa.timestamp("us", "UTC"), nullable=False)
    fields = [
        pa.field("n", pa.int64(), nullable=False, metadata={"unit": "clicks"}),
        pa.field(
            "window", pa.struct([times.with_metadata({"bound": "start"}), times.with_name("end")]), nullable=False
        ),
        pa.field("op", pa.string(), nullable=False, metadata={"of": "window"}),
        pa.field("sum", pa.float64(), metadata={"unit": "EUR"}),
    ]
    one: list[list[Any]] = [[7], [{"at": 1, "end": 9}], ["delete"], [None]]
    columns = [pa.array(values, field.type) for values, field in zip(one, fields, strict=True)]
    schema = pa.schema(fields, metadata={"rows": "left out"})
    for rows in (1, 16):
        through(pa.record_batch([pa.concat_arrays([own] * rows) for own in columns], schema=schema))


@pytest.mark.parametrize("columns", [1, 20, 1_000])
def test_blocks_of_values_that_nothing_makes_shorter_have_at_most_256_kib(columns: int) -> None:
    draw = random.Random(columns)
    rows = [incompressible(draw, 100_000 // columns) for _ in range(columns)]
    found = through(pa.record_batch(rows, names=[f"c{n}" for n in range(columns)]))
    names = 200 * columns  # of the columns, and where the bytes of each are
    assert sum(size for _, size in found) >= 800_000
    assert all(size <= LARGEST + names for _, size in found)
    assert len(found) <= 8


@pytest.mark.parametrize(
    ("one", "bytes_of_one"),
    [
        (lambda row: {"n": row % 256}, 1),
        (lambda row: {"n": 10**15 + row % 65_536}, 2),
        (lambda row: {"n": 10**15 + row * 1_000}, 4),
        (lambda row: {"w": {"start": NOW + datetime.timedelta(seconds=row % 60)}}, 4),
        (lambda row: {"w": {"start": NOW + datetime.timedelta(microseconds=row % 256)}}, 1),
        (lambda row: {"n": row * 2**40, "more": row * 2**40 + row % 7}, 9),  # the second next to the first
        (lambda _: {"op": "delete"}, 0),
        (lambda row: {"n": row % 256, "sum": None, "name": None}, 1),
    ],
    ids=["1", "2", "4", "time", "close times", "beside", "op", "nulls"],
)
def test_values_take_as_few_bytes_as_hold_them(one: Any, bytes_of_one: int) -> None:
    rows = [one(row) for row in range(200_000)]
    schema = pa.RecordBatch.from_pylist(rows[:1]).schema
    kinds = {"sum": pa.float64(), "name": pa.string()}
    schema = pa.schema([pa.field(field.name, kinds.get(field.name, field.type)) for field in schema])
    found = through(pa.RecordBatch.from_pylist(rows, schema))
    assert sum(size for _, size in found) <= 200_000 * bytes_of_one + 2_000 * len(found)
    least = 4 + 200_000 * bytes_of_one // LARGEST  # a batch of rows is 65,536 of them, the first block of each is small
    assert len(found) <= 3 * least


@pytest.mark.parametrize(
    ("kind", "value", "is_shorter"),
    [
        (pa.string(), lambda draw, row: f"user-{row // 4:020}", True),
        (pa.string(), lambda draw, row: draw.randbytes(20).hex(), False),
        (pa.decimal128(38, 2), lambda draw, row: decimal.Decimal(draw.randrange(10_000)).scaleb(-2), True),
        (pa.float64(), lambda draw, row: draw.randrange(100) / 8, True),
        (pa.float64(), lambda draw, row: draw.random(), False),
        (pa.int64(), lambda draw, row: None if row % 50 == 0 else row % 1_000, True),
        (pa.int64(), lambda draw, row: row, False),  # short already
    ],
    ids=["texts", "random texts", "decimals", "few doubles", "doubles", "with nulls", "integers"],
)
def test_blocks_are_compressed_where_that_makes_them_a_third_shorter(kind: Any, value: Any, is_shorter: bool) -> None:
    draw = random.Random(0)
    batch = pa.record_batch([pa.array([value(draw, row) for row in range(50_000)], kind)], names=["v"])
    through(batch)
    for block in blocks_of(batch):
        written = pa.ipc.open_stream(block)
        body = sum(buffer.size for buffer in written.read_next_batch().column(0).buffers() if buffer)
        assert (len(block) < body * 2 / 3) == is_shorter


def test_what_pays_is_decided_again_among_many_blocks() -> None:
    draw = random.Random(0)
    texts = [draw.randbytes(1_000).hex() for _ in range(5_000)]  # 10 MB
    texts += ["x" * 2_000 + str(row % 3) for row in range(50_000)]  # 100 MB
    batch = pa.record_batch([pa.array(texts)], names=["v"])
    assert sum(size for _, size in through(batch)) < 20_000_000


def test_batches_have_at_most_2_mib_of_values_however_small_their_blocks_are() -> None:
    names = pa.array(["x" * 2_000] * 20_000)
    lists = pa.array([[7] * 500] * 20_000, pa.list_(pa.int64()))
    for values in (names, lists):
        batch = pa.record_batch([values], names=["v"])
        received = list(rows_of(iter([pa.record_batch([pa.array(blocks_of(batch), pa.binary())], names=["block"])])))
        assert sum(rows.num_rows for rows in received) == 20_000
        assert all(rows.nbytes <= 2 << 20 for rows in received)
        assert len(received) <= 2 * batch.nbytes // (2 << 20)


@pytest.mark.parametrize("kind", [pa.float64(), pa.int64()], ids=str)
@pytest.mark.parametrize("value", [None, 2**40])
def test_thousands_of_columns_are_in_blocks_of_many_values(kind: Any, value: int | None) -> None:
    columns = 3_000  # what is said of them is longer than a block
    rows = pa.array([None if value is None else value + row for row in range(300)], kind)
    found = through(pa.record_batch([rows] * columns, names=[f"c{n}" for n in range(columns)]))
    assert len(found) <= 2 * 300 * columns * 8 // LARGEST


def test_names_that_are_longer_than_a_block_do_not_cut_it_into_rows() -> None:
    names = [f"{n}{'x' * 5_000}" for n in range(100)]  # half a megabyte, in each block
    rows = pa.array(range(400), pa.int64())
    assert len(through(pa.record_batch([rows] * 100, names=names))) <= 2


def test_no_rows_are_no_block() -> None:
    assert through(pa.record_batch([pa.array([], pa.int64())], names=["n"])) == []


def test_rows_of_very_different_sizes_are_in_blocks_of_at_most_256_kib_or_alone() -> None:
    # ..|........X.X.........| : two rows of a megabyte among ten thousand of few bytes
    texts = ["x"] * 10_000
    draw = random.Random(0)
    texts[4_000] = texts[4_002] = draw.randbytes(1 << 19).hex()
    lists = [[1, 2]] * 9_999 + [[draw.getrandbits(62) for _ in range(200_000)]]
    batch = pa.record_batch([pa.array(texts), pa.array(lists, pa.list_(pa.int64()))], names=["text", "list"])
    found = through(batch.slice(1))
    assert all(rows == 1 or size <= LARGEST + 2_000 for rows, size in found)
    assert sum(size > LARGEST + 2_000 for _, size in found) == 3


def test_large_rows_between_small_ones_are_each_written_once_or_twice() -> None:
    draw = random.Random(0)
    texts = [text for _ in range(300) for text in ("x", draw.randbytes(150_000).hex())]  # all of them take minutes
    found = through(pa.record_batch([pa.array(texts)], names=["v"]))
    assert {rows for rows, _ in found} == {1}


def test_a_block_that_is_none_is_an_error() -> None:
    block = next(blocks_of(pa.record_batch([pa.array(range(20))], names=["n"])))
    for broken in (b"x", block[:40], block[:-400], block.replace(b"windrow.least", b"windrow.other")):
        with pytest.raises(ValueError, match="block of changes"):
            decode_changes(broken)


def definition(emit: Any, late: Any = "drop") -> Any:
    windows = wr.SessionWindows.with_gap("5 seconds", grace="1 second")

    def of(data: Any) -> Any:
        windowed = wr.group_by(data, "key", time="ts").windowed_by(windows)
        return windowed.emit(emit).late(late).agg(n=wr.count(), time=wr.max("v"))

    return of


@pytest.mark.parametrize(
    ("aggregates", "columns"),
    [
        (definition("close"), ["key", "window", "n", "time"]),
        (definition("close", "emit"), ["key", "window", "n", "time", "op"]),
        (definition("update"), ["key", "window", "n", "time", "op"]),
    ],
    ids=["close", "late", "update"],
)
def test_a_shard_gives_the_columns_of_the_result(aggregates: Any, columns: list[str]) -> None:
    schema = pa.schema([("key", pa.string()), ("ts", pa.timestamp("us")), ("v", pa.int64())])
    stream = LocalStream(aggregates, schema, shards=1)
    query, state, seen = StreamQuery(stream.shipment), DictState(), list[list[str]]()
    for start in (0, 60, 120):
        ts = datetime.datetime(2026, 11, 24) + datetime.timedelta(seconds=start)
        table = pa.table({"key": ["a", "b"], "ts": [ts, ts], "v": [1, 2]}, schema=schema)
        for block, _ in changes(stream.received([table])[0], state, query):
            seen += [pa.ipc.open_stream(block).schema.names] if block else []
    assert seen
    assert all(names == columns for names in seen)


@pytest.mark.parametrize(
    "windows",
    [
        wr.SessionWindows.with_gap("5 seconds", grace="1 second"),
        wr.SlidingWindows.with_time_difference("5 seconds", grace="1 second"),
    ],
    ids=["sessions", "sliding"],
)
def test_records_that_are_left_out_leave_in_small_blocks_too(windows: Any) -> None:
    schema = pa.schema([("key", pa.string()), ("ts", pa.timestamp("us")), ("url", pa.string())])
    stream = LocalRows(lambda data: wr.group_by(data, "key", time="ts").windowed_by(windows), schema)
    draw = random.Random(0)
    urls = [f"{draw.getrandbits(800):0200x}" for _ in range(10_000)]
    columns = [pa.nulls(10_000, pa.string()), pa.array([0] * 10_000, pa.timestamp("us")), pa.array(urls)]
    batch = pa.record_batch(columns, schema)
    packed = [row for rows in pack(iter([batch]), stream.shipment) for row in rows.to_pylist()]
    packed = [row for row in packed if row["source"] == "null"]
    blocks = pa.record_batch([pa.array([row["block"] for row in packed], pa.binary())], names=["block"])
    left_out = list(rows_of(iter([blocks])))
    assert [url for rows in left_out for url in rows.column("url").to_pylist()] == urls
    assert len(left_out) > 1
    assert all(len(row["block"]) <= LARGEST + 2_000 for row in packed)


def test_the_sequence_goes_on_over_blocks_and_begins_above_that_of_the_micro_batch_before() -> None:
    batches = [pa.record_batch({"n": range(count)}) for count in (2, 3, 1)]
    blocks = pa.record_batch([pa.array([block for batch in batches for block in blocks_of(batch)])], names=["block"])
    for number in (0, 7):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(change_block, "micro_batch", lambda number=number: number)
            schema = batches[0].schema.serialize().to_pybytes()
            rows = pa.Table.from_batches(change_block.unpack(iter([blocks]), schema, {}, sequence=True))
        assert rows["n"].to_pylist() == [0, 1, 0, 1, 2, 0]
        assert rows["sequence"].to_pylist() == [number * 2**32 + place for place in range(6)]


def test_in_a_batch_all_rows_have_one_sequence() -> None:
    moments = pa.array([0, 10_000_000, 20_000_000], pa.timestamp("us"))
    grouped = wr.group_by(pa.table({"key": ["a", "b", "b"], "ts": moments}), "key", time="ts")
    windowed = grouped.windowed_by(wr.SessionWindows.with_gap("1 second")).emit("update", sequence=True)
    assert windowed.agg(n=wr.count())["sequence"].to_pylist() == [0, 0, 0]
