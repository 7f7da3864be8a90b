#!/usr/bin/env bash
# PySpark on Sail: sortWithinPartitions in front of mapInArrow.
#
# One would guess: the function gets the rows of its partition in the order of the sort, as in Spark.
# What happens: Sail plans no sort, as its operator for mapInArrow asks for no order, so the function gets the rows as
# they came. There is no error. The same holds for sort() in front of it. A select in place of mapInArrow is sorted.
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
numbers = spark.createDataFrame([(3,), (1,), (2,)], "n bigint").coalesce(1)


def same(batches):
    yield from batches


print("Sail", spark.sql("SELECT version()").first()[0])
ordered = numbers.sortWithinPartitions("n")
print("sorted, selected:   ", [row[0] for row in ordered.select("n").collect()])
print("sorted, mapInArrow: ", [row[0] for row in ordered.mapInArrow(same, "n bigint").collect()])
spark.stop()
server.stop()
PYTHON
cd "$folder"
PYTHONWARNINGS=ignore "$folder/venv/bin/python" program.py 2>/dev/null | tee output
diff output - <<'EXPECTED'
Sail 0.7.2
sorted, selected:    [1, 2, 3]
sorted, mapInArrow:  [3, 1, 2]
EXPECTED
