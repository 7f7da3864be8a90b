"""Columns of Spark types that have no Arrow form are refused in words that fit the argument."""

from __future__ import annotations

import pyspark.sql.types as spark
import pytest


@pytest.mark.parametrize("argument", ["keys", "x", "column"])
def test_an_interval_of_months_is_refused_in_words_that_fit_every_argument(argument: str) -> None:
    from windrow._spark.types import arrow_field

    column = spark.StructField("age", spark.YearMonthIntervalType())
    words = f"{argument}: column 'age' has type interval year to month; allowed: .* for intervals, day-time ones"
    with pytest.raises(TypeError, match=words) as raised:
        arrow_field(argument, column, compared=False)
    assert "length" not in str(raised.value)
