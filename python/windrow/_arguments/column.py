"""The name of a column, from text or from a plain column of a library."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from windrow._arguments.errors import ambiguous_column, bad_type, unknown_column

if TYPE_CHECKING:
    import polars as pl
    from pyspark.sql import Column

    ColumnName = str | Column | pl.Expr
    """The name of a column, or an expression that is this very column: `F.col("user")`, `pl.col("user")`."""

_NAME = "the name of a column"
_COMPUTED = "the name of a column (of what is computed: select it as a column first, and name that)"
_SPARK = re.compile(r"Column<'([^\W\d]\w*)'>")
"""How PySpark, classic and Connect, shows a column that is a plain name; what is computed has other signs in it."""


def column_name(argument: str, column: object, allowed: str = _NAME) -> str:
    """The name of the column that `argument` names; `TypeError` for what is no column.

    A name is taken as it is. A `Column` of PySpark counts where it is one plain name, without dots and backticks, in
    which Spark sees fields of structs; an `Expr` of Polars where it is a column as it is.

    >>> column_name("time", "ts")
    'ts'
    >>> column_name("time", 5)
    Traceback (most recent call last):
        ...
    TypeError: time: got 5, an int; allowed: the name of a column
    """
    if isinstance(column, str):
        return column
    kind = next((each for each in type(column).__mro__ if each.__module__ != "builtins"), object)
    library = kind.__module__.partition(".")[0]
    if library == "pyspark" and kind.__name__ == "Column":
        match = _SPARK.fullmatch(repr(column))
        if match is None:
            raise bad_type(argument, column, _COMPUTED)
        return match[1]
    if library == "polars" and kind.__name__ == "Expr":
        return _of_polars(argument, column)
    raise bad_type(argument, column, allowed)


def column_names(argument: str, columns: Iterable[object]) -> tuple[str, ...]:
    """The names of several columns, each an argument of its own, or all of them in one list or tuple.

    >>> column_names("keys", ["user", "shop"]), column_names("keys", [["user", "shop"]])
    (('user', 'shop'), ('user', 'shop'))
    """
    given = tuple(columns)
    if len(given) == 1 and isinstance(given[0], list | tuple):
        given = tuple(given[0])
    return tuple(column_name(argument, column) for column in given)


def column_position(argument: str, column: str, columns: Sequence[str]) -> int:
    """Where the column that `argument` names is; `ValueError` where none of the columns has this name, or several."""
    times = columns.count(column)
    if times != 1:
        raise (ambiguous_column if times else unknown_column)(argument, column, columns)
    return columns.index(column)


class Names:
    """Names that are taken, whatever their case, as Spark finds columns.

    >>> names = Names(["user", "Row"])
    >>> names.unused("row"), names.unused("row"), names.unused("day")
    ('row_2', 'row_3', 'day')
    """

    def __init__(self, taken: Iterable[str], *, inputs: Collection[str] = ()) -> None:
        """Over these names, and over every name that means a column of an input: its name, a dot and the column."""
        self._taken = {name.casefold() for name in taken}
        self._inputs = inputs
        self._next = dict[str, int]()

    def unused(self, name: str) -> str:
        """The name, or where that is taken, one made of it; it is taken from now on."""
        while "." in name and name.partition(".")[0] in self._inputs:
            name = f"_{name}"
        unused, number = name, self._next.get(name, 2)
        while unused.casefold() in self._taken:
            unused, number = f"{name}_{number}", number + 1
        self._next[name] = number
        self._taken.add(unused.casefold())
        return unused


def _of_polars(argument: str, column: Any) -> str:
    if not column.meta.is_column():
        raise bad_type(argument, column, _COMPUTED)
    name: str = column.meta.output_name()
    return name
