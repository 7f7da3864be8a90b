#!/usr/bin/env bash
# ClickHouse: in a RANGE frame, the row whose time is NULL also has the row before it.
#
# One would guess that the frame of a NULL has only the rows with NULL, as in DuckDB, Spark and the
# standard: no number is one less than NULL. In ClickHouse it depends on the order: with NULLS LAST
# the frame of NULL has the 9, with NULLS FIRST it does not.
#
# chDB 4.4.0 (ClickHouse 26.9.2.1), DuckDB 2.0.0, 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install chdb==4.4.0 duckdb==2.0.0
cat >"$folder/run.py" <<'PYTHON'
import chdb
import duckdb

frame = "OVER (ORDER BY t NULLS {} RANGE BETWEEN 1 PRECEDING AND CURRENT ROW)"
for nulls in ("LAST", "FIRST"):
    over = frame.format(nulls)
    query = f"SELECT t, count(*) {over} FROM values('t Nullable(Int32)', 1, 9, NULL) ORDER BY t NULLS LAST"
    print("chdb", chdb.__version__, "nulls", nulls, str(chdb.query(query)).split())
    query = f"SELECT t, count(*) {over} FROM (VALUES (1), (9), (NULL)) AS v(t) ORDER BY t NULLS LAST"
    print("duckdb", duckdb.__version__, "nulls", nulls, duckdb.sql(query).fetchall())
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
chdb 4.4.0 nulls LAST ['1,1', '9,1', '\\N,2']
duckdb 2.0.0 nulls LAST [(1, 1), (9, 1), (None, 1)]
chdb 4.4.0 nulls FIRST ['1,1', '9,1', '\\N,1']
duckdb 2.0.0 nulls FIRST [(1, 1), (9, 1), (None, 1)]
EXPECTED
