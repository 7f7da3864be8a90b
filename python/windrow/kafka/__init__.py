"""Moves stream time on Kafka while no records arrive: control messages, their writers and their reader.

```text
 ProgressProducer ─┐                                            ┌─ group_by(..., tick="tick", time="event_time",
 records, and      ├─▶ partition ──▶ Spark's Kafka source ──▶ with_ticks        source=["topic", "partition"])
 python -m windrow.kafka.ticker
```
The page `docs/explanation/stream-time.md` explains their purpose. Writing needs `confluent_kafka` (`pip install
confluent-kafka`), and reading needs only Spark. Both are imported on first use.

| file | what |
|---|---|
| `_control` | writes and reads the bytes of a control message |
| `_options` | `progress.control.*` |
| `_schedule` | when control messages are due |
| `_written` | what a producer knows about its partitions |
| `_sender` | sends control messages after it has checked the ends of partitions |
| `_producer` | `ProgressProducer` |
| `_callbacks` | the callbacks of its records, and their exceptions |
| `_watch` | watches partitions of other producers and ticks quiet ones |
| `ticker` | the command that runs a watch |
| `_stop` | the signals that end it |
| `_cluster` | queries to a Kafka cluster |
| `_timer` | clock, deadline and thread |
| `_frame` | `with_ticks`: marks ticks in a Spark DataFrame |
| `_library` | imports `confluent_kafka` on first use |
"""

from __future__ import annotations

from windrow.kafka._control import ControlMessage
from windrow.kafka._frame import with_ticks
from windrow.kafka._producer import ProgressProducer
from windrow.kafka._sender import ProgressError

__all__ = ["ControlMessage", "ProgressError", "ProgressProducer", "with_ticks"]
