"""Many values at once become the array that they become one by one, or are left to that."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow._folds.check import array_of, check_of
from windrow._folds.plain_values import plain_array

NESTED = pa.struct(
    [
        pa.field("n", pa.int8(), nullable=False),
        ("texts", pa.list_(pa.field("item", pa.string(), nullable=False))),
        ("deep", pa.list_(pa.struct([("x", pa.float64()), ("b", pa.binary())]))),
    ]
)
WILD = st.sampled_from([None, True, 1, -200, 2**40, 2.5, float("nan"), "a", b"b", bytearray(b"c"), [], [None], [1], {}])
ITEMS = st.fixed_dictionaries({"x": st.floats() | st.none(), "b": st.binary(max_size=3) | st.none()})
FITTING = st.fixed_dictionaries(
    {
        "n": st.integers(-128, 127),
        "texts": st.lists(st.text(max_size=3), max_size=3) | st.none(),
        "deep": st.lists(ITEMS | st.none(), max_size=3) | st.none(),
    }
)
ODD = st.fixed_dictionaries({"n": WILD, "texts": WILD | st.lists(WILD, max_size=2), "deep": WILD}, optional={"m": WILD})


def one_by_one(values: list[Any], kind: pa.DataType, like: object) -> pa.Array[Any] | None:
    try:
        return array_of(values, kind, check_of(kind, like))
    except (TypeError, ValueError):
        return None


@given(st.lists(FITTING, max_size=5))
def test_values_that_fit_are_the_same_array(values: list[Any]) -> None:
    plain, wanted = plain_array(values, NESTED), one_by_one(values, NESTED, None)
    assert plain is not None
    assert wanted is not None
    assert repr(plain.to_pylist()) == repr(wanted.to_pylist())
    plain.validate(full=True)


@given(st.lists(st.none() | FITTING | ODD | WILD, max_size=4))
def test_values_that_do_not_fit_are_left_to_the_check(values: list[Any]) -> None:
    plain, wanted = plain_array(values, NESTED), one_by_one(values, NESTED, None)
    assert plain is None or (wanted is not None and repr(plain.to_pylist()) == repr(wanted.to_pylist()))


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.bool_(), pa.float64(), pa.float32(), pa.string(), pa.binary()]
)
@given(values=st.lists(WILD, max_size=3))
def test_single_values_are_those_that_the_check_lets_pass(kind: pa.DataType, values: list[Any]) -> None:
    plain, wanted = plain_array(values, kind), one_by_one(values, kind, None)
    assert plain is None or (wanted is not None and repr(plain.to_pylist()) == repr(wanted.to_pylist()))


@pytest.mark.parametrize(
    ("value", "kind", "like"),
    [
        ([1], pa.list_(pa.int64()), set()),
        ({"a": 1}, pa.struct([("a", pa.int64())]), Counter()),
        ({"a": [1]}, pa.struct([("a", pa.list_(pa.int64()))]), {"a": ()}),
        (b"a", pa.binary(), bytearray()),
        ({"a": 1}, pa.map_(pa.string(), pa.int64()), Counter()),
        ([("a", 1)], pa.map_(pa.string(), pa.int64()), None),
        (Counter(a=1), pa.struct([("a", pa.int64())]), None),
        ({"a": 1, "b": 2}, pa.struct([("a", pa.int64())]), None),
        ([1], pa.list_(pa.int64(), 1), None),
        (None, pa.null(), None),
    ],
    ids=str,
)
def test_other_classes_and_types_are_left_to_the_check(value: Any, kind: pa.DataType, like: Any) -> None:
    assert plain_array([value], kind, like) is None


MAPS = {
    "of ints": (pa.map_(pa.string(), pa.int64()), {}, st.dictionaries(st.text(max_size=2), st.integers(0, 9))),
    "of a counter": (pa.map_(pa.string(), pa.int64()), Counter(), st.lists(st.sampled_from("abc")).map(Counter)),
    "of lists": (
        pa.map_(pa.int8(), pa.list_(pa.float64())),
        None,
        st.dictionaries(st.integers(0, 9), st.lists(st.floats(), max_size=2) | st.none()),
    ),
}


@pytest.mark.parametrize(("kind", "like", "fitting"), MAPS.values(), ids=MAPS)
@given(data=st.data())
def test_dicts_that_fit_are_the_same_maps(kind: Any, like: Any, fitting: Any, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | fitting, max_size=5))
    plain = plain_array(values, kind, like)
    assert plain is not None
    assert repr(plain.to_pylist()) == repr(array_of(values, kind, check_of(kind, like)).to_pylist())
    plain.validate(full=True)


@given(st.lists(st.none() | WILD | st.dictionaries(st.none() | st.text(max_size=1) | st.integers(), WILD), max_size=3))
def test_dicts_that_do_not_fit_are_left_to_the_check(values: list[Any]) -> None:
    for kind in (pa.map_(pa.string(), pa.int8()), pa.map_(pa.int64(), pa.field("value", pa.string(), nullable=False))):
        plain, wanted = plain_array(values, kind), one_by_one(values, kind, None)
        assert plain is None or (wanted is not None and repr(plain.to_pylist()) == repr(wanted.to_pylist()))
