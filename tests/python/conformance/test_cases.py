"""The cases of the book on each way without Spark. `pytest --rule 2.6` plays those of a rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ...cases.__main__ import main
from ...cases.book import CASES
from ...cases.case import WAYS, Case, case, fault
from ...cases.query import Query, sessions
from ..harness import oracle_ways
from ..harness.book_lines import FILE, text
from ..harness.ways import PLAYS

PLAYED = [(each, way) for each in CASES for way in PLAYS if way not in each.cannot]


@pytest.mark.parametrize(("case", "way"), PLAYED, ids=[f"{each.id}-{way}" for each, way in PLAYED])
def test_a_case_gives_the_windows_of_its_rule(case: Case, way: str) -> None:
    found = PLAYS[way](case)
    assert not found, "\n".join([case.name, case.drawing, *found])


STREAMED = [each for each in CASES if oracle_ways.reason(each) is None]
TIMELINES = [each for each in CASES if oracle_ways.knows_as_batch(each)]


@pytest.mark.parametrize("case", STREAMED, ids=[each.id for each in STREAMED])
def test_the_oracle_of_streams_gives_the_windows_of_a_case(case: Case) -> None:
    found = oracle_ways.micro_batches(case)
    assert not found, "\n".join([case.name, case.drawing, *found])


@pytest.mark.parametrize("case", TIMELINES, ids=[each.id for each in TIMELINES])
def test_the_oracle_of_batches_gives_the_windows_of_a_case(case: Case) -> None:
    found = oracle_ways.batch(case)
    assert not found, "\n".join([case.name, case.drawing, *found])


def test_the_oracles_know_most_cases() -> None:
    assert len(STREAMED) >= 110
    assert len(TIMELINES) >= 30


def test_the_book_as_json_lines_is_that_of_the_cases() -> None:
    assert FILE.read_text(encoding="utf-8") == text(), "run `python -m tests.python.harness.book_lines`"


ONE = case("2.1", "one record", Query(sessions(5)), "ann   0\n      ┤")
WRONG = {
    "no rule": (replace(ONE, rules=()), "the case 'one record' names no rule"),
    "an unknown rule": (replace(ONE, rules=("2.99",)), "names the rule '2.99', which docs/rules.md does not have"),
    "no reason": (replace(ONE, own_reasons={"driver": " "}), "gives no reason why the way 'driver' cannot play it"),
    "an unknown way": (replace(ONE, own_reasons={"boat": "sinks"}), "names the way 'boat'; allowed: in_process"),
    "no way": (replace(ONE, own_reasons=dict.fromkeys(WAYS, "so")), "no way plays the case 'one record'"),
    "brackets beside times": (replace(ONE, drawing="ann   0\n     ┤"), "cannot be read: no time begins above column 5"),
    "no arrow": (replace(ONE, drawing="ann 0 → nothing\nann 1"), "'ann 1' has no arrow"),
    "no time": (replace(ONE, drawing="ann x → nothing"), "'x' is no time"),
    "no bounds": (replace(ONE, drawing="ann 0 → ann 0"), "'ann 0' has no bounds"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_with_a_case_is_a_sentence(wrong: str) -> None:
    made, says = WRONG[wrong]
    assert made.id.endswith("one record")  # pytest asks for it first, as it does for
    oracle_ways.reason(made)
    assert fault([ONE], {"2.1"}) is None
    found = fault([made], {"2.1"})
    assert found is not None
    assert says in found


def test_a_rule_is_printed_with_its_cases_and_all_rules_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["2.3"]) == main([]) == 0
    rule, _, numbers = capsys.readouterr().out.partition("\nrule ")
    assert rule.startswith("2.3. A session closes when `end < C`")
    assert "tick 9.001      → ann 0..3 n=2" in rule
    assert {line.split()[0] for line in numbers.splitlines()[1:]} > {"1.1", "2.3", "7", "9.8", "all"}
    assert main(["2.99"]) == 2
    assert capsys.readouterr().err == "rule: got '2.99'; allowed: a number of docs/rules.md, such as 2.6\n"


def test_two_cases_have_two_names() -> None:
    assert fault([ONE, replace(ONE)], {"2.1"}) == "two cases are called '2.1-one record'"


@pytest.mark.parametrize("way", PLAYS)
def test_a_wrong_window_is_told_on_each_way(way: str) -> None:
    """A window with a record more; a window less; other bounds."""
    for drawing in ("ann   0    5\n      ├─3──┤", "ann   0    5", "ann   0    5\n      ┤\n           ┤"):
        assert PLAYS[way](replace(ONE, drawing=drawing))
    assert not PLAYS[way](replace(ONE, drawing="ann   0    5\n      ├────┤"))


def test_a_wrong_counter_or_op_is_told() -> None:
    late = case("2.2", "late", Query(sessions(5, grace=1)), "bob 20 → nothing\nann 0 → nothing\ncounters late=2")
    update = case("6.2", "update", Query(sessions(5), emit={}), "ann 0 → delete ann 0..0")
    for wrong in (late, update):
        assert all(PLAYS[way](wrong) for way in ("driver", "restarts", "stream"))
