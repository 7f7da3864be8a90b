"""Queries over data in this process, without Spark.

| file | what |
|---|---|
| `sources` | pyarrow, Polars, DuckDB, pandas and any Arrow stream, read column by column |
| `counters` | what a query counted, with its result; the warning where records are left out |
| `progress` | how far a query has come: a callback, a bar |
| `query` | one crossing into the core, a `pyarrow.Table` out |
| `reader` | a result in batches |
"""
