"""Files of an object store, as the tasks of a scan read them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from windrow._executor.scan.location import located, path_in_store
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
