"""Tests of windowed queries without Spark: virtual time, one record at a time.

```python
from windrow.testing import StreamDriver

driver = StreamDriver(sessions_of, schema)     # the function that a job calls with its DataFrame
driver.pipe(user="ann", ts=datetime(2026, 1, 1, 8))
driver.tick(datetime(2026, 1, 1, 12))          # time moves on: the session is final
```

`python -m windrow.testing.replay FILE...` replays recorded runs of Kafka Streams.

| file | what |
|---|---|
| `_definition` | the function that a job calls, and the plan that it makes without data |
| `_driver` | `StreamDriver`: the query record by record, in virtual time |
| `_feed` | records and Arrow data in the columns that an operator is fed with |
| `_values` | checks single values of a record against the types of their columns |
| `_wall_clock` | the clock that `max_ahead` looks at |
| `_operators` | what a driver feeds: one operator, or one for each source |
| `_pages` | the pages of a driver in addition to those of its operators |
| `_change` | what a driver gives: changes of windows |
| `_stores` | queries of a driver's windows |
| `replay` | the command of the room `_replay` |
"""

from __future__ import annotations

from windrow.testing._change import Change, Window
from windrow.testing._definition import Definition
from windrow.testing._driver import StreamDriver
from windrow.testing._stores import SessionStore, WindowStore

__all__ = ["Change", "Definition", "SessionStore", "StreamDriver", "Window", "WindowStore"]
