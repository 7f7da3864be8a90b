#!/usr/bin/env bash
# Rolling windows: 'the last 5 seconds' leaves out an event exactly 5 seconds ago in pandas and
# Polars, and has it in the RANGE of SQL.
#
# One would guess that code which moves from SQL to a frame, or back, counts the same. pandas and
# Polars have (t - 5, t], unless one sets closed="both"; DuckDB and ClickHouse have [t - 5, t].
#
# Versions as below, 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install pandas==3.1.1 polars==2.1.0 duckdb==2.0.0 chdb==4.4.0
cat >"$folder/run.py" <<'PYTHON'
import chdb
import duckdb
import pandas as pd
import polars as pl

times = ["2026-01-01 00:00:00", "2026-01-01 00:00:05"]
stamps = pd.to_datetime(times)
print("pandas", pd.__version__, pd.Series(1, index=stamps).rolling("5s").sum().astype(int).tolist())
frame = pl.DataFrame({"ts": times}).with_columns(pl.col("ts").str.to_datetime())
print("polars", pl.__version__, frame.rolling("ts", period="5s").agg(pl.len())["len"].to_list())
sql = "SELECT count(*) OVER (ORDER BY ts RANGE BETWEEN {} PRECEDING AND CURRENT ROW) AS n FROM {} ORDER BY ts"
values = "(VALUES (TIMESTAMP '{}'), (TIMESTAMP '{}')) AS v(ts)".format(*times)
rows = duckdb.sql(sql.format("INTERVAL 5 SECOND", values)).fetchall()
print("duckdb", duckdb.__version__, [row[0] for row in rows])
values = "values('ts DateTime', ('{}'), ('{}'))".format(*times)
print("chdb", chdb.__version__, [int(line) for line in str(chdb.query(sql.format(5, values))).split()])
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
pandas 3.1.1 [1, 1]
polars 2.1.0 [1, 1]
duckdb 2.0.0 [1, 2]
chdb 4.4.0 [1, 2]
EXPECTED
