"""Families of value types, and the aggregates defined over each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from ..oracle.aggregates import EXACT
from .tables import Call

SHAPES = ("median", "skewness", "kurtosis", "product")
SPECIAL_FLOATS = [0.0, -0.0, float("nan"), float("nan"), float("inf"), float("-inf"), 1e300, -1e300, 1e-100, 0.1, 2.5]
WORDS = ["", "a", "b", "ab", "B", "ä", "zß", "𝄞", "\uffff", "a\0"]


@dataclass(frozen=True)
class Family:
    """A type with its values, the types of its sums and means (None if undefined), and whether it has an order."""

    type: pa.DataType
    values: st.SearchStrategy[Any]
    sum: pa.DataType | None = None
    mean: pa.DataType | None = None
    ordered: bool = True

    def aggregates(self) -> dict[str, Call]:
        """All aggregates defined over a column `x` of this family, ordered by an integer column `by`."""
        names = ["count", "first", "last", "any_value", "collect_list", "collect_set", "path"]
        names += ["min", "max"] if self.ordered else []
        names += ["sum"] if self.sum is not None else []
        names += ["mean"] if self.mean is not None else []
        names += ["mode"] if self.ordered else []
        names += ["count_distinct", "approx_count_distinct", *(["sum_distinct"] if self.sum is not None else [])]
        names += ["bool_and", "bool_or"] if pa.types.is_boolean(self.type) else []
        names += ["bit_and", "bit_or", "bit_xor"] if pa.types.is_integer(self.type) else []
        numbers = self.mean is not None and not pa.types.is_duration(self.mean)
        names += ["stddev", "stddev_pop", "variance", "var_pop", *SHAPES] if numbers else []
        digits = self.mean.scale if isinstance(self.mean, pa.Decimal128Type) else 0
        aggregates = {f"{name}_x": Call(name, ("x",), digits=digits) for name in names}
        aggregates |= {f"{name}_seen": Call(name, ("x",), ignore_nulls=True) for name in ("first", "last", "any_value")}
        aggregates |= {f"{name}_x": Call(name, ("x", "by")) for name in ("min_by", "max_by")}
        if self.ordered:
            aggregates |= {f"by_x_{name}": Call(name, ("by", "x")) for name in ("min_by", "max_by")}
        if self.ordered:
            aggregates["top_k_x"] = Call("top_k", ("x",), most=2)
        if numbers:
            aggregates["histogram_x"] = Call("histogram_numeric", ("x",), most=3)
            aggregates["percentile_x"] = Call("percentile", ("x",), percentage=0.3)
            aggregates["approx_percentile_x"] = Call("approx_percentile", ("x",), percentage=0.3)
            aggregates["approx_percentiles_x"] = Call("approx_percentile", ("x",), percentage=(0.0, 0.5, 1.0))
            aggregates["percentiles_x"] = Call("percentile", ("x",), percentage=(0.0, 0.9, 1.0))
            aggregates |= {f"{name}_x": Call(name, ("x", "by")) for name in ("covar_pop", "covar_samp", "corr")}
        aggregates["count_distinct_both"] = Call("count_distinct", ("by", "x"))
        # Each aggregate again, over the rows whose flag is true.
        aggregates |= {f"{name}_where": replace(each, where="flag") for name, each in aggregates.items()}
        return {"rows": Call("count"), "rows_where": Call("count", where="flag"), **aggregates}

    def result_types(self) -> Mapping[str, pa.DataType]:
        """The result type of each aggregate in pyarrow, which has no results of views."""
        kind = pa.large_string() if self.type == pa.string_view() else self.type
        types = {"count": pa.int64(), "rows": pa.int64(), "by_x": pa.int64(), "sum": self.sum, "mean": self.mean}
        types |= {"approx_count": pa.int64(), "approx_percentile_": kind}
        types |= {"approx_percentiles": pa.list_(pa.field("item", kind, nullable=False))}
        floats = ["stddev", "variance", "var_pop", "percentile_", "covar", "corr", *SHAPES]
        top_k = pa.struct([pa.field("item", kind), pa.field("count", pa.int64(), nullable=False)])
        bins = pa.struct([pa.field("x", kind, nullable=False), pa.field("y", pa.float64(), nullable=False)])
        types |= {"top_k": pa.list_(pa.field("item", top_k, nullable=False))}
        types |= {"histogram": pa.list_(pa.field("item", bins, nullable=False))}
        types |= {"path": pa.list_(pa.field("item", kind, nullable=False))}
        types |= {"percentiles": pa.list_(pa.field("item", pa.float64(), nullable=False))}
        types |= dict.fromkeys(floats, pa.float64())
        return {
            name: next((kind for prefix, kind in types.items() if name.startswith(prefix)), kind)
            for name in self.aggregates()
            if not name.startswith("collect")
        }


def flags(by: Iterable[int | None]) -> pa.BooleanArray:
    """A boolean column for an integer column, with true, false and null."""
    return pa.array([None if number is None else (True, False, None)[number % 3] for number in by], pa.bool_())


def signed(bits: int) -> st.SearchStrategy[int]:
    """Signed integers of `bits` bits, including extremes. Their sums do not overflow 64 bits."""
    edge = 2 ** (bits - 1) if bits < 64 else 2**57
    return st.integers(-5, 5) | st.integers(-edge, edge - 1)


def unsigned(bits: int) -> st.SearchStrategy[int]:
    """Unsigned integers of `bits` bits."""
    return st.integers(0, 5) | st.integers(0, 2 ** min(bits, 57) - 1)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    """Decimals of a precision and scale, including extremes."""
    edge = 10**precision - 1
    whole = st.integers(-5, 5) | st.integers(-edge, edge) | st.sampled_from([edge, -edge])
    return whole.map(lambda number: Decimal(number).scaleb(-scale, EXACT))


floats = st.integers(-50, 50).map(lambda n: n / 8) | st.floats(-1e6, 1e6).map(lambda x: round(x, 3))
special_floats = st.sampled_from(SPECIAL_FLOATS)
instants = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))
words = st.sampled_from(WORDS) | st.text(max_size=30)


def some(rows: st.SearchStrategy[Any], most: int, **options: Any) -> st.SearchStrategy[list[Any]]:
    """Lists of rows with a maximum length. Long lists are as likely as short ones."""
    return st.integers(0, most).flatmap(lambda size: st.lists(rows, min_size=size // 2, max_size=size, **options))


def often(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values, of which about one in five is null."""
    return st.integers(0, 4).flatmap(lambda kind: values if kind else st.none())


FAMILIES: dict[str, Family] = {
    "int8": Family(pa.int8(), signed(8), pa.int64(), pa.float64()),
    "int16": Family(pa.int16(), signed(16), pa.int64(), pa.float64()),
    "int32": Family(pa.int32(), signed(32), pa.int64(), pa.float64()),
    "int64": Family(pa.int64(), signed(64), pa.int64(), pa.float64()),
    "uint8": Family(pa.uint8(), unsigned(8), pa.int64(), pa.float64()),
    "uint32": Family(pa.uint32(), unsigned(32), pa.int64(), pa.float64()),
    "float32": Family(pa.float32(), st.floats(-1e4, 1e4, width=32), pa.float64(), pa.float64()),
    "float64": Family(pa.float64(), floats, pa.float64(), pa.float64()),
    "special floats": Family(pa.float64(), special_floats, pa.float64(), pa.float64()),
    "decimal": Family(pa.decimal128(10, 2), decimals(10, 2), pa.decimal128(20, 2), pa.decimal128(14, 6)),
    "wide decimal": Family(pa.decimal128(34, 4), decimals(34, 4), pa.decimal128(38, 4), pa.decimal128(38, 8)),
    "boolean": Family(pa.bool_(), st.booleans()),
    "string": Family(pa.string(), words),
    "large string": Family(pa.large_string(), words),
    "string view": Family(pa.string_view(), words),
    "binary": Family(pa.binary(), st.binary(max_size=20)),
    "date": Family(pa.date32(), st.dates(date(1, 1, 1), date(9999, 12, 31))),
    "timestamp": Family(pa.timestamp("us"), instants),
    "zoned timestamp": Family(pa.timestamp("us", "Europe/Berlin"), instants.map(lambda at: at.replace(tzinfo=UTC))),
    "duration": Family(
        pa.duration("us"),
        st.integers(-(10**12), 10**12).map(lambda us: timedelta(microseconds=us)),
        pa.duration("us"),
        pa.duration("us"),
    ),
    "list": Family(pa.list_(pa.int32()), st.lists(st.integers(-3, 3) | st.none(), max_size=3), ordered=False),
    "struct": Family(
        pa.struct([("a", pa.int64()), ("b", pa.string())]),
        st.fixed_dictionaries({"a": st.integers(-3, 3) | st.none(), "b": words | st.none()}),
        ordered=False,
    ),
}
