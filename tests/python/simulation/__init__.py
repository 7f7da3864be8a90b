"""A simulated Spark: a query, its rows and what goes wrong follow from a seed, on one thread.

| file | what |
|---|---|
| `schedule` | a query, its rows and its faults as plain data |
| `cluster` | runs micro-batches as Spark does, in which tasks and drivers die |
| `play` | plays a schedule beside the oracle |
| `laws`, `table` | what must hold |
"""
