"""Columns of random nested types, in any layout that Arrow has."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import accumulate
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

TEXTS = ["a", "b", "", "a text that is longer than a view holds"]
LEAF = "leaf"
LEAVES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.string(), TEXTS),
    (pa.large_string(), TEXTS),
    (pa.binary(), [text.encode() for text in TEXTS]),
    (pa.int64(), [0, 1, -(2**63)]),
    (pa.decimal128(20, 2), [Decimal("0.01"), Decimal("-9.99")]),
    (pa.duration("ms"), [timedelta(0), timedelta(days=-1)]),
    (pa.timestamp("ms", "UTC"), [datetime(2026, 1, 1, tzinfo=UTC), datetime(1969, 1, 1, tzinfo=UTC)]),
]
OF_ALL_KINDS: list[tuple[pa.DataType, list[Any]]] = [
    *LEAVES,
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
LISTS = {
    "list": (pa.ListArray, pa.list_, pa.int32()),
    "large list": (pa.LargeListArray, pa.large_list, pa.int64()),
    "list view": (pa.ListViewArray, pa.list_view, pa.int32()),
    "large list view": (pa.LargeListViewArray, pa.large_list_view, pa.int64()),
}
KEYS = [LEAF, "struct", *LISTS, "fixed-size list", "dictionary", "runs", "view"]
VALUES = [*KEYS, "map", "extension"]
CARRIED = [*KEYS, "map", "opaque", "union"]
"""Without what needs an extension type of its own. A union has no dictionary in it, and no dictionary has a union."""
DEEPEST = 3


class Marked(pa.ExtensionType):
    """An extension over a struct."""

    def __init__(self) -> None:
        super().__init__(pa.struct([("x", pa.string())]), "test.marked")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, _storage: pa.DataType, _serialized: bytes) -> Marked:
        return cls()


@st.composite
def columns(
    draw: st.DrawFn, rows: int, kinds: list[str], leaves: list[Any] = LEAVES, depth: int = DEEPEST
) -> pa.Array[Any]:
    """Values of a random type. They may begin and end within their buffers, and be declared never null."""
    before, after = (draw(st.integers(0, 2)), draw(st.integers(0, 1))) if rows else (0, 0)
    count = before + rows + after
    kind = draw(st.sampled_from(kinds if depth else [LEAF]))

    def drawn(values: list[Any], length: int = count) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=length, max_size=length))

    def inner(length: int, *without: str) -> pa.Array[Any]:
        return draw(columns(length, [each for each in kinds if each not in without], leaves, depth - 1))

    def field(name: str, values: pa.Array[Any]) -> pa.Field[Any]:
        has_null = pa.types.is_null(values.type) or None in values.to_pylist()
        return pa.field(name, values.type, nullable=has_null or draw(st.booleans()))

    def offsets(type: pa.DataType = pa.int32()) -> pa.Array[Any]:  # noqa: B008
        return pa.array([0, *accumulate(drawn(draw(st.sampled_from([[0], [0, 1, 2]]))))], type)

    def made() -> Any:
        mask = pa.array(drawn(draw(st.sampled_from([[False], [False, False, True]]))), pa.bool_())
        if kind == LEAF:
            of, values = draw(st.sampled_from(leaves))
            return pa.array(drawn(draw(st.sampled_from([values, [None, *values]]))), of)
        if kind == "view":
            return pa.array(drawn([None, *TEXTS])).cast(draw(st.sampled_from([pa.string_view(), pa.binary_view()])))
        if kind == "struct":
            parts = {name: inner(count) for name in ("x", "y")}
            return pa.StructArray.from_arrays([*parts.values()], fields=[*map(field, parts, parts.values())], mask=mask)
        if "list view" in kind:
            of, made_of, numbers = LISTS[kind]
            starts, sizes = (pa.array(drawn([0, 1, 2]), numbers) for _ in range(2))
            elements = inner(4)
            return of.from_arrays(starts, sizes, elements, type=made_of(field("item", elements)), mask=mask)
        if kind in LISTS:
            of, made_of, numbers = LISTS[kind]
            ends = offsets(numbers)
            elements = inner(ends[-1].as_py())
            return of.from_arrays(ends, elements, type=made_of(field("item", elements)), mask=mask)
        if kind == "fixed-size list":
            elements = inner(2 * count)
            return pa.FixedSizeListArray.from_arrays(elements, type=pa.list_(field("item", elements), 2), mask=mask)
        if kind == "map":
            ends = offsets()
            names: Any = pa.array([f"k{place}" for place in range(ends[-1].as_py())], pa.string())
            if "dictionary" in kinds and draw(st.booleans()):
                names = names.dictionary_encode()
            values = inner(len(names))
            return pa.MapArray.from_arrays(ends, names, values, pa.map_(names.type, field("value", values)))
        if kind == "dictionary":
            index, ordered = draw(st.sampled_from([pa.int8(), pa.uint16(), pa.int64()])), draw(st.booleans())
            return pa.DictionaryArray.from_arrays(
                pa.array(drawn([None, 0, 1, 2]), index), inner(3, "union"), ordered=ordered
            )
        if kind == "runs":
            ends = pa.array(accumulate(drawn([1, 2])), draw(st.sampled_from([pa.int16(), pa.int32(), pa.int64()])))
            return pa.RunEndEncodedArray.from_arrays(ends, inner(count))
        if kind == "opaque":
            storage = inner(count, "opaque")
            flags: Any = pa.ExtensionArray.from_storage(pa.bool8(), pa.array(drawn([0, 1, None]), pa.int8()))
            kept = pa.ExtensionArray.from_storage(pa.opaque(storage.type, "name", "vendor"), storage)
            return draw(st.sampled_from([flags, kept]))
        if kind == "union":
            members, parts = pa.array(drawn([0, 1]), pa.int8()), [inner(count, "dictionary") for _ in range(2)]
            sparse = pa.UnionArray.from_sparse(members, parts, ["x", "y"])
            return draw(
                st.sampled_from(
                    [sparse, pa.UnionArray.from_dense(members, pa.array(range(count), pa.int32()), parts, ["x", "y"])]
                )
            )
        return pa.ExtensionArray.from_storage(
            Marked(), pa.array([{"x": text} for text in drawn(TEXTS)], Marked().storage_type)
        )

    return made()[before : before + rows]
