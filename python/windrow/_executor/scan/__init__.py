"""Reads files with Arrow inside the tasks, so that no row passes through the JVM.

| file | what |
|---|---|
| `conversion` | columns of a file in the types that Spark gives them |
| `location` | the filesystem of a file, and whether the file is still the same |
| `parquet_part` | some row groups of a Parquet file |
| `dataset_part` | a fragment of a pyarrow dataset |
| `delta_part`, `iceberg_part` | a data file of a Delta or an Iceberg table |
| `row_groups` | the step that plans: the row groups of Parquet files |
| `read` | the steps that read, and that read and pack |
"""
