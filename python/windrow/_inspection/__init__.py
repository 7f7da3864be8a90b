"""What became of the records of some keys: the windows that hold them, and whether they were late.

| file | what |
|---|---|
| `trace` | records, windows, and both together |
| `keys` | the keys that are asked for, and their rows |
| `lengths` | gap, difference, grace and resolution in ticks of the time column |
| `text` | times, lengths, windows and keys as text |
| `query` | from a windowed query and some keys to a trace |
| `rows` | the rows of the data, in their order |
| `batch` | the windows of a batch, in which nothing is late |
| `stream` | the rows as a stream brings them, record by record |
| `explain` | `windrow.explain_record` |
| `explained_session` | a record of a session, with one gap or with its own |
| `explained_sliding` | a record of sliding windows |
"""
