"""Reads drawings: timelines, and scripts of micro-batches. The docstring of the package describes both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from textwrap import dedent
from typing import Any

UNITS = {"": 1, "us": 0.001, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
TIME = re.compile(r"(-?\d+(?:\.\d+)?)(us|s|m|h|d)?")
WINDOW = re.compile(r"(├[^├┤]*┤|┤)((?:\s+\w+=(?:\[[^\]]*\]|\S+))*)")
VALUE = re.compile(r"(\w+)=(\[[^\]]*\]|\S+)")
OPS = ("upsert", "delete", "late", "left_out")
LENGTHS = ("gap", "until")
"""The columns of records that are times, or lengths of time."""


@dataclass(frozen=True)
class Row:
    """A record or a tick. Times are milliseconds."""

    key: str | None
    time: float | None
    tick: bool = False
    input: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Window:
    """A row of a result: what it is, its key and bounds, and those of its values that the case tells."""

    key: str | None
    start: float | None
    end: float | None
    values: Mapping[str, Any]
    op: str = "final"


@dataclass(frozen=True)
class Step:
    """A micro-batch, and the rows that it gives. A run of `advance` has an end, `to`; `finish` closes all windows."""

    rows: tuple[Row, ...]
    gives: tuple[Window, ...]
    to: float | None = None
    finishes: bool = False


@dataclass(frozen=True)
class Script:
    """The runs of a daily job, the micro-batches of a stream after them, and the counters in the end."""

    runs: tuple[Step, ...]
    steps: tuple[Step, ...]
    counters: Mapping[str, int]
    streams: bool = True


def time_of(text: str) -> float | None:
    """A time in milliseconds; `-` is null."""
    if text == "-":
        return None
    found = TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no time; write 3, 1.5, -2, 90m, 2h or - for null")
    number = float(found[1]) * UNITS[found[2] or ""]
    return int(number) if number == int(number) else number


def value_of(text: str) -> Any:
    """A value: a number, a word, `null`, `true`, `false`, or a list such as `[1 2]`."""
    if text.startswith("["):
        return tuple(map(value_of, text[1:-1].split()))
    if text in ("null", "true", "false"):
        return {"null": None, "true": True, "false": False}[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def values_of(text: str) -> dict[str, Any]:
    """The values of `n=2 total=7`."""
    return {name: value_of(value) for name, value in VALUE.findall(text)}


def row_of(label: str, time: str, columns: list[str]) -> Row:
    """A record, from `ann`, `3`, `["gap=5", "end"]`."""
    input, _, key = label.rpartition(":")
    values = {}
    for column in columns:
        name, is_given, value = column.partition("=")
        value = value_of(value) if is_given else True
        if name in LENGTHS and isinstance(value, str):
            value = time_of(value)
        values[name] = value
    is_tick = key == "tick"
    return Row(None if is_tick or key == "-" else key, time_of(time), is_tick, input or None, values)


def lines_of(text: str) -> list[str]:
    """The lines without comments."""
    lines = (line.partition("  #")[0].rstrip() for line in dedent(text).strip("\n").splitlines())
    return [line for line in lines if line.strip()]


def timeline(text: str) -> tuple[list[Row], list[Window]]:
    """The records and the windows of a timeline."""
    rows, windows = [], []
    axis: dict[int, float] = {}
    places: dict[int, float] = {}
    shown: list[Row] = []
    after_windows = True
    for line in lines_of(text):
        if line[0] == " ":
            windows += _windows(line, axis | places, shown)
            after_windows = True
            continue
        label, *_ = line.split()
        tokens = [(found.start(), found.group()) for found in re.finditer(r"\S+", line)][1:]
        if after_windows and label != "time":
            places, shown, after_windows = {}, [], False
        for place, token in tokens:
            time, _, columns = token.partition(":")
            at = time_of(time)
            if at is not None:
                (axis if label == "time" else places)[place] = at
            if label != "time":
                shown.append(row_of(label, time, columns.split(",") if columns else []))
                rows.append(shown[-1])
    return rows, windows


def _windows(line: str, places: Mapping[int, float], rows: list[Row]) -> Iterator[Window]:
    for found in WINDOW.finditer(line):
        bracket, values = found[1], values_of(found[2])
        first, last = found.start(1), found.end(1) - 1
        for place in (first, last):
            if place not in places:
                raise ValueError(f"no time begins above column {place} of {line!r}")
        start, end = places[first], places[last]
        count = re.search(r"\d+", bracket)
        inside = sum(not row.tick and row.time is not None and start <= row.time <= end for row in rows)
        values.setdefault("n", int(count[0]) if count else inside)
        yield Window(rows[0].key, start, end, values)


def script(text: str) -> Script:
    """The steps of a script."""
    runs: list[Step] = []
    steps: list[Step] = []
    counters: dict[str, Any] = {}
    streams = False
    for line in lines_of(text):
        if line.startswith("counters"):
            counters |= values_of(line)
        elif line == "stream":
            streams = True
        else:
            left, arrow, right = line.partition("→")
            if not arrow:
                raise ValueError(f"{line!r} has no arrow: write `records → windows`, or `records → nothing`")
            step = _step(left, right)
            streams = streams or step.to is None
            (runs if step.to is not None else steps).append(step)
    return Script(tuple(runs), tuple(steps), counters, streams)


def _step(left: str, right: str) -> Step:
    parts = [part.split() for part in left.split(",") if part.strip()]
    to = next((time_of(words[1]) for words in parts if words[0] == "to"), None)
    finishes = any(words == ["finish"] for words in parts)
    rows = tuple(row_of(*words[:2], words[2:]) for words in parts if words[0] not in ("to", "finish"))
    gives = () if right.strip() == "nothing" else tuple(map(change_of, right.split(",")))
    return Step(rows, gives, to, finishes)


def change_of(text: str) -> Window:
    """A row of a result: `delete ann 0..3`, `ann 0..3 n=2`."""
    words = text.split()
    op = words.pop(0) if words[0] in OPS else "final"
    key, bounds = words[:2]
    start, dots, end = bounds.partition("..")
    if not dots:
        raise ValueError(f"{text.strip()!r} has no bounds: write `ann 0..3 n=2`")
    return Window(None if key == "-" else key, time_of(start), time_of(end), values_of(text), op)


def numbered(rows: list[Row], windows: list[Window]) -> list[Step]:
    """A timeline as a script: each record by itself, and a tick far behind that closes all windows."""
    latest = max((row.time for row in rows if row.time is not None), default=0)
    inputs = sorted({row.input for row in rows if row.input}) or [None]
    tick = tuple(Row(None, latest + 10**11, True, name) for name in inputs)
    return [*(Step((row,), ()) for row in rows), Step(tick, tuple(windows))]
