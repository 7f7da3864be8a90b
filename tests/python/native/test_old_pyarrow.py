"""pyarrow 14 and 15 have no views: not of strings, which Polars sends, and not of lists."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from windrow._arguments.nested import LIST_TYPES

from ..scenes import all_at


@pytest.mark.parametrize("lazy", [False, True])
def test_polars_sends_what_a_pyarrow_without_views_reads(lazy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"user": ["ann", "bob", "ann"], "ts": all_at(0, 1, 2), "words": [["a"], None, []]}
    data: Any = pl.DataFrame(rows).with_columns(kind=pl.col("user").cast(pl.Categorical))
    given = data.lazy() if lazy else data

    def answer() -> Any:
        windowed = wr.group_by(given, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
        windows: Any = windowed.agg(n=wr.count(), words=wr.collect_list("words"), kind=wr.last("kind"))
        return windows.lazy().collect().to_dicts()

    expected = answer()
    monkeypatch.delattr(pa, "string_view", raising=False)
    assert answer() == expected
    assert len(expected) == 2


def test_the_types_of_lists_are_those_that_pyarrow_has() -> None:
    assert {pa.ListType, pa.LargeListType, pa.FixedSizeListType} <= set(LIST_TYPES)
    assert len(LIST_TYPES) == (5 if hasattr(pa, "ListViewType") else 3)
