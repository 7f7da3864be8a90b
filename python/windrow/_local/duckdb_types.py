"""How each type of DuckDB crosses Arrow, and which of its values Arrow compares in another way.

| type | in Arrow | has |
|---|---|---|
| BIT | text | equality, order |
| UHUGEINT, BIGNUM, TIMETZ | text | equality |
| INTERVAL | text | |
| MAP, UNION, VARIANT | as DuckDB hands it over | |
| ENUM | alone as DuckDB hands it over, in other types text | equality |
| GEOMETRY | as DuckDB hands it over | equality |
| STRUCT, TUPLE, LIST, ARRAY | as its parts | equality, if they have it |
| all others | as DuckDB hands it over | equality, order |

DuckDB hands over a BIT with its padding, a TIMETZ without its offset, the upper half of UHUGEINT as negative numbers,
and long INTERVALs as others. Their text has the whole value. A nested type crosses with text in place of such parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._plan.input import Need

_TEXT = ("bit", "uhugeint", "bignum", "time with time zone", "interval")
_NO_EQUALITY = ("interval", "map", "union", "variant")
_NO_ORDER = (*_NO_EQUALITY, "uhugeint", "bignum", "time with time zone", "enum", "geometry")
_LIKE = {
    ("interval", "equality"): "epoch_us({})",
    ("interval", "order"): "epoch_us({})",
    ("interval", "number"): "epoch_us({})",
    ("time with time zone", "order"): "timetz_byte_comparable({})",
    ("enum", "order"): "enum_code({})",
    ("uhugeint", "number"): "CAST({} AS DOUBLE)",
    ("bignum", "number"): "CAST({} AS DOUBLE)",
}
"""Functions of DuckDB whose values Arrow compares as DuckDB compares these, or that are numbers."""


def crossing(kind: Any) -> str | None:
    """The type in which a column goes to Arrow; None for its own. `TypeError` if it cannot go there."""
    parts = {part.id for part in _parts(kind)}
    if "type" in parts:
        raise TypeError("DuckDB hands over no TYPE; CAST(... AS VARCHAR) makes text of it")
    repeated = repeated_name(kind)
    if repeated is not None and not parts.isdisjoint((*_TEXT, "enum")):
        raise TypeError(
            f"DuckDB has no cast of a STRUCT with two fields {repeated!r}, which a type in it needs; the query takes "
            "relation.to_arrow_table()"
        )
    in_text = (*_TEXT, "enum") if _children(kind) else _TEXT  # DuckDB reads the codes of an ENUM in another type
    if parts.isdisjoint(in_text):
        return None
    return _written(kind, None, lambda part, _: "VARCHAR" if part.id in in_text else str(part))


def with_text(kind: Any) -> str:
    """The type with VARCHAR in place of all types that Arrow has as text."""
    in_text = (*_TEXT, "enum", "uuid")
    return _written(kind, None, lambda part, _: "VARCHAR" if part.id in in_text or str(part) == "JSON" else str(part))


def in_microseconds(kind: Any) -> str:
    """The type with its times in microseconds, which have all casts of times."""
    zoned = "timestamptz_ns"
    names = dict.fromkeys(("timestamp_s", "timestamp_ms", "timestamp_ns"), "TIMESTAMP") | {zoned: "TIMESTAMPTZ"}
    return _written(kind, None, lambda part, _: names.get(part.id, str(part)))


def repeated_name(kind: Any) -> str | None:
    """The name that two fields of a STRUCT have, at any depth. DuckDB reads such a type from Arrow, not from SQL."""
    for part in _parts(kind):
        names = [name.casefold() for name, _ in part.children] if part.id == "struct" else []
        repeated = next((name for name, _ in _children(part) if names.count(name.casefold()) > 1), None)
        if repeated is not None:
            return repeated
    return None


def returned(kind: Any, column: Any) -> str:
    """The type of a result. Its ENUMs have the values that they lack: data of a day may lack keys of open windows."""
    return _written(kind, column, _with_values) if "ENUM(" in str(kind) else str(kind)


def meaning(kind: Any) -> str | None:
    """The type without the values of ENUMs, if Arrow has it as text or bytes that no other type reads.

    Parquet gives a GEOMETRY other parameters.
    """
    if {part.id for part in _parts(kind)}.isdisjoint((*_TEXT, "geometry")):
        return None
    return _written(kind, None, lambda part, _: part.id.upper() if part.id in ("enum", "geometry") else str(part))


def instead(kind: Any, need: Need, written: str) -> str | None:
    """What is allowed in place of a column of this type, which is `written` in SQL; None if it has what is needed."""
    lacking: tuple[str, ...] = {"equality": _NO_EQUALITY, "order": _NO_ORDER, "number": _TEXT}[need]
    parts = {part.id for part in _parts(kind)}
    is_ordered_apart = need == "order" and _children(kind)  # DuckDB puts nulls in a value last, the core first
    if parts.isdisjoint(lacking) and not is_ordered_apart:
        return None
    cast = _LIKE.get((kind.id, need))
    if cast is None and need == "number":
        return "a number"
    if cast is None:
        is_sorted = need == "order" and not parts & {"interval", "variant"}
        cast = "create_sort_key({}, 'ASC NULLS LAST')" if is_sorted else "CAST({} AS VARCHAR)"
    return f"a type with {need}: {cast.format(written)}" if need != "number" else f"a number: {cast.format(written)}"


def _children(kind: Any) -> list[tuple[str, Any]]:
    """The names and types of the parts of a nested type; none of any other."""
    if kind.id in ("struct", "tuple", "map"):
        return list(kind.children)
    if kind.id == "union":
        return list(kind.children[1:])  # the first is the tag
    return list(kind.children[:1]) if kind.id in ("list", "array") else []


def _parts(kind: Any) -> Iterator[Any]:
    """The type and all types in it."""
    yield kind
    for _, child in _children(kind):
        yield from _parts(child)


def _written(kind: Any, column: Any, leaf: Callable[[Any, Any], str]) -> str:
    """A type in SQL with its innermost types as `leaf` writes them, of the Arrow values of a column or None."""
    children = _children(kind)
    if not children:
        return leaf(kind, column)
    names = [f"{quoted(name)} " if kind.id in ("struct", "union") else "" for name, _ in children]
    columns = [None] * len(children) if column is None else _columns(kind, column)
    types = [_written(child, values, leaf) for (_, child), values in zip(children, columns, strict=True)]
    if kind.id in ("list", "array"):
        size = kind.children[1][1] if kind.id == "array" else ""
        return f"{types[0]}[{size}]"
    return f"{kind.id.upper()}({', '.join(name + child for name, child in zip(names, types, strict=True))})"


def _columns(kind: Any, column: Any) -> list[Any]:
    """The Arrow values of the parts of a nested column."""
    if kind.id in ("list", "array"):
        return [pc.list_flatten(column)]
    chunks, types = column.chunks, [column.type.field(place).type for place in range(column.type.num_fields)]
    if kind.id == "map":
        of_chunks = [[chunk.keys for chunk in chunks], [chunk.items for chunk in chunks]]
        types = [column.type.key_type, column.type.item_type]
    else:
        if kind.id != "union":
            chunks = [chunk.drop_null() for chunk in chunks]  # the parts of a null may have values
        of_chunks = [[chunk.field(place) for chunk in chunks] for place in range(len(types))]
    return [pa.chunked_array(*part) for part in zip(of_chunks, types, strict=True)]


def _with_values(kind: Any, column: Any) -> str:
    if kind.id != "enum":
        return str(kind)
    ((_, values),) = kind.children
    values = dict.fromkeys([*values, *column.unique().drop_null().to_pylist()])
    return f"ENUM({', '.join(literal(value) for value in values)})"


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"
