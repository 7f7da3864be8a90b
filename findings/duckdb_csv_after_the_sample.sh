#!/usr/bin/env bash
# DuckDB reads later values of a CSV file in the type of the first rows, and changes them without an error.
#
# read_csv takes the types from a sample, 20,480 rows by default. One would guess that a value behind the
# sample that does not fit its type is an error, as text is. But a time with an offset loses the offset, so
# an event moves by hours, and 7.5 becomes 8. In a short file the same time is a moment with a zone, and 7.5
# makes doubles. With sample_size=-1, which takes the types from all rows, 7.5 makes doubles, but the offset is
# still lost.
#
# DuckDB 2.0.0, 2026-11-30.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install duckdb==2.0.0
cat >"$folder/run.py" <<'PYTHON'
import sys

import duckdb

connection = duckdb.connect()
connection.execute("SET TimeZone = 'UTC'")
print("DuckDB", duckdb.__version__)
file = f"{sys.argv[1]}/events.csv"
for first, last in (
    ("2026-05-04T09:00:00", "2026-05-04T09:00:00+02:00"),
    ("1", "7.5"),
):
    print(last)
    for rows, sample in ((10, 20_480), (30_000, 20_480), (30_000, -1)):
        with open(file, "w") as out:
            out.write("x\n" + f"{first}\n" * rows + f"{last}\n")
        found = connection.sql(f"SELECT x::VARCHAR, typeof(x) FROM read_csv('{file}', sample_size={sample})").fetchall()
        print(f"  after {rows} rows, sample_size={sample}:", *found[-1])
PYTHON
"$folder/venv/bin/python" "$folder/run.py" "$folder" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
DuckDB 2.0.0
2026-05-04T09:00:00+02:00
  after 10 rows, sample_size=20480: 2026-05-04 07:00:00+00 TIMESTAMP WITH TIME ZONE
  after 30000 rows, sample_size=20480: 2026-05-04 09:00:00 TIMESTAMP
  after 30000 rows, sample_size=-1: 2026-05-04 09:00:00 TIMESTAMP
7.5
  after 10 rows, sample_size=20480: 7.5 DOUBLE
  after 30000 rows, sample_size=20480: 8 BIGINT
  after 30000 rows, sample_size=-1: 7.5 DOUBLE
EXPECTED
