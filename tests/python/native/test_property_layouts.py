"""Values of any Arrow layout, nested in any other, come back whole: carried, chosen, as keys, from day to day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

NINE = datetime(2026, 5, 4, 9)
GAP = wr.SessionWindows.with_gap("10 minutes")
CHOSEN = {"first": wr.first("v"), "last": wr.last("v"), "all": wr.collect_list("v")}
LEAVES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.null(), [None]),
    (pa.bool_(), [True, False]),
    (pa.int8(), [-128, 0]),
    (pa.uint64(), [0, 2**64 - 1]),
    (pa.float16(), [0.0, -0.0, float("inf")]),
    (pa.float64(), [0.0, -0.0, 1.5, float("nan")]),
    (pa.decimal32(7, 2), [Decimal("1.25"), Decimal("-99999.99")]),
    (pa.decimal64(15, 3), [Decimal("1.125"), Decimal("-1.000")]),
    (pa.decimal128(5, -2), [Decimal(100), Decimal(-500)]),
    (pa.decimal256(76, 10), [Decimal(10**40), Decimal("-5.5")]),
    (pa.string(), ["", "a"]),
    (pa.large_string(), ["", "ä"]),
    (pa.string_view(), ["", "a", "longer than twelve bytes"]),
    (pa.binary_view(), [b"", b"longer than twelve bytes"]),
    (pa.binary(3), [b"abc", b"\0\0\0"]),
    (pa.date32(), [date(2020, 1, 1), date(1, 1, 1)]),
    (pa.date64(), [date(2020, 1, 1), date(1969, 1, 1)]),
    (pa.time32("ms"), [0, 1]),
    (pa.time64("ns"), [1, 86_399_999_999_999]),
    (pa.timestamp("s", "Europe/Berlin"), [0, -1]),
    (pa.timestamp("ns"), [0, 1]),
    (pa.duration("ns"), [0, -1]),
    (pa.month_day_nano_interval(), [pa.MonthDayNano([1, 2, 3]), pa.MonthDayNano([0, 30, 0])]),
]


NO_KEYS = ("map<", "union<", "decimal256", "null")


class Layouts:
    """Random arrays."""

    def __init__(self, random: Random) -> None:
        self.random = random
        layouts = (
            self.struct,
            self.lists,
            self.views,
            self.pairs,
            self.map,
            self.dictionary,
            self.runs,
            self.extension,
        )
        self.layouts: list[Callable[[int, int], Any]] = [*layouts, self.union]

    def array(self, depth: int, rows: int) -> Any:
        """So many values, with others inside of them at most `depth` deep."""
        if depth and self.random.random() < 0.75:
            return self.random.choice(self.layouts)(depth - 1, rows)
        kind, values = self.random.choice(LEAVES)
        return pa.array([self.random.choice([*values, None]) for _ in range(rows)], kind)

    def sizes(self, rows: int) -> list[int]:
        return [self.random.randrange(3) for _ in range(rows)]

    def mask(self, rows: int) -> Any:
        return pa.array([self.random.random() < 0.2 for _ in range(rows)], pa.bool_())

    def struct(self, depth: int, rows: int) -> Any:
        parts = [self.array(depth, rows) for _ in range(self.random.randrange(1, 3))]
        fields = [pa.field(f"f{place}", part.type) for place, part in enumerate(parts)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=self.mask(rows))

    def lists(self, depth: int, rows: int) -> Any:
        ends = [0]
        for size in self.sizes(rows):
            ends.append(ends[-1] + size)
        make, width = self.random.choice([(pa.ListArray, pa.int32()), (pa.LargeListArray, pa.int64())])
        of_parts: Any = make.from_arrays
        return of_parts(pa.array(ends, width), self.array(depth, ends[-1]), mask=self.mask(rows))

    def views(self, depth: int, rows: int) -> Any:
        sizes = self.sizes(rows)
        starts = [self.random.randrange(3) for _ in sizes]
        make, width = self.random.choice([(pa.ListViewArray, pa.int32()), (pa.LargeListViewArray, pa.int64())])
        of_parts: Any = make.from_arrays
        return of_parts(pa.array(starts, width), pa.array(sizes, width), self.array(depth, 4), mask=self.mask(rows))

    def pairs(self, depth: int, rows: int) -> Any:
        return pa.FixedSizeListArray.from_arrays(self.array(depth, 2 * rows), 2, mask=self.mask(rows))

    def map(self, depth: int, rows: int) -> Any:
        ends = pa.array([*range(rows), rows], pa.int32())
        return pa.MapArray.from_arrays(ends, pa.array(["k"] * rows, pa.string()), self.array(depth, rows))

    def dictionary(self, depth: int, rows: int) -> Any:
        index = self.random.choice([pa.int8(), pa.uint32(), pa.int64()])
        codes = [self.random.choice([0, 1, 2, None]) for _ in range(rows)]
        return pa.DictionaryArray.from_arrays(pa.array(codes, index), self.without(depth, 3, "union"))

    def runs(self, depth: int, rows: int) -> Any:
        index = self.random.choice([pa.int16(), pa.int32(), pa.int64()])
        ends = pa.array(range(2, 2 * rows + 2, 2), index)
        skipped = self.random.randrange(rows + 1)
        runs = pa.RunEndEncodedArray.from_arrays(ends, self.without(depth, rows, "run_end_encoded", "extension"))
        return runs.slice(skipped, rows)

    def extension(self, depth: int, rows: int) -> Any:
        flags = pa.array([self.random.choice([0, 1, None]) for _ in range(rows)], pa.int8())
        storage = self.without(depth, rows, "extension")
        kinds: list[Any] = [(pa.bool8(), flags), (pa.opaque(storage.type, "name", "vendor"), storage)]
        return pa.ExtensionArray.from_storage(*self.random.choice(kinds))

    def union(self, depth: int, rows: int) -> Any:
        members = pa.array([self.random.randrange(2) for _ in range(rows)], pa.int8())
        parts = [self.without(depth, rows, "dictionary") for _ in range(2)]
        if self.random.random() < 0.5:
            return pa.UnionArray.from_sparse(members, parts, ["x", "y"])
        return pa.UnionArray.from_dense(members, pa.array(range(rows), pa.int32()), parts, ["x", "y"])

    def without(self, depth: int, rows: int, *names: str) -> Any:
        """An array in whose type layouts are not, because Arrow has no such nesting, or windrow refuses it."""
        found = self.array(depth, rows)
        return pa.array([None] * rows, pa.string()) if any(name in str(found.type) for name in names) else found


def shown(value: Any, *, compared: bool = False) -> str:
    """A value as text; `compared` if zeros are one value."""
    if isinstance(value, float):
        return repr(value + 0.0 if compared else value)
    if isinstance(value, dict):
        return str({name: shown(each, compared=compared) for name, each in value.items()})
    if isinstance(value, list | tuple):
        return str([shown(each, compared=compared) for each in value])
    return repr(value)


def table(values: Any) -> pa.Table:
    """Two users in turn, a second apart."""
    rows = len(values)
    times = pa.array([NINE + timedelta(seconds=second) for second in range(rows)], pa.timestamp("us"))
    return pa.table({"user": pa.array([row % 2 for row in range(rows)], pa.int64()), "ts": times, "v": values})


def check(values: Any) -> None:
    data, wanted = table(values), values.to_pylist()
    rows = {user: wanted[user::2] for user in (0, 1) if wanted[user::2]}

    def query(part: pa.Table, key: str = "user") -> Any:
        return wr.group_by(part, key, time="ts").windowed_by(GAP)

    def check_chosen(found: pa.Table) -> None:
        found.validate(full=True)
        chosen = {each["user"]: [shown(each[name]) for name in CHOSEN] for each in found.to_pylist()}
        expected = {user: (own[0], own[-1], [each for each in own if each is not None]) for user, own in rows.items()}
        assert chosen == {user: [*map(shown, each)] for user, each in expected.items()}

    carried = query(data).with_columns(n=wr.count())
    carried.validate(full=True)
    assert shown(carried["v"].to_pylist()) == shown(wanted)
    check_chosen(query(data).agg(**CHOSEN))
    check_chosen(query(data).to_reader(**CHOSEN).read_all())
    middle = len(values) // 2
    first = query(data[:middle]).advance(None, to=NINE + timedelta(seconds=middle), **CHOSEN)
    check_chosen(query(data[middle:]).advance(first.still_open, to="2026-05-05", **CHOSEN).closed)
    if len(values) and any(name in str(values.type) for name in NO_KEYS):
        return
    counted = query(data, "v").agg(n=wr.count())
    counted.validate(full=True)
    expected = Counter(shown(each, compared=True) for each in wanted if each is not None)
    found = [(shown(each["v"], compared=True), each["n"]) for each in counted.to_pylist()]
    assert sorted(found) == sorted(expected.items())


@given(st.randoms(use_true_random=False), st.integers(0, 7), st.integers(0, 3))
@pytest.mark.filterwarnings("ignore::windrow.LeftOut")
def test_any_values_of_any_layout_come_back_whole(random: Random, rows: int, skipped: int) -> None:
    check(Layouts(random).array(random.randrange(1, 4), rows + 3)[skipped : skipped + rows])


RUNS = pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), pa.array([1, 2]))
CODED = pa.array([1, 2, 1, None], pa.duration("s")).dictionary_encode()
CODES = pa.array([0, 1, 1, None], pa.int8())
FLAGS: Any = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, None, 1], pa.int8()))
UNION = pa.UnionArray.from_sparse(pa.array([0, 1, 0, 1], pa.int8()), [FLAGS, FLAGS])
VIEWS = pa.array([["a"], [], None, ["b"]], pa.list_view(pa.string_view()))
LISTS_OF_VIEWS = pa.array([[b"a"], [b"b"]], pa.list_(pa.binary_view()))


@pytest.mark.parametrize(
    "values",
    [
        RUNS,
        pa.StructArray.from_arrays([RUNS], ["x"]),
        pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), LISTS_OF_VIEWS),
        pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4], pa.int16()), UNION),
        pa.array([[("k", "a")], [], None, [("k", None)]], pa.map_(pa.string(), pa.string_view())),
        pa.array([Decimal(100), None, Decimal(-500), Decimal(0)], pa.decimal128(5, -2)),
        pa.DictionaryArray.from_arrays(CODES, pa.array([Decimal("1.5"), Decimal(2)], pa.decimal32(7, 1))),
        pa.DictionaryArray.from_arrays(CODES, CODED[:2]),
        pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), CODED[:1]),
        pa.DictionaryArray.from_arrays(CODES, pa.StructArray.from_arrays([CODED], ["x"])[:2]),
        pa.ExtensionArray.from_storage(pa.opaque(UNION.type, "name", "vendor"), UNION),
        pa.ListViewArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array([2, 1], pa.int32()), UNION),
        VIEWS,
        pa.array([], pa.list_view(pa.map_(pa.string(), pa.string()))),
    ],
    ids=lambda values: str(values.type),
)
def test_values_of_layouts_come_back_whole(values: Any) -> None:
    check(values)


def test_extensions_in_views_and_unions_are_the_same_type_on_each_day() -> None:
    # the metadata of their fields have no order
    for _ in range(6):
        check(pa.ListViewArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array([2, 1], pa.int32()), FLAGS))
        check(UNION)


@pytest.mark.parametrize(
    "values",
    [
        pa.DictionaryArray.from_arrays(CODES, UNION),
        pa.ListArray.from_arrays(pa.array([0, 2], pa.int32()), pa.DictionaryArray.from_arrays(CODES, UNION)),
        pa.UnionArray.from_sparse(pa.array([0, 1, 0, 1], pa.int8()), [CODED, CODED]),
    ],
    ids=["union in a dictionary", "in a list", "dictionary in a union"],
)
def test_a_dictionary_beside_a_union_is_carried_and_refused_as_a_value(values: Any) -> None:
    query = wr.group_by(table(values), "user", time="ts").windowed_by(GAP)
    assert query.with_columns(n=wr.count())["v"].to_pylist() == values.to_pylist()
    for aggregate in (wr.first("v"), wr.collect_list("v")):
        for run in (query.agg, partial(query.advance, None, to="2026-05-05")):
            with pytest.raises(
                TypeError, match='column "v" has type .*; allowed: types without a dictionary in a union'
            ):
                run(x=aggregate)
