#!/usr/bin/env bash
# Polars: timedelta(hours=24) as a period is a calendar day, "24h" is 24 hours.
#
# One would guess that a timedelta, which has no calendar, is the same length as the text "24h". Over
# the night when clocks go back, events of 12:30 and 12:00 the day after are 24.5 hours apart. With
# period="24h" the window has one of them, with timedelta(hours=24) both. Added to a time, the same
# timedelta is 24 hours.
#
# Polars 2.1.0, 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install polars==2.1.0
cat >"$folder/run.py" <<'PYTHON'
from datetime import datetime, timedelta

import polars as pl

print("polars", pl.__version__)
times = [datetime(2026, 10, 24, 12, 30), datetime(2026, 10, 25, 12, 0)]
frame = pl.DataFrame({"ts": times}).with_columns(pl.col("ts").dt.replace_time_zone("Europe/Madrid"))
print("apart:", frame["ts"].diff()[1])
for period in ("24h", "1d", timedelta(hours=24)):
    print(repr(period), frame.rolling("ts", period=period).agg(pl.len())["len"].to_list())
print("ts + timedelta(hours=24):", frame.select(pl.col("ts").first() + timedelta(hours=24))["ts"][0])
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
polars 2.1.0
apart: 1 day, 0:30:00
'24h' [1, 1]
'1d' [1, 2]
datetime.timedelta(days=1) [1, 2]
ts + timedelta(hours=24): 2026-10-25 11:30:00+01:00
EXPECTED
