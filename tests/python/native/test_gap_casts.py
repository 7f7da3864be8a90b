"""A gap column of another type: the error shows a cast, which makes the right gaps of that very data, or says so."""

from __future__ import annotations

import math
from datetime import time
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import windrow as wr

from ..harness.tables import arrow
from .test_time_casts import LIBRARIES, USERS, WHOLE, converted, of_library

GAPS: dict[str, Any] = {
    "int64": [300, None, 60],
    "uint8": pa.array([200, 0, 60], pa.uint8()),
    "int32": pa.array([300, -5, 60], pa.int32()),
    "float": [0.5, 300.25, 60.0],
    "float32": pa.array([0.5, 300.25, None], pa.float32()),
    "NaN": [float("nan"), 300.0, 60.0],
    "decimal": [Decimal("0.500"), Decimal("300.250"), None],
    "infinite": [float("inf"), 300.25, float("-inf")],
    "infinite float32": pa.array([0.5, float("inf"), None], pa.float32()),
    "text": ["300", " 12.5", ""],
    "text without a number": [" ", "", None],
    "infinite text": ["inf", "NaN", "60"],
    "text with blanks": ["300 ", "1e2", None],
    "categories": pa.array(["300", "", "60"]).dictionary_encode(),
}


@pytest.mark.parametrize("case", GAPS)
@pytest.mark.parametrize("library", [*LIBRARIES, "arrow types of pandas"])
def test_a_gap_of_numbers_names_the_casts_and_they_work(library: str, case: str) -> None:
    table = pa.table({"user": USERS, "at": WHOLE, "a gap": GAPS[case]})
    if library == "arrow types of pandas":
        library, data = "pandas", table.to_pandas(types_mapper=pd.ArrowDtype)
    else:
        data = of_library(library, table)
    with pytest.raises(TypeError, match='column "?.a gap.* has type') as raised:
        wr.group_by(data, "user", time="at").windowed_by(wr.SessionWindows.with_dynamic_gap("a gap"))
    _, _, hint = str(raised.value).partition("; allowed: ")
    casts = [each.rpartition(" if it counts ") for each in hint.partition(": ")[2].split(", or ")]
    assert [unit for _, _, unit in casts] == ["seconds", "milliseconds"]
    given = table["a gap"].to_pylist()
    assert ("an infinite gap" in hint) == case.startswith("infinite")
    for (cast, _, _), ticks in zip(casts, (10**6, 10**3), strict=True):
        made = converted(library, data, cast)
        numbers = [float("nan") if gap is None or not str(gap).strip() else float(gap) for gap in given]
        gaps = [round(number * ticks) if math.isfinite(number) else None for number in numbers]
        column = arrow(made.project("epoch_us(ts) AS ts") if library == "duckdb" else made)["ts"]
        assert column.cast(column.type if library == "duckdb" else pa.duration("us")).cast("int64").to_pylist() == gaps
        windows = wr.SessionWindows.with_dynamic_gap("ts", invalid_gap="drop")
        counts = arrow(wr.group_by(made, "user", time="at").windowed_by(windows).count())["count"]
        assert sum(counts.to_pylist()) == sum(gap is not None and gap > 0 for gap in gaps)


READ_WORDS = ("pandas", "duckdb")
SECONDS: dict[str, tuple[tuple[str, ...], float]] = {
    "00:05:00": (tuple(LIBRARIES), 300),
    "0:01:07": (tuple(LIBRARIES), 67),
    "26:00:00": (READ_WORDS, 93_600),
    "1 day 02:00:00": (READ_WORDS, 93_600),
    "0:00:01.5": (READ_WORDS, 1.5),
    "5 minutes": (READ_WORDS, 300),
    "1 minute": (READ_WORDS, 60),
    "90s": (READ_WORDS, 90),
    "2 hours": (READ_WORDS, 7_200),
    "1h 5 seconds": (READ_WORDS, 3_605),
    "3d": (READ_WORDS, 259_200),
    "1_000": ((), 0),
    "+5": ((), 0),
    "soon": ((), 0),
}
"""Gaps as text, the libraries with a cast that reads them, and what they are."""


@pytest.mark.parametrize("text", SECONDS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_gap_of_words_names_the_cast_or_says_that_there_is_none(library: str, text: str) -> None:
    readers, seconds = SECONDS[text]
    data = of_library(library, pa.table({"user": USERS, "at": WHOLE, "gap": [text, "", None]}))
    with pytest.raises(TypeError, match="column 'gap' has type") as raised:
        wr.group_by(data, "user", time="at").windowed_by(wr.SessionWindows.with_dynamic_gap("gap"))
    allowed = str(raised.value).partition("; allowed: ")[2]
    if library not in readers:
        assert f", which no cast makes of text such as {text!r}; " in allowed
        return
    made = converted(library, data, allowed.partition(": ")[2])
    gaps = arrow(made.project("epoch_us(ts) AS ts") if library == "duckdb" else made)["ts"]
    micros = gaps if library == "duckdb" else gaps.cast(pa.duration("us")).cast("int64")
    assert micros.to_pylist() == [seconds * 10**6, None, None]
    windows = wr.SessionWindows.with_dynamic_gap("ts", invalid_gap="drop")
    assert arrow(wr.group_by(made, "user", time="at").windowed_by(windows).count())["count"].to_pylist() == [1]


@pytest.mark.parametrize("values", [[True], [time(0, 5)], WHOLE[:1], [{"a": 1}]], ids=repr)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_gap_that_no_cast_makes_names_the_type(library: str, values: list[Any]) -> None:
    data = of_library(library, pa.table({"user": USERS[:1], "at": WHOLE[:1], "gap": values}))
    kinds = {"pyarrow": "a duration", "polars": "a Duration", "pandas": "timedelta64", "duckdb": "an INTERVAL"}
    with pytest.raises(TypeError, match=f"allowed: {kinds[library]}$"):
        wr.group_by(data, "user", time="at").windowed_by(wr.SessionWindows.with_dynamic_gap("gap"))
