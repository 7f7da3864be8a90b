"""Names of columns in backticks, so that Spark reads dots, blanks and the like as part of the name."""

from __future__ import annotations


def quoted(name: str) -> str:
    """The name as Spark's SQL and `F.col` take it.

    >>> quoted("a.b`c")
    '`a.b``c`'
    """
    return f"`{name.replace('`', '``')}`"
