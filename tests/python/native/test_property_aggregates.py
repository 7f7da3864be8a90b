"""Every aggregate over every type it is defined for equals the oracle, in-process, for both kinds of windows."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr

from ..harness.examples import usually
from ..harness.families import FAMILIES, Family, flags, often, some
from ..harness.tables import KINDS, Call, assert_windows, in_batches, rows_of
from ..scenes import keyed


@st.composite
def events(draw: st.DrawFn, family: Family) -> pa.Table:
    """Up to 24 events of two keys near time 0: ties, nulls, times before 1970, any order, any batches."""
    row = st.tuples(
        often(st.integers(1, 2)),
        st.integers(-30, 60) | st.integers(0, 8) | st.none(),
        often(family.values),
        often(st.integers(-2, 2)),
    )
    rows = draw(some(row, 24))
    keys, times, values, by = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [], [])
    ranks = pa.array(by, pa.int64())
    table = keyed(keys, times, x=pa.array(values, family.type), by=ranks, flag=flags(by))
    return in_batches(table, draw(st.lists(st.integers(0, 24), max_size=3)))


def answer(table: pa.Table, specs: dict[str, Call], kind: str = "session") -> pa.Table:
    """The answer of windrow, which is that of the oracle."""
    kept, oracle = KINDS[kind]
    aggregates = {name: aggregate.build(wr) for name, aggregate in specs.items()}
    result: pa.Table = wr.group_by(table, "k", time="ts").windowed_by(kept).agg(**aggregates)
    assert_windows(rows_of(result, ["k"]), table, ["k"], oracle, specs)
    return result


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FAMILIES)
def test_aggregates_equal_the_oracle(name: str, kind: str) -> None:
    family, leasts = FAMILIES[name], itertools.cycle((1, 2, 3))
    specs = family.aggregates()
    specs |= {f"{name} of some": replace(call, least=next(leasts)) for name, call in specs.items()}

    @usually(15)
    @given(events(family))
    def check(table: pa.Table) -> None:
        result = answer(table, specs, kind)
        assert {name: result.schema.field(name).type for name in family.result_types()} == family.result_types()
        assert all(result.schema.field(name).nullable for name in specs if name.endswith("of some"))

    check()


@pytest.mark.parametrize("sign", [1, -1])
def test_means_of_decimals_and_durations_are_rounded_half_away_from_zero(sign: int) -> None:
    # 32 values whose sum is one cent: 0.0003125, the half of the last digit
    cents = pa.array([Decimal(sign) / 100] + [Decimal("0.00")] * 31, pa.decimal128(10, 2))
    lengths = pa.array([timedelta(microseconds=16 * sign)] + [timedelta()] * 31, pa.duration("us"))
    table = keyed([1] * 32, [*range(32)], x=cents, d=lengths)
    aggregates = {"x": Call("mean", ("x",), digits=6), "d": Call("mean", ("d",))}
    result = answer(table, aggregates)
    assert result["x"].to_pylist() == [sign * Decimal("0.000313")]


def test_float_sums_keep_what_cancels() -> None:
    # what 64 bits alone lose: 1 between two huge numbers, tenths, a small spread around a large mean
    cases = {1: [1e16, 1.0, -1e16], 2: [0.1] * 10, 3: [1e8 + 2**-20, 1e8, 1e8 - 2**-20], 4: [1e300, 1.0, -1e300]}
    rows = [(key, at, value) for key, values in cases.items() for at, value in enumerate(values)]
    keys, times, values = (list(column) for column in zip(*rows, strict=True))
    table = keyed(keys, times, x=pa.array(values, pa.float64()))
    aggregates = {name: Call(name, ("x",)) for name in ("sum", "mean", "variance", "stddev_pop")}
    result = answer(table, aggregates)
    found = zip(result["k"].to_pylist(), result["sum"].to_pylist(), strict=True)
    assert dict(found) == {1: 1.0, 2: 1.0, 3: 3e8, 4: 1.0}


def test_the_largest_integers_are_summed_without_wrapping() -> None:
    # a sum of unsigned 64 bits is a decimal; one of signed 64 bits that does not fit fails and names its column
    windows = wr.SessionWindows.with_gap(timedelta(microseconds=5))
    unsigned = keyed([1, 1], [0, 1], x=pa.array([2**64 - 1, 1], pa.uint64()))
    total = wr.group_by(unsigned, "k", time="ts").windowed_by(windows).agg(total=wr.sum("x"))
    assert total["total"].to_pylist() == [Decimal(2**64)]
    signed = keyed([1, 1], [0, 1], x=pa.array([2**63 - 1, 1]))
    for kind in (windows, wr.SlidingWindows.with_time_difference("1 millisecond")):
        with pytest.raises(OverflowError, match='"total": the sum does not fit'):
            wr.group_by(signed, "k", time="ts").windowed_by(kind).agg(total=wr.sum("x"))


def test_a_percentile_whose_parts_cancel_is_next_to_zero() -> None:
    # 0.4 of -0.0003 and 0.6 of 0.0002; found by `make soak`
    values = pa.array([Decimal("0.0002"), Decimal("0.0002"), Decimal("-0.0003")], pa.decimal128(34, 4))
    answer(keyed([1] * 3, [0] * 3, x=values), {"p": Call("percentile", ("x",), percentage=0.3)})
