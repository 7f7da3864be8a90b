"""Aggregates: values that name a function and its columns, used in `agg(name=...)`.

| file | what |
|---|---|
| `aggregate` | `Aggregate`, and those of Python functions: `reduce`, `aggregate` |
| `builtin` | those of the core: `count`, `sum`, `mean` and so on |
"""
