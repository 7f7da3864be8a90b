"""Writes the files of `tests/vectors`: states and open windows of each query, from PySpark or from this process.

    vectors.py                   the records, what a batch gives, states of a `StreamDriver`, tables of this process
    vectors.py VERSION [...]     checkpoints and tables of PySpark, such as of 4.3, in its environment (`versions.py`)

It writes the files that are missing. It never changes a file, because a version of a format never changes.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from tests.python.harness import vector_files as files  # noqa: E402
from tests.python.harness.steps import LocalStream  # noqa: E402
from tests.python.harness.vectors import QUERIES, Query  # noqa: E402

TIME = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    {
        "batch": pa.int32(),
        "user": pa.string(),
        "device": pa.struct({"id": pa.int32(), "os": pa.string()}),
        "part": pa.int32(),
        "input": pa.int32(),
        "ts": TIME,
        "at": TIME,
        "n": pa.int64(),
        "x": pa.float64(),
        "price": pa.decimal128(9, 2),
        "word": pa.string(),
        "pause": pa.duration("us"),
        "starts": pa.bool_(),
        "done": pa.bool_(),
        "seq": pa.int64(),
        "tick": pa.bool_(),
        "late": pa.bool_(),
    }
)
DEVICES = ({"id": 1, "os": "a"}, {"id": 2, "os": None}, None)
TOGETHER = 20
"""The records of a micro-batch, without those of one time and late ones."""


def records() -> Iterator[dict[str, Any]]:
    """Records of some users a minute apart, up to four minutes out of order. At the end all sources have a tick."""
    draw = random.Random(37)
    first = files.START + timedelta(hours=1)
    for number in range(files.BATCHES * TOGETHER):
        at, user = first + timedelta(minutes=number, microseconds=number), draw.choice(["ann", "ann", "bob", "", "ä"])
        row = {
            "batch": number // TOGETHER,
            "user": user,
            "device": DEVICES[len(user) % 3],
            "part": draw.randrange(2),
            "input": draw.randrange(2),
            "ts": at - timedelta(seconds=draw.randrange(240)),
            "at": at,
            "n": draw.choice([None, *range(-5, 40)]),
            "x": draw.choice([None, *(quarter / 4 for quarter in range(-8, 20))]),
            "price": draw.choice([None, Decimal(draw.randrange(10**6)).scaleb(-2)]),
            "word": draw.choice(["a", "a", "a", "b", "c", None]),
            "pause": draw.choice([None, *(timedelta(minutes=minutes) for minutes in (20, 1, 1, 1, 2, 2, 3, 3, 4))]),
            "starts": draw.random() < 0.1,
            "done": draw.random() < 0.1,
            "seq": 10 * number,
            "tick": False,
            "late": False,
        }
        yield row
        if draw.random() < 0.15:
            yield {**row, "n": 7, "done": not row["done"], "seq": 10 * number + 1}
        if number in (2 * TOGETHER + 5, 3 * TOGETHER + 5):
            for place in range(4):
                late = {"part": place // 2, "input": place % 2, "seq": 10 * number + 2 + place, "late": True}
                yield {**row, "user": "ann", "ts": first - timedelta(hours=5), **late}
    for place in range(4):
        blank: dict[str, Any] = dict.fromkeys(SCHEMA.names)
        tick = {"batch": files.BATCHES - 1, "ts": files.END, "at": files.END, "tick": True, "late": False}
        yield {**blank, **tick, "part": place // 2, "input": place % 2, "seq": 10**4 + place}


def missing(place: Path) -> bool:
    """Whether a file is missing. Makes its folder."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        print(f"windrow: writing {place.relative_to(ROOT)}", flush=True)
        return True
    return False


def check(name: str, given: list[pa.Table]) -> None:
    """Raises `AssertionError` if the rows of a query differ from its rows over all records."""
    query, whole = QUERIES[name], files.expected(name)
    assert files.outcome(query, given) == files.outcome(query, [whole]), f"{name}: other rows"


def write_common() -> None:
    """Writes the files that need no Spark."""
    if missing(files.FOLDER / "records.parquet"):
        files.write(pa.Table.from_pylist(list(records()), SCHEMA), files.FOLDER / "records.parquet")
    for name, query in QUERIES.items():
        place = files.FOLDER / "expected" / f"{name}.parquet"
        if missing(place):
            files.write(query.result(query.windowed(files.selected(query, files.whole(query)))), place)
        place = files.FOLDER / "history" / f"{name}.parquet"
        if query.begins and missing(place):
            files.write(run(query, lambda rows: rows).rows, place)
        place = files.FOLDER / "driver" / f"{name}.zip"
        if not query.gives_records and missing(place):
            write_driver(name, place)
    write_tables("this-process", lambda rows: rows)
    for name, query in QUERIES.items():
        place = files.FOLDER / "opened" / f"{name}.zip"
        if query.has_pace and missing(place):
            write_opened(name, place)


def write_opened(name: str, place: Path) -> None:
    """The open windows of a stream of single records, after a check that a driver continues them. Some rows wait."""
    query = QUERIES[name]
    stream = LocalStream(query.stream, files.records().schema, shards=2)
    taken = pa.concat_tables([files.batch(query, number) for number in range(files.STORED)])
    batches = [each for row in range(len(taken)) for each in stream.push_batches([taken.slice(row, 1)])]
    opened, rows = stream.still_open(), pa.Table.from_batches(batches)
    given = pa.table(dict(zip(rows.column_names, rows.columns, strict=True)))  # deletes have nulls
    driver = files.driver(name, opened)
    files.feed(query, driver, range(files.STORED, files.BATCHES))
    check(name, [given, driver.read_table()])
    files.write_pages(place, [files.bytes_of(opened)], given)


def write_driver(name: str, place: Path) -> None:
    """The pages of a driver, after a check that another driver continues them."""
    query = QUERIES[name]
    first, second = files.driver(name), files.driver(name)
    files.feed(query, first, range(files.STORED))
    pages, given = first.snapshot(), [*files.before(name), first.read_table()]
    files.feed(query, second.restore(pages), range(files.STORED, files.BATCHES))
    check(name, [*given, second.read_table()])
    files.write_pages(place, pages, given[-1])


def run(query: Query, frame: Callable[[pa.Table], Any]) -> Any:
    """The first run of a daily job."""
    rows = files.selected(query, files.between(query, files.START, files.MIDDLE))
    given = [frame(each) for each in rows] if query.is_cogroup else frame(rows)
    return query.windowed(given, grace=None).advance(None, to=files.MIDDLE, **query.asked)


def write_tables(writer: str, frame: Callable[[pa.Table], Any]) -> None:
    """The rows of the first runs."""
    for name, query in QUERIES.items():
        place = files.FOLDER / "tables" / writer / f"{name}.parquet"
        if query.is_run and missing(place):
            rows = run(query, frame).rows
            if isinstance(rows, pa.Table):
                files.write(rows, place)
                continue
            with tempfile.TemporaryDirectory() as folder:
                written = Path(folder) / "rows"
                rows.coalesce(1).write.option("compression", "zstd").parquet(str(written))
                (part,) = written.glob("*.parquet")
                place.write_bytes(part.read_bytes())


def write_spark(version: str) -> None:
    """Writes the files of the PySpark in this process."""
    import pyspark
    from pyspark.sql import SparkSession
    from tests.python.harness.capabilities import has
    from tests.python.harness.spark_tables import frame_of

    import windrow

    assert pyspark.__version__.startswith(f"{version}."), f"this is PySpark {pyspark.__version__}"
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "1")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.log.level", "ERROR")
    spark = builder.getOrCreate()
    windrow.configure(spark)
    write_tables(f"spark-{version}", lambda rows: frame_of(spark, rows))
    for name in QUERIES if has("streams") else ():
        place = files.FOLDER / f"spark-{version}" / f"{name}.tar.gz"
        if missing(place):
            write_stream(spark, name, place)
    spark.stop()


def write_stream(spark: Any, name: str, place: Path) -> None:
    """The checkpoint of a stream, after a check that the stream continues."""
    from tests.python.harness.vector_streams import Stream

    query = QUERIES[name]
    opened = files.history(name) if query.begins else None
    with tempfile.TemporaryDirectory() as folder:
        stream = Stream(Path(folder), query)
        stream.start(spark, range(files.STORED), opened).awaitTermination()
        given = list(stream.given)
        files.write_checkpoint(place, Path(folder) / "checkpoint", pa.concat_tables(given))
        stream.start(spark, range(files.STORED, files.BATCHES), opened).awaitTermination()
        check(name, [*files.before(name), *stream.given])


def main() -> None:
    """Writes the files that are missing."""
    warnings.simplefilter("ignore")
    match sys.argv[1:]:
        case []:
            write_common()
        case ["--here", version]:
            write_spark(version)
        case chosen:
            from versions import environment

            for version in chosen:
                python = str(environment(version))
                own = {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python, "PYTHONPATH": str(ROOT)}
                subprocess.run([python, __file__, "--here", version], env=os.environ | own, check=True)


if __name__ == "__main__":
    main()
