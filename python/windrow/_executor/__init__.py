"""The steps that run on executors, and how they get there. They also work without Spark, in-process and in tests.

| file | what |
|---|---|
| `shipping` | sends steps to executors |
| `pickled` | sends users' functions to executors |
| `batch` | the steps of a batch query |
| `row_windows` | the step of a batch query that returns rows with their windows |
| `stream/` | the steps of a streaming query |
| `advance` | the steps of one run of a daily job |
| `run` | one run over one operator, and the columns of its rows |
| `run_blocks` | packed rows of a run |
| `open_windows` | a table of open windows, as an operator reads it |
| `left_out` | rows of the records that are in no window |
| `result_rows` | rows of windows and of such records in one result |
| `scan/` | the steps that read files in place of Spark |
| `tasks` | one record operator for each source |
| `batches` | record batches: as Arrow IPC streams, in the form the core takes, with counters |
| `declared` | compares the columns that a user declares with the columns that Spark sends |
| `empty_arrays` | arrays without values, as Spark sends them |
| `blocks` | packed blocks, in memory or on disk |
| `free_memory` | how much memory this process may still take |
"""
