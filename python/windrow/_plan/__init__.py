"""A query that was checked, as plain data.

| file | what |
|---|---|
| `plan` | `Plan` and its `Options` |
| `spec` | `Spec`: what crosses to the core, to executors and into states, as JSON |
| `limits` | what does not go together, as one table |
| `input` | `Input`: the columns that a query may name, and the way to run it over them |
| `computed` | the aggregates that computed columns need, and the step that makes those columns |
| `cogroup_rows` | the records of several inputs as rows of one schema |
| `sequence` | the column that orders the rows of one window |
| `flat` | `window_start` and `window_end` in place of `window` |
"""
