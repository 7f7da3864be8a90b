"""The types of columns by the names that the core gives them in a specification (`rust/plan/state_query.rs`)."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa

_PLAIN = re.compile(r"([a-z]+\d*)(?:\((-?\w+)(?:,(-?\w+))?\))?")
_DIGITS = 38


def named(text: object) -> pa.DataType | None:
    """The type of a name; None if it has none, as a struct whose fields have no order.

    >>> named("list(struct(b:decimal(9,2),a:null))")
    ListType(list<item: struct<b: decimal128(9, 2), a: null>>)
    """
    try:
        kind, rest = _first(str(text))
    except ValueError:  # a name of Arrow's, or fields with our separators in their names
        return None
    return None if rest else kind


def _first(text: str) -> tuple[Any, str]:
    """The type that a text begins with, and the rest."""
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
