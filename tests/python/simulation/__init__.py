"""A simulated Spark: a query, its rows and what goes wrong follow from a seed, on one thread.

| file | what |
|---|---|
| `schedule` | a query, its rows and its faults as plain data |
| `cluster` | runs micro-batches as Spark does; drivers die |
| `task` | attempts of tasks, which die or run beside each other |
| `days` | a daily job whose runs die and repeat |
| `play` | plays a schedule beside the oracle |
| `laws`, `table` | what must hold |
| `shrink` | shrinks a schedule that fails |
| `planted` | planted faults, which test the simulation |
"""
