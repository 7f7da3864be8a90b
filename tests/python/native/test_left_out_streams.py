"""`left_out("emit")` on streams: the law of conservation, and what each record that is left out says.

`make soak` plays more seeds (WINDROW_CONSERVED).
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.conservation import REASONS, conserves
from ..scenes import at

SOON = 200
LONG = int(os.environ.get("WINDROW_CONSERVED", "2000"))
FIRST = int(os.environ.get("WINDROW_FIRST_SEED", str(SOON)))
SCHEMA = pa.schema(
    {"user": pa.string(), "ts": pa.timestamp("us"), "number": pa.int64(), "gap": pa.duration("us"), "tick": pa.bool_()}
)


def play(seeds: range) -> Counter[str]:
    return sum(map(conserves, seeds), Counter[str]())


def test_every_record_is_in_a_window_or_comes_back() -> None:
    found = play(range(SOON))
    assert all(found[reason] >= 3 for reason in (*REASONS, "refused")), found


@pytest.mark.soak
def test_every_record_of_many_streams_is_in_a_window_or_comes_back(soaked: Callable[[str], None]) -> None:
    found = play(range(FIRST, FIRST + LONG))
    soaked(f"{LONG} streams conserve their records; left out: {dict(found)}")
