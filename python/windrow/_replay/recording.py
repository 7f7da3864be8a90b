"""Files of recorded runs: one JSON object a line, read strictly. All other fields are notes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from windrow._arguments.errors import bad_value, listed, unknown_word
from windrow._replay.scenario import AGGREGATES, EMISSIONS, KINDS, Output, Scenario, Step

_INPUTS = ("in", "in2")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LATEST = 2**63 - 1
_COUNT = f"a whole number from 0 to {_LATEST}"


class _Nothing:
    """The value of a missing field."""

    def __repr__(self) -> str:
        return "nothing"


_NOTHING: Final = _Nothing()


def lines_of(path: Path) -> list[tuple[int, bytes]]:
    """The lines of a file that are not blank, and their numbers.

    Raises:
        OSError: the file cannot be read.
        ValueError: it has no run.
    """
    lines = [(number, line) for number, line in enumerate(path.read_bytes().split(b"\n"), 1) if line.strip()]
    if not lines:
        raise ValueError("no run in the file; allowed: one JSON object or more, each on a line")
    return lines


def scenario_of(line: bytes) -> Scenario:
    """The run of a line. Raises `ValueError` for anything else, naming the field."""
    try:
        run = json.loads(line.decode("utf-8"), object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        raise ValueError(f"the line is not UTF-8, from byte {error.start} on") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the line cannot be read: {error}") from None
    _held("the line", run, _is_object, "a JSON object with spec and steps")
    parameters = _parameters(_field("", run, "spec", _is_object, "an object"))
    steps = _field("", run, "steps", lambda it: _is_list(it) and it, "a list of one step or more")
    cogroup = parameters["kind"].endswith("cogroup")
    played = [_step(f"steps[{number}]", step, cogroup) for number, step in enumerate(steps)]
    return Scenario(parameters["name"], parameters, played)


def _parameters(spec: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a run. A null means that the field is missing."""
    spec = {name: value for name, value in spec.items() if value is not None}
    _field("spec.", spec, "name", _is_text, "a string of Unicode")
    kind = _word("spec.kind", spec.get("kind", _NOTHING), KINDS)
    length = "diff" if kind.startswith("sliding") else "gap"
    _field("spec.", spec, length, lambda it: _is_count(it) and it > 0, f"a whole number from 1 to {_LATEST}")
    _field("spec.", spec, "grace", _is_count, _COUNT)
    _held("spec.retention", spec.get("retention", 0), _is_count, _COUNT)
    _word("spec.emit", spec.get("emit", "update"), EMISSIONS)
    if "agg" in spec:
        _word("spec.agg", spec["agg"], AGGREGATES)
    names = ("name", "kind", length, "grace", "retention", "emit", "agg")
    for name in spec:
        if name not in names:
            raise bad_value("spec", name, f"the fields of a {kind} run, {listed(names)}")
    return spec


def _step(place: str, step: Any, cogroup: bool) -> Step:
    _held(place, step, _is_object, "an object with in, out and dropped")
    key, value, time, *named = _row(f"{place}.in", step.get("in", _NOTHING), ("key", "value", "time", "input"), 3)
    for name, cell in (("key", key), ("value", value)):
        _held(f"{place}.in: {name}", cell, _is_cell, "a string of Unicode or null")
    _held(f"{place}.in: time", time, _is_time, "a whole number of 64 bits")
    name = _word(f"{place}.in: input", named[0], _INPUTS if cogroup else _INPUTS[:1]) if named else _INPUTS[0]
    rows = _field(f"{place}.", step, "out", _is_list, "a list of updates")
    out = [_output(f"{place}.out[{number}]", row) for number, row in enumerate(rows)]
    dropped = _field(f"{place}.", step, "dropped", _is_count, _COUNT)
    return Step(key, value, time, _INPUTS.index(name), out, dropped)


def _output(place: str, row: Any) -> Output:
    output = Output(*_row(place, row, Output._fields, len(Output._fields)))
    _held(f"{place}: key", output.key, _is_text, "a string of Unicode")
    _held(f"{place}: value", output.value, _is_cell, "a string of Unicode or null")
    for name in ("start", "end", "time"):
        _held(f"{place}: {name}", getattr(output, name), _is_whole, "a whole number")
    return output


def _row(place: str, row: Any, names: Sequence[str], least: int) -> list[Any]:
    optional = "".join(f", and {name} or not" for name in names[least:])
    allowed = f"a list of {', '.join(names[:least])}{optional}"
    cells: list[Any] = _held(place, row, lambda it: _is_list(it) and least <= len(it) <= len(names), allowed)
    return cells


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of a pair for each name; JSON itself would take the last of several."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in entries if names.count(name) > 1)
        raise ValueError(f"it has an object with the name {double!r} twice")
    return entries


def _field(place: str, entries: dict[str, Any], name: str, fits: Callable[[Any], object], allowed: str) -> Any:
    return _held(f"{place}{name}", entries.get(name, _NOTHING), fits, allowed)


def _held(place: str, value: Any, fits: Callable[[Any], object], allowed: str) -> Any:
    if not fits(value):
        raise bad_value(place, value, allowed)
    return value


def _word(place: str, value: Any, words: Sequence[str]) -> str:
    if value not in words:
        raise unknown_word(place, value, words)
    return str(value)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and _SURROGATE.search(value) is None


def _is_cell(value: Any) -> bool:
    return value is None or _is_text(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_whole(value) and 0 <= value <= _LATEST


def _is_time(value: Any) -> bool:
    return _is_whole(value) and -_LATEST - 1 <= value <= _LATEST
