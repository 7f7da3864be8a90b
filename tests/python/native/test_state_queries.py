"""A saved state names its query by a hash of JSON, which stays what it was, byte for byte (`tests/vectors`)."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from windrow._native import Operator, read_clock

from ..test_docs import ROOT

VECTORS = [json.loads(line) for line in (ROOT / "tests" / "vectors" / "state-queries.jsonl").read_text().splitlines()]

SCHEMA = {
    "user": pa.large_string(),
    "place": pa.dictionary(pa.int8(), pa.string()),
    "at": pa.timestamp("us", "Europe/Berlin"),
    "pause": pa.duration("ms"),
    "day": pa.date32(),
    "done": pa.bool_(),
    "begins": pa.bool_(),
    "tick": pa.bool_(),
    "seq": pa.int64(),
    "input": pa.int32(),
    "x": pa.int16(),
    "y": pa.float32(),
    "price": pa.decimal128(9, 2),
    "blob": pa.binary(4),
    "pair": pa.struct({"left": pa.uint8(), "right": pa.list_(pa.time32("s"))}),
    "pairs": pa.map_(pa.string(), pa.int32()),
}


def written(spec: dict[str, Any]) -> dict[str, str]:
    """The JSON and its hash in the head of a state and in a table of open windows."""
    unit: Any = "ns" if spec.get("nanoseconds") else "us"
    schema = pa.schema({**SCHEMA, "ts": pa.timestamp(unit, "UTC")})
    operator = Operator(json.dumps(spec), schema)
    head = pa.ipc.open_stream(operator.pages()[0]).schema.metadata or {}
    opened = json.loads(read_clock(operator.open_windows(0, 0)[1]))
    return {
        "state": head[b"windrow.specification"].decode(),
        "hash": head[b"windrow.fingerprint"].decode(),
        "open": opened["specification"],
        "hash of open windows": opened["fingerprint"],
    }


def test_all_kinds_of_queries_are_there() -> None:
    said = [json.loads(vector["state"]) for vector in VECTORS]
    assert {query["windows"]["kind"] for query in said} == {"session", "sliding"}
    assert len({name for query in said for name in query}) == 19


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_the_query_of_a_state_is_written_as_it_was(vector: dict[str, Any]) -> None:
    expected = {name: text for name, text in vector.items() if name not in ("name", "spec")}
    assert written(vector["spec"]) == expected
