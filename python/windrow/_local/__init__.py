"""Queries over data in this process, without Spark.

| file | what |
|---|---|
| `sources` | reads pyarrow, Polars, DuckDB, pandas and any Arrow stream, column by column |
| `expressions` | columns that are expressions |
| `counters` | the counters in a result, and the warning about records left out |
| `progress` | reports progress: a callback or a bar |
| `query` | one call of the core, a `pyarrow.Table` out |
| `reader` | a result in batches |
"""
