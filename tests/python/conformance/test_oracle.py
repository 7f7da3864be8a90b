"""The oracle is right before anything is compared with it: recorded runs and worked examples of the rules."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ..harness.examples import usually
from ..harness.golden import CHECKED, Finals, Run, content, runs
from ..oracle.records import Record, by_key
from ..oracle.sessions import dynamic_sessions, sessions
from ..oracle.sliding import sliding
from ..oracle.vectorised import windows


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


def of(records: str) -> list[Record]:
    """`1@10 2@14`: values and times."""
    pairs = [pair.split("@") for pair in records.split()]
    return [Record(("A",), int(time), arrival, {"value": value}) for arrival, (value, time) in enumerate(pairs)]


def as_text(windows: list[tuple[int, int, list[Record]]]) -> list[str]:
    """Each window with its sorted values: `[0,10] 1 2`."""
    return [
        f"[{start},{end}] {' '.join(sorted(row.values['value'] for row in rows))}"
        for start, end, rows in sorted(windows)
    ]


def test_records_exactly_one_gap_apart_are_one_session() -> None:
    #  gap 5      1         2 │         3
    #             10 ─ 5 ─ 15 │── 6 ── 21
    assert as_text(sessions(of("1@10 2@15 3@21"), 5)) == ["[10,15] 1 2", "[21,21] 3"]


def test_records_with_their_own_gaps_are_linked_where_the_earlier_one_reaches_the_later_one() -> None:
    #  gaps       1: 5        2: 1    3: 30                           4: 2
    #             10 ──── 15  16      20 ─────────────────────────── 50    51
    records = of("5@10 1@16 30@20 2@50 3@51")
    for order in itertools.permutations(records):
        found = dynamic_sessions(list(order), lambda record: int(record.values["value"]), 40)
        assert as_text(found) == ["[10,10] 5", "[16,16] 1", "[20,51] 2 3 30"]
    clamped = dynamic_sessions(records, lambda record: int(record.values["value"]), 29)
    assert as_text(clamped)[2:] == ["[20,20] 30", "[50,51] 2 3"]


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
    alike = dynamic_sessions(records, lambda _: 4, 4)
    assert alike == sessions(records, 4)


def test_a_record_between_two_sessions_bridges_them() -> None:
    #  gap 5      1    3    2
    #             10   13   16
    assert as_text(sessions(of("1@10 2@16 3@13"), 5)) == ["[10,16] 1 2 3"]


def test_late_records_join_where_they_belong() -> None:
    #  gap 5      1  2 │    6   4,5   7   3
    #             0  2 │    8   12    17  20
    assert as_text(sessions(of("1@0 2@2 3@20 4@12 5@12 6@8 7@17"), 5)) == ["[0,2] 1 2", "[8,20] 3 4 5 6 7"]


def test_sliding_windows_of_kafkas_small_input() -> None:
    #  d 10       1,2    3 4      5   6        7
    #             10     14 15    20  22       30
    #   left  ├───┤ ...            right  1  ├────┤ from 11
    assert as_text(sliding(of("1@10 2@10 3@14 4@15 5@20 6@22 7@30"), 10, 1)) == [
        "[0,10] 1 2",
        "[4,14] 1 2 3",
        "[5,15] 1 2 3 4",
        "[10,20] 1 2 3 4 5",
        "[11,21] 3 4 5",
        "[12,22] 3 4 5 6",
        "[15,25] 4 5 6",
        "[16,26] 5 6",
        "[20,30] 5 6 7",
        "[21,31] 6 7",
        "[23,33] 7",
    ]


def test_a_left_window_that_is_another_records_right_window_is_one_window() -> None:
    #  d 10     1    2   3         4     5    6
    #           10   14  15        22    26   30
    #                    15 ├ right ────┤ 26 is left of 26: [16,26]
    assert as_text(sliding(of("1@10 2@14 3@15 4@22 5@26 6@30"), 10, 1)) == [
        "[0,10] 1",
        "[4,14] 1 2",
        "[5,15] 1 2 3",
        "[11,21] 2 3",
        "[12,22] 2 3 4",
        "[15,25] 3 4",
        "[16,26] 4 5",
        "[20,30] 4 5 6",
        "[23,33] 5 6",
        "[27,37] 6",
    ]


def test_sliding_windows_do_not_mind_the_order_of_arrival() -> None:
    #  d 10     1    4    2  3
    #           10   15   20 22
    assert as_text(sliding(of("1@10 2@20 3@22 4@15"), 10, 1)) == [
        "[0,10] 1",
        "[5,15] 1 4",
        "[10,20] 1 2 4",
        "[11,21] 2 4",
        "[12,22] 2 3 4",
        "[16,26] 2 3",
        "[21,31] 3",
    ]


def test_early_records_share_the_window_that_starts_at_zero() -> None:
    #  d 5    1,4,7   2,5,6   3          8
    #         0       2       4          7
    #         ├─────────── [0,5]
    assert as_text(sliding(of("1@0 2@2 3@4 4@0 5@2 6@2 7@0 8@7"), 5, 1)) == [
        "[0,5] 1 2 3 4 5 6 7",
        "[1,6] 2 3 5 6",
        "[2,7] 2 3 5 6 8",
        "[3,8] 3 8",
        "[5,10] 8",
    ]


def test_records_before_zero_are_a_world_of_their_own() -> None:
    #  d 10     1    2  ║  3
    #          -5   -1  ║  2
    #           [-4,6]  ║       holds 2 only; [0,10] holds 3 only
    assert as_text(sliding(of("1@-5 2@-1 3@2"), 10, 1)) == [
        "[-15,-5] 1",
        "[-11,-1] 1 2",
        "[-4,6] 2",
        "[0,10] 3",
    ]


def test_times_are_floored_to_the_resolution_toward_minus_infinity() -> None:
    #  d 20, u 10      1         2        3
    #                 -1 → -10   19 → 10  25 → 20
    assert as_text(sliding(of("1@-1 2@19 3@25"), 20, 10)) == ["[-30,-10] 1", "[0,20] 2 3", "[20,40] 3"]


def test_the_vectorised_oracle_is_the_brute_force() -> None:
    random, windows_seen = np.random.default_rng(4), 0
    for case in range(300):
        times = np.sort(random.integers(-40, 90, random.integers(0, 30)))
        resolution = int(random.integers(1, 5))
        difference = resolution * int(random.integers(1, 9))
        members = [Record(("A",), int(time), row, {"value": str(row)}) for row, time in enumerate(times)]
        expected = [
            (start, [row.arrival for row in rows]) for start, _, rows in sliding(members, difference, resolution)
        ]
        starts, first, past = windows(times, difference, resolution)
        got = [(int(start), list(range(low, high))) for start, low, high in zip(starts, first, past, strict=True)]
        assert sorted(got) == sorted(expected), f"case {case}: {times}, d {difference}, u {resolution}"
        windows_seen += len(got)
    assert windows_seen > 5_000
