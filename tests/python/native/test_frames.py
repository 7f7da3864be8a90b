"""Data of any library goes in, the same windows come out, and PySpark is not needed for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr

from ..harness.tables import Rows, arrow, rows_of

ROOT = Path(__file__).resolve().parents[3]
START = datetime(2024, 5, 1, 12)


def clicks() -> pa.Table:
    """Clicks of two users, out of order."""
    # gap 5 min    ann   0    4        20        bob   1   6            minutes
    #                    ├────┤        ┤              ├───┤
    minutes = [4, 0, 20, 6, 1]
    return pa.table(
        {
            "user_id": ["ann", "ann", "ann", "bob", "bob"],
            "ts": pa.array([START + timedelta(minutes=minute) for minute in minutes], pa.timestamp("us")),
            "amount": [1.5, 2.0, 4.0, None, 8.0],
        }
    )


def minute(of: int) -> int:
    """A minute as microseconds since 1970."""
    return round((START - datetime(1970, 1, 1)).total_seconds() + 60 * of) * 10**6


EXPECTED: Rows = {
    (("ann",), minute(0), minute(4)): {"clicks": 2, "spend": 3.5},
    (("ann",), minute(20), minute(20)): {"clicks": 1, "spend": 4.0},
    (("bob",), minute(1), minute(6)): {"clicks": 2, "spend": 8.0},
}


def sessions(data: object) -> Rows:
    """The README's sessions, bounds in microseconds."""
    windowed = wr.group_by(data, "user_id", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
    result = windowed.agg(clicks=wr.count(), spend=wr.sum("amount"))
    result = arrow(result)
    assert result.column_names == ["user_id", "window", "clicks", "spend"]
    tick = {"ms": 10**6, "us": 10**3, "ns": 1}[result["window"].type.field("start").type.unit]
    return {
        (key, start * tick // 1_000, end * tick // 1_000): row
        for (key, start, end), row in rows_of(result, ["user_id"]).items()
    }


FORMS: dict[str, Callable[[], Any]] = {
    "table": clicks,
    "batch": lambda: clicks().to_batches()[0],
    "reader": lambda: clicks().to_reader(max_chunksize=2),
    "slices in chunks": lambda: pa.concat_tables(
        [clicks().slice(2, 1), clicks().slice(0, 2), clicks().slice(5, 0), clicks().slice(3, 2)]
    ),
    "polars": lambda: pl.DataFrame(clicks()),
    "polars categories": lambda: pl.DataFrame(clicks()).with_columns(pl.col("user_id").cast(pl.Categorical)),
    "duckdb": lambda: duckdb.from_arrow(clicks()),
    "duckdb query": lambda: duckdb.from_arrow(clicks()).filter("amount IS NULL OR amount > 0").order("ts"),
    "pandas": lambda: clicks().to_pandas(),
    "pandas milliseconds": lambda: clicks().to_pandas().astype({"ts": "datetime64[ms]"}),
    "pandas nanoseconds": lambda: clicks().to_pandas().astype({"ts": "datetime64[ns]"}),
    "pandas index": lambda: clicks().to_pandas().set_index(pd.Index([5, 3, 9, 1, 0])),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_windows_are_those_of_readme_in_every_form(form: str) -> None:
    data = FORMS[form]()
    assert sessions(data) == EXPECTED
    if form == "table":
        assert data.equals(clicks())


BLOCKED = """
import importlib.abc, sys

class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pyspark", "py4j", "pandas", "polars", "duckdb", "numpy"):
            raise ModuleNotFoundError(f"No module named {name!r} (blocked)", name=name)
        return None

sys.meta_path.insert(0, Blocker())
try:
    import pyspark
except ModuleNotFoundError:
    pass
else:
    raise SystemExit("pyspark is not blocked")
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a fresh Python without PySpark and its friends."""
    return subprocess.run([sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, timeout=120, cwd=ROOT)


def test_a_free_threaded_python_is_refused_by_one_sentence() -> None:
    done = run("sys.abiflags = 't'; sys.modules['windrow._native'] = None; import windrow")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: windrow: got a free-threaded Python, "), done.stderr
    assert last.endswith("; allowed: a Python 3.11 or later with the GIL")


def test_queries_run_and_errors_are_named_without_pyspark() -> None:
    done = run(
        """
import pyarrow as pa
import windrow as wr
data = pa.table({"k": [1, 1, 2], "ts": pa.array([0, 4, 9], pa.int64()).cast(pa.timestamp("ms")), "x": [1, 2, 3]})
for windows in (wr.SessionWindows.with_gap("5 milliseconds"), wr.SlidingWindows.with_time_difference("5 milliseconds")):
    print(wr.group_by(data, "k", time="ts").windowed_by(windows).agg(n=wr.count(), x=wr.sum("x")).num_rows)
try:
    wr.group_by([1], "k", time="ts")
except TypeError as error:
    print("data: got [1], a list" in str(error))
print("pyspark" in sys.modules)
"""
    )
    # d 5    k 1: 0, 4 early in [0,5], right of 0 [1,6]; k 2: [4,9]
    assert (done.returncode, done.stdout) == (0, "2\n3\nTrue\nFalse\n"), done.stderr


def test_nan_is_a_null_of_pandas_and_a_value_of_its_arrays() -> None:
    missing = float("nan")
    frame = pd.DataFrame({"k": [1.0, missing], "ts": pd.to_datetime([START] * 2), "amount": [missing, 2.0]})
    frame["page"] = ["home", None]
    arrays = pa.table({name: pa.array(frame[name], from_pandas=False) for name in frame})
    for data, null_keys, amounts in ((frame, 1, [0]), (arrays, 0, [1, 1])):
        windowed = wr.group_by(data, "k", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))
        counted = windowed.agg(amounts=wr.count("amount"), pages=wr.count("page"))
        assert wr.counters(counted)["null_keys"] == null_keys
        assert sorted(arrow(counted)["amounts"].to_pylist()) == amounts
        assert sum(arrow(counted)["pages"].to_pylist()) == 1
