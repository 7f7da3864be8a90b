"""The types that the columns of a daily job had in the run before: which may grow, and which are refused.

A type may grow if all its values are values of the wider one and keep their canonical bytes in the core, which has the
same rule (`rust/plan/wider_types.rs`): then states, keys and shards stay what they were.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from windrow._arguments.nested import inner_fields, with_inner
from windrow._arguments.type_names import is_number, named, words
from windrow._plan.plan import Plan

_RANGES = {f"int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1)) for bits in (8, 16, 32, 64)} | {
    f"uint{bits}": (0, 2**bits) for bits in (8, 16, 32)
}
"""The least integer of a type, and the first that is too large. The core has other bytes for uint64."""
_DIGITS = 38
_WIDTHS = ("decimal32", "decimal64", "decimal128")
"""The layouts of keys that are decimals. Only those of 128 bits may grow: the bytes of a key depend on its width."""


def query_of(clock: str) -> dict[str, Any]:
    """The query of a table of open windows, by its clock row: the specification, and the layouts of nested columns."""
    row = json.loads(clock)
    return {**json.loads(row["specification"]), "layouts": row.get("layouts", {})}


def types_of(earlier: Mapping[str, Any]) -> dict[str, pa.DataType]:
    """The types of the columns of a query, as far as their names say them."""
    names, layouts = earlier.get("types", {}), earlier["layouts"]
    widths = {name: names[name].replace("decimal", layout) for name, layout in layouts.items() if layout in _WIDTHS}
    named_types = {name: named(text) for name, text in {**names, **layouts, **widths}.items()}
    return {name: kind for name, kind in named_types.items() if kind is not None}


def time_type(earlier: Mapping[str, Any]) -> pa.DataType:
    """The type of times of a query, by its specification."""
    unit = earlier["time_type"].removeprefix("timestamp(").partition(",")[0]
    return pa.timestamp(unit, earlier["time_zone"])


def plain(kind: Any) -> Any:
    """One type for those that the core gives one name."""
    while isinstance(kind, (pa.DictionaryType, pa.RunEndEncodedType, pa.BaseExtensionType)):
        kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind.value_type
    if isinstance(kind, pa.TimestampType) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    for name in ("string", "binary"):
        if str(kind) in (f"large_{name}", f"{name}_view"):
            return pa.type_for_alias(name)
    return kind


def is_wider(kind: Any, than: Any) -> bool:
    """Whether all values of a type are values of a wider one, with the same canonical bytes in that type.

    >>> is_wider(pa.int64(), than=pa.uint32()), is_wider(pa.uint64(), than=pa.int64())
    (True, False)
    """
    kind, than = plain(kind), plain(than)
    if pa.types.is_decimal(kind) and pa.types.is_decimal(than):
        is_narrower = than.precision < kind.precision or than.bit_width < kind.bit_width
        has_width = kind.bit_width in (128, than.bit_width)  # not all libraries have decimals of other widths
        return bool(has_width and is_narrower and kind.scale == than.scale and than.precision <= kind.precision)
    if pa.types.is_float64(kind):
        return pa.types.is_float32(than)
    wide, narrow = _RANGES.get(str(kind)), _RANGES.get(str(than))
    return wide is not None and narrow is not None and wide != narrow and wide[0] <= narrow[0] and narrow[1] <= wide[1]


def _wider(kind: Any) -> list[str]:
    """The wider types of a type, in words."""
    if pa.types.is_decimal(kind):
        may_grow = pa.types.is_decimal128(kind) and kind.precision < _DIGITS
        return [f"a decimal of scale {kind.scale} with more digits in 128 bits"] if may_grow else []
    wider = {"a wider integer of at most 64 bits": pa.int64(), "a double": pa.float64()}
    return [words for words, each in wider.items() if is_wider(each, kind)]


def filled(kind: Any, earlier: Any) -> Any:
    """A type with the earlier one's types in place of its nulls, and its order of fields; None if it differs elsewhere.

    >>> filled(pa.list_(pa.null()), pa.list_(pa.int64()))
    ListType(list<item: int64>)
    """
    if pa.types.is_null(kind):
        return earlier
    fields, others = inner_fields(kind), inner_fields(earlier)
    if not fields:
        return kind if plain(kind) == plain(earlier) else None
    is_alike = all(is_of(kind) == is_of(earlier) for is_of in (pa.types.is_struct, pa.types.is_map))
    if not is_alike or len(fields) != len(others):
        return None
    if not pa.types.is_struct(kind):
        types = [filled(field.type, other.type) for field, other in zip(fields, others, strict=True)]
        rest = iter(types)
        return None if None in types else with_inner(kind, lambda field: field.with_type(next(rest)))
    own = {field.name: field for field in fields}
    if sorted(own) != sorted(field.name for field in others):
        return None
    types = [filled(own[field.name].type, field.type) for field in others]
    made = zip(others, types, strict=True)
    return None if None in types else pa.struct([own[field.name].with_type(of_field) for field, of_field in made])


def arranged(kind: Any, own: Any) -> Any:
    """A type with the fields of its structs in the order of `own`, where both have the same names.

    >>> arranged(pa.struct({"a": pa.int64(), "b": pa.int64()}), pa.struct({"b": pa.int8(), "a": pa.int8()}))
    StructType(struct<b: int64, a: int64>)
    """
    fields = inner_fields(own)
    if not isinstance(kind, pa.StructType):
        rest = iter(fields)
        return with_inner(kind, lambda field: field.with_type(arranged(field.type, next(rest, field).type)))
    types = {field.name: field.type for field in fields}
    made = {field.name: field.with_type(arranged(field.type, types.get(field.name, field.type))) for field in kind}
    return pa.struct([made[name] for name in (types if types.keys() == made.keys() else made)])


def retyped(plan: Plan, kinds: Mapping[str, pa.DataType | None]) -> Plan:
    """The plan with these types of columns, except None."""
    fields = ((field, kinds.get(field.name)) for field in plan.schema)
    return replace(plan, schema=pa.schema([field if kind is None else field.with_type(kind) for field, kind in fields]))


def refused(
    error: ValueError,
    clock: str,
    schema: pa.Schema,
    time: str,
    cast: Callable[[str, pa.DataType], str | None],
    *,
    anew: str = "None to begin anew",
    of_library: Callable[[str, pa.DataType, pa.DataType], tuple[str, str] | None] = lambda *_: None,
) -> ValueError:
    """The error of a run that cannot continue a table, beginning with the column whose type is the reason.

    Args:
        error: the error of the core.
        clock: the clock row of the table, JSON.
        schema: the columns of the query.
        time: the column of times.
        cast: how to give a column another type, in the words of the library; None if nothing does.
        anew: how to begin without the table.
        of_library: the library's names of a column's earlier type and its own one; None if they are Arrow's.
    """
    earlier = query_of(clock)
    kinds = types_of(earlier)
    typed = [name for name in earlier.get("types", {}) if name in schema.names]
    said = [(f'column "{name}{end}', name) for end in ('" was ', ".") for name in typed]  # the second of a field
    name = next((name for text, name in said if text in str(error)), None)
    if "the type of the time column was " in str(error):
        name, kinds = time, {time: time_type(earlier)}
    if name is None:  # the core lets digits of these keys grow, but then takes their bytes for changed ones
        keys = [key for key in earlier["keys"] if str(kinds.get(key)).startswith(("decimal32", "decimal64"))]
        name = next((key for key in keys if key in schema.names and plain(schema.field(key).type) != kinds[key]), None)
    elif "are of another query" not in str(error):
        return error
    if name is None:
        return error
    was = kinds.get(name)
    kind = schema.field(name).type
    shown = words(earlier["types"].get(name)) if was is None else str(was)
    is_own = plain(kind) == was or pa.types.is_run_end_encoded(kind) or pa.types.is_timestamp(kind)
    is_own = is_own or isinstance(kind, pa.BaseExtensionType)
    now = _of_values(kind if is_own else plain(kind))
    shown, now = (None if was is None else of_library(name, was, now)) or (shown, str(now))
    has_nulls = was is not None and _has_nulls(was)
    made = None if was is None or has_nulls or not has_cast(arranged(was, kind), kind) else cast(name, was)
    allowed = f"a {shown}" if name == time else shown
    fixes = [allowed if made is None else f"{allowed}: {made}", *([] if was is None else _wider(was))]
    if made is None and name not in (time, *earlier["keys"], *(earlier["windows"].get("cut_on") or ())):
        # The states of a column without a type fit no other, but no window needs those of another name.
        others = "new names for the aggregates over it, which are then null in windows that are open now"
        fixes = [others] if has_nulls else [*fixes, others]
    return other_type(name, shown, now, "; or ".join(fixes), anew)


def other_type(column: str, was: str, now: str, allowed: str, anew: str = "None to begin anew") -> ValueError:
    """The error of a column that had another type in the run before."""
    return ValueError(
        f"open: column {column!r} was {was} in the run before, and is {now} now; allowed: {allowed}; or {anew}"
    )


def has_cast(kind: Any, own: Any) -> bool:
    """Whether a type may be made of another one: it means the same, or is written as text.

    A number is no time, because its unit is unknown. Only integers have the same text in all libraries.

    >>> has_cast(pa.string(), pa.int64()), has_cast(pa.string(), pa.duration("s")), has_cast(pa.int64(), pa.string())
    (True, False, True)
    """
    kind, own = plain(kind), plain(own)
    parts, others = inner_fields(kind), inner_fields(own)
    if parts or others:
        pairs = zip(parts, others, strict=False)
        return len(parts) == len(others) and all(has_cast(one.type, other.type) for one, other in pairs)
    if own in (pa.string(), pa.null()):
        return True
    if kind == pa.string():
        return bool(pa.types.is_integer(own) or pa.types.is_binary(own))
    return _sort(kind) == _sort(own)


def _sort(kind: Any) -> str:
    if is_number(kind) or kind == pa.bool_():
        return "number"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return "instant"
    return str(kind).partition("[")[0].removeprefix("fixed_size_").rstrip("3264")


def _of_values(kind: Any) -> Any:
    """A type as errors name it: with values in place of dictionaries, which Polars and pandas call otherwise."""
    if pa.types.is_dictionary(kind):
        return _of_values(kind.value_type)
    return with_inner(kind, lambda field: field.with_type(_of_values(field.type)))


def _has_nulls(kind: Any) -> bool:
    """Whether a type, or one inside of it, has no values."""
    return pa.types.is_null(kind) or any(_has_nulls(field.type) for field in inner_fields(kind))
