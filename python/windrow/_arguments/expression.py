"""An expression over the columns of the data, in the language of its library, for wherever a column is named.

| language | written as |
|---|---|
| Spark | a `Column`: `F.col("amount") * 2` |
| Polars | an `Expr`: `pl.col("amount") * 2` |
| pyarrow | an `Expression`: `pc.field("amount") * 2`, for Arrow data and pandas |
| DuckDB | an `Expression`: `duckdb.SQLExpression("amount * 2")` |
| SQL | text in `where`, for Spark and DuckDB: `"amount > 3"` |

Of pandas a plain column is taken, `pd.col("amount")`: pandas has no public function that computes an expression.

There are three more: a field of a struct, which is a name with dots, the constant key of a query without keys, and the
duration of a DuckDB INTERVAL, for a dynamic gap.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windrow._arguments.errors import bad_type, bad_value, listed

if TYPE_CHECKING:
    import polars as pl
    import pyarrow.compute as pc
    from pyspark.sql import Column

    ColumnName = str | Column | pl.Expr | pc.Expression
    """The name of a column, or an expression over columns: `F.col("amount") * 2`, `pl.col("amount") * 2`."""

SPARK, POLARS, PYARROW, DUCKDB, PANDAS = "Spark", "Polars", "pyarrow", "DuckDB", "pandas"
SQL, FIELD, CONSTANT, DURATION = "SQL", "field", "constant", "duration"

_PANDAS_OPERATORS = re.compile(
    r"\(*col\('\w+'\)\)*(?: (?:\+|-|\*|<|<=|>|>=|==|!=|&|\|) \(*(?:col\('\w+'\)|\d+|'\w*')\)*)+"
)
"""Expressions of pandas that pyarrow writes in the same way, but for the name of its function. In pyarrow a quotient of
integers is an integer, and an integer with a fraction is a float of 32 bits."""

EXAMPLES = {
    SPARK: "a Column of Spark, such as F.col('amount') * 2",
    POLARS: "an expression of Polars, such as polars.col('amount') * 2",
    PYARROW: "an expression of pyarrow, such as pyarrow.compute.field('amount') * 2",
    DUCKDB: "an expression of DuckDB, such as duckdb.SQLExpression('amount * 2')",
}
"""An example of each language, for errors."""

_CLASSES = {
    ("pyspark", "Column"): SPARK,
    ("polars", "Expr"): POLARS,
    ("pyarrow", "Expression"): PYARROW,
    ("duckdb", "Expression"): DUCKDB,
    ("_duckdb", "Expression"): DUCKDB,
    ("pandas", "Expression"): PANDAS,
}
_NAME = "the name of a column"
_PATH = re.compile(r"\w+(\.\w+)*")
"""Text in `where` that is a name, not SQL."""

_PLAIN_SPARK = re.compile(r"Column<'([^\W\d]\w*)'>")
"""How PySpark, classic and Connect, shows a column that is a plain name; a computed one has other characters in it."""

_NESTED_PYARROW = re.compile(r"FieldRef\.Name\(([^()]*)\)")
_PLAIN_DUCKDB = re.compile(r'"([^"]+)"')


@dataclass(frozen=True, eq=False, repr=False)
class ColumnExpression:
    """One expression.

    Attributes:
        language: the library that computes it, or what else it is.
        value: the expression itself; for SQL the text, for a field the path, for a constant its value, for
            a duration the name of the column.
        column: its column, if it is one plain name; Spark may need the expression to choose between two of one name.
        input: the input of a cogroup whose columns it may name with the input's name before them; None elsewhere.
    """

    language: str
    value: Any
    column: str | None = None
    input: str | None = None

    def __str__(self) -> str:
        """Its text, as its library shows it."""
        if self.language == FIELD:
            return ".".join(self.value)
        text = _spark_text(self.value) if self.language == SPARK else str(self.value)
        return " ".join(text.removeprefix("Column<'").removesuffix("'>").split())

    def __repr__(self) -> str:
        """Its text in the repr of an aggregate or of windows."""
        if self.column is not None:
            return repr(self.column)
        return repr(str(self)) if self.language in (SQL, FIELD) else str(self)

    def __eq__(self, other: object) -> bool:
        """Whether it is the same object or the same text: libraries compare expressions to expressions."""
        return isinstance(other, ColumnExpression) and self._identity == other._identity

    def __hash__(self) -> int:
        """As `==`."""
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        value = self.value if isinstance(self.value, str | tuple | int) else id(self.value)
        return self.language, value, self.input


Reference = str | ColumnExpression
"""A column as a query refers to it, before it meets the data."""

EXPRESSION = "expression"
"""Stands for the user's own expression in a hint."""


def stands_for(written: str) -> str:
    """The end of a hint in which a column is written so."""
    return "; expression is the one that you gave" if written == EXPRESSION else ""


def column_reference(argument: str, column: Any, allowed: str = _NAME) -> Reference:
    """The name or expression in `argument`; `TypeError` for anything else.

    A plain column of Polars, pyarrow or pandas is its name.

    >>> column_reference("time", "ts")
    'ts'
    >>> column_reference("time", 5.0)
    Traceback (most recent call last):
        ...
    TypeError: time: got 5.0, a float; allowed: the name of a column, or an expression over columns
    """
    if isinstance(column, str):
        return column
    kinds = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(column).__mro__)
    language = next((_CLASSES[kind] for kind in kinds if kind in _CLASSES), None)
    if language is None:
        hint = ""
        if type(column).__name__ == "Series":
            hint = " (add a Series to the frame first, as a column)"
        elif isinstance(column, int | tuple) and not isinstance(column, bool):
            hint = f" (write a label of pandas as text: {str(column)!r})"
        raise bad_type(argument, column, f"{allowed}, or an expression over columns{hint}")
    fields = tuple(_NESTED_PYARROW.findall(str(column))) if language == PYARROW else ()
    if len(fields) > 1 and column.equals(_pyarrow_field(*fields)):
        return ColumnExpression(FIELD, fields)
    plain = _plain(language, column)
    if plain is not None and language in (POLARS, PYARROW, PANDAS):
        return plain
    return ColumnExpression(language, column, plain)


def column_references(argument: str, columns: Iterable[object]) -> tuple[Reference, ...]:
    """Several columns, each a separate argument, or all of them in one list or tuple.

    >>> column_references("keys", ["user", "shop"]), column_references("keys", [["user", "shop"]])
    (('user', 'shop'), ('user', 'shop'))
    """
    references = tuple(columns)
    if len(references) == 1 and isinstance(references[0], list | tuple):
        references = tuple(references[0])
    return tuple(column_reference(argument, column) for column in references)


def condition_reference(argument: str, condition: object) -> Reference:
    """As `column_reference`, where text may also be SQL.

    >>> condition_reference("where(column=)", "paid"), condition_reference("where(column=)", "amount > 3")
    ('paid', 'amount > 3')
    """
    if isinstance(condition, str) and _PATH.fullmatch(condition) is None:
        return ColumnExpression(SQL, condition, condition)
    return column_reference(argument, condition)


def wrong_language(
    argument: str, expression: ColumnExpression, language: str, data: str, columns: Sequence[str]
) -> TypeError | ValueError:
    """An expression in another language than the data, which `data` names with its article."""
    if expression.language == SQL:
        allowed = f"a column of the data, which has {listed(columns)}, or {EXAMPLES[language]}"
        return bad_value(argument, str(expression), f"{allowed} (SQL text is for Spark and DuckDB)")
    allowed = EXAMPLES[language]
    if expression.language == PANDAS and language == PYARROW and _PANDAS_OPERATORS.fullmatch(str(expression)):
        allowed = f"an expression of pyarrow: {str(expression).replace('col(', 'pyarrow.compute.field(')}"
    return TypeError(
        f"{argument}: got an expression of {expression.language} ({expression}) for {data}; "
        f"allowed: the name of a column, or {allowed}"
    )


def wrong_expression(argument: str, expression: ColumnExpression, columns: Sequence[str], why: object) -> ValueError:
    """An expression that does not fit these columns, or does not give one column; `why` is the library's error."""
    reason = str(why).strip().partition("\n")[0]
    allowed = f"an expression that gives one column of the data, which has {listed(columns)} ({reason})"
    return bad_value(argument, str(expression), allowed)


def _plain(language: str, column: Any) -> str | None:
    """The name of the column, if an expression is a plain column; None if it computes something."""
    if language == SPARK:
        match = _PLAIN_SPARK.fullmatch(_spark_text(column))
        return None if match is None else match[1]
    if language == POLARS:
        name: str | None = column.meta.output_name() if column.meta.is_column() else None
        return name
    text = str(column)
    if language == PANDAS:
        return _plain_pandas(text)
    if language == DUCKDB:
        match = _PLAIN_DUCKDB.fullmatch(text)
        return match[1] if match is not None and column.get_name() == match[1] else None
    return text if column.equals(_pyarrow_field(text)) else None


def _plain_pandas(text: str) -> str | None:
    """The label in `col('amount')`, as text."""
    try:
        return str(ast.literal_eval(text.removeprefix("col(").removesuffix(")")))
    except (SyntaxError, ValueError):
        return None


def _spark_text(column: Any) -> str:
    """What PySpark shows for a column. On Connect, PySpark 3.5 cannot show one that contains `F.expr(…)`."""
    try:
        return repr(column)
    except TypeError:
        return "Column<'an expression with SQL'>"


def _pyarrow_field(*path: str) -> Any:
    import pyarrow.compute as pc

    return pc.field(*path)
