"""The types that the columns of a daily job had in the run before: which may grow, and which are refused.

A type may grow if all its values are values of the wider one and keep their canonical bytes in the core, which has the
same rule (`rust/plan/wider_types.rs`): then states, keys and shards stay what they were.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from windrow._plan.plan import Plan

_WITH_ARGUMENTS = re.compile(r"(timestamp|duration|decimal)\((-?\w+)(?:,(-?\w+))?\)")
_RANGES = {f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1)) for bits in (8, 16, 32, 64)} | {
    f"uint{bits}": (0, 2**bits) for bits in (8, 16, 32)
}
"""The least integer of a type, and the first that is too large. The core has other bytes for uint64."""
_DIGITS = 38


def types_of(earlier: Mapping[str, Any]) -> dict[str, pa.DataType]:
    """The types of the columns of a query, by its specification; without nested ones."""
    named_types = {name: named(text) for name, text in earlier.get("types", {}).items()}
    return {name: kind for name, kind in named_types.items() if kind is not None}


def time_type(earlier: Mapping[str, Any]) -> pa.DataType:
    """The type of times of a query, by its specification."""
    unit = earlier["time_type"].removeprefix("timestamp(").partition(",")[0]
    return pa.timestamp(unit, earlier["time_zone"])


def named(text: object) -> pa.DataType | None:
    """The type that the core names; None if it is nested."""
    found = _WITH_ARGUMENTS.fullmatch(str(text))
    try:
        if found is None:
            alias: Any = text
            return pa.type_for_alias(alias) if isinstance(text, str) else None
        groups: Any = found.groups()
        kind, first, second = groups
        if kind == "decimal":
            return pa.decimal128(int(first), int(second))
        return pa.duration(first) if kind == "duration" else pa.timestamp(first, None if second == "none" else second)
    except ValueError:
        return None


def plain(kind: Any) -> Any:
    """One type for those that the core gives one name."""
    if kind is not None and pa.types.is_dictionary(kind):
        kind = kind.value_type
    if isinstance(kind, pa.TimestampType) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    for name in ("string", "binary"):
        if str(kind) in (f"large_{name}", f"{name}_view"):
            return pa.type_for_alias(name)
    return kind


def is_wider(kind: Any, than: Any) -> bool:
    """Whether all values of a type are values of a wider one, with the same canonical bytes.

    >>> is_wider(pa.int64(), than=pa.uint32()), is_wider(pa.uint64(), than=pa.int64())
    (True, False)
    """
    kind, than = plain(kind), plain(than)
    if pa.types.is_decimal128(kind) and pa.types.is_decimal128(than):
        return bool(kind.scale == than.scale and than.precision < kind.precision <= _DIGITS)
    if pa.types.is_float64(kind):
        return pa.types.is_float32(than)
    wide, narrow = _RANGES.get(str(kind)), _RANGES.get(str(than))
    return wide is not None and narrow is not None and wide != narrow and wide[0] <= narrow[0] and narrow[1] <= wide[1]


def retyped(plan: Plan, kinds: Mapping[str, pa.DataType | None]) -> Plan:
    """The plan with these types of columns, except None."""
    fields = ((field, kinds.get(field.name)) for field in plan.schema)
    return replace(plan, schema=pa.schema([field if kind is None else field.with_type(kind) for field, kind in fields]))


def refused(
    error: ValueError, clock: str, schema: pa.Schema, time: str, cast: Callable[[str, pa.DataType], str | None]
) -> ValueError:
    """The error of a run that cannot continue a table, beginning with the column whose type is the reason.

    Args:
        error: the error of the core.
        clock: the clock row of the table, JSON.
        schema: the columns of the query.
        time: the column of times.
        cast: how to give a column another type, in the words of the library; None if nothing does.
    """
    earlier = json.loads(json.loads(clock)["specification"])
    kinds = types_of(earlier)
    said = {f'column "{name}" was ': name for name in earlier.get("types", {}) if name in schema.names}
    name = next((name for words, name in said.items() if words in str(error)), None)
    if "the type of the time column was " in str(error):
        name, kinds = time, {time: time_type(earlier)}
    if name is None or "are of another query" not in str(error):
        return error
    was = kinds.get(name)
    shown = earlier["types"][name] if was is None else was
    made = None if was is None or pa.types.is_null(was) else cast(name, was)
    allowed = f"a {was}" if name == time else f"{shown} or a wider type of the same kind"
    fixes = [allowed if made is None else f"{allowed}: {made}"]
    if made is None and name not in (time, *earlier["keys"], *(earlier["windows"].get("cut_on") or ())):
        # The states of a column without a type fit no other, but no window needs those of another name.
        others = "new names for the aggregates over it, which are then null in windows that are open now"
        fixes = [others] if shown == "null" or was == pa.null() else [*fixes, others]
    return ValueError(
        f"open: column {name!r} was {shown} in the run before, and is {plain(schema.field(name).type)} now; "
        f"allowed: {'; or '.join([*fixes, 'None to begin anew'])}"
    )
