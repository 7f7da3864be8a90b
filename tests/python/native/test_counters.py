"""What a query in this process left out: counted with its result, kept by conversions, and warned of once a call."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr

NOON = datetime(2026, 1, 1, 12)
EVENTS = pa.table(
    {
        "user": ["ann", None, "ann", "bob", "bob", "ann"],
        "ts": [NOON, NOON, None, NOON, NOON + timedelta(hours=9), NOON],
        "gap": [timedelta(minutes=minutes) for minutes in (1, 1, 1, 0, 90, 1)],
        "tick": [False] * 5 + [True],
        "amount": [1, 2, 3, 4, 5, 6],
    }
)
COUNTED = {"records": 5, "null_keys": 1, "null_times": 1, "bad_gaps": 1, "clamped_gaps": 1, "ticks": 1, "windows": 2}
COUNTED |= dict.fromkeys(("null_ties", "bad_ends", "overflows"), 0)
GAPS = wr.SessionWindows.with_dynamic_gap("gap", max_gap="1 hour")


def query(data: Any = EVENTS, windows: Any = GAPS) -> Any:
    return wr.group_by(data, "user", time="ts", tick="tick").windowed_by(windows)


def add(held: int, row: Any) -> int:
    return int(held + row.amount)


CALLS: dict[str, Callable[[], pa.Table]] = {
    "count": lambda: query().count(),
    "agg": lambda: query().agg(n=wr.sum("amount")),
    "functions": lambda: query().agg(
        n=wr.aggregate(int, add, merge=lambda one, other: one + other, schema="bigint", columns=["amount"])
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_warns_once_at_its_line_with_the_counters(call: str) -> None:
    with pytest.warns(wr.LeftOut) as caught:
        result = CALLS[call]()
    (warning,) = caught
    assert str(warning.message).startswith(
        "3 of 5 records are left out (null_keys 1, null_times 1, bad_gaps 1), and gaps are cut to "
        "max_gap (clamped_gaps 1): .observe(windrow.Observation()) reports the numbers, "
    )
    assert isinstance(warning.message, wr.LeftOut)
    assert warning.message.counters == {
        name: COUNTED[name] for name in COUNTED if name not in ("ticks", "overflows", "windows")
    }
    assert warning.filename == __file__
    assert query.__code__.co_firstlineno < warning.lineno <= CALLS[call].__code__.co_firstlineno + 2
    assert wr.counters(result) == COUNTED


def test_ticks_and_null_values_are_no_reason_to_warn() -> None:
    whole = EVENTS.filter(pa.array([True, False, False, False, False, True])).append_column(
        "v", pa.nulls(2, pa.int64())
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = query(whole).agg(n=wr.sum("v"))
    assert wr.counters(result) == COUNTED | dict.fromkeys(COUNTED, 0) | {"records": 1, "ticks": 1, "windows": 1}


def test_the_message_says_how_to_silence_it() -> None:
    with pytest.warns(wr.LeftOut) as caught:
        query().count()
    (line,) = re.findall(r"warnings\.filterwarnings\(.*?\)", str(caught[0].message))
    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always")
        exec(line, {"warnings": warnings, "windrow": wr})
        query().count()
    assert left == []


def through_parquet(result: pa.Table, path: Path) -> Any:
    pq.write_table(result, path / "sessions.parquet")
    return pq.read_table(path / "sessions.parquet")


def parquet_in_pandas(result: pa.Table, path: Path) -> Any:
    through_parquet(result, path)
    return pd.read_parquet(path / "sessions.parquet")


KEPT: dict[str, Callable[[pa.Table, Path], Any]] = {
    "schema": lambda result, _: result.schema,
    "batch": lambda result, _: result.to_batches()[0],
    "reader": lambda result, _: result.to_reader(),
    "pandas": lambda result, _: result.to_pandas(),
    "pandas, filtered": lambda result, _: result.to_pandas()[lambda frame: frame["user"] == "ann"],
    "pandas and back": lambda result, _: pa.Table.from_pandas(result.to_pandas()).to_pandas(),
    "Parquet": through_parquet,
    "Parquet in pandas": parquet_in_pandas,
}


@pytest.mark.parametrize("kept", KEPT)
def test_what_keeps_metadata_keeps_the_counters(kept: str, tmp_path: Path) -> None:
    assert wr.counters(KEPT[kept](query().count(), tmp_path)) == COUNTED


def test_a_pandas_frame_of_a_result_looks_as_it_did() -> None:
    result = query().agg(n=wr.sum("amount"))
    frame = result.to_pandas()
    plain = result.replace_schema_metadata(None).to_pandas()
    pd.testing.assert_frame_equal(frame, plain)
    assert isinstance(frame.index, pd.RangeIndex)
    assert plain.attrs == {}


LOST: dict[str, tuple[Callable[[pa.Table], Any], type[Exception], str]] = {
    "Polars": (pl.from_arrow, TypeError, r"Polars has no place for counters: \.observe\(windrow\.Observation\(\)\)"),
    "Polars, lazy": (lambda result: pl.from_arrow(result).lazy(), TypeError, r"Polars has no place for counters"),  # type: ignore[union-attr]
    "DuckDB": (duckdb.from_arrow, TypeError, r"DuckDB has no place for counters"),
    "grouped": (lambda result: result.group_by("user").aggregate([]), ValueError, r"a Table without counters.*observe"),
    "not of windrow": (lambda _: EVENTS, ValueError, r"a Table without counters"),
    "pandas, not of windrow": (lambda _: EVENTS.to_pandas(), ValueError, r"a DataFrame without counters"),
    "a number": (lambda _: 3, TypeError, r"result: got 3, an int; allowed: what agg"),
}


@pytest.mark.parametrize("lost", LOST)
def test_what_keeps_no_counters_is_refused_with_the_reason(lost: str) -> None:
    make, error, message = LOST[lost]
    converted = make(query().count())
    with pytest.raises(error, match=message):
        wr.counters(converted)


MOMENT = datetime(2026, 5, 4, 9, 3, 0, 123000)
OF_STREAM = {"records": 3, "late": 0, "windows_open": 1, "state_bytes": 90, "stream_time": MOMENT}


def connect_row(stream_time: int | None = round(MOMENT.timestamp() * 1000)) -> dict[str, Any]:
    """A row of metrics as the progress of Spark Connect 4.1 to 4.3 has it."""
    kinds = {name: "timestamp" if name == "stream_time" else "long" for name in OF_STREAM}
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in kinds.items()]
    return {"values": [3, 0, 1, 90, stream_time], "schema": {"type": "struct", "fields": fields}}


def test_counters_of_a_progress_are_read_in_the_forms_of_classic_spark_and_of_connect() -> None:
    for row, wanted in (
        (OF_STREAM, OF_STREAM),
        (connect_row(), OF_STREAM),
        (connect_row(None), OF_STREAM | {"stream_time": None}),
    ):
        progress = {"runId": "x", "observedMetrics": {"other": {"n": 1}, "windrow": row, "none": None}}
        assert wr.counters(progress) == wr.counters(progress, "windrow") == wanted
    assert wr.counters({"runId": "x", "observedMetrics": {"other": {"n": 1}}}) == {}
    assert wr.counters({"runId": "x", "observedMetrics": {}}) == {}


def test_counters_of_a_progress_in_an_unknown_form_are_an_error() -> None:
    cut = connect_row() | {"values": [3]}
    for row in (cut, {"row": OF_STREAM}, {"names": [*OF_STREAM], "data": [3, 0, 1, 90, None]}):
        with pytest.raises(ValueError, match="result: got a progress whose metrics 'windrow' have the form"):
            wr.counters({"runId": "x", "observedMetrics": {"windrow": row}})
