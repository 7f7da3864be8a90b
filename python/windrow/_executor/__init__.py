"""All that runs on executors, and what ships it. It works without Spark, too: for data in this process, and in tests.

| file | what |
|---|---|
| `shipping` | steps on their way to executors |
| `pickled` | users' functions on their way to executors |
| `batch` | the steps of a batch query |
| `row_windows` | the step of a batch query that gives rows with their windows |
| `stream/` | the steps of a streaming query |
| `tasks` | one record operator for each source |
| `batches` | record batches: as Arrow IPC streams, as the core takes them, with counters |
| `blocks` | packed blocks that wait on disk |
| `free_memory` | how much memory this process may still take |
"""
