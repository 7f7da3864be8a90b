"""A condition of another type than booleans: the error names the argument, the path of a field, and an expression.

The expression is a condition of that very data.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow
import pyarrow as pa
import pytest

import windrow as wr

from ..harness.tables import arrow
from .test_time_casts import LIBRARIES, USERS, WHOLE, of_library

GAP = wr.SessionWindows.with_gap("5 minutes")
VALUES: dict[str, tuple[Any, int]] = {
    "text": (["no", "yes", "yes"], 2),
    "text of numbers": (["0", "1", None], 1),
    "other text": (["logout", "", "click"], 1),
    "text in quotes": (["it's", 'a "b"', "click"], 1),
    "categories": (pa.array(["N", "Y", None]).dictionary_encode(), 1),
    "integers": (pa.array([0, -3, None], pa.int16()), 1),
    "large integers": ([0, 2**53 + 1, 2**63 - 1], 2),
    "floats": ([0.0, -0.0, 0.5], 1),
    "decimals": ([Decimal("0.00"), Decimal("-1.50"), None], 1),
}
"""Values, and in how many the condition is true."""


def frame(library: str, values: Any) -> Any:
    column = values if isinstance(values, pa.Array) else pa.array(values)
    nested = pa.StructArray.from_arrays([column], ["flag"])
    table = pa.table({"user": USERS, "at": WHOLE, "n": [1, 2, 3], "s": nested, "plain": column})
    return table.to_pandas(types_mapper=pd.ArrowDtype) if library == "pandas" else of_library(library, table)


def condition(library: str, data: Any, hint: str) -> tuple[Any, Any]:
    """The data, and a condition over it, that a hint means."""
    if library == "duckdb":
        return data, duckdb.SQLExpression(hint)
    made = eval(hint, {"table": data, "frame": data, "pyarrow": pyarrow, "pl": pl})
    if isinstance(made, pd.Series):
        return data.assign(made=made), "made"
    if isinstance(made, pa.ChunkedArray):
        return data.append_column("made", made), "made"
    return data, made


def total(result: Any, column: str) -> int:
    return sum(value or 0 for value in arrow(result)[column].to_pylist())


@pytest.mark.parametrize("column", ["s.flag", "plain"])
@pytest.mark.parametrize("case", VALUES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_the_error_names_a_condition_and_it_works(library: str, case: str, column: str) -> None:
    values, true = VALUES[case]
    data = frame(library, values)
    with pytest.raises(TypeError) as raised:
        wr.group_by(data, time="at").windowed_by(GAP).agg(x=wr.count_if(column))
    text = str(raised.value)
    assert text.startswith(f"aggregate \"x\": count_if: column '{column}' has type ")
    assert "; allowed: a boolean, such as " in text
    data, made = condition(library, data, text.partition(" such as ")[2])
    windowed = wr.group_by(data, time="at").windowed_by(GAP)
    assert total(windowed.agg(x=wr.count_if(made)), "x") == true
    assert total(windowed.agg(x=wr.count().where(made)), "x") == true


def calls(library: str) -> dict[str, Any]:
    data = frame(library, ["no", "yes", "yes"])
    grouped = wr.group_by(data, "user", time="at")
    windowed = grouped.windowed_by(GAP)
    both = wr.cogroup(one=grouped, two=grouped)

    def sessions(given: Any, **rules: Any) -> Any:
        return given.windowed_by(wr.SessionWindows.with_gap("5 minutes", **rules)).count()

    return {
        'aggregate "x": count_if': lambda: windowed.agg(x=wr.count_if("s.flag")),
        'aggregate "x": count().where': lambda: windowed.agg(x=wr.count().where("s.flag")),
        'aggregate "x": sum("n").where': lambda: windowed.with_columns(x=wr.sum("n").where("s.flag")),
        'aggregate "x": bool_and': lambda: windowed.agg(x=wr.bool_and("s.flag")),
        'aggregate "x": bool_or': lambda: windowed.agg(x=wr.bool_or("s.flag")),
        'aggregate "x": reduce("n").where': lambda: windowed.agg(x=wr.reduce("n", max).where("s.flag")),
        "end_when": lambda: sessions(grouped, end_when="s.flag"),
        "start_when": lambda: sessions(grouped, start_when="s.flag"),
        "tick": lambda: wr.group_by(data, "user", time="at", tick="s.flag"),
        'aggregate "y": count_if': lambda: both.windowed_by(GAP).agg(y=wr.count_if("one.s.flag")),
    }


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_argument_that_takes_a_condition_names_the_path_of_a_field(library: str) -> None:
    for argument, call in calls(library).items():
        with pytest.raises(TypeError) as raised:
            call()
        path = "one.s.flag" if '"y"' in argument else "s.flag"
        start, _, made = str(raised.value).partition(", such as ")
        assert start.startswith(f"{argument}: column '{path}' has type "), start
        assert start.endswith(f"; allowed: {'booleans' if 'bool_' in argument else 'a boolean'}")
        if path == "one.s.flag":
            grouped = wr.group_by(frame(library, ["no", "yes", "yes"]), "user", time="at")
            both = wr.cogroup(one=grouped, two=grouped).windowed_by(GAP)
            assert total(both.agg(x=wr.count_if(condition(library, None, made)[1])), "x") == 2


OTHERS = {
    'aggregate "x": sum': lambda given: given.windowed_by(GAP).agg(x=wr.sum("s.flag")),
    'aggregate "x": mean': lambda given: given.windowed_by(GAP).with_columns(x=wr.mean("s.flag")),
    'aggregate "x": stddev': lambda given: given.windowed_by(GAP).agg(x=wr.stddev("s.flag")),
    'aggregate "x": bit_and': lambda given: given.windowed_by(GAP).agg(x=wr.bit_and("s.flag")),
    'aggregate "flag": corr': lambda given: given.windowed_by(GAP).agg(flag=wr.corr("n", "s.flag")),
    'aggregate "x": median': lambda given: given.windowed_by(GAP).advance(None, to="2027-01-01", x=wr.median("s.flag")),
    'aggregate "x": histogram_numeric': lambda given: given.windowed_by(GAP).agg(x=wr.histogram_numeric("s.flag", 2)),
    "column": lambda given: given.windowed_by(wr.SessionWindows.with_dynamic_gap("s.flag")),
}


@pytest.mark.parametrize("argument", OTHERS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_other_argument_names_the_path_of_a_field(library: str, argument: str) -> None:
    grouped = wr.group_by(frame(library, ["no", "yes", "yes"]), "user", time="at")
    with pytest.raises(TypeError) as raised:
        OTHERS[argument](grouped)
    text = str(raised.value).replace('"s.flag"', "'s.flag'")  # the core writes names of columns in double quotes
    assert text.startswith(f"{argument}: column 's.flag' has type ")


@pytest.mark.parametrize("option", ["tie", "order", "time"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_option_of_group_by_names_the_path_of_a_field(library: str, option: str) -> None:
    data = frame(library, ["no", "yes", "yes"])
    options = {"time": "at", "source": "user", option: "s.flag"}
    with pytest.raises(TypeError, match=f"^{option}: column 's.flag' has type "):
        wr.group_by(data, "user", **options)


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_hint_of_a_sum_of_booleans_names_the_path_of_a_field(library: str) -> None:
    windowed = wr.group_by(frame(library, [True, False, None]), time="at").windowed_by(GAP)
    with pytest.raises(TypeError) as raised:
        windowed.agg(flag=wr.sum("s.flag"))
    assert str(raised.value).startswith('aggregate "flag": sum: column "s.flag" has type bool; ')
    assert 'count_if("s.flag") counts those that are true' in str(raised.value)
    assert total(windowed.agg(x=wr.count_if("s.flag")), "x") == 1


def test_a_condition_of_times_or_lists_has_no_expression() -> None:
    data = pa.table({"at": WHOLE, "list": [[1]] * 3, "day": [time.date() for time in WHOLE], "nan": [math.nan] * 3})
    windowed = wr.group_by(data, time="at").windowed_by(GAP)
    for column in ("at", "list", "day"):
        with pytest.raises(TypeError, match=rf"count_if: column '{column}' has type .*; allowed: a boolean$"):
            windowed.agg(x=wr.count_if(column))


def test_a_share_of_booleans_is_named_with_the_aggregates_that_count_them() -> None:
    table = pa.table({"user": USERS, "ts": WHOLE, "bought it": [True, None, False]})
    for library in LIBRARIES:
        windowed = wr.group_by(of_library(library, table), "user", time="ts").windowed_by(GAP)
        for aggregate, answers in ((wr.sum, [[1, 0]]), (wr.mean, [[0.5, 0.0], [1.0, 0.0]])):
            with pytest.raises(TypeError, match='column "bought it" has type bool.*; count_if') as raised:
                windowed.agg(n=aggregate("bought it"))
            hints = re.findall(r"count_if\(\S+ \S+\)(?: / count\([^)]*\))?", str(raised.value))
            for hint, answer in zip(hints, answers, strict=True):
                made = eval(hint, {"count_if": wr.count_if, "count": wr.count})
                rows = arrow(windowed.agg(n=made)).sort_by("user")
                assert rows["n"].to_pylist() == answer
    with pytest.raises(TypeError, match="38 digits and durations .day-time intervals.$"):
        wr.group_by(table, "user", time="ts").windowed_by(GAP).agg(n=wr.sum_distinct("bought it"))
