"""The options: their defaults, their spellings, and what each refuses, by name, value and what is allowed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from windrow.kafka._options import OPTIONS, ProgressOptions

P = "progress.control."


def options(**given: Any) -> ProgressOptions:
    """Options by the last part of their names, underscores for dots."""
    return ProgressOptions.of({P + name.replace("_", "."): value for name, value in given.items()})


def test_the_defaults_are_those_that_are_documented() -> None:
    assert {option.name: option.default for option in OPTIONS} == {
        "progress.control.start.ms": 10_000,
        "progress.control.end.ms": None,
        "progress.control.backoff.ms": 1_000,
        "progress.control.backoff.exponential": False,
        "progress.control.topics.include": "",
        "progress.control.allowance.ms": 0,
        "progress.control.key": None,
        "progress.control.request.timeout.ms": 5_000,
    }
    default = options()
    assert (default.schedule.start, default.schedule.end, default.schedule.backoff) == (10_000, None, 1_000)
    assert (default.allowance, default.key, default.timeout, default.includes("any")) == (0, None, 5_000, True)


def test_text_is_taken_as_a_properties_file_has_it() -> None:
    parsed = options(start_ms="5", end_ms=" 60 ", backoff_ms="2", backoff_exponential="TRUE", allowance_ms="4", key="k")
    assert (parsed.schedule.start, parsed.schedule.end, parsed.schedule.backoff) == (5, 60, 2)
    assert (parsed.schedule.exponential, parsed.allowance, parsed.key) == (True, 4, b"k")


@pytest.mark.parametrize("given", ["a, b,,", ["a", "b"], ("b", "a")])
def test_topics_are_a_list_or_text_with_commas(given: object) -> None:
    parsed = options(topics_include=given)
    assert [parsed.includes(topic) for topic in ("a", "b", "c", "")] == [True, True, False, False]


def test_settings_of_the_client_are_left_alone() -> None:
    assert ProgressOptions.of({"bootstrap.servers": "x:1", "acks": "all"}) == options()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"start_ms": 0}, "start.ms: got 0; allowed: 1 to 100000000000000 milliseconds"),
        ({"start_ms": -1}, "start.ms: got -1; allowed: 1 to"),
        ({"start_ms": 10**14 + 1}, "start.ms: got 100000000000001; allowed: 1 to"),
        ({"end_ms": 10_000}, "end.ms: got 10000; allowed: more than progress.control.start.ms, which is 10000"),
        ({"end_ms": "9999"}, "end.ms: got 9999; allowed: more than"),
        ({"backoff_ms": 0}, "backoff.ms: got 0; allowed: 1 to"),
        ({"backoff_exponential": True}, "backoff.exponential: got True; allowed: False without progress.control.end"),
        ({"allowance_ms": -1}, "allowance.ms: got -1; allowed: 0 to"),
        ({"allowance_ms": 10_000}, "allowance.ms: got 10000; allowed: less than progress.control.start.ms, which"),
        ({"topics_include": "a b"}, "topics.include: got 'a b'; allowed: names of topics: 1 to 249 letters"),
        ({"topics_include": [".."]}, "topics.include: got '..'; allowed: names"),
        ({"topics_include": "x" * 250}, "topics.include: got 'xxx"),
        ({"key": ""}, "key: got b''; allowed: at least one byte, or None"),
        ({"key": "\ud800"}, "key: got '\\ud800'; allowed: text that UTF-8 can encode, or bytes"),
        ({"start_ms": "9" * 30}, f"start.ms: got {'9' * 30}; allowed: 1 to"),
        ({"request_timeout_ms": 0}, "request.timeout.ms: got 0; allowed: 1 to 3600000 milliseconds"),
        ({"request_timeout_ms": 3_600_001}, "request.timeout.ms: got 3600001; allowed: 1 to"),
    ],
)
def test_a_value_that_is_not_allowed_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(P + message)):
        options(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"start_ms": 1.5}, "start.ms: got 1.5, a float; allowed: a whole number of milliseconds"),
        ({"start_ms": True}, "start.ms: got True, a bool; allowed"),
        ({"start_ms": "10s"}, "start.ms: got '10s', a str; allowed"),
        ({"start_ms": None}, "start.ms: got None"),
        ({"backoff_exponential": 1}, "backoff.exponential: got 1, an int; allowed: True or False"),
        ({"backoff_exponential": "yes"}, "backoff.exponential: got 'yes'"),
        ({"topics_include": 5}, "topics.include: got 5, an int; allowed: names of topics separated by commas"),
        ({"topics_include": [5]}, "topics.include: got 5, an int; allowed: names of topics"),
        ({"key": 5}, "key: got 5, an int; allowed: text or bytes, or None for a null key"),
    ],
)
def test_a_value_of_another_type_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=re.escape(P + message)):
        options(**given)


def test_an_unknown_option_is_named_with_the_one_that_is_like_it() -> None:
    with pytest.raises(TypeError, match=r"got progress.control.backof.ms=5; .*did you mean 'progress.control.backoff"):
        ProgressOptions.of({"progress.control.backof.ms": 5})
    with pytest.raises(TypeError, match="progress.other"):
        ProgressOptions.of({"progress.other": 5})


def test_the_first_allowed_values_on_the_other_side_of_each_bound() -> None:
    parsed = options(start_ms=1, end_ms=2, backoff_ms=1, allowance_ms=0, request_timeout_ms=1, topics_include="x" * 249)
    assert (parsed.schedule.start, parsed.schedule.end) == (1, 2)
    assert options(start_ms=10**14, allowance_ms=10**14 - 1).allowance == 10**14 - 1
    assert options(request_timeout_ms=3_600_000).timeout == 3_600_000


@pytest.mark.parametrize("config", [None, [("a", 1)], {1: 2}])
def test_a_config_is_a_dict_of_names(config: Any) -> None:
    with pytest.raises(TypeError, match="config: got"):
        ProgressOptions.of(config)
