"""From data to a plan: `group_by(...).windowed_by(...).agg(...)`.

| file | what |
|---|---|
| `grouping` | what windows and aggregates are resolved against |
| `projection` | a column for each expression of a query |
| `grouped` | `group_by` |
| `cogrouped` | `cogroup` |
| `inputs` | the inputs of a cogroup as one |
| `windowed` | options and aggregates |
| `missing_methods` | what to write for methods that are elsewhere |
| `resolve` | the plan of a query |
| `notebook` | queries as tables in notebooks |
| `detect` | finds the library of the data |
"""
