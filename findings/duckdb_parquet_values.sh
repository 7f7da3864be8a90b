#!/usr/bin/env bash
# DuckDB writes four of its types to Parquet with other values, without an error.
#
# One would guess that `read_parquet` gives back what `write_parquet` was given, because DuckDB wrote the
# file, or that a type which Parquet has not is an error. Instead an INTERVAL loses its microseconds, a
# HUGEINT and a UHUGEINT become DOUBLEs, which have 53 bits, and a TIMETZ loses its offset: 09:00 at +02 is
# 07:00 at +00, which is another value in DuckDB's order and equality. `sum` of integers is a HUGEINT, and
# the difference of two timestamps is an INTERVAL, so ordinary queries give these types.
#
# DuckDB 2.0.0, 2026-12-01.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install duckdb==2.0.0
cat >"$folder/run.py" <<'PYTHON'
import sys

import duckdb

connection = duckdb.connect()
print("DuckDB", duckdb.__version__)
file = f"{sys.argv[1]}/values.parquet"
for value in (
    "INTERVAL '1.123456 seconds'",
    "9007199254740993::HUGEINT",
    "9007199254740993::UHUGEINT",
    "'09:00:00+02'::TIMETZ",
    "9007199254740993::BIGINT",
):
    before = connection.sql(f"SELECT {value} AS v")
    before.write_parquet(file)
    after = connection.read_parquet(file)
    ((one,), (other,)) = (each.project("v::VARCHAR").fetchall()[0] for each in (before, after))
    print(f"  {before.types[0]} {one} -> {after.types[0]} {other}")
PYTHON
"$folder/venv/bin/python" "$folder/run.py" "$folder" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
DuckDB 2.0.0
  INTERVAL 00:00:01.123456 -> INTERVAL 00:00:01.123
  HUGEINT 9007199254740993 -> DOUBLE 9007199254740992.0
  UHUGEINT 9007199254740993 -> DOUBLE 9007199254740992.0
  TIME WITH TIME ZONE 09:00:00+02 -> TIME WITH TIME ZONE 07:00:00+00
  BIGINT 9007199254740993 -> BIGINT 9007199254740993
EXPECTED
