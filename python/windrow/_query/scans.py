"""Files that the executors read with Arrow, for `group_by` and `cogroup`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Never

from windrow._arguments.errors import no_attribute
from windrow._spark.environment import check_session

if TYPE_CHECKING:
    import pyarrow.compute as pc
    import pyarrow.dataset as ds
    from pyarrow import fs
    from pyspark.sql import DataFrame, SparkSession

    from windrow._plan.input import Input

_SCAN = (
    'a scan is no DataFrame: pass it to windrow.group_by(scan, "user", time="ts") or to windrow.cogroup, and choose '
    "rows and columns by the arguments of the function that makes it"
)


@dataclass(frozen=True)
class Scan:
    """Files that the executors read with Arrow. `group_by` and `cogroup` take it.

    Made by `scan_parquet`, `scan_delta`, `scan_iceberg` and `scan`.

    Attributes:
        columns: the columns that it gives, in order.
        tasks: in how many tasks Spark reads them.
    """

    columns: tuple[str, ...]
    tasks: int
    input: Input[DataFrame] = field(repr=False, compare=False)

    if not TYPE_CHECKING:  # to a type checker there is no such attribute

        def __getattr__(self, name: str) -> Never:
            raise no_attribute(self, name, None if name.startswith("_") else _SCAN)


def scan_parquet(
    spark: SparkSession,
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,
    filesystem: fs.FileSystem | None = None,
) -> Scan:
    """Parquet files that the executors read with Arrow, so that no row passes through Spark's JVM.

    The columns, their types and the values are the same as with `spark.read.parquet(*paths)`. Spark lists the files and
    gives the columns, with those of folders such as `day=2026-05-04`. One Spark job reads the footers, then nothing
    runs until an action on the result. A task reads only the row groups that it needs, and only the columns that the
    query names; over Spark Connect, a query with Spark expressions reads all columns of the scan. Spark expressions,
    `with_columns` and cogroups need the rows in Spark, so they pass through the JVM.

    Args:
        spark: the session, classic or Connect.
        paths: files, folders or globs, as for `spark.read.parquet`. Arrow reads the files: on each executor it needs
            access to them.
        columns: the columns to take; all without it. So you can leave out columns whose type windrow cannot read.
        filter: a condition of pyarrow over any columns of the files, such as `pc.field("amount") > 10`. Arrow does not
            read row groups whose statistics exclude it; it uses the statistics of a column only where the column has no
            null in the row group. Rows for which it is false or null are left out and not counted.
        filesystem: what reads the paths on executors, with its credentials, such as
            `pyarrow.fs.S3FileSystem(endpoint_override="store.example.com")`. Without it the scheme of a path chooses,
            and each executor takes the credentials from its environment. For `s3a://` it looks where AWS's tools look.

    Raises:
        TypeError: an argument of a wrong type, or a column of a type that windrow cannot read.
        ValueError: no session, no files, paths that Spark cannot read, a file in several of the paths, a scheme that
            Arrow cannot read, a column that the files lack, a filter that does not fit the columns, or timestamps while
            `spark.sql.parquet.int96TimestampConversion` is true.
        RuntimeError: a file that Arrow cannot read. The error names the file. A query fails with this error if a file
            has changed or vanished by then, or has a column that the query reads in another type than Spark says.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> import pyarrow.parquet
    >>> from pyspark.sql import SparkSession
    >>> folder = tempfile.mkdtemp()
    >>> pyarrow.parquet.write_table(pa.table({"user": ["ann"], "amount": [5]}), f"{folder}/a.parquet")
    >>> scan_parquet(SparkSession.builder.getOrCreate(), folder, columns=["user"])
    Scan(columns=('user',), tasks=1)
    """
    check_session(spark)
    from windrow._spark.parquet_scan import parquet_files

    return _scan(parquet_files(spark, paths, columns, filter, filesystem))


def scan(
    spark: SparkSession,
    dataset: ds.Dataset,
    *,
    columns: Sequence[str] | None = None,
    filter: pc.Expression | None = None,
) -> Scan:
    """A dataset of pyarrow that the executors read, in any format and filesystem that pyarrow has.

    The driver lists the files, and a task reads a fragment. Columns have the types that
    `spark.createDataFrame(dataset.to_table())` gives them. Times finer than a microsecond are an error.

    Args:
        spark: the session, classic or Connect.
        dataset: files, such as `pyarrow.dataset.dataset("events/", partitioning="hive")`.
        columns: as for `scan_parquet`.
        filter: as for `scan_parquet`.

    Raises:
        TypeError: an argument of a wrong type, a dataset in memory, or a column of a type that Spark does not have.
        ValueError: a column that the dataset lacks, a filter that does not fit, or a filesystem that cannot be sent to
            executors.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> import pyarrow.csv
    >>> import pyarrow.dataset
    >>> from pyspark.sql import SparkSession
    >>> path = Path(tempfile.mkdtemp(), "events.csv")
    >>> pyarrow.csv.write_csv(pa.table({"user": ["ann"], "amount": [5]}), path)
    >>> events = pyarrow.dataset.dataset(path, format="csv")
    >>> scan(SparkSession.builder.getOrCreate(), events)
    Scan(columns=('user', 'amount'), tasks=1)
    """
    check_session(spark)
    from windrow._spark.dataset_scan import dataset_files

    return _scan(dataset_files(spark, dataset, columns, filter))


def scan_delta(spark: SparkSession, table: object, *, filesystem: fs.FileSystem | None = None) -> Scan:
    """A Delta table that the executors read with Arrow. It needs the package `deltalake` in this process only.

    `deltalake` reads the log in this process, one Spark job reads the footers, and tasks read row groups. Deletion
    vectors, partitions and column mapping work, but not column mapping of nested columns. The scan reads the version of
    the table that you opened.

    Args:
        spark: the session, classic or Connect.
        table: a `deltalake.DeltaTable`, also of an older version (`DeltaTable(path, version=3)`), or the path of a
            table.
        filesystem: what reads its files on executors, as for `scan_parquet`.

    Raises:
        ImportError: no `deltalake`.
        TypeError: no session, no table, a nested column with column mapping, a column that windrow cannot read, or no
            filesystem of pyarrow.
        ValueError: a path without a table, a table with a feature that deltalake lacks (type widening, shredded
            variants), or a filesystem that cannot be sent to executors.
        RuntimeError: a file that is missing, or is not as the log of the table says. The error names the file.

    >>> import tempfile
    >>> from datetime import datetime
    >>> import deltalake
    >>> import pyarrow as pa
    >>> from pyspark.sql import SparkSession
    >>> payments = pa.table({"card": [1, 1], "ts": [datetime(2026, 1, 1, 8), datetime(2026, 1, 1, 9)]})
    >>> path = tempfile.mkdtemp()
    >>> deltalake.write_deltalake(path, payments)
    >>> scan_delta(SparkSession.builder.getOrCreate(), deltalake.DeltaTable(path, version=0))
    Scan(columns=('card', 'ts'), tasks=1)
    """
    check_session(spark)
    from windrow._spark.row_groups import planner
    from windrow._spark.table_scan import delta_parts

    return _table_scan(spark, *delta_parts(table, planner(spark), filesystem))


def scan_iceberg(spark: SparkSession, table_or_scan: object) -> Scan:
    """An Iceberg table that the executors read with Arrow. It needs the package `pyiceberg` here and on executors.

    PyIceberg plans the files in this process, one Spark job reads the footers, and tasks read row groups. They use
    PyIceberg's rules for changed columns, and the credentials of the table's catalog. Deletes by position and deletion
    vectors work. A table with deletes by equality is refused, because PyIceberg does not read them. Some tables
    PyIceberg cannot even open, such as those of format version 4 or with a column of type `variant`: read them with
    `spark.read.format("iceberg")`.

    Args:
        spark: the session, classic or Connect.
        table_or_scan: a `pyiceberg.table.Table`, or a scan of one, for some columns, rows or a snapshot:
            `table.scan(row_filter="amount > 0", selected_fields=("card", "ts"), snapshot_id=...)`.

    Raises:
        ImportError: no `pyiceberg`.
        TypeError: no session, neither a table nor a scan, or a column of a type that Spark does not have.
        ValueError: deletes or another feature that PyIceberg does not read, data files that are not Parquet, a scan
            with a limit, or one whose columns, filter or snapshot do not fit the table.
        RuntimeError: a file that is missing, or is not as the metadata of the table says. The error names the file.

    >>> import tempfile
    >>> from datetime import datetime
    >>> import pyarrow as pa
    >>> from pyiceberg.catalog.sql import SqlCatalog
    >>> from pyspark.sql import SparkSession
    >>> payments = pa.table({"card": [1, 1], "ts": [datetime(2026, 1, 1, 8), datetime(2026, 1, 1, 9)]})
    >>> catalog = SqlCatalog("shop", uri="sqlite://", warehouse=f"file://{tempfile.mkdtemp()}")
    >>> catalog.create_namespace("shop")
    >>> table = catalog.create_table("shop.payments", schema=payments.schema)
    >>> table.append(payments)
    >>> scan_iceberg(SparkSession.builder.getOrCreate(), table.scan(selected_fields=("card", "ts")))
    Scan(columns=('card', 'ts'), tasks=1)
    """
    check_session(spark)
    from windrow._spark.row_groups import planner
    from windrow._spark.table_scan import iceberg_parts

    return _table_scan(spark, *iceberg_parts(table_or_scan, planner(spark)))


def _table_scan(spark: Any, schema: Any, parts: Any) -> Scan:
    from windrow._spark.scan import Files

    return _scan(Files.of(spark, schema, schema.names, parts))


def _scan(files: Any) -> Scan:
    from windrow._spark.scan import ScanInput

    return Scan(files.names, len(files.tasks), ScanInput(files))
