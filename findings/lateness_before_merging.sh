#!/usr/bin/env bash
# Beam and Spark: a late record is dropped although it belongs to a session that is still open.
#
# One would guess that a record which joins an open session is not late, as in Kafka Streams 4.4.0 and
# Flink 2.3.0. Both systems judge a record as a session of its own, before they merge it. The gap is
# 5. The session of 18 is open when the watermark is 20, the record of 14 is within its gap and would
# make it [14, 23), but a session of 14 alone would have ended at 19.
#
# Beam 2.77.0 (Python, default runner), Spark 4.3.0 (append mode), 2026-11-28. Needs Java 17.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install apache-beam==2.77.0 pyspark==4.3.0
cat >"$folder/run.py" <<'PYTHON'
import json
import logging
import tempfile
from importlib.metadata import version
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms.window import Sessions, TimestampedValue
from pyspark.sql import SparkSession, functions as F

logging.disable(logging.WARNING)


def show(pair, window=beam.DoFn.WindowParam):
    print("  ", pair[0], f"[{window.start}, {window.end})", len(list(pair[1])))


print("apache-beam", version("apache-beam"))
at = lambda time: [TimestampedValue(("a", 1), time)]
stream = TestStream().add_elements(at(18)).advance_watermark_to(20).add_elements(at(14)).advance_watermark_to_infinity()
with beam.Pipeline(options=PipelineOptions(streaming=True)) as pipeline:
    pipeline | stream | beam.WindowInto(Sessions(5)) | beam.GroupByKey() | beam.Map(show)

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", 1)
print("pyspark", spark.version)
folder = Path(tempfile.mkdtemp())
(folder / "in").mkdir()
events = spark.readStream.schema("user string, ts timestamp").json(str(folder / "in"))
sessions = events.withWatermark("ts", "0 seconds").groupBy("user", F.session_window("ts", "5 seconds").alias("w")).count()
rows = sessions.select("user", F.second("w.start"), F.second("w.end"), "count")
query = rows.writeStream.foreachBatch(lambda batch, _: [print("  ", *row) for row in sorted(batch.collect())])
query = query.option("checkpointLocation", str(folder / "checkpoint")).start()
for number, batch in enumerate([[("a", 18)], [("b", 20)], [("a", 14)], [("b", 50)]]):
    lines = (json.dumps({"user": user, "ts": f"2026-01-01 00:00:{second}"}) for user, second in batch)
    (folder / "next").write_text("\n".join(lines))
    (folder / "next").rename(folder / f"in/{number}.json")
    query.processAllAvailable()
query.stop()
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
apache-beam 2.77.0
   a [Timestamp(18), Timestamp(23)) 1
pyspark 4.3.0
   a 18 23 1
   b 20 25 1
EXPECTED
