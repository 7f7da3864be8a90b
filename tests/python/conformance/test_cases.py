"""The cases of the book on each way without Spark. `pytest --rule 2.6` plays those of a rule."""

from __future__ import annotations

import pytest

from ...cases.book import CASES
from ...cases.case import Case
from ..harness.ways import PLAYS

PLAYED = [(case, way) for case in CASES for way in PLAYS if way not in case.cannot]


@pytest.mark.parametrize(("case", "way"), PLAYED, ids=[f"{case.id}-{way}" for case, way in PLAYED])
def test_a_case_gives_the_windows_of_its_rule(case: Case, way: str) -> None:
    found = PLAYS[way](case)
    assert not found, "\n".join([case.name, case.drawing, *found])
