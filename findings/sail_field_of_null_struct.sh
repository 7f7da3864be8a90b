#!/usr/bin/env bash
# PySpark on Sail: a field of a struct that is null.
#
# One would guess: s.x is null where s is null, as in Spark and in SQL.
# What happens: Sail reads the column x that lies in the struct, without the nulls of the struct. Arrow may hold any value
# there (pyarrow puts an empty text for a null struct of from_pylist), so `s IS NULL AND s.x IS NOT NULL` finds rows.
# Sail 0.7.2, pyspark-client 4.2.0, 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    pysail==0.7.2 pyspark-client==4.2.0 pandas==2.3.3 pyarrow==26.0.1 2>/dev/null
cat > "$folder/program.py" <<'PYTHON'
import pyarrow as pa
from pysail.spark import SparkConnectServer
from pyspark.sql import SparkSession

server = SparkConnectServer("127.0.0.1", 0)
server.start(background=True)
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").getOrCreate()
structs = pa.StructArray.from_arrays([pa.array([1, 2, 3])], names=["x"], mask=pa.array([False, True, False]))
frame = spark.createDataFrame(pa.table({"s": structs}))
print("Sail", spark.sql("SELECT version()").first()[0])
print("s.x is null:", [row[0] for row in frame.selectExpr("s.x IS NULL").collect()])
print("s is null:  ", [row[0] for row in frame.selectExpr("s IS NULL").collect()])
spark.stop()
server.stop()
PYTHON
cd "$folder"
PYTHONWARNINGS=ignore "$folder/venv/bin/python" program.py 2>/dev/null | tee output
diff output - <<'EXPECTED'
Sail 0.7.2
s.x is null: [False, False, False]
s is null:   [False, True, False]
EXPECTED
