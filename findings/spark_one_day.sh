#!/usr/bin/env bash
# Spark: '1 day' and '24 hours' have three meanings.
#
# One would guess that one engine has one meaning for each, and that the windows of a day begin at
# midnight of spark.sql.session.timeZone. window('1 day') is 24 hours from 00:00 UTC: in Madrid its
# days begin at 01:00, in summer at 02:00. session_window('1 day') is a calendar day, and joins two
# events that are 25 hours apart, over the night when clocks go back; session_window('24 hours') is 24
# hours. INTERVAL 24 HOURS, added to a time or as a RANGE, is again a calendar day.
#
# Spark 4.3.0, 2026-11-28. Needs Java 17.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install pyspark==4.3.0
cat >"$folder/run.py" <<'PYTHON'
from pyspark.sql import SparkSession, functions as F

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).getOrCreate()
print("pyspark", spark.version)
spark.conf.set("spark.sql.session.timeZone", "Europe/Madrid")
rows = [("2026-10-24 12:00:00",), ("2026-10-25 12:00:00",)]  # 25 hours apart
events = spark.createDataFrame(rows, "ts string").select(F.to_timestamp("ts").alias("ts"))
for name, window in (
    ("window, 1 day", F.window("ts", "1 day")),
    ("session_window, 1 day", F.session_window("ts", "1 day")),
    ("session_window, 24 hours", F.session_window("ts", "24 hours")),
):
    text = F.concat_ws(" to ", F.col("w.start").cast("string"), F.col("w.end").cast("string"))
    print(name)
    for row in sorted(events.groupBy(window.alias("w")).count().select(text, "count").collect()):
        print("  ", row[0], row[1])
print("ts + INTERVAL 24 HOURS")
print("  ", events.select((F.min("ts") + F.expr("INTERVAL 24 HOURS")).cast("string")).first()[0])
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
pyspark 4.3.0
window, 1 day
   2026-10-24 02:00:00 to 2026-10-25 02:00:00 1
   2026-10-25 02:00:00 to 2026-10-26 01:00:00 1
session_window, 1 day
   2026-10-24 12:00:00 to 2026-10-26 12:00:00 2
session_window, 24 hours
   2026-10-24 12:00:00 to 2026-10-25 11:00:00 1
   2026-10-25 12:00:00 to 2026-10-26 12:00:00 1
ts + INTERVAL 24 HOURS
   2026-10-25 12:00:00
EXPECTED
