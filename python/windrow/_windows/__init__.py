"""Session windows and sliding windows, as Kafka Streams defines them.

```text
session, gap 5           sliding, difference 5
──x─x──x───────x──x──    ──x─x──x───────x──x──
  [    ]       [  ]      [  ]                     one window ends at each record,
  both ends are events     [    ]                 and one starts just after it
```
Both ends of both kinds are inclusive. Sliding windows are not hopping windows: they start and end at records, not at
steps of the clock.

| file | what |
|---|---|
| `specification` | what both kinds have |
| `session` | `SessionWindows`, with one gap or with each record's own |
| `sliding` | `SlidingWindows` |
"""
