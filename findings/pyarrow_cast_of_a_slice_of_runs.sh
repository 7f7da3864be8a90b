#!/usr/bin/env bash
# pyarrow casts a slice of a run-end encoded array as if the slice began at the first row.
#
# Runs are what writers give for columns with many equal values in a row. One would guess that a cast to the
# type that an array already has gives the same values, or an error: a cast to the plain type of the values is
# an error. But the cast of a slice gives the first rows of the whole array. A slice of a struct with runs in
# it is wrong, too, if the cast changes the type of another field. The slice itself, and run_end_decode, are right.
#
# pyarrow 26.0.1, 2026-11-30.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install pyarrow==26.0.1
cat >"$folder/run.py" <<'PYTHON'
import pyarrow as pa
import pyarrow.compute as pc

print("pyarrow", pa.__version__)
runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 2, 3, 4], pa.int16()), pa.array(["a", "b", "c", "d"]))
part = runs[2:]
print("slice:", part.to_pylist())
print("decoded:", pc.run_end_decode(part).to_pylist())
print("cast to its own type:", part.cast(runs.type).to_pylist())
try:
    print("cast to strings:", part.cast(pa.string()).to_pylist())
except pa.ArrowNotImplementedError as error:
    print("cast to strings:", type(error).__name__)
table = pa.table({"page": pa.StructArray.from_arrays([runs, pa.array([1, 2, 3, 4])], ["name", "visits"])})
wider = pa.schema([("page", pa.struct([("name", runs.type), ("visits", pa.float64())]))])
print("rows of a table:", table[2:]["page"].to_pylist())
print("visits as doubles:", table[2:].cast(wider)["page"].to_pylist())
PYTHON
"$folder/venv/bin/python" "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
pyarrow 26.0.1
slice: ['c', 'd']
decoded: ['c', 'd']
cast to its own type: ['a', 'b']
cast to strings: ArrowNotImplementedError
rows of a table: [{'name': 'c', 'visits': 3}, {'name': 'd', 'visits': 4}]
visits as doubles: [{'name': 'a', 'visits': 3.0}, {'name': 'b', 'visits': 4.0}]
EXPECTED
