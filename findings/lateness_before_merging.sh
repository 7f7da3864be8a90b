#!/usr/bin/env bash
# Beam: a late record is dropped although it belongs to a session that is still open.
#
# One would guess that a record which joins an open session is not late, as in Kafka Streams 4.4.0 and Flink 2.3.0. Beam
# judges a record as a session of its own, before it merges it (Spark 4.3.0 too). The gap is 5. The session of 18 is
# open when the watermark is 20. The record of 14 is within its gap, but a session of 14 alone would have ended at 19.
#
# Beam 2.77.0 (Python, default runner), 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install apache-beam==2.77.0
cat >"$folder/run.py" <<'PYTHON'
import logging
from importlib.metadata import version

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import Sessions, TimestampedValue

logging.disable(logging.WARNING)


def show(pair, window=beam.DoFn.WindowParam):
    print("  ", pair[0], f"[{window.start}, {window.end})", len(list(pair[1])))


print("apache-beam", version("apache-beam"))
at = lambda time: [TimestampedValue(("a", 1), time)]
stream = TestStream().add_elements(at(18)).advance_watermark_to(20).add_elements(at(14)).advance_watermark_to_infinity()
with beam.Pipeline(options=PipelineOptions(streaming=True)) as pipeline:
    pipeline | stream | beam.WindowInto(Sessions(5)) | beam.GroupByKey() | beam.Map(show)
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
apache-beam 2.77.0
   a [Timestamp(18), Timestamp(23)) 1
EXPECTED
