"""The options of control messages, with the names from the proof of concept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from windrow._arguments.errors import bad_type, bad_value, unknown_option
from windrow._arguments.integer import integer
from windrow.kafka._schedule import Schedule

PREFIX = "progress.control."
"""The prefix of all options."""

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}", re.ASCII)
_LONGEST = 10**14
_LONGEST_TIMEOUT = 3_600_000  # the limit of an admin client
_WORDS = {"true": True, "false": False}


@dataclass(frozen=True)
class Option:
    """One option.

    Attributes:
        name: its full name.
        default: its default value.
        meaning: its meaning in one line.
    """

    name: str
    default: object
    meaning: str


OPTIONS = (
    Option("progress.control.start.ms", 10_000, "how long a partition is quiet before the first control message"),
    Option("progress.control.end.ms", None, "the quiet time before the last one; unset: only one is sent"),
    Option(
        "progress.control.backoff.ms", 1_000, "the time from one to the next, and before a failed check is repeated"
    ),
    Option("progress.control.backoff.exponential", False, "whether the backoff doubles with each"),
    Option("progress.control.topics.include", "", "topics, separated by commas; empty: all"),
    Option("progress.control.allowance.ms", 0, "subtracted from the time that has passed"),
    Option("progress.control.key", None, "the key of control messages, which compacted topics require; unset: null"),
    Option("progress.control.request.timeout.ms", 5_000, "how long to wait for a broker"),
)
"""All options."""


@dataclass(frozen=True)
class ProgressOptions:
    """The checked options of control messages. Times are milliseconds.

    Attributes:
        schedule: when to send control messages.
        topics: the topics that get them; empty for all.
        allowance: subtracted from the event time that a message sends.
        key: their key.
        timeout: how long to wait for a broker.
    """

    schedule: Schedule
    topics: frozenset[str]
    allowance: int
    key: bytes | None
    timeout: int

    @classmethod
    def of(cls, config: Mapping[str, object]) -> ProgressOptions:
        """The options among a client's settings. Numbers may be text, as in a properties file.

        Raises:
            TypeError: an unknown option, or a value of another type.
            ValueError: a value that is not allowed; the message has the option, the value and the allowed values.

        >>> ProgressOptions.of({"progress.control.end.ms": "60000"}).schedule
        Schedule(start=10000, end=60000, backoff=1000, exponential=False)
        >>> ProgressOptions.of({"progress.control.start.ms": 0})
        Traceback (most recent call last):
            ...
        ValueError: progress.control.start.ms: got 0; allowed: 1 to 100000000000000 milliseconds
        """
        if not isinstance(config, Mapping):
            raise bad_type("config", config, "a dict of the client's settings and the options of control messages")
        names = [option.name for option in OPTIONS]
        for name, value in config.items():
            if not isinstance(name, str):
                raise bad_type("config", name, "names of settings")
            if name.startswith("progress.") and name not in names:
                raise unknown_option("config", {name: value}, names)
        values = {option.name.removeprefix(PREFIX): config.get(option.name, option.default) for option in OPTIONS}
        start = _milliseconds("start.ms", values["start.ms"], 1)
        end = None if values["end.ms"] is None else _milliseconds("end.ms", values["end.ms"], 1)
        backoff = _milliseconds("backoff.ms", values["backoff.ms"], 1)
        if end is not None and end <= start:
            raise bad_value(f"{PREFIX}end.ms", end, f"more than {PREFIX}start.ms, which is {start}")
        exponential = _boolean("backoff.exponential", values["backoff.exponential"])
        if exponential and end is None:
            raise bad_value(
                f"{PREFIX}backoff.exponential", exponential, f"False without {PREFIX}end.ms: only one message is sent"
            )
        allowance = _milliseconds("allowance.ms", values["allowance.ms"], 0)
        if allowance >= start:
            raise bad_value(
                f"{PREFIX}allowance.ms",
                allowance,
                f"less than {PREFIX}start.ms, which is {start}: otherwise the first message moves nothing",
            )
        return cls(
            Schedule(start, end, backoff, exponential),
            _topics(values["topics.include"]),
            allowance,
            _key(values["key"]),
            _milliseconds("request.timeout.ms", values["request.timeout.ms"], 1, _LONGEST_TIMEOUT),
        )

    def includes(self, topic: str) -> bool:
        """Whether the partitions of a topic get control messages."""
        return not self.topics or topic in self.topics


def client_settings(config: Mapping[str, object]) -> dict[str, Any]:
    """A client's settings, without the options of control messages."""
    return {name: value for name, value in config.items() if not name.startswith("progress.")}


def _milliseconds(name: str, value: object, least: int, largest: int = _LONGEST) -> int:
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,40}", value.strip(), re.ASCII):
        value = int(value)
    bounds = f"{least} to {largest} milliseconds"
    argument, allowed = f"{PREFIX}{name}", "a whole number of milliseconds"
    return integer(argument, value, allowed, least=least, most=largest, bounds=bounds)


def _boolean(name: str, value: object) -> bool:
    if isinstance(value, str) and value.strip().lower() in _WORDS:
        return _WORDS[value.strip().lower()]
    if not isinstance(value, bool):
        raise bad_type(f"{PREFIX}{name}", value, "True or False")
    return value


def _topics(value: object) -> frozenset[str]:
    name = f"{PREFIX}topics.include"
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(",")]
        topics = [part for part in parts if part]
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        topics = list(value)
    else:
        raise bad_type(name, value, "names of topics separated by commas, or a list of them")
    for topic in topics:
        if not isinstance(topic, str):
            raise bad_type(name, topic, "names of topics")
        if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
            raise bad_value(name, topic, "names of topics: 1 to 249 letters, digits, dots, underscores and hyphens")
    return frozenset(topics)


def _key(value: object) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = value.encode()
        except UnicodeEncodeError:
            raise bad_value(f"{PREFIX}key", value, "text that UTF-8 can encode, or bytes") from None
    if not isinstance(value, bytes):
        raise bad_type(f"{PREFIX}key", value, "text or bytes, or None for a null key")
    if not value:
        raise bad_value(f"{PREFIX}key", value, "at least one byte, or None for a null key")
    return value
