"""A record as `add` is handed it: a named tuple that is asked by name in brackets as well."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from windrow._arguments.errors import listed


def row_class(columns: Sequence[str]) -> Any:
    """The class of rows of these columns, which are the user's.

    In brackets a name is that of the column, whatever it is; behind a dot a name that is none of Python's is `_` and
    its number.

    >>> row = row_class(["amount", "paid by"])(5, "card")
    >>> row.amount, row["amount"], row["paid by"], row[-1], row[:1]
    (5, 5, 'card', 'card', (5,))
    >>> row["amout"]
    Traceback (most recent call last):
        ...
    KeyError: "no column 'amout'; the columns of the row are 'amount', 'paid by'"
    """
    places = {name: place for place, name in enumerate(columns)}

    class Row(namedtuple("Row", columns, rename=True)):  # type: ignore[misc]  # the names are known at run time
        __slots__ = ()

        def __getitem__(self, key: Any) -> Any:
            if type(key) is not str:
                return super().__getitem__(key)
            if key not in places:
                raise KeyError(f"no column {key!r}; the columns of the row are {listed(list(places))}")
            return super().__getitem__(places[key])

    return Row
