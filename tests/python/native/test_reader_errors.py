"""What a reader raises while a query reads it comes out of the query as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

SCHEMA = pa.schema([("key", pa.int64()), ("ts", pa.timestamp("us")), ("x", pa.int64())])
WINDOWS = wr.SessionWindows.with_gap("1 second")


class OwnError(Exception):
    """An exception of the user's own."""


def failing(raised: BaseException, batches: int) -> pa.RecordBatchReader:
    """A reader that raises after this many batches."""

    def made() -> Iterator[pa.RecordBatch]:
        for number in range(batches):
            times = pa.array([number], pa.timestamp("us"))
            yield pa.record_batch([pa.array([1]), times, pa.array([2])], schema=SCHEMA)
        raise raised

    return pa.RecordBatchReader.from_batches(SCHEMA, made())


def built_in(data: Any) -> Any:
    return wr.group_by(data, "key", time="ts").windowed_by(WINDOWS).agg(x=wr.sum("x"))


def python_function(data: Any) -> Any:
    return wr.group_by(data, "key", time="ts").windowed_by(WINDOWS).agg(x=wr.reduce("x", max))


def in_batches(data: Any) -> Any:
    return wr.group_by(data, "key", time="ts").windowed_by(WINDOWS).to_reader(x=wr.sum("x")).read_all()


def cogroup(data: Any) -> Any:
    table = pa.table([[1], pa.array([5], pa.timestamp("us")), [3]], schema=SCHEMA)
    inputs = {name: wr.group_by(side, "key", time="ts") for name, side in (("left", table), ("right", data))}
    return wr.cogroup(**inputs).windowed_by(WINDOWS).agg(n=wr.count())


def nested(data: Any) -> Any:
    """A struct in a struct, whose batches are copied on their way (`windrow._executor.batches.rebased_stream`)."""
    inner = pa.struct([pa.field("a", pa.struct([pa.field("b", pa.int64())]))])
    schema = pa.schema([*SCHEMA, pa.field("s", inner)])

    def widened() -> Iterator[pa.RecordBatch]:
        for batch in data:
            structs = pa.array([{"a": {"b": 1}}] * batch.num_rows, inner)
            yield pa.RecordBatch.from_arrays([*batch.columns, structs], schema=schema)

    reader = pa.RecordBatchReader.from_batches(schema, widened())
    return wr.group_by(reader, "key", time="ts").windowed_by(WINDOWS).agg(s=wr.first("s"))


@pytest.mark.parametrize("query", [built_in, python_function, in_batches, cogroup, nested])
@pytest.mark.parametrize("batches", [0, 1, 200])
@pytest.mark.parametrize("raised", [KeyboardInterrupt(), OwnError("no more"), SystemExit(3), StopAsyncIteration()])
def test_an_exception_comes_out_as_the_object_that_was_raised(
    query: Callable[[Any], Any], batches: int, raised: BaseException
) -> None:
    cause = raised.__cause__
    with pytest.raises(type(raised)) as caught:
        query(failing(raised, batches))
    assert caught.value is raised
    assert caught.value.__cause__ is cause
    assert caught.value.__context__ is None


def test_an_error_of_the_query_is_not_taken_for_one_of_the_reader() -> None:
    times = pa.array([1, 1], pa.timestamp("us"))
    large = pa.table([[1, 1], times, [2**63 - 1, 1]], schema=SCHEMA)
    with pytest.raises(OverflowError, match="x"):
        built_in(large.to_reader())
