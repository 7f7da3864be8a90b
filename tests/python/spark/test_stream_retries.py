"""A micro-batch that is really tried again, from its checkpoint: it sets aside what it set aside before."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import windrow as wr

from ..harness.stream_scenes import DDL, batch
from ..harness.streams import Folder, Run, source, start
from ..scenes import EPOCH

pytestmark = [pytest.mark.needs("streams"), pytest.mark.slow]

DEADLINE = 90  # seconds
MINUTE = 60_000  # milliseconds
SPACE = 200  # of records, in milliseconds


class SinkError(Exception):
    """What a sink fails with."""


def clock_of(checkpoint: Path, number: int) -> int:
    """The wall clock of a micro-batch as Spark has written it down, in milliseconds."""
    _, written, *_ = (checkpoint / "offsets" / str(number)).read_text().splitlines()
    clock: int = json.loads(written)["batchTimestampMs"]
    return clock


def await_clock(moment: int) -> None:
    """Waits until the wall clock is past a moment."""
    end, never = time.monotonic() + DEADLINE, threading.Event()
    while (datetime.now(UTC) - EPOCH) / timedelta(milliseconds=1) < moment:
        assert time.monotonic() < end, "waited in vain"
        never.wait(0.05)


@pytest.mark.parametrize("order", [pytest.param(None, marks=pytest.mark.soak), "offset"])
def test_a_micro_batch_that_is_tried_again_sets_the_same_records_aside(
    spark: SparkSession, tmp_path: Path, order: str | None
) -> None:
    """
    now      + 1/5 second   + 2/5 second  ...   + 1 minute   ┆   ...   + 10 minutes
    user 0   user 1         user 2                      tick ┆ ahead          tick     every tenth row is a tick
                                                             └ a minute after the start of the micro-batch
    """
    now = (datetime.now(UTC) - EPOCH) // timedelta(milliseconds=1)
    times = [now + SPACE * number for number in range(3000)]
    rows = [
        {"user": str(at), "ts": EPOCH + timedelta(milliseconds=at), "tick": not number % 10, "offset": number}
        for number, at in enumerate(times)
    ]
    folder, checkpoint = Folder(tmp_path / "in"), tmp_path / "checkpoint"
    folder.add(batch([{**rows[1], "ts": EPOCH, "tick": False}]))
    folder.add(batch(rows))
    tries: list[list[str]] = []

    class FailingRun(Run):
        def sink(self, frame: DataFrame, number: int) -> None:
            super().sink(frame, number)
            if number == 1:
                tries.append(sorted(row["user"] for row in self.batches[number]))
                if len(tries) <= 2:
                    raise SinkError

    run = FailingRun()

    def again() -> Any:
        grouped = wr.group_by(source(spark, folder, DDL), "user", time="ts", tick="tick", order=order)
        windowed = grouped.windowed_by(wr.SessionWindows.with_gap("1 second", grace="1 hour")).max_ahead("1 minute")
        return start(windowed.shards(2).emit("update").agg(n=wr.count()), run, checkpoint)

    for _ in range(2):  # the sink fails, and once more when the micro-batch is tried again
        with pytest.raises(StreamingQueryException, match="SinkError"):
            again().awaitTermination(DEADLINE)
        clock = clock_of(checkpoint, 1)
        await_clock(clock + 3 * SPACE * len(tries))  # by now three more records would not be ahead
    counted = []
    for _ in range(2):  # it is done, but not committed: as if the driver had died
        query = again()
        assert query.awaitTermination(DEADLINE)
        counted.append(Run(progress=query.recentProgress).counters()[-1])
        for entry in ("1", ".1.crc"):
            (checkpoint / "commits" / entry).unlink()
        await_clock(clock + 3 * SPACE * (len(tries) + 1))
    assert clock_of(checkpoint, 1) == clock
    expected = [at for number, at in enumerate(times) if number % 10 and at <= clock + MINUTE]
    assert tries == [sorted(map(str, expected))] * 4
    ahead = [number for number, at in enumerate(times) if at > clock + MINUTE]
    ticks = sum(number % 10 == 0 for number in ahead)
    for counters in counted:
        assert (counters["ahead"], counters["bad_ticks"]) == (len(ahead) - ticks, ticks)
        assert counters["records"] == len(expected)
    assert min(len(expected), len(ahead), ticks) > 3
