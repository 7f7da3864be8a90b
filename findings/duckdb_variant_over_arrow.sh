#!/usr/bin/env bash
# DuckDB gives Arrow a VARIANT with integers of another width, and some VARIANTs not at all.
#
# A VARIANT knows the type of each value. One would guess that a table that goes to Arrow and back has the
# same types, or that DuckDB refuses the type VARIANT as a whole. But it makes a VARIANT of Parquet of each
# value, which has fewer types: unsigned and 128-bit integers come back as signed ones of another width,
# without an error. Large ones, intervals, bits and times in seconds or nanoseconds are errors, which come
# only when the rows are read.
#
# DuckDB 2.0.0 and pyarrow 26.0.1, 2026-12-01.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install duckdb==2.0.0 pyarrow==26.0.1
cat >"$folder/run.py" <<'PYTHON'
import duckdb

connection = duckdb.connect()
print("DuckDB", duckdb.__version__)
for value in (
    "5::INTEGER",
    "5::UTINYINT",
    "5::HUGEINT",
    "18446744073709551615::UBIGINT",
    "INTERVAL 1 DAY",
    "'0101'::BIT",
    "'2026-01-01'::TIMESTAMP_S",
    "'2026-01-01'::TIMESTAMP",
):
    relation = connection.sql(f"SELECT {value}::VARIANT AS v")
    before = relation.project("variant_typeof(v)").fetchall()[0][0]
    try:
        rows = relation.to_arrow_table()
        after = connection.sql("SELECT variant_typeof(v) FROM rows").fetchall()[0][0]
    except Exception as error:
        after = type(error).__name__
    print(f"  {before}: {after}")
PYTHON
"$folder/venv/bin/python" "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
DuckDB 2.0.0
  INT32: INT32
  UINT8: INT16
  INT128: INT64
  UINT64: InvalidInputException
  INTERVAL: InvalidInputException
  BITSTRING: InvalidInputException
  TIMESTAMP_SEC: InvalidInputException
  TIMESTAMP_MICROS: TIMESTAMP_MICROS
EXPECTED
