"""Finals of recorded Kafka Streams runs: a batch query over the run's records gives the same windows and contents."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import windrow as wr

from ..harness.golden import CHECKED, Finals, Run, content, runs
from ..harness.tables import rows_of

LATEST = 2**63 - 1


def batch(run: Run) -> Finals:
    """The finals of the batch query over the run's records; one unit of the run is a millisecond."""
    records = run.records()
    table = pa.table(
        {
            "key": pa.array([record.key[0] for record in records], pa.string()),
            "ts": pa.array([record.time for record in records], pa.int64()).cast(pa.timestamp("ms")),
            "value": pa.array([record.values["value"] for record in records], pa.string()),
        }
    )
    length, grace = timedelta(milliseconds=run.length), timedelta(milliseconds=run.spec["grace"])
    if run.kind == "session":
        windows = wr.SessionWindows.with_gap(length, grace=grace)
    else:
        windows = wr.SlidingWindows.with_time_difference(length, grace=grace, resolution="1 millisecond")
    grouped = wr.group_by(table, "key", time="ts").windowed_by(windows)
    result = grouped.agg(n=wr.count(), values=wr.collect_list("value"))
    finals: Finals = {}
    for ((key,), start, end), row in rows_of(result, ["key"]).items():
        nulls = [None] * (row["n"] - len(row["values"]))
        finals[key, start, end] = content(row["values"] + nulls, run.fold)
    return finals


@pytest.mark.parametrize("emit", ["update", "close"])
def test_a_batch_query_gives_the_finals_of_recorded_runs(recorded: Path, emit: str) -> None:
    kinds = Counter[str]()
    for run in runs(recorded, emit):
        kinds[run.kind] += 1
        if any(end > LATEST for _, _, end in run.finals()):
            with pytest.raises(OverflowError, match="ts"):
                batch(run)
            continue
        assert run.closed(batch(run)) == run.finals(), run.name
    assert kinds == CHECKED[emit]
