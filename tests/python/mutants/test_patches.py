"""Each planted fault is seen by its test. `make mutants-python` and `make soak` plant them all, in some minutes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from .patch import FAILED, PASSED, Patch, copied, run
from .patches_of_plans import PATCHES as OF_PLANS
from .patches_of_streams import PATCHES as OF_STREAMS

PATCHES = [*OF_PLANS, *OF_STREAMS]
ROOMS = ("_plan/", "_executor/stream/", "_executor/left_out.py")


def test_each_patch_can_be_applied() -> None:
    assert [fault for patch in PATCHES if (fault := patch.fault) is not None] == []
    assert len({(patch.file, patch.old, patch.new) for patch in PATCHES}) == len(PATCHES) >= 40
    rooms = Counter(next(room for room in ROOMS if patch.file.startswith(room)) for patch in PATCHES)
    assert all(rooms[room] >= 8 for room in ROOMS), rooms


def test_each_patch_names_a_test(tmp_path: Path) -> None:
    found = run(sorted({patch.test for patch in PATCHES}), copied(tmp_path), "--collect-only")
    assert found.returncode == PASSED, found.stderr


def test_a_patch_whose_text_is_gone_is_a_sentence() -> None:
    gone = Patch("_plan/flat.py", "no such text", "", "native/test_flat.py")
    assert gone.fault == (
        "_plan/flat.py: has 'no such text' 0 times; allowed: once (the code has changed, so change the patch)"
    )


@pytest.mark.soak
def test_every_fault_is_seen_by_its_test(tmp_path: Path, soaked: Callable[[str], None]) -> None:
    """The tests pass without a fault, so that what fails with one fails because of it."""
    whole = run(sorted({patch.test for patch in PATCHES}), copied(tmp_path / "whole"))
    assert whole.returncode == PASSED, whole.stdout

    def planted(number: int) -> str | None:
        patch = PATCHES[number]
        package = copied(tmp_path / str(number))
        patch.apply(package)
        done = run([patch.test], package)
        if done.returncode == FAILED:
            return None
        said = "passes" if done.returncode == PASSED else f"did not run: {done.stdout[-500:]}{done.stderr[-500:]}"
        return f"{patch.file}: {patch.old!r} -> {patch.new!r}: {patch.test} {said}"

    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        unseen = [said for said in pool.map(planted, range(len(PATCHES))) if said is not None]
    soaked(f"{len(PATCHES) - len(unseen)} of {len(PATCHES)} faults planted in Python are seen by their tests")
    assert not unseen, "\n".join(unseen)
