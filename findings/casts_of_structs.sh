#!/usr/bin/env bash
# Spark, DuckDB, pyarrow, Polars: a cast of a struct goes by place, by name, or fails.
#
# One would guess that a cast to a struct with the same fields in another order moves the values with
# their names. In DuckDB and pyarrow it does. In Spark it goes by place: a and b swap their values, with
# no error if their types allow it. Polars raises an error; with strict=False it goes by name.
#
# Spark 4.3.0, DuckDB 2.0.0, pyarrow 26.0.1, Polars 2.1.0, 2026-11-30. Needs Java 17.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install pyspark==4.3.0 duckdb==2.0.0 pyarrow==26.0.1 polars==2.1.0
cat >"$folder/run.py" <<'PYTHON'
import duckdb
import polars as pl
import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

modules = {"Spark": pyspark, "DuckDB": duckdb, "pyarrow": pa, "Polars": pl}
print({name: module.__version__ for name, module in modules.items()})
value = {"a": 1, "b": 2}
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", False).getOrCreate()
row = spark.sql("SELECT CAST(named_struct('a', 1L, 'b', 2L) AS STRUCT<b: BIGINT, a: BIGINT>) AS x").first()
print("Spark  ", row.x.asDict())
found = duckdb.sql("SELECT CAST({'a': 1, 'b': 2} AS STRUCT(b BIGINT, a BIGINT))").fetchall()
print("DuckDB ", found[0][0])
print("pyarrow", pa.array([value]).cast(pa.struct({"b": pa.int64(), "a": pa.int64()}))[0].as_py())
kind = pl.Struct({"b": pl.Int64, "a": pl.Int64})
try:
    print("Polars ", pl.Series([value]).cast(kind)[0])
except pl.exceptions.InvalidOperationError as error:
    print("Polars ", type(error).__name__)
print("not strict", pl.Series([value]).cast(kind, strict=False)[0])
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
{'Spark': '4.3.0', 'DuckDB': '2.0.0', 'pyarrow': '26.0.1', 'Polars': '2.1.0'}
Spark   {'b': 1, 'a': 2}
DuckDB  {'b': 2, 'a': 1}
pyarrow {'b': 2, 'a': 1}
Polars  InvalidOperationError
not strict {'b': 2, 'a': 1}
EXPECTED
