"""Results of more than 2 GiB: several batches where each window fits one, an error where a window does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow as wr
from windrow.testing import StreamDriver

pytestmark = pytest.mark.soak

BASE = 1_700_000_000_000_000
LONG = "x" * 2500


def events(rows: int, text: str) -> pa.Table:
    times = pa.array(BASE + 1000 * np.arange(rows)).cast(pa.timestamp("us"))
    return pa.table({"k": np.zeros(rows, np.int64), "t": times, "v": [text] * rows})


def test_windows_that_do_not_fit_one_batch_leave_in_several() -> None:
    windows = wr.SlidingWindows.with_time_difference("1 hour")
    found = wr.group_by(events(1000, LONG), "k", time="t").windowed_by(windows).agg(all=wr.collect_list("v"))
    # [t - d, t] of each record and [t + 1, t + 1 + d] of each but the last: 1 to 1000 records, and 999 to 1.
    lengths = pc.list_value_length(found["all"]).to_pylist()
    assert lengths == [*range(1, 1001), *range(999, 0, -1)]
    assert len(found.to_batches()) > 1
    assert found.nbytes > 2**31


def test_a_window_that_does_not_fit_is_named() -> None:
    table = events(1000, "x" * 2_200_000)
    sessions = wr.group_by(table, "k", time="t").windowed_by(wr.SessionWindows.with_gap("1 minute"))
    message = r'^column "all": 2200000000 bytes are more than Utf8 holds \(2147483647\) in window .* of key 0; overflow'
    with pytest.raises(OverflowError, match=message):
        sessions.agg(all=wr.collect_list("v"))
    found = sessions.overflow("null").agg(all=wr.collect_list("v"), n=wr.count())
    assert found.select(["all", "n"]).to_pylist() == [{"all": None, "n": 1000}]
    assert wr.counters(found)["overflows"] == 1


def test_windows_of_a_python_function_leave_in_several_batches_too() -> None:
    # 216 sessions of 10 MB, which no column of strings holds together.
    schema = pa.schema([("k", pa.int64()), ("t", pa.timestamp("us")), ("v", pa.string())])
    windows = wr.SessionWindows.with_gap("1 minute", grace="1 minute")
    counted = wr.aggregate(int, lambda held, row: held + 1, lambda a, b: a + b, schema="bigint", columns=["k"])
    longest = wr.reduce("v", max)

    def definition(rows: Any) -> Any:
        return wr.group_by(rows, "k", time="t").windowed_by(windows).agg(a=wr.max("v"), b=longest, n=counted)

    driver = StreamDriver(definition, schema)
    for key in range(216):
        time = pa.array([BASE]).cast(pa.timestamp("us"))
        assert driver.pipe_batch(pa.table({"k": [key], "t": time, "v": ["x" * 10_000_000]}, schema)) == []
    again = StreamDriver(definition, schema).restore(driver.snapshot())
    del driver
    again.finish()
    found = again.read_table()
    assert found["n"].to_pylist() == [1] * 216
    for name in ("a", "b"):
        assert pc.unique(pc.utf8_length(found[name])).to_pylist() == [10_000_000]
        assert found[name].num_chunks > 1
