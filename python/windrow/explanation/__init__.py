"""Why a record is in its window, or late, as text.

| file | what |
|---|---|
| `explain` | `windrow.explain_record` |
| `session` | a record of a session, with one gap or with its own |
| `sliding` | a record of sliding windows |
"""
