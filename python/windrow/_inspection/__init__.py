"""Explains the records of some keys: which windows hold them, and whether they were late.

| file | what |
|---|---|
| `trace` | the data classes: records, windows, and both in a trace |
| `keys` | parses the user's keys and finds their rows |
| `lengths` | gap, difference, grace and resolution in units of the time column |
| `text` | times, lengths, windows and keys as text |
| `query` | computes a trace from a windowed query and some keys |
| `rows` | reads the rows of the data, in order |
| `batch` | the windows of a batch, in which nothing is late |
| `stream` | feeds the rows to a stream, record by record |
| `explain` | `windrow.explain_record` |
| `explained_session` | a record of a session, with one gap or with its own |
| `explained_sliding` | a record of sliding windows |
"""
