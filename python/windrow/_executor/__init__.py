"""The steps that run on executors, and how they get there. They also work without Spark, in this process and in tests.

| file | what |
|---|---|
| `shipping` | sends steps to executors |
| `pickled` | sends users' functions to executors |
| `batch` | the steps of a batch query |
| `row_windows` | the step of a batch query that returns rows with their windows |
| `stream/` | the steps of a streaming query |
| `tasks` | one record operator for each source |
| `batches` | record batches: as Arrow IPC streams, in the form the core takes, with counters |
| `declared` | the columns that a user declares, against those that Spark sends |
| `empty_arrays` | arrays without values, as Spark sends them |
| `blocks` | packed blocks, in memory or on disk |
| `free_memory` | how much memory this process may still take |
"""
