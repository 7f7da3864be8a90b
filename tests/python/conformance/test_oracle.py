"""The oracles of batches: recorded runs, and that they agree with each other. The book of cases has them by hand."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..harness.examples import usually
from ..harness.golden import CHECKED, Finals, Run, content, runs
from ..oracle.records import Record, by_key
from ..oracle.sessions import dynamic_sessions, sessions
from ..oracle.sliding import sliding


def recomputed(run: Run) -> Finals:
    """The run's windows by the oracle."""
    finals: Finals = {}
    for (key,), records in by_key(run.records()).items():
        found = sessions(records, run.length) if run.kind == "session" else sliding(records, run.length, 1)
        for start, end, rows in found:
            finals[key, start, end] = content([row.values["value"] for row in rows], run.fold)
    return finals


@pytest.mark.parametrize("emit", ["update", "close"])
def test_the_oracle_gives_the_finals_of_recorded_runs(recorded: Path, emit: str) -> None:
    kinds = Counter[str]()
    for run in runs(recorded, emit):
        assert run.closed(recomputed(run)) == run.finals(), run.name
        kinds[run.kind] += 1
    assert kinds == CHECKED[emit]


@usually(100)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), max_size=9))
def test_sessions_of_their_own_gaps_are_the_connected_components_of_links(rows: list[tuple[int, int]]) -> None:
    records = [Record(("A",), time, arrival, {"gap": gap}) for arrival, (time, gap) in enumerate(rows)]
    parts = [{arrival} for arrival in range(len(rows))]
    for (early, (time, gap)), (late, (other, _)) in itertools.permutations(enumerate(rows), 2):
        if time <= other <= time + gap:
            linked = [part for part in parts if part & {early, late}]
            parts = [part for part in parts if part not in linked] + [set().union(*linked)]
    found = dynamic_sessions(records, lambda record: record.values["gap"], 6)
    assert sorted(sorted(row.arrival for row in members) for _, _, members in found) == sorted(map(sorted, parts))
