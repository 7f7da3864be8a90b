#!/usr/bin/env bash
# Quix Streams: a session becomes final two gaps after its last record, and a record that would join
# it is late after one.
#
# One would guess that the session of 0 with a gap of 5 and no grace is final as soon as no record can
# join it. At 6 it no longer can: a record of 6 begins another session, and records before 1 are late.
# The final comes at 11, not at 6.
#
# Quix Streams 3.28.1, 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install quixstreams==3.28.1
cat >"$folder/run.py" <<'PYTHON'
import tempfile
from importlib.metadata import version
from unittest.mock import MagicMock

import quixstreams.dataframe.windows.aggregations as agg
from quixstreams.dataframe import StreamingDataFrame
from quixstreams.dataframe.registry import DataFrameRegistry
from quixstreams.models import Topic, TopicConfig
from quixstreams.models.messagecontext import MessageContext
from quixstreams.models.topics import TopicManager
from quixstreams.processing import ProcessingContext
from quixstreams.sinks import SinkManager
from quixstreams.state import StateStoreManager


def run(windows, times):
    """Feed one key through a StreamingDataFrame with a real store; only the clients of the broker are mocks."""
    states = StateStoreManager(group_id="finding", state_dir=tempfile.mkdtemp())
    registry, clients = DataFrameRegistry(), {"producer": MagicMock(), "consumer": MagicMock()}
    context = ProcessingContext(
        commit_interval=9, state_manager=states, sink_manager=SinkManager(), dataframe_registry=registry, **clients
    )
    config = TopicConfig(1, 1, {"retention.ms": "-1"})
    topic = Topic("clicks", create_config=config)
    topic.broker_config = config
    topics = TopicManager(topic_admin=MagicMock(), consumer_group="finding")
    clicks = StreamingDataFrame(topic, topic_manager=topics, registry=registry, processing_context=context)
    registry.register_root(clicks)
    result = windows(clicks)
    states.on_partition_assign(result.stream_id, 0, {})
    context.init_checkpoint()
    for time in times:
        message = MessageContext(topic="clicks", partition=0, offset=0, size=0)
        rows = [row[0] for row in result.test(1, key=b"a", timestamp=time, ctx=message, topic=topic)]
        print("  ", time, "->", *(f"[{row['start']}, {row['end']}) {row['n']}" for row in rows))
    states.close()


print("quixstreams", version("quixstreams"))

print("gap 5, grace 0, finals")
run(lambda clicks: clicks.session_window(5).agg(n=agg.Count()).final(), [0, 6, 10, 11])
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
quixstreams 3.28.1
gap 5, grace 0, finals
   0 ->
   6 ->
   10 ->
   11 -> [0, 1) 1
EXPECTED
