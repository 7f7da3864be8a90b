#!/usr/bin/env bash
# pandas: rolling("1D") counts 24 hours, although the offset Day is a calendar day since pandas 3.
#
# One would guess that the window of a day reaches back to the same hour of the day before, as `ts -
# pd.offsets.Day(1)` does. Over the night when clocks go back, 12:00 less a Day is 12:00 the day
# before, which is 25 hours. rolling leaves out the event of 12:30.
#
# pandas 3.1.1, 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install pandas==3.1.1
cat >"$folder/run.py" <<'PYTHON'
import pandas as pd

print("pandas", pd.__version__)
times = pd.to_datetime(["2026-10-24 12:30", "2026-10-25 12:00"]).tz_localize("Europe/Madrid")
print("less a Day:", times[1] - pd.offsets.Day(1))
for window in ("1D", pd.offsets.Day(1), "24h", "25h"):
    print(window, pd.Series(1, index=times).rolling(window).sum().tolist())
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
pandas 3.1.1
less a Day: 2026-10-24 12:00:00+02:00
1D [1.0, 1.0]
<Day> [1.0, 1.0]
24h [1.0, 1.0]
25h [1.0, 2.0]
EXPECTED
