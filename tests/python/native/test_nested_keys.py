"""Keys and compared values of a daily job: without a type on one day, with other categories of Polars on another."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import windrow as wr

from ..harness.tables import arrow
from .test_nested_days import CALLS, ENDS, GAP, LIBRARIES, SPARSE, TIMES, day, windowed


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", [case for case in SPARSE if "map" not in case and "entry" not in case])
def test_keys_and_compared_values_have_the_types_of_the_day_before(case: str, library: str) -> None:
    if "pandas" in library and case == "elements without a value":
        return  # NaN, which pyarrow makes of them, or invalid data
    before, after = SPARSE[case]
    typed = pa.array([*before.to_pylist(), *after.to_pylist()], before.type)
    days = {"key": ("user", "x"), "compared": ("user",), "cut_on": ("user",)}
    for way, keys in days.items():
        windows = wr.SessionWindows.with_gap("30 minutes", cut_on="x") if way == "cut_on" else GAP
        calls = {
            "n": wr.count(),
            **({"of": wr.count_distinct("x"), "set": wr.collect_set("x")} if way == "compared" else {}),
        }
        found = []
        for second in (after, typed[1:]):
            first = wr.group_by(LIBRARIES[library](day(0, typed)), *keys, time="ts").windowed_by(windows)
            last = wr.group_by(LIBRARIES[library](day(1, second)), *keys, time="ts").windowed_by(windows)
            run = last.advance(first.advance(None, to=ENDS[0], **calls).still_open, to=ENDS[1], **calls)
            found.append(sorted(map(repr, arrow(run.closed).to_pylist())))
        assert found[0] == found[1] != [], way
        assert way != "key" or sorted(re.findall(r"'n': \d", str(found[0]))) == ["'n': 1", "'n': 2"]


def test_a_key_that_had_no_type_begins_anew() -> None:
    after, before = SPARSE["no element"]
    first = windowed(day(0, before), "user", "x").advance(None, to=ENDS[0], n=wr.count())
    assert first.still_open.schema.field("x").type == before.type
    with pytest.raises(
        ValueError, match="^open: column 'x' was list.*null.* now; allowed: list.*; or None to begin anew$"
    ):
        windowed(day(1, after), "user", "x").advance(first.still_open, to=ENDS[1], n=wr.count())


NAMES = {"Categorical": (pl.Categorical, pl.Categorical), "Enum": (pl.Enum(["a", "b"]), pl.Enum(["b", "c"]))}
WITHIN: dict[str, tuple[Callable[[Any], Any], Callable[[str], Any]]] = {
    "list": (pl.List, lambda name: [name]),
    "array": (lambda kind: pl.Array(kind, 1), lambda name: [name]),
    "struct": (lambda kind: pl.Struct({"s": kind}), lambda name: {"s": name}),
    "all": (lambda kind: pl.List(pl.Struct({"s": pl.List(kind)})), lambda name: [{"s": [name]}, {"s": []}]),
}


@pytest.mark.parametrize("names", NAMES)
@pytest.mark.parametrize("within", WITHIN)
def test_days_of_polars_may_have_other_categories_within_their_values(names: str, within: str) -> None:
    of_kind, of_name = WITHIN[within]
    days = [
        pl.DataFrame({"user": [1, 1], "ts": [TIMES[number]] * 2}).with_columns(
            pl.Series("x", [of_name(name) for name in texts], dtype=of_kind(kind))
        )
        for number, (kind, texts) in enumerate(zip(NAMES[names], ("ab", "bc"), strict=True))
    ]
    first = windowed(days[0], "user", "x").advance(None, to=ENDS[0], n=wr.count())
    found = windowed(days[1], "user", "x").advance(first.still_open, to=ENDS[1], n=wr.count()).closed
    assert sorted(found.select("x", "n").rows(), key=repr) == [
        (of_name(n), c) for n, c in (("a", 1), ("b", 2), ("c", 1))
    ]
    kind = of_kind(pl.Enum(["b", "c", "a"]) if names == "Enum" else pl.Categorical)
    assert found.schema["x"] == kind
    first = windowed(days[0]).advance(None, to=ENDS[0], **CALLS)
    found = windowed(days[1]).advance(first.still_open, to=ENDS[1], **CALLS).closed
    assert (found["first"].to_list(), found["last"].to_list()) == ([of_name("a")], [of_name("c")])
