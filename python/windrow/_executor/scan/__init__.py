"""Reads files with Arrow inside the tasks, so that no row passes through the JVM.

| file | what |
|---|---|
| `conversion` | columns of a file in the types that Spark gives them |
| `location` | the filesystem of a file, and whether the file is still the same |
| `parquet_part` | some row groups of a Parquet file, also of a Delta table |
| `dataset_part` | a fragment of a pyarrow dataset, or some row groups of it |
| `iceberg_part` | some row groups of a data file of an Iceberg table |
| `row_mask` | the rows that a table has deleted from a file |
| `row_groups` | the steps that plan: the row groups of files |
| `read` | the steps that read, and that read and pack |
"""
