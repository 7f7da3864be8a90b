"""Queries over in-process data, without Spark.

| file | what |
|---|---|
| `sources` | opens data of any library, and the inputs of a cogroup as one |
| `columns` | the columns that a query reads, and results of the same kind; pyarrow's tables |
| `polars_frame`, `pandas_frame`, `duckdb_relation` | the same for a library: its columns, its results |
| `results` | results as tables of pyarrow |
| `empty_columns` | types for columns without values |
| `expressions` | columns that are expressions |
| `counters` | the counters in a result, and the warning about records left out |
| `stream_progress` | the counters in the progress of a streaming query |
| `progress` | reports progress: a callback or a bar |
| `query` | one call of the core, a result of the kind of the data |
| `reader` | a result in batches |
| `left_out` | the records in no window that a query meets |
"""
