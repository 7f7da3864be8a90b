"""Queries in sessions that have no settings, and in sessions that refuse to tell them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.conf import RuntimeConfig

import windrow as wr
from windrow._spark import release
from windrow._spark.configure import SETTINGS

from ..harness.spark_scenes import SetConf
from ..harness.spark_tables import frame_of
from ..harness.stream_scenes import DDL, GAP, short, table, tick, windowed
from ..harness.streams import Folder, Run, play, source, start

PARTITIONS = "spark.sql.shuffle.partitions"
VALIDATE = "spark.sql.execution.arrow.pyspark.validateSchema.enabled"


class Refusing:
    """The settings of a session that neither takes nor tells those that windrow asks for."""

    def __init__(self, conf: RuntimeConfig) -> None:
        self.conf = conf

    def set(self, key: str, value: str) -> None:
        raise RuntimeError(f"[CONFIG_NOT_AVAILABLE] Configuration {key} is not available.")

    def get(self, key: str, *default: Any) -> Any:
        if key in (*SETTINGS, PARTITIONS):
            raise RuntimeError(f"[CONFIG_NOT_AVAILABLE] Configuration {key} is not available.")
        return self.conf.get(key, *default)  # PySpark's own questions


@pytest.fixture
def fresh(spark: SparkSession) -> SparkSession:
    """A session without settings, not even those of the fixture `spark`."""
    session = spark.newSession()
    session.conf.unset(PARTITIONS)
    return session


@pytest.fixture
def refuse(fresh: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes all sessions refuse."""
    refusing = Refusing(fresh.conf)
    return lambda: monkeypatch.setattr(SparkSession, "conf", property(lambda session: refusing))


def counted(data: DataFrame, **options: Any) -> Any:
    return windowed(data, **options).agg(n=wr.count())


@pytest.mark.parametrize("refuses", [False, True])
def test_a_batch_needs_no_settings(fresh: SparkSession, refuse: Callable[[], None], refuses: bool) -> None:
    data = frame_of(fresh, table(("ann", 0), ("ann", 4), ("bob", 20)))
    if refuses:
        refuse()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        rows = [row.asDict(recursive=True) for row in counted(data).collect()]
        windowed(data).with_columns(n=wr.count()).collect()
    assert short(rows) == [("ann", 0, 4, 2), ("bob", 20, 20, 1)]
    messages = [str(warning.message) for warning in warned if "maxBytesPerBatch" in str(warning.message)]
    has_limit = release.has_setting(fresh, "spark.sql.execution.arrow.maxBytesPerBatch")
    assert len(messages) == (has_limit and not refuses)


@pytest.mark.needs("streams")
def test_a_stream_without_a_number_of_partitions_names_what_200_cost(fresh: SparkSession, tmp_path: Path) -> None:
    wr.configure(fresh)
    stream = source(fresh, Folder(tmp_path / "none"), DDL)
    for _ in range(2):  # once for each query
        with pytest.warns(UserWarning, match=r"shuffle.partitions is 200, .*at most 4 of .*conf.set\(") as warned:
            counted(stream)
        assert len(warned) == 1
        assert warned[0].filename == __file__


@pytest.mark.needs("streams")
def test_a_stream_runs_where_settings_can_be_neither_set_nor_read(
    fresh: SparkSession, refuse: Callable[[], None], tmp_path: Path
) -> None:
    wr.configure(fresh)
    fresh.conf.set(PARTITIONS, "2")
    folder, run = Folder(tmp_path / "in"), Run()
    for each in (table(("ann", 0), ("ann", 4)), tick(20)):
        folder.add(each)
    stream = source(fresh, folder, DDL)
    refuse()
    with pytest.warns(UserWarning, match="does not let .*providerClass"):
        assert wr.configure(fresh) == {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        query = start(counted(stream, tick="tick"), run, tmp_path / "checkpoint")
    query.awaitTermination()
    assert short(run.rows) == [("ann", 0, 4, 2)]


@pytest.mark.needs("streams")
def test_sparks_own_error_about_the_state_store_has_a_sentence_of_windrow(
    fresh: SparkSession, refuse: Callable[[], None], tmp_path: Path
) -> None:
    fresh.conf.set(PARTITIONS, "2")
    folder = Folder(tmp_path / "in")
    folder.add(table(("ann", 0)))
    stream = source(fresh, folder, DDL)
    refuse()
    query = start(counted(stream), Run(), tmp_path / "checkpoint")
    with pytest.raises(StreamingQueryException, match=r"HDFSBackedStateStoreProvider is not supported") as raised:
        query.awaitTermination()
    assert "windrow: a stream needs the state store org.apache.spark" in str(raised.value)


def answers(spark: SparkSession, folder: Path) -> dict[str, Callable[[], DataFrame]]:
    """Queries of each step that Spark runs, over a batch."""
    data = frame_of(spark, table(("ann", 0, 1), ("ann", 3, 2), ("bob", 20, 3), (None, 21, 4)))
    data.write.parquet(f"{folder}/files")
    aggregates = {
        "n": wr.count(),
        "listed": wr.collect_list("amount"),
        "most": wr.top_k("amount", 2),
        "half": wr.approx_percentile("amount", [0.5]),
    }

    def opened() -> Any:
        return windowed(data).advance(None, to="2026-01-01 00:01", **aggregates).still_open

    def scanned() -> Any:
        return windowed(wr.scan_parquet(spark, f"{folder}/files"))

    return {
        "agg": lambda: windowed(data).agg(**aggregates),
        "flat": lambda: windowed(data).flat().count(),
        "two keys": lambda: wr.group_by(data, "user", "amount", time="ts").windowed_by(GAP).count(),
        "functions": lambda: windowed(data).agg(most=wr.reduce("amount", max)),
        "then": lambda: windowed(data).agg(half=wr.count() / 2),
        "observed": lambda: windowed(data).observe(wr.Observation()).agg(**aggregates),
        "left out": lambda: windowed(data).left_out("emit").agg(**aggregates),
        "rows": lambda: windowed(data).with_columns(**aggregates),
        "closed": lambda: windowed(data).advance(opened(), to="2026-01-01 12:00", **aggregates).closed,
        "open": opened,
        "scan": lambda: scanned().agg(**aggregates),
        "rows of a scan": lambda: scanned().with_columns(**aggregates),
    }


@pytest.mark.needs("PySpark 4.3 or later")
def test_a_spark_that_checks_the_batches_of_python_gets_the_same_rows_and_columns(
    spark: SparkSession, set_conf: SetConf, tmp_path: Path
) -> None:
    queries = answers(spark, tmp_path)

    def found() -> dict[str, Any]:
        frames = {name: query() for name, query in queries.items()}
        return {name: (frame.schema, sorted(map(str, frame.collect()))) for name, frame in frames.items()}

    unchecked = found()
    set_conf(VALIDATE, "true")
    assert found() == unchecked
    assert not unchecked["agg"][0]["user"].nullable
    assert all(rows for _, rows in unchecked.values())


@pytest.mark.needs("PySpark 4.3 or later")
@pytest.mark.parametrize("rows", [False, True])
def test_a_spark_that_checks_the_batches_of_python_runs_streams(
    spark: SparkSession, set_conf: SetConf, tmp_path: Path, rows: bool
) -> None:
    set_conf(VALIDATE, "true")

    def query(data: DataFrame) -> Any:
        sessions = windowed(data, tick="tick")
        return sessions.with_columns(n=wr.count()) if rows else sessions.agg(n=wr.count())

    run = play(spark, tmp_path, [table(("ann", 0), ("ann", 4)), tick(20)], query, DDL)
    assert len(run.rows) == (2 if rows else 1)
    assert {row["n"] for row in run.rows} == {2}
