#!/usr/bin/env bash
# Quix Streams: the `end` of a sliding window is a time that is in it; the `end` of all other windows
# is not.
#
# One would guess from the half-open windows of its tumbling, hopping and session windows that [100,
# 110) does not have the record of 110. It has both 100 and 110. A join of records with start <= ts <
# end loses the record that made the window.
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

print("sliding, 10")
run(lambda clicks: clicks.sliding_window(10, 99).agg(n=agg.Count()).current(), [100, 110])
print("tumbling, 10")
run(lambda clicks: clicks.tumbling_window(10, 99).agg(n=agg.Count()).current(), [100, 110])
print("session, gap 10")
run(lambda clicks: clicks.session_window(10, 99).agg(n=agg.Count()).current(), [100, 110])
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
quixstreams 3.28.1
sliding, 10
   100 -> [90, 100) 1
   110 -> [100, 110) 2
tumbling, 10
   100 -> [100, 110) 1
   110 -> [110, 120) 1
session, gap 10
   100 -> [100, 101) 1
   110 -> [100, 111) 2
EXPECTED
