#!/usr/bin/env bash
# Bytewax: each key has its own event clock.
#
# One would guess that the record b@100 moves the watermark of the stream, so that a@50 is late, as in
# Kafka Streams, Flink, Spark and Beam. a@50 is not late: only records of a move the watermark of a. A
# key that is quiet closes by system time, or at the end of the input. Here the system time stands
# still.
#
# Bytewax 0.21.1, 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install bytewax==0.21.1
cat >"$folder/run.py" <<'PYTHON'
from datetime import datetime, timedelta, timezone
from importlib.metadata import version

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

print("bytewax", version("bytewax"))
start = datetime(2026, 1, 1, tzinfo=timezone.utc)
for title, records in (
    ("another key at 100", [("a", 0), ("b", 100), ("a", 50)]),
    ("the same key at 100", [("a", 0), ("a", 100), ("a", 50)]),
):
    flow, late = Dataflow("flow"), []
    stream = op.input("in", flow, TestingSource(records, batch_size=1))
    clock = win.EventClock(
        lambda record: start + timedelta(seconds=record[1]),
        wait_for_system_duration=timedelta(0),
        now_getter=lambda: start,
        to_system_utc=lambda time: None,
    )
    keyed = op.key_on("key", stream, lambda record: record[0])
    windows = win.collect_window("windows", keyed, clock, win.SessionWindower(gap=timedelta(seconds=5)))
    op.output("late", windows.late, TestingSink(late))
    op.output("down", windows.down, TestingSink([]))
    run_main(flow)
    print(title, "| late:", [record for _, (_, record) in late])
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
bytewax 0.21.1
another key at 100 | late: []
the same key at 100 | late: [('a', 50)]
EXPECTED
