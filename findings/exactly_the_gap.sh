#!/usr/bin/env bash
# Sessions: systems do not agree on two records that are exactly the gap apart.
#
# One would guess that the rule is the same everywhere. Bytewax makes one session (as do Kafka Streams
# 4.4.0, Flink 2.3.0, Spark 4.3.0 and Quix Streams 3.28.1). Pathway makes two (as does Beam 2.77.0).
#
# Versions as below, 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install bytewax==0.21.1 pathway==0.33.0
cat >"$folder/run.py" <<'PYTHON'
from datetime import datetime, timedelta, timezone
from importlib.metadata import version

import bytewax.operators as op
import bytewax.operators.windowing as win
import pathway as pw
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

print("bytewax", version("bytewax"))
start = datetime(2026, 1, 1, tzinfo=timezone.utc)
flow, out = Dataflow("flow"), []
times = op.input("in", flow, TestingSource([start, start + timedelta(seconds=5)]))
clock = win.EventClock(lambda time: time, wait_for_system_duration=timedelta(hours=1))
keyed = op.key_on("key", times, lambda _: "a")
windows = win.collect_window("windows", keyed, clock, win.SessionWindower(gap=timedelta(seconds=5)))
op.output("out", windows.down, TestingSink(out))
run_main(flow)
for _, (_, session) in out:
    print("  ", *((time - start).seconds for time in session))

print("pathway", version("pathway"))
table = pw.debug.table_from_rows(pw.schema_from_types(t=int), [(0,), (5,)])
sessions = table.windowby(table.t, window=pw.temporal.session(max_gap=5))
for row in sorted(pw.debug.table_to_pandas(sessions.reduce(t=pw.reducers.sorted_tuple(pw.this.t))).t):
    print("  ", *row)
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
bytewax 0.21.1
   0 5
pathway 0.33.0
   0
   5
EXPECTED
