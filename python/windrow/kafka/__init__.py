"""Stream time on Kafka while nothing arrives: control messages, their writers and their reader.

```text
 ProgressProducer ─┐                                            ┌─ group_by(..., tick="tick", time="event_time",
 records, and      ├─▶ partition ──▶ Spark's Kafka source ──▶ with_ticks        source=["topic", "partition"])
 python -m windrow.kafka.ticker
```
The page `docs/stream-time.md` says what they are for. Writing takes `confluent_kafka`, the extra `windrow[kafka]`;
reading takes Spark alone. Neither is imported before it is used.

| file | what |
|---|---|
| `_control` | the control message: its bytes, written and read |
| `_options` | `progress.control.*` |
| `_schedule` | when control messages are due |
| `_written` | what a producer knows of its partitions |
| `_sender` | who sends control messages, after a look at where the partitions end |
| `_producer` | `ProgressProducer` |
| `_callbacks` | the callbacks of its records, and what they raise |
| `_watch` | partitions that others write to, and when they are quiet |
| `ticker` | the command that ticks those |
| `_stop` | signals that end it |
| `_cluster` | what is asked of a Kafka cluster |
| `_timer` | clock, deadline and thread |
| `_frame` | `with_ticks`: ticks and data of a frame of Spark |
| `_library` | `confluent_kafka`, when it is asked for |
"""

from __future__ import annotations

from windrow.kafka._control import ControlMessage
from windrow.kafka._frame import with_ticks
from windrow.kafka._producer import ProgressProducer
from windrow.kafka._sender import ProgressError

__all__ = ["ControlMessage", "ProgressError", "ProgressProducer", "with_ticks"]
