"""Names of columns: the position of a name among the columns of the data, and names that are free."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from windrow._arguments.errors import ambiguous_column, bad_value, unknown_column


def column_position(argument: str, column: str, columns: Sequence[str]) -> int:
    """The position of the column that `argument` names; `ValueError` if no column or several have this name."""
    times = columns.count(column)
    if times != 1:
        raise (ambiguous_column if times else unknown_column)(argument, column, columns)
    return columns.index(column)


def has_prefix(name: str) -> bool:
    """Whether a name begins with `windrow.`, in any case."""
    return name.casefold().startswith("windrow.")


def check_prefix(argument: str, names: Iterable[str]) -> None:
    """Raises `ValueError` for a name that begins with `windrow.`, in any case."""
    for name in names:
        if has_prefix(name):
            raise bad_value(
                argument, name, "a name that does not begin with 'windrow.', the prefix of windrow's own columns"
            )


class Names:
    """Names that are taken, in any case, as in Spark.

    >>> names = Names(["user", "Row"])
    >>> names.unused("row"), names.unused("row"), names.unused("day")
    ('row_2', 'row_3', 'day')
    """

    def __init__(self, taken: Iterable[str], *, inputs: Collection[str] = ()) -> None:
        """Starts with these names, and with every name that means a column of an input, such as `clicks.user`."""
        self._taken = {name.casefold() for name in taken}
        self._inputs = inputs
        self._next = dict[str, int]()

    def unused(self, name: str) -> str:
        """The name, or a name derived from it if it is taken. The result is taken from now on."""
        while "." in name and name.partition(".")[0] in self._inputs:
            name = f"_{name}"
        unused, number = name, self._next.get(name, 2)
        while unused.casefold() in self._taken:
            unused, number = f"{name}_{number}", number + 1
        self._next[name] = number
        self._taken.add(unused.casefold())
        return unused
