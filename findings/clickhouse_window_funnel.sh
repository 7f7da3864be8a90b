#!/usr/bin/env bash
# ClickHouse: windowFunnel counts one event for two steps, if it fits both.
#
# One would guess that each step of a funnel needs an event of its own. A single click that fits the
# conditions of the first and the second step makes a funnel of two steps, with strict_order too. With
# strict_once each event counts for one step.
#
# chDB 4.4.0 (ClickHouse 26.9.2.1), 2026-11-28.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install chdb==4.4.0
cat >"$folder/run.py" <<'PYTHON'
import chdb

print("chdb", chdb.__version__, "ClickHouse", str(chdb.query("SELECT version()")).strip())
for mode in ("", ", 'strict_order'", ", 'strict_increase'", ", 'strict_once'"):
    steps = "page LIKE '/shop%', page LIKE '/shop/cart%'"
    rows = "values('t UInt32, page String', (1, '/shop/cart'))"
    print(f"windowFunnel(10{mode})", str(chdb.query(f"SELECT windowFunnel(10{mode})(t, {steps}) FROM {rows}")).strip())
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/run.py" | tee "$folder/output"
diff "$folder/output" - <<'EXPECTED'
chdb 4.4.0 ClickHouse "26.9.2.1"
windowFunnel(10) 2
windowFunnel(10, 'strict_order') 2
windowFunnel(10, 'strict_increase') 1
windowFunnel(10, 'strict_once') 1
EXPECTED
