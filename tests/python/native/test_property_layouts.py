"""Values of any Arrow layout, nested in any other, come back whole: carried, chosen, as keys, from day to day."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

from ..harness.examples import usually
from ..harness.layouts import CARRIED, OF_ALL_KINDS, columns

NINE = datetime(2026, 5, 4, 9)
GAP = wr.SessionWindows.with_gap("10 minutes")
CHOSEN = {"first": wr.first("v"), "last": wr.last("v"), "all": wr.collect_list("v")}
NO_KEYS = ("map<", "union<", "decimal256", "null")


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
    kind = str(values.type)
    if len(values) and any(name in kind for name in NO_KEYS):
        return
    counted = query(data, "v").agg(n=wr.count())
    counted.validate(full=True)
    expected = Counter(shown(each, compared=True) for each in wanted if each is not None)
    found = [(shown(each["v"], compared=True), each["n"]) for each in counted.to_pylist()]
    assert sorted(found) == sorted(expected.items())


@usually(200)
@given(st.integers(0, 7).flatmap(lambda rows: columns(rows, CARRIED, OF_ALL_KINDS)))
def test_any_values_of_any_layout_come_back_whole(values: Any) -> None:
    check(values)


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
        pa.ExtensionArray.from_storage(pa.opaque(VIEWS.type, "name", "vendor"), VIEWS),
        pa.RunEndEncodedArray.from_arrays(
            pa.array([4], pa.int32()), pa.ExtensionArray.from_storage(pa.opaque(RUNS.type, "name", "vendor"), RUNS)[:1]
        ),
        pa.ListViewArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array([2, 1], pa.int32()), UNION),
        pa.UnionArray.from_sparse(
            CODES[:3], [pa.RunEndEncodedArray.from_arrays(pa.array([3], pa.int32()), RUNS[:1])] * 2
        ),
        VIEWS,
        pa.ListViewArray.from_arrays(
            pa.array([1], pa.int32()), pa.array([0], pa.int32()), pa.StructArray.from_arrays([FLAGS], ["x"])
        ),
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
