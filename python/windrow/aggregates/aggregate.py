"""`Aggregate`: a function by its name, its columns, and its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Never

from windrow.column import column_name
from windrow.errors import bad_type, bad_value, no_attribute, unknown_word

if TYPE_CHECKING:
    from windrow.column import ColumnName

FUNCTIONS = (
    "count",
    "sum",
    "mean",
    "min",
    "max",
    "first",
    "last",
    "any_value",
    "stddev",
    "stddev_pop",
    "variance",
    "var_pop",
    "collect_list",
    "collect_set",
    "min_by",
    "max_by",
)
"""The aggregates of the core, by the names that it has for them."""

MAKERS = (*FUNCTIONS, "avg", "stddev_samp", "var_samp", "reduce", "aggregate", "window_id")
"""The functions that make aggregates."""

_NAMES = ("alias", "name")
"""What names a column in Spark and Polars."""


@dataclass(frozen=True)
class Aggregate:
    """One aggregate over the records of a window. Made by `count`, `sum` and the like, `reduce` and `aggregate`.

    Attributes:
        function: its name.
        columns: the columns that it reads.
        ignore_nulls: whether a null is passed over; only `first`, `last` and `any_value` ask.
        inputs: the inputs of a cogroup, where it is of one.
        input: the one of them whose records alone it sees; None where it sees all.
    """

    function: str
    columns: tuple[str, ...] = ()
    ignore_nulls: bool | None = None
    inputs: tuple[str, ...] = field(default=(), kw_only=True, repr=False)
    input: str | None = field(default=None, kw_only=True, repr=False)

    if not TYPE_CHECKING:  # to a type checker there is no such attribute

        def __getattr__(self, name: str) -> Never:
            hint = "its name goes before it, as in agg(clicks=windrow.count())" if name in _NAMES else None
            raise no_attribute(self, name, hint)

    @property
    def maker(self) -> str:
        """The function that makes it, by its first name where it has two."""
        return self.function

    def check(self, argument: str) -> None:
        """Raises `ValueError` or `TypeError`, as of this argument, unless a function of windrow makes such.

        How many columns there are and of which types, the core checks.
        """
        if type(self) is Aggregate and self.function not in FUNCTIONS:
            raise unknown_word(f"{argument}: function", self.function, FUNCTIONS)
        if not isinstance(self.columns, tuple):
            raise bad_type(f"{argument}: columns", self.columns, "a tuple of names of columns")
        if not isinstance(self.ignore_nulls, bool | None):
            raise bad_type(f"{argument}: ignore_nulls", self.ignore_nulls, "True or False")
        if self.input is not None:
            raise bad_value(f"{argument}: input", self.input, "None: a cogroup tells inputs by the names of columns")

    def plan(self, name: str) -> dict[str, object]:
        """What the core needs to know of this aggregate, whose result column is `name`."""
        plan: dict[str, object] = {"name": name, "function": self.function, "columns": list(self.columns)}
        if self.ignore_nulls is not None:
            plan["ignore_nulls"] = self.ignore_nulls
        if self.input is not None:
            plan["input"] = self.inputs.index(self.input)
        return plan


def of_columns(function: str, **columns: ColumnName) -> Aggregate:
    """An aggregate over columns, each under the argument that names it; `TypeError` for what is no column."""
    names = (column_name(f"{function}({argument}=)", column) for argument, column in columns.items())
    return Aggregate(function, tuple(names))
