#!/usr/bin/env bash
# Beam: the default runner of Python cuts the bounds of windows to milliseconds, so records closer
# than the gap may be in two sessions.
#
# One would guess that times and gaps in microseconds are exact, because Timestamp and Duration count
# microseconds. Here two records are 0.9992 s apart and the gap is 1 s. Their windows are cut to [0,
# 1) and [1, 2), which do not meet.
#
# Beam 2.77.0, 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install apache-beam==2.77.0
cat >"$folder/run.py" <<'PYTHON'
import logging
from importlib.metadata import version

import apache_beam as beam
from apache_beam.transforms.window import Sessions, TimestampedValue

logging.disable(logging.WARNING)
print("apache-beam", version("apache-beam"))


def show(pair, window=beam.DoFn.WindowParam):
    print(f"[{window.start.micros}, {window.end.micros}) us:", len(list(pair[1])))


with beam.Pipeline() as pipeline:
    times = pipeline | beam.Create([0.0009, 1.0001])
    timed = times | "time" >> beam.Map(lambda time: TimestampedValue(("a", 1), time))
    timed | beam.WindowInto(Sessions(1)) | beam.GroupByKey() | "show" >> beam.Map(show)
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
apache-beam 2.77.0
[0, 1000000) us: 1
[1000000, 2000000) us: 1
EXPECTED
