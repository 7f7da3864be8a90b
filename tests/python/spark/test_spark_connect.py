"""Spark Connect: a client without a JVM, and a server on this machine, both in processes of their own."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

from ..harness.capabilities import has
from ..harness.tables import assert_same, rows_of
from . import connect_client

ROOT = Path(__file__).resolve().parents[3]

pytestmark = [pytest.mark.needs("Connect"), pytest.mark.slow]


@pytest.fixture(scope="module")
def output(remote: str) -> list[dict[str, Any]]:
    """What the client printed."""
    command = [sys.executable, "-m", connect_client.__name__, remote]
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=plain, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_the_session_is_of_connect_and_takes_the_settings(output: list[dict[str, Any]]) -> None:
    assert output[0]["session"] == "pyspark.sql.connect.session"
    assert output[0]["set"]["spark.sql.execution.arrow.maxRecordsPerBatch"] == "10000"


@pytest.mark.parametrize("case", connect_client.CASES)
def test_rows_and_counters_are_those_of_this_process(output: list[dict[str, Any]], case: str) -> None:
    (found,) = [line for line in output if line.get("case") == case]
    here = connect_client.CASES[case](connect_client.windowing(connect_client.events()))
    table = pa.ipc.open_stream(base64.b64decode(found["rows"])).read_all()
    got, wanted = rows_of(table, ["user"]), rows_of(here, ["user"])
    assert_same(got, wanted)
    assert len(wanted) > 50
    counted = wr.counters(here)
    assert found["counters"] == (counted if has("counters on Connect") else None)
    assert min(counted["null_keys"], counted["null_times"]) > 0


def test_files_are_read_as_frames_are(output: list[dict[str, Any]]) -> None:
    ((of_frame, of_files),) = [line["scanned"] for line in output if "scanned" in line]
    assert of_files == of_frame
    assert len(of_files) > 50


@pytest.mark.needs("streams on Connect")
def test_a_stream_begins_with_the_windows_of_a_history(output: list[dict[str, Any]]) -> None:
    (found,) = [line for line in output if "begun" in line]
    here = connect_client.windowing(connect_client.events())(connect_client.SESSIONS).agg(n=wr.count())
    bounds = [here["window"].combine_chunks().field(name).cast(pa.int64()).to_pylist() for name in ("start", "end")]
    noon = int(connect_client.NOON.timestamp() * 1_000_000)
    rows = zip(here["user"].to_pylist(), *bounds, here["n"].to_pylist(), strict=True)
    assert found["begun"] == sorted(([*row] for row in rows if row[2] >= noon - 600_000_000), key=str)
    assert any(start < noon for _, start, _, _ in found["begun"])


def test_keys_are_removed_from_open_windows_in_each_form(output: list[dict[str, Any]]) -> None:
    (found,) = [line for line in output if "forgotten" in line]
    assert found["forgotten"] == connect_client.FORGOTTEN


def test_a_plain_column_means_its_name(output: list[dict[str, Any]]) -> None:
    (found,) = [line for line in output if "plain" in line]
    assert found["plain"] == ["user", "amount", "ts"]


def test_expressions_give_what_columns_give_in_this_process(output: list[dict[str, Any]]) -> None:
    (found,) = [line for line in output if "expressions" in line]
    rows = [
        {
            "third": None if row["user"] is None else row["user"] % 3,
            "later": None if row["ts"] is None else row["ts"] + timedelta(seconds=7),
            "some": row["amount"] is not None and 10 < row["amount"] < 900,
            "twice": None if row["amount"] is None else row["amount"] * 2,
            "four": 4,
        }
        for row in connect_client.events().to_pylist()
    ]
    windowed = wr.group_by(pa.Table.from_pylist(rows), "third", time="later").windowed_by(connect_client.SESSIONS)
    here = windowed.flat().agg(n=wr.count_if("some"), total=wr.sum("twice"), last=wr.max("four"))
    bounds = {name: here[name].cast("int64") for name in ("window_start", "window_end")}
    columns = [bounds.get(name, here[name]).to_pylist() for name in here.column_names]
    assert found["expressions"] == sorted(map(list, zip(*columns, strict=True)), key=str)
    assert len(found["expressions"]) > 10


def test_columns_of_a_join_and_wrong_expressions(output: list[dict[str, Any]]) -> None:
    (found,) = [line for line in output if "joined" in line]
    columns, count = found["joined"]
    assert columns == ["user", "window", "same"]
    assert count > 20
    missing, several, aggregate, of_another = found["refused"]
    assert "allowed: an expression that gives one column of the data, which has 'user', 'ts', 'amount'" in missing
    assert "generator" in several
    assert "an aggregate of Spark takes many records" in aggregate
    assert "got 'user'; allowed: an expression that gives one column of the data" in of_another


def test_control_messages_are_not_data(output: list[dict[str, Any]]) -> None:
    (found,) = [line for line in output if "ticks" in line]
    assert found == {"ticks": [[False, None], [True, 1_767_258_000_000], [True, None]], "streams": True}


def test_what_this_connect_lacks_is_refused_at_the_call(output: list[dict[str, Any]]) -> None:
    (found,) = [line for line in output if "lacks" in line]
    lacks = {"stream": "streams on Connect", "observation": "counters on Connect"}
    assert found["lacks"].keys() == {name for name, capability in lacks.items() if not has(capability)}
    for name, message in found["lacks"].items():
        assert {"stream": "allowed: batch only", "observation": "allowed: Spark classic"}[name] in message


@pytest.mark.needs("streams on Connect")
def test_far_more_partitions_than_shards_give_one_warning_a_query(output: list[dict[str, Any]]) -> None:
    (found,) = [line for line in output if "warned" in line]
    assert ["at most 49 of which" in warning for warning in found["warned"]] == [True, False]


def test_a_failing_function_is_reported_with_its_line(output: list[dict[str, Any]]) -> None:
    line = connect_client.failing.__code__.co_firstlineno + 1
    raised = output[-1]["raised"]
    assert 'aggregate "x": add failed for the record at 2026-01-01T' in raised
    place = f"{connect_client.__file__}:{line}, in failing: return held"
    assert f"ZeroDivisionError: integer division or modulo by zero ({place}" in raised
