"""A streaming query in its own driver, as a user would start it: `python job.py place master query`.

Lines on its standard input: a number starts the query with this many files a micro-batch, `stop` stops it. Lines on its
standard output that begin with `job:` report `ready` with the application, `started`, `ended`, and `failed` with the
reason. At `place` are the files (a folder for each of `inputs`), the checkpoint, and one folder of Parquet for each
micro-batch (`out`). It imports nothing from the tests, so its Python functions reach the workers by value.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import windrow as wr

DDL = "user string, ts timestamp, amount bigint, pause interval day to second, part int, offset bigint, tick boolean"
AGGREGATES: dict[str, Any] = {"n": wr.count(), "spend": wr.sum("amount"), "most": wr.max("amount")}
OF_TWO: dict[str, Any] = {
    "n": wr.count(),
    "clicks": wr.count("clicks.*"),
    "most": wr.max("clicks.amount"),
    "spend": wr.sum("orders.amount"),
}
SESSIONS = wr.SessionWindows.with_gap("3 minutes", grace="5 minutes")
RULED = wr.SessionWindows.with_gap(
    "3 minutes", grace="5 minutes", max_duration="9 minutes", cut_on="part", max_records=4
)
GAPS = wr.SessionWindows.with_dynamic_gap("pause", grace="5 minutes")
SLIDING = wr.SlidingWindows.with_time_difference("3 minutes", grace="5 minutes")


def joined(older: int | None, later: int | None) -> int:
    return (older or 0) + (later or 0)


def sessions(data: DataFrame) -> DataFrame:
    """Partial sessions, judged by the start of the micro-batch."""
    return wr.group_by(data, "user", time="ts", tick="tick").windowed_by(SESSIONS).shards(2).agg(**AGGREGATES)


def begun(data: DataFrame) -> DataFrame:
    """Sessions that begin with the open windows of a history. Each start computes them again."""
    return _begun(data, "close")


def begun_paced(data: DataFrame) -> DataFrame:
    """The same with updates at a pace: a window of the history may wait over several micro-batches."""
    return _begun(data, "update", every="2 minutes")


def _begun(data: DataFrame, *emit: str, **pace: str) -> DataFrame:
    rows = [(f"user {number % 5}", 1_767_225_600 + 20 * number - 1200, number) for number in range(60)]
    history = data.sparkSession.createDataFrame(rows, "user string, at bigint, amount bigint")
    history = history.selectExpr("user", "timestamp_seconds(at) AS ts", "amount")
    windowed = wr.group_by(history, "user", time="ts").windowed_by(SESSIONS)
    opened = windowed.advance(None, to="2026-01-01 00:00", **AGGREGATES).still_open
    stream = wr.group_by(data, "user", time="ts", tick="tick").windowed_by(SESSIONS).shards(2)
    return stream.emit(*emit, **pace).start_from(opened).agg(**AGGREGATES)


def updates(data: DataFrame) -> DataFrame:
    """Records, of which late ones are rows too."""
    windowed = wr.group_by(data, "user", time="ts", tick="tick").windowed_by(SESSIONS).shards(3)
    return windowed.emit("update").late("emit").agg(**AGGREGATES)


def paced(data: DataFrame) -> DataFrame:
    """Updates at a pace: some wait from one micro-batch to another."""
    windowed = wr.group_by(data, "user", time="ts", tick="tick").windowed_by(SESSIONS).shards(2)
    return windowed.emit("update", every="2 minutes").agg(**AGGREGATES)


def ruled(data: DataFrame) -> DataFrame:
    """Sessions that rules end: records wait for earlier ones. Records that are left out are rows too."""
    windowed = wr.group_by(data, "user", time="ts", tick="tick").windowed_by(RULED).shards(2)
    return windowed.left_out("emit", columns=["amount"]).agg(**AGGREGATES, ending=wr.ended_by())


ENDS = {"end": "stopped", "tick": "tick"}
OF_ENDS: dict[str, Any] = {
    **AGGREGATES,
    "active": wr.active_time("1 minute"),
    "runs": wr.active_runs("1 minute"),
    "seldom": wr.sum("amount").min_samples(4),
}


def _stopped(data: DataFrame) -> DataFrame:
    """Each record with its end; a ninth of them has none and is left out."""
    return data.selectExpr("*", "if(amount % 9 = 0, NULL, ts + pause / 4) AS stopped")


def ended(data: DataFrame) -> DataFrame:
    """Records with an end, of which some are behind. Records that are left out are rows too."""
    windowed = wr.group_by(_stopped(data), "user", time="ts", **ENDS).windowed_by(SESSIONS).shards(2)
    return windowed.left_out("emit", columns=["amount"]).agg(**OF_ENDS)


def ended_updates(data: DataFrame) -> DataFrame:
    """Updates of sessions of records with an end."""
    windowed = wr.group_by(_stopped(data), "user", time="ts", **ENDS).windowed_by(SESSIONS).shards(2)
    return windowed.emit("update").agg(**OF_ENDS)


def ended_ruled(data: DataFrame) -> DataFrame:
    """Sessions that rules end, of records with an end: they wait for earlier ones."""
    windowed = wr.group_by(_stopped(data), "user", time="ts", **ENDS).windowed_by(RULED).shards(2)
    return windowed.agg(**OF_ENDS, ending=wr.ended_by())


def sources(data: DataFrame) -> DataFrame:
    """Partial sessions, each source by itself."""
    grouped = wr.group_by(data, "user", "part", time="ts", tick="tick", source="part")
    return grouped.windowed_by(SESSIONS).shards(2).agg(**AGGREGATES)


def slowest(data: DataFrame) -> DataFrame:
    """Gaps of the records; the slowest source holds the others open."""
    grouped = wr.group_by(data, "user", time="ts", tick="tick", source="part", stream_time="slowest")
    return grouped.windowed_by(GAPS).shards(2).agg(**AGGREGATES)


def every_record(data: DataFrame) -> DataFrame:
    """Kafka's sequence of each source."""
    grouped = wr.group_by(data, "user", "part", time="ts", tick="tick", source="part", order="offset")
    return grouped.windowed_by(SESSIONS).shards(2).emit("update", every_record=True).agg(**AGGREGATES)


def python(data: DataFrame) -> DataFrame:
    """Sliding windows with a Python function, each source by itself."""
    grouped = wr.group_by(data, "user", "part", time="ts", tick="tick", source="part", order="offset")
    return grouped.windowed_by(SLIDING).shards(2).agg(n=wr.count(), spend=wr.reduce("amount", joined))


def cogrouped(clicks: DataFrame, orders: DataFrame) -> DataFrame:
    """Two inputs, each with its own stream time."""
    inputs = {name: wr.group_by(data, "user", time="ts", tick="tick") for name, data in _named(clicks, orders)}
    return wr.cogroup(**inputs).windowed_by(SESSIONS).shards(2).agg(**OF_TWO)


def cogrouped_records(clicks: DataFrame, orders: DataFrame) -> DataFrame:
    """Two inputs in one order, record by record; late ones are rows too."""
    inputs = {
        name: wr.group_by(data, "user", time="ts", tick="tick", order="offset") for name, data in _named(clicks, orders)
    }
    windowed = wr.cogroup(**inputs).windowed_by(SESSIONS).shards(3)
    return windowed.emit("update", every_record=True).late("emit").agg(**OF_TWO)


def cogrouped_sources(clicks: DataFrame, orders: DataFrame) -> DataFrame:
    """Two inputs of two sources each: a source of the one goes with the same source of the other."""
    inputs = {
        name: wr.group_by(data, "user", "part", time="ts", tick="tick", source="part")
        for name, data in _named(clicks, orders)
    }
    return wr.cogroup(**inputs).windowed_by(SLIDING).shards(2).agg(**OF_TWO)


def _named(clicks: DataFrame, orders: DataFrame) -> list[tuple[str, DataFrame]]:
    return [("clicks", clicks), ("orders", orders)]


QUERIES: dict[str, Callable[..., DataFrame]] = {
    query.__name__: query
    for query in (
        sessions,
        begun,
        begun_paced,
        updates,
        paced,
        ruled,
        ended,
        ended_updates,
        ended_ruled,
        slowest,
        every_record,
        python,
        cogrouped,
        sources,
        cogrouped_records,
        cogrouped_sources,
    )
}


def inputs(query: str) -> list[str]:
    """The folders that a query reads."""
    return ["clicks", "orders"] if query.startswith("cogrouped") else ["in"]


def session(master: str) -> SparkSession:
    """A separate session that keeps snapshots of its state and purges them often."""
    builder = SparkSession.builder.master(master).appName("windrow faults")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.stateStore.maintenanceInterval": "3s",
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "3",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    wr.configure(spark)
    return spark


class Sink:
    """A folder of Parquet for each micro-batch, idempotent by its number; it does not return from those in `hold`."""

    def __init__(self, place: Path) -> None:
        self.place = place
        for name in ("out", "again", "hold"):
            (place / name).mkdir(parents=True, exist_ok=True)

    def __call__(self, frame: DataFrame, number: int) -> None:
        """Writes a micro-batch; one that is there already is put aside, to be compared."""
        whole = self.place / f"hidden-{uuid.uuid4().hex}"
        frame.write.parquet(str(whole))
        try:
            whole.rename(self.place / "out" / str(number))
        except OSError:
            whole.rename(self.place / "again" / f"{number}-{uuid.uuid4().hex}")
        while (self.place / "hold" / str(number)).exists():
            time.sleep(0.005)


def start(spark: SparkSession, place: Path, query: str, files: int) -> Any:
    """The query of that name over the files at a place, from its checkpoint there, until all is read.

    Of the second input, if any, a micro-batch has one file: it may fall behind the first one.
    """
    first, *others = [(str(place / name), spark.readStream.schema(DDL)) for name in inputs(query)]
    data = [first[1].option("maxFilesPerTrigger", files).parquet(first[0])]
    data += [reader.option("maxFilesPerTrigger", 1).parquet(folder) for folder, reader in others]
    writer = QUERIES[query](*data).writeStream.option("checkpointLocation", str(place / "checkpoint"))
    return writer.trigger(availableNow=True).foreachBatch(Sink(place)).start()


def tell(*words: str) -> None:
    """A line for the parent."""
    print("job:", *words, flush=True)


def watch(query: Any) -> None:
    """Tells how a query ends."""
    try:
        query.awaitTermination()
    except Exception as error:
        tell("failed", " ".join(str(error).split()))
    else:
        tell("ended")


def main() -> None:
    """Runs on request."""
    place, master, query = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    spark = session(master)
    tell("ready", spark.sparkContext.applicationId)
    started: Any = None
    for line in sys.stdin:
        if line.strip() == "stop":
            started.stop()
        else:
            started = start(spark, place, query, int(line))
            tell("started")
            threading.Thread(target=watch, args=(started,), daemon=True).start()
    os._exit(0)


if __name__ == "__main__":
    main()
