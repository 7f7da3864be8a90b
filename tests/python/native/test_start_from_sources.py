"""A stream whose sources have a time of their own does not begin with the open windows of a history."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..scenes import at

SCHEMA = pa.schema({"user": pa.string(), "ts": pa.timestamp("us"), "topic": pa.string(), "part": pa.int32()})
WINDOWS = wr.SessionWindows.with_gap("30 minutes", grace="10 minutes")


def sourced(data: Any, **options: Any) -> Any:
    return wr.group_by(data, "user", time="ts", source=["topic", "part"], **options)


@pytest.mark.parametrize(
    ("schema", "grouped", "reason"),
    [
        (SCHEMA, sourced, "open windows hold the records of all"),
        (SCHEMA, lambda data: sourced(data, stream_time="slowest"), "the clock row of open windows has one time, so"),
        (
            {"one": SCHEMA, "other": SCHEMA},
            lambda **inputs: wr.cogroup(**{name: sourced(data) for name, data in inputs.items()}),
            "open windows hold the records of all",
        ),
    ],
)
def test_sources_are_refused_by_their_names(schema: Any, grouped: Any, reason: str) -> None:
    history = wr.group_by(SCHEMA.empty_table(), "user", time="ts").windowed_by(WINDOWS)
    opened = history.advance(None, to=at(60), n=wr.count()).still_open
    says = rf"^source: got \('topic', 'part'\); allowed: None with start_from: {reason}"
    with pytest.raises(ValueError, match=says):
        StreamDriver(
            lambda *data, **inputs: grouped(*data, **inputs).windowed_by(WINDOWS).start_from(opened).count(), schema
        )
