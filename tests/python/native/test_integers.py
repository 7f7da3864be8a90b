"""Arguments that are whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr

ROWS = pa.table({"user": ["ann", "bob"], "ts": pa.array([0, 1], pa.timestamp("us")), "amount": [3, 4]})


def sessions() -> Any:
    return wr.group_by(ROWS, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes"))


@pytest.mark.parametrize("kind", [np.int64, np.uint8])
def test_whole_numbers_of_numpy_are_taken_as_those_of_python(kind: Any) -> None:
    numbers = [
        (wr.top_k("amount", kind(2)), wr.top_k("amount", 2)),
        (wr.histogram_numeric("amount", kind(2)), wr.histogram_numeric("amount", 2)),
        (wr.approx_percentile("amount", 0.5, kind(9)), wr.approx_percentile("amount", 0.5, 9)),
        (wr.count() * kind(2) - kind(1), wr.count() * 2 - 1),
        (kind(2) / wr.count(), 2 / wr.count()),
        (sessions().shards(kind(3)).threads(kind(2)), sessions().shards(3).threads(2)),
    ]
    for given, meant in numbers:
        assert repr(given) == repr(meant)
    assert sessions().agg(n=wr.top_k("amount", kind(1))).num_rows == 2
    for wrong in (np.True_, np.float64(2), np.array([1, 2]), "2", None):
        with pytest.raises(TypeError, match=r"top_k\(k=\): got .*; allowed: an int from 1 to 1,000,000"):
            wr.top_k("amount", wrong)
