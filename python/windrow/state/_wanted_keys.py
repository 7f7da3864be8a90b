"""The values of key columns whose rows a table of open windows shall lose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from windrow._arguments.errors import bad_value, listed
from windrow._arguments.instant import is_missing, moment_of
from windrow._arguments.nested import nulls
from windrow.testing._values import cell_of


def wanted_keys(keys: Mapping[str, Any], kinds: Mapping[str, Any], zone: str | None = None) -> dict[str, pa.Array[Any]]:
    """The values of key columns, by column. `kinds` are the types of all key columns.

    A bare time of a column with a zone is in `zone`, by default the zone of the column.

    Raises:
        TypeError: a value of another type than its column.
        ValueError: no column, one that is no key, or a time that `moment_of` refuses.
    """
    columns = f"key columns of the table: {listed(list(kinds))}" if kinds else "none, as the query has no keys"
    if not keys:
        raise bad_value("keys", "none", f"values of {columns}, by name")
    for name in keys:
        if name not in kinds:
            raise bad_value("keys", name, columns)
    return {name: _values(value, pa.field(name, kinds[name]), zone) for name, value in keys.items()}


def _values(value: Any, field: pa.Field[Any], zone: str | None) -> pa.Array[Any]:
    """The values of a list, or one value."""
    argument, kind = f"keys: {field.name}", field.type
    is_list = isinstance(value, list | tuple | set | frozenset) and not hasattr(value, "asDict")
    values = [_plain(argument, each, field, zone) for each in (value if is_list else [value])]
    # pa.array would cut a time of day to the unit of the column.
    return pa.concat_arrays([nulls(0, kind), *(cell_of(argument, each, kind) for each in values)])


def _plain(argument: str, value: Any, field: pa.Field[Any], zone: str | None) -> Any:
    """A value with dicts for rows of Spark, which are tuples, with None for nulls, and with times as `moment_of`."""
    if is_missing(value):
        return None
    kind: Any = field.type
    if pa.types.is_timestamp(kind):
        return moment_of(argument, value, field, zone)
    if pa.types.is_struct(kind):
        value = value.asDict() if hasattr(value, "asDict") else value
        fields = {each.name: each for each in kind}
        if isinstance(value, dict):
            return {
                name: _plain(f"{argument}.{name}", each, fields[name], zone) if name in fields else each
                for name, each in value.items()
            }
    if isinstance(value, list) and (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return [_plain(argument, each, kind.value_field, zone) for each in value]
    return value
