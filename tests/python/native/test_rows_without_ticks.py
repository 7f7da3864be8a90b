"""Ticks are no records: `with_columns` returns the records only, for data of every kind."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow as wr
from windrow._executor.row_windows import MOST, with_windows

from ..harness.libraries import LIBRARIES
from ..harness.tables import arrow
from ..scenes import all_at

CLICKS = pa.table({"user": ["ann", "bob", "ann", None], "ts": all_at(0, 1, 3, 4), "url": ["/", "/a", "/b", "/c"]})
TICKS = pa.array([None, False, True, False, True, True, False, False, True, True])
ROWS = pa.concat_tables([CLICKS, CLICKS.slice(2), CLICKS]).append_column("tick", TICKS)
SESSIONS = wr.SessionWindows.with_gap("5 minutes")
KINDS = LIBRARIES | {
    "a reader": lambda table: table.to_reader(),
    "views": lambda table: table.set_column(2, "url", table["url"].cast(pa.string_view())),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("rows", [slice(10), slice(8, 10), slice(2), slice(0)], ids=["some", "all", "none", "no rows"])
def test_ticks_do_not_come_back(rows: slice, kind: Any) -> None:
    given = ROWS.slice(rows.start or 0, rows.stop - (rows.start or 0))
    records = given.filter(pc.invert(pc.fill_null(given["tick"], False)))

    def answer(table: pa.Table) -> list[dict[str, Any]]:
        seen = wr.Observation()
        query = wr.group_by(kind(table), "user", time="ts", tick="tick").windowed_by(SESSIONS).observe(seen)
        shown = arrow(query.with_columns(n=wr.count()))
        assert (seen.get["records"], seen.get["ticks"]) == (len(records), len(table) - len(records))
        shown_rows: list[dict[str, Any]] = shown.select(["url", "window", "n"]).to_pylist()
        return shown_rows

    shown = answer(given)
    assert [row["url"] for row in shown] == records["url"].to_pylist()
    assert shown == answer(records)


@pytest.mark.parametrize("most", [MOST, -1], ids=["in memory", "on disk"])
def test_ticks_of_a_task_do_not_come_back(most: int) -> None:
    windowed = wr.group_by(ROWS, "user", time="ts", tick="tick").windowed_by(SESSIONS)
    spec = windowed._plan({"n": wr.count()}, rows=True).spec.text
    schema, observed = ROWS.schema.serialize().to_pybytes(), {"records": "_1", "ticks": "_2"}
    shown = pa.Table.from_batches(with_windows(iter(ROWS.to_batches()), spec, schema, observed, most))
    counters = shown.filter(shown["_1"].is_valid()).select(["_1", "_2"])
    assert counters.to_pylist() == [{"_1": 5, "_2": 5}]
    assert sorted(shown["url"].drop_null().to_pylist()) == ["/", "/", "/a", "/a", "/c"]
