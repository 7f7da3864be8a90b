"""Parts of files as the tasks of a scan read them, from an object store and in the types that Spark has."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from windrow._executor.scan.dataset_part import DatasetPart
from windrow._executor.scan.location import Location, located, path_in_store
from windrow._executor.scan.parquet_part import ParquetPart
from windrow._executor.scan.row_groups import row_groups
from windrow._spark.dataset_scan import _parts
from windrow._spark.parquet_scan import parquet_part
from windrow._spark.row_groups import in_order, pickled_filesystem

from ..harness.object_store import KEY, Store, object_store

SECRET = "kept-from-messages"
URI = "s3a://shop/day=2026-05-04/a%20b.parquet"
PATH = "/shop/day=2026-05-04/a b.parquet"
COLUMNS = pa.schema({"n": pa.int64()})


@pytest.fixture
def store() -> Iterator[Store]:
    """A file of 25 rows in three row groups."""
    with object_store() as started:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"n": range(25)}), sink, row_group_size=10)
        started.objects[PATH] = (sink.getvalue().to_pybytes(), 1_700_000_000)
        yield started


def s3(store: Store, key: str = KEY) -> fs.S3FileSystem:
    return fs.S3FileSystem(
        access_key=key, secret_key=SECRET, endpoint_override=store.address, scheme="http", region="us-east-1"
    )


def planned(filesystem: Any) -> list[Any]:
    """The parts of the file, after they have travelled."""
    uris = iter([pa.RecordBatch.from_arrays([pa.array([URI])], names=["uri"])])
    step = row_groups(uris, COLUMNS.serialize().to_pybytes(), None, pickled_filesystem(filesystem))
    rows = in_order([row for batch in step for row in batch.to_pylist()])
    return pickle.loads(pickle.dumps([parquet_part(row, filesystem) for row in rows]))


def numbers(parts: list[Any]) -> list[int]:
    return [n for part in parts for batch in part.batches(COLUMNS) for n in batch["n"].to_pylist()]


def test_a_filesystem_reads_with_its_own_credentials(store: Store) -> None:
    parts = planned(s3(store))
    assert len(parts) == 3
    assert numbers(parts) == list(range(25))
    assert SECRET not in repr(parts)


def test_the_environment_of_an_executor_has_the_credentials(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"AWS_ENDPOINT_URL": f"http://{store.address}", "AWS_ACCESS_KEY_ID": KEY}
    for name, value in (environment | {"AWS_SECRET_ACCESS_KEY": SECRET}).items():
        monkeypatch.setenv(name, value)
    assert numbers(planned(None)) == list(range(25))


def test_an_object_that_changes_is_named_without_the_secret(store: Store) -> None:
    parts = planned(s3(store))
    content, modified = store.objects[PATH]
    for changed in ((content, modified + 1), (content + b"x", modified), None):
        store.objects[PATH] = changed
        if changed is None:
            del store.objects[PATH]
        with pytest.raises(RuntimeError, match=r"^s3a://shop/.*a%20b\.parquet: ") as caught:
            numbers(parts)
        assert SECRET not in str(caught.value)


def test_a_store_that_refuses_the_key_is_named_without_the_secret(store: Store) -> None:
    with pytest.raises(RuntimeError, match=r"^s3a://shop/.*a%20b\.parquet: .*ACCESS_DENIED.*filesystem=") as caught:
        planned(s3(store, "another"))
    assert SECRET not in str(caught.value)


def test_a_dataset_takes_its_filesystem_along(store: Store) -> None:
    dataset = ds.dataset(PATH[1:], filesystem=s3(store))
    (fragment,) = dataset.get_fragments()
    sent = pickle.loads(pickle.dumps([part for part, _ in _parts(fragment, dataset.schema, None)]))
    assert numbers(sent) == list(range(25))
    store.objects[PATH] = (store.objects[PATH][0], 1)
    with pytest.raises(RuntimeError, match=r"a b\.parquet: the file was written after the scan was planned"):
        numbers(sent)


def test_google_is_asked_for_a_minute_at_most() -> None:
    """Arrow alone tries for 15 minutes, also without credentials."""
    filesystem, path = located("gs://bucket/a%20b")
    assert path == "bucket/a b"
    (options,) = filesystem.__reduce__()[1]
    assert options["retry_time_limit"] == timedelta(minutes=1)


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("s3://bucket/a%23b", "bucket/a#b"),
        ("gs://bucket/a#b", "bucket/a#b"),
        ("abfss://container@account.dfs.core.windows.net/a", "container/a"),
        ("hdfs://name:8020/a", "/a"),
        ("file:///a%20b", "/a b"),
    ],
)
def test_the_path_in_a_store_begins_with_the_bucket(uri: str, path: str) -> None:
    assert path_in_store(uri) == path


# Parts: what Spark's type of a column cannot hold

MICROSECONDS = pa.schema([("n", pa.int64()), ("ts", pa.timestamp("us"))])


@pytest.mark.parametrize("nanoseconds", [-1_000, 0, 999, 1_000, 1_001])
def test_nanoseconds_that_are_no_microseconds_are_an_error_that_names_the_column(
    tmp_path: Path, nanoseconds: int
) -> None:
    file = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": [1], "ts": pa.array([nanoseconds], pa.timestamp("ns"))}), file)
    dataset = ds.dataset(file)
    part = DatasetPart(next(iter(dataset.get_fragments())), Location.of(file), dataset.schema)
    if nanoseconds % 1_000 == 0:
        (batch,) = part.batches(MICROSECONDS)
        assert batch["ts"].cast(pa.int64()).to_pylist() == [nanoseconds // 1_000]
    else:
        said = r"a\.parquet: column 'ts': got timestamp\[ns\] values that do not fit into timestamp\[us\] \(.*lose"
        with pytest.raises(RuntimeError, match=said):
            list(part.batches(MICROSECONDS))


def test_a_column_with_another_name_in_the_file_is_named_as_the_table_names_it(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"col-1": ["x"]}), path)
    location = Location.of(path.as_uri())
    part = ParquetPart(location, (0,), None, ignore_case=False, is_strict=False, names={"n": "col-1"})
    assert [row for batch in part.batches(pa.schema({"n": pa.string()})) for row in batch.to_pylist()] == [{"n": "x"}]
    with pytest.raises(RuntimeError, match=r"a\.parquet: column 'n' has type string in this file; .* have int64"):
        list(part.batches(pa.schema({"n": pa.int64()})))
