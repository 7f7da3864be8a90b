#!/usr/bin/env bash
# DuckDB hands four types over to Arrow with other values, without an error.
#
# One would guess that `SELECT * FROM crossed`, where `crossed = relation.to_arrow_table()`, has the values of the relation,
# or that DuckDB refuses a type that Arrow has not. Instead BIT comes back as bytes with their padding, TIME WITH TIME
# ZONE without its offset, a UHUGEINT from 2^127 on as a negative number, and an INTERVAL of more than 292 years of hours
# as another one, because its microseconds become nanoseconds of 64 bits. DuckDB 2.0.0, 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet duckdb==2.0.0 pyarrow==26.0.1
"$folder/venv/bin/python" - > "$folder/output" <<'PYTHON'
import duckdb

connection = duckdb.connect()
print("DuckDB", duckdb.__version__)
for value in (
    "BIT '101'",
    "'09:00:00+02'::TIMETZ",
    "340282366920938463463374607431768211455::UHUGEINT",
    "INTERVAL 3000000 HOUR",
):
    relation = connection.sql(f"SELECT {value} AS v")
    crossed = relation.to_arrow_table()
    ((before,),) = relation.project("v::VARCHAR").fetchall()
    ((after,),) = connection.sql("SELECT v::VARCHAR FROM crossed").fetchall()
    print(relation.types[0], before, "->", crossed.schema.field("v").type, after)
PYTHON
cat "$folder/output"
diff "$folder/output" - <<'EXPECTED'
DuckDB 2.0.0
BIT 101 -> binary \x05\xFD
TIME WITH TIME ZONE 09:00:00+02 -> time64[us] 09:00:00
UHUGEINT 340282366920938463463374607431768211455 -> decimal128(38, 0) -1
INTERVAL 3000000:00:00 -> month_day_nano_interval -2124095:34:33.709551
EXPECTED
