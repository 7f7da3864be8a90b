"""Parts of a scan: what Spark's type of a column cannot hold is an error that names the column."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from windrow._executor.scan.dataset_part import DatasetPart
from windrow._executor.scan.location import Location
from windrow._executor.scan.parquet_part import ParquetPart

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
