"""Aggregates: values that name a function and its columns, used in `agg(name=...)`.

| file | what |
|---|---|
| `aggregate` | `Aggregate`, the public class |
| `call` | what it holds: a function by its name, its columns, and its options |
| `builtin` | the aggregates of the core: `count`, `sum`, `mean` and so on |
| `bits` | aggregates of booleans, and of the bits of integers |
| `percentiles` | values by their place among the sorted ones |
| `frequencies` | values with how often they occur: `mode`, `top_k`, `histogram_numeric` |
| `journeys` | `funnel`, `funnel_times` and `path` |
| `activity` | `active_time` and `active_runs` |
| `statistics` | measures of shape and relation |
| `row_numbers`, `window_id`, `window_length` | numbers of records and windows; the length of a window |
| `user_function` | aggregates with Python functions: `reduce`, `aggregate`, `apply` |
"""
