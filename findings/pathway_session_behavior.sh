#!/usr/bin/env bash
# Pathway: behaviors (delay, cutoff, exactly once) have no effect on session windows.
#
# One would guess that exactly_once_behavior() gives each window once, and that the record of 3, which
# comes after 100, is left out. It does so for a tumbling window. A session comes out at once, and the
# late record changes it. There is no error and no warning.
#
# Pathway 0.33.0, 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install pathway==0.33.0
cat >"$folder/run.py" <<'PYTHON'
from importlib.metadata import version

import pathway as pw

print("pathway", version("pathway"))


def updates(window, behavior):
    rows = [(0, 2, 1), (100, 4, 1), (3, 6, 1)]  # the time of the event, when it arrives, one more row
    table = pw.debug.table_from_rows(pw.schema_from_types(t=int), rows, is_stream=True)
    windows = table.windowby(table.t, window=window, behavior=behavior)
    counts = windows.reduce(start=pw.this._pw_window_start, end=pw.this._pw_window_end, count=pw.reducers.count())
    for row in pw.debug.table_to_pandas(counts, include_id=False).sort_values("start").values.tolist():
        print("  ", row)


for name, behavior in (("exactly once", pw.temporal.exactly_once_behavior()), ("cutoff 0", pw.temporal.common_behavior(cutoff=0))):
    print(name, "tumbling, 10")
    updates(pw.temporal.tumbling(duration=10), behavior)
    print(name, "session, gap 5")
    updates(pw.temporal.session(max_gap=5), behavior)
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
pathway 0.33.0
exactly once tumbling, 10
   [0, 10, 1]
   [100, 110, 1]
exactly once session, gap 5
   [0, 3, 2]
   [100, 100, 1]
cutoff 0 tumbling, 10
   [0, 10, 1]
   [100, 110, 1]
cutoff 0 session, gap 5
   [0, 3, 2]
   [100, 100, 1]
EXPECTED
