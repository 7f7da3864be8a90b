"""One projection of the data with a column for each expression, so that a query names columns only.

```text
 user  ts  amount                        the data
 user  ts  amount  day  (amount * 2)     with the expressions of a query; no record shows them
```
"""

from __future__ import annotations

from typing import Any, Generic

from windrow._arguments.column import Names, check_prefix, has_prefix
from windrow._arguments.errors import bad_value
from windrow._arguments.expression import CONSTANT, FIELD, SPARK, SQL, ColumnExpression, Reference
from windrow._plan.flat import WINDOW
from windrow._plan.input import Input, Result
from windrow._plan.plan import SERIES


class Projection(Generic[Result]):
    """Gives each column that a query refers to a name among the columns of the data."""

    def __init__(self, opened: Input[Result]) -> None:
        """Over the columns of an input."""
        self._opened = opened
        self._names = Names((*opened.columns, WINDOW))
        self._found: list[tuple[ColumnExpression, str, str]] = []

    @property
    def input(self) -> Input[Result]:
        """The data with the columns that have been named so far."""
        found = {name: expression for expression, name, _ in self._found}
        return self._opened.with_expressions(found) if found else self._opened

    def name(self, argument: str, column: Reference) -> str:
        """The name of a column in `input`. A name that the data lacks stays; its reader raises the error."""
        return self.column(argument, column)[0]

    def column(self, argument: str, column: Reference) -> tuple[str, str]:
        """The name of a column in `input`, and the one that its library gives it.

        Raises:
            TypeError: an expression of another library than the data.
            ValueError: an expression that gives no single column over the data.
        """
        opened = self._opened
        name, times = column if isinstance(column, str) else column.column, 0
        if name is not None:
            spelled = opened.spelled(name)
            times = list(opened.row_columns).count(spelled)
            if times and (isinstance(column, str) or (times == 1 and opened.is_column(column))):
                return spelled, spelled
            path = opened.field_path(name) if isinstance(column, str) or column.language == SQL else None
            if path is not None:
                return self._computed(argument, ColumnExpression(FIELD, path), path[-1])
        if isinstance(column, str):
            return column, column
        try:
            return self._computed(argument, column)
        except ValueError:
            if column.language != SPARK or column.column is None or times:
                raise
            return column.column, column.column  # a name that the data lacks

    def key(self, column: Reference) -> tuple[str, str]:
        """As `column`, for a key; `window` is the column of windows, so a key of this name gets another one."""
        name, shown = self.column("keys", column)
        check_prefix("keys", [shown])
        if name.casefold() != WINDOW:
            return name, shown
        return self._computed("keys", ColumnExpression(FIELD, (name,)), shown)

    def gap(self, argument: str, column: Reference) -> str:
        """The name of a column of dynamic gaps. If it has another type than durations, the name of its durations."""
        name = self.name(argument, column)
        durations = self.input.duration_of(name)
        return name if durations is None else self._computed(argument, durations, name)[0]

    def series(self) -> str:
        """The name of a constant key."""
        return self._computed("keys", ColumnExpression(CONSTANT, 0), SERIES)[0]

    def _computed(self, argument: str, expression: ColumnExpression, shown: str | None = None) -> tuple[str, str]:
        for known, name, shown_name in self._found:
            if known == expression:
                return name, shown_name
        if shown is None:
            shown = self._opened.output_name(argument, expression)
            shown = shown if expression.input is None else shown.removeprefix(f"{expression.input}.")
        for name, known in self._opened.expressions.items():
            if known == expression:
                return name, shown
        name = SERIES if expression.language == CONSTANT else self._unused(shown, str(expression))
        self._found.append((expression, name, shown))
        return name, shown

    def _unused(self, shown: str, text: str) -> str:
        """The first of these names that is not taken, or one made of the second; neither begins with `windrow.`."""
        if not has_prefix(shown) and self._names.unused(shown) == shown:
            return shown
        return self._names.unused(f"_{text}" if has_prefix(text) else text)


def checked_keys(names: list[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The keys in the data and in the result; `ValueError` for two of one name."""
    for position, (_, shown) in enumerate(names):
        if shown in [other for _, other in names[:position]]:
            raise bad_value("keys", shown, "each key column once; alias(...) renames an expression")
    columns: Any = zip(*names, strict=True) if names else ((), ())
    keys, shown_keys = columns
    return keys, shown_keys
