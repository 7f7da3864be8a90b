"""Rules that end sessions before their gap does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import time
from typing import TYPE_CHECKING, Any, TypedDict

from windrow._arguments.duration import Duration, Microseconds, microseconds, words
from windrow._arguments.errors import bad_type, bad_value
from windrow._arguments.expression import column_reference, column_references
from windrow._arguments.integer import integer

if TYPE_CHECKING:
    from windrow._arguments.expression import ColumnName

_TIME_OF_DAY = re.compile(r"([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")
_RECORDS = 2**63 - 1
_COUNT = f"an int from 1 to {_RECORDS}"

_NAMES = {"max_duration": "longest", "end_when": "ends", "start_when": "begins", "max_records": "most"}
"""Rules with another name in the plan. Saved states have the names of the plan."""


class RuleArguments(TypedDict):
    """The arguments of `with_gap` and `with_dynamic_gap` that are rules."""

    max_duration: Duration | None
    end_when: ColumnName | None
    start_when: ColumnName | None
    cut_on: ColumnName | Sequence[ColumnName] | None
    cut_at: str | time | None
    zone: str | None
    max_records: int | None


@dataclass(frozen=True)
class SessionRules:
    """Where sessions end before their gap has passed. Columns are expressions until they meet the data.

    Attributes:
        max_duration: the longest distance from `window.start` to `window.end`, in microseconds; None for any.
        end_when: the column that is true in the last records of sessions; None where there is none.
        start_when: the column that is true in the first records of sessions; None where there is none.
        cut_on: the columns whose change ends a session.
        cut_at: the time of day that ends sessions, in seconds after midnight; None where there is none.
        zone: the time zone of `cut_at`; None for times without a zone.
        max_records: the largest number of records; None for any.
    """

    max_duration: Microseconds | None
    end_when: Any
    start_when: Any
    cut_on: tuple[Any, ...]
    cut_at: int | None
    zone: str | None
    max_records: int | None

    @classmethod
    def of(cls, arguments: RuleArguments) -> SessionRules:
        """The rules of these arguments, checked."""
        duration = arguments["max_duration"]
        columns = {name: _column(name, arguments[name]) for name in ("end_when", "start_when")}
        records, zone = arguments["max_records"], arguments["zone"]
        if zone is not None and not isinstance(zone, str):
            raise bad_type("zone", zone, 'the name of a time zone, such as "Europe/Madrid"')
        if zone is not None and arguments["cut_at"] is None:
            raise bad_value("zone", zone, "None without cut_at: it is the zone of that time of day")
        return cls(
            max_duration=None if duration is None else microseconds("max_duration", duration),
            end_when=columns["end_when"],
            start_when=columns["start_when"],
            cut_on=_columns("cut_on", arguments["cut_on"]),
            cut_at=None if arguments["cut_at"] is None else _seconds(arguments["cut_at"]),
            zone=zone,
            max_records=None if records is None else integer("max_records", records, _COUNT, least=1, most=_RECORDS),
        )

    def __bool__(self) -> bool:
        """Whether there is a rule."""
        others = (self.max_duration, self.end_when, self.start_when, self.cut_at, self.max_records)
        return bool(self.cut_on) or any(rule is not None for rule in others)

    @property
    def columns(self) -> Iterator[tuple[str, Any]]:
        """The arguments that name a column, each with its column."""
        if self.end_when is not None:
            yield "end_when", self.end_when
        if self.start_when is not None:
            yield "start_when", self.start_when
        for column in self.cut_on:
            yield "cut_on", column

    def renamed(self, named: Callable[[str, Any], Any]) -> SessionRules:
        """The same over names of columns: `named` gives a name for an argument and its column."""
        return replace(
            self,
            end_when=None if self.end_when is None else named("end_when", self.end_when),
            start_when=None if self.start_when is None else named("start_when", self.start_when),
            cut_on=tuple(named("cut_on", column) for column in self.cut_on),
        )

    def check_zone(self, time: Any) -> None:
        """Raises `ValueError` unless `cut_at` has a zone exactly if the time column has one."""
        if self.cut_at is not None and time.type.tz is not None and self.zone is None:
            allowed = f'the time zone of cut_at, such as "Europe/Madrid", as the time column {time.name!r} has instants'
            raise bad_value("zone", None, allowed)
        if self.zone is not None and time.type.tz is None:
            raise bad_value("zone", self.zone, f"None, as the time column {time.name!r} has no zone")

    @property
    def plan(self) -> dict[str, Any]:
        """The rules that are set, as the core reads them."""
        rules = {**vars(self), "cut_on": list(self.cut_on) or None}
        return {_NAMES.get(name, name): value for name, value in rules.items() if value is not None}

    def __str__(self) -> str:
        """The rules as arguments of a call, each after a comma."""
        at = self.cut_at
        clock = None if at is None else str(time(at // 3600, at // 60 % 60, at % 60)).removesuffix(":00")
        rules = {
            **vars(self),
            "max_duration": None if self.max_duration is None else words(self.max_duration),
            "cut_on": list(self.cut_on) or None,
            "cut_at": clock if at is None or at % 3600 else f"{at // 3600:02}:00",
        }
        return "".join(f", {name}={value!r}" for name, value in rules.items() if value is not None)


def has_rules(windows: Mapping[str, Any]) -> bool:
    """Whether the windows of a plan have a rule."""
    return any(_NAMES.get(name, name) in windows for name in RuleArguments.__annotations__)


def _column(argument: str, column: Any) -> Any:
    reference = None if column is None else column_reference(argument, column)
    if reference == "":
        raise bad_value(argument, column, "the name of a column")
    return reference


def _columns(argument: str, columns: Any) -> tuple[Any, ...]:
    if columns is None:
        return ()
    several = columns if isinstance(columns, list | tuple) else [columns]
    references = column_references(argument, several)
    if not references or "" in references:
        raise bad_value(argument, columns, "the name of a column, or a list of names")
    for position, reference in enumerate(references):
        if reference in references[:position]:
            raise bad_value(argument, reference, "each column once")
    return references


def _seconds(value: object) -> int:
    allowed = 'a time of day, such as "00:00" or datetime.time(4)'
    if isinstance(value, time) and value.tzinfo is None and not value.microsecond:
        return value.hour * 3600 + value.minute * 60 + value.second
    if isinstance(value, time):
        raise bad_value("cut_at", value, f"{allowed}, in whole seconds and without a zone, which zone= gives")
    if not isinstance(value, str):
        raise bad_type("cut_at", value, allowed)
    match = _TIME_OF_DAY.fullmatch(value)
    if match is None:
        raise bad_value("cut_at", value, allowed)
    hours, minutes, seconds = match.groups(default="0")
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds)
