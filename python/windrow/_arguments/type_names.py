"""The types of columns by the names that the core gives them in a specification (`rust/plan/state_query.rs`)."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa

from windrow._arguments.nested import LIST_MAKERS, inner_fields

_ALIASES = {"Boolean": "bool", "Utf8": "string", "LargeUtf8": "large_string", "Utf8View": "string_view"}
_ALIASES |= {"LargeBinary": "large_binary", "BinaryView": "binary_view"}
_MAKERS = {name.removesuffix("Type"): maker for name, maker in LIST_MAKERS.items()}
_MAKERS |= {"RunEndEncoded": "run_end_encoded", "FixedSizeBinary": "binary"}
_UNITS = {"Second": "s", "Millisecond": "ms", "Microsecond": "us", "Nanosecond": "ns"}
_PLAIN = re.compile(r"([a-z]+\d*)(?:\((-?\w+)(?:,(-?\w+))?\))?")
_DIGITS = 38


VIEWS: dict[str, pa.DataType] = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
"""The types that serve where pyarrow takes no views."""


def is_text(kind: pa.DataType) -> bool:
    """Whether values are text, in any of Arrow's layouts."""
    return str(kind) in ("string", "large_string", "string_view")


def is_number(kind: pa.DataType) -> bool:
    """Whether values are integers, floats or decimals."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def meanings(field: pa.Field[Any]) -> dict[tuple[Any, ...], tuple[str, str]]:
    """What Arrow's storage means: the names of extension types and their parameters, by the place in a column's type.

    Those of types that are not registered are in the metadata of fields.

    >>> tensor = pa.fixed_shape_tensor(pa.int8(), [2])
    >>> meanings(pa.field("t", pa.struct([("a", tensor)])))
    {('a',): ('arrow.fixed_shape_tensor', '[value_type=int8, shape=[2]]')}
    """
    kind: Any = field.type
    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    if isinstance(kind, pa.BaseExtensionType) and not isinstance(kind, pa.ExtensionType):  # of pyarrow itself
        return {(): (kind.extension_name, str(kind).removeprefix(f"extension<{kind.extension_name}")[:-1])}
    known = field.metadata or {}
    name, parameters = (known.get(f"ARROW:extension:{each}".encode(), b"") for each in ("name", "metadata"))
    if isinstance(kind, pa.ExtensionType):
        name, parameters = kind.extension_name.encode(), kind.__arrow_ext_serialize__()
    if name:
        return {(): (name.decode(), f", {parameters.decode('latin-1')}" if parameters else "")}
    inner = inner_fields(kind)
    places = [each.name for each in inner] if isinstance(kind, pa.StructType) else range(len(inner))
    return {
        (place, *rest): meaning
        for place, each in zip(places, inner, strict=True)
        for rest, meaning in meanings(each).items()
    }


def named(text: object) -> pa.DataType | None:
    """The type of a name; None if it has none, as a struct whose fields have no order.

    >>> named("list(struct(b:decimal(9,2),a:null))")
    ListType(list<item: struct<b: decimal128(9, 2), a: null>>)
    """
    try:
        kind, rest = _first(str(text))
    except (AttributeError, KeyError, IndexError, TypeError, ValueError, pa.ArrowException):
        return None  # a type that this pyarrow lacks, or fields with our separators in their names
    return None if rest else kind


def words(name: object) -> str:
    """The type of a name as errors call it: as pyarrow does, where `named` knows it.

    >>> words({"a": "decimal(9,2)", "b": "ListView(Field { data_type: Utf8View, nullable: true })"})
    'struct<a: decimal128(9, 2), b: list_view<item: string_view>>'
    """
    if isinstance(name, dict):  # of a struct, by its fields
        return f"struct<{', '.join(f'{field}: {words(kind)}' for field, kind in name.items())}>"
    kind = named(name)
    return str(name) if kind is None else str(kind)


def _first(text: str) -> tuple[Any, str]:
    """The type that a text begins with, and the rest."""
    if text[:1].isupper():
        node, rest = _node(text)
        return _of_core(node), rest
    head, _, rest = text.partition("(")
    if head in ("list", "array", "map"):
        inner, rest = _first(rest)
        end = re.match(r",(\d+)\)" if head == "array" else r"\)", rest)
        if end is None:
            raise ValueError(text)
        made: Any = (
            pa.map_(*(field.type for field in inner)) if head == "map" else pa.list_(inner, *map(int, end.groups()))
        )
        return made, rest[end.end() :]
    if head == "struct":
        fields = []
        while not rest.startswith(")"):
            name, rest = _name(rest.removeprefix(","))
            kind, rest = _first(rest)
            fields.append((name, kind))
        return pa.struct(fields), rest[1:]
    found = _PLAIN.match(text)
    if found is None:
        raise ValueError(text)
    return _plain(*found.groups()), text[found.end() :]


def _name(text: str) -> tuple[str, str]:
    """The name of a field, a JSON string if our signs are in it, and what follows its colon."""
    if not text.startswith('"'):
        name, _, rest = text.partition(":")
        return name, rest
    name, end = json.JSONDecoder().raw_decode(text)
    return name, text[end + 1 :]


def _plain(name: str, first: Any, second: Any) -> pa.DataType:
    if name.startswith("decimal"):
        width = name.removeprefix("decimal") or ("128" if int(first) <= _DIGITS else "256")
        of_digits: Any = getattr(pa, f"decimal{width}")
        kind: pa.DataType = of_digits(int(first), int(second))
        return kind
    if name == "timestamp":
        return pa.timestamp(first, None if second == "none" else second)
    if name == "duration":
        return pa.duration(first)
    if name == "time":
        return pa.time32(first) if first in ("s", "ms") else pa.time64(first)
    if first is not None:
        return pa.binary(int(first))
    alias: Any = name
    named_kind: pa.DataType = pa.type_for_alias(alias)
    return named_kind


def _node(text: str) -> tuple[Any, str]:
    """What a text in the core's own notation begins with, and the rest.

    A name is a pair of itself and what it has in brackets; a field is a dict.

    >>> _node('Map(Field { name: "entries", nullable: true }, false), 1')
    (('Map', [{'name': 'entries', 'nullable': ('true', [])}, ('false', [])]), ', 1')
    """
    if text.startswith('"'):
        value, end = json.JSONDecoder().raw_decode(text)
        return value, text[end:]
    name = "" if (found := re.match(r"-?\w+", text)) is None else found[0]
    rest, inner = text[len(name) :].removeprefix(" "), list[Any]()
    if rest[:1] not in "([{" or not rest:
        return (name, inner) if not name.lstrip("-").isdigit() else int(name), text[len(name) :]
    bracket, rest = rest[0], rest[1:].removeprefix(" ")
    while rest[:1] not in ")]}":
        key, rest = rest.split(": ", 1) if bracket == "{" else ("", rest)
        value, rest = _node(rest)
        inner.append((key, value) if key else value)
        rest = rest.removeprefix(", ").removeprefix(" ")
    return (dict(inner) if bracket == "{" else (name, inner) if name else inner), rest[1:]


def _of_core(node: Any) -> Any:
    """The type of a name in the core's own notation, which it has for types without a name of ours."""
    if isinstance(node, dict):
        kind = _of_core(node["data_type"])
        return pa.field(node.get("name", "item"), kind, nullable=node.get("nullable") == ("true", []))
    name, inner = node
    if name == "Struct":
        return pa.struct([*map(_of_core, *inner)])
    if name == "Map":
        entries = _of_core(inner[0]).type
        of_fields: Any = pa.map_
        return of_fields(*entries, inner[1] == ("true", []))
    if name == "Union":
        members, (mode, _) = inner
        of_members: Any = getattr(pa, f"{mode.lower()}_union")
        return of_members([_of_core(field) for _, field in members], [number for number, _ in members])
    if name == "RunEndEncoded":
        return pa.run_end_encoded(*(_of_core(field).type for field in inner))
    if name == "Dictionary":
        return pa.dictionary(*map(_of_core, inner))
    if name == "Interval":
        return pa.month_day_nano_interval()
    if name == "Timestamp":
        _, zone = inner[1]
        return pa.timestamp(_UNITS[inner[0][0]], *zone)
    if name in ("Duration", "Time32", "Time64"):
        return getattr(pa, name.lower())(_UNITS[inner[0][0]])
    made: Any = getattr(pa, _MAKERS.get(name, name.lower()), None) if inner else None
    if made is not None:
        return made(*(_of_core(each) if isinstance(each, dict) else each for each in inner))
    return _plain(_ALIASES.get(name, name.lower()), None, None)
