"""What differs between the query of a saved state and another one, in the words of the API.

The core decides whether a state fits. Its error has both queries as JSON, as far as they matter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile, zip_longest
from typing import Any

from windrow._arguments.type_names import words

Query = Mapping[str, Any]
Pair = tuple[Any, Any]

_MOST = 3
"""The largest number of differences in an error."""

_LONGEST = 80
"""The largest number of characters of a value in an error."""

_SERIES = ["windrow.series"]
"""The keys of a query without keys."""

_ROWS = "windrow.rows"
"""The hidden aggregate of queries that return their records."""

_LENGTHS = ("gap", "longest", "difference", "resolution")
"""The lengths of windows."""

_OPTIONS = ("percentage", "accuracy", "most", "limit", "within", "strict", "ignore_nulls", "keep_nulls", "input")
"""The options of aggregates."""

_UNITS = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}


def other_query(state: str, saved: str, own: str) -> ValueError:
    """The error for a state that belongs to another query.

    Args:
        state: `open` for a table of open windows, else `state`.
        saved: the query of the state, JSON.
        own: the other query.
    """
    queries = [json.loads(saved), json.loads(own)]
    # A query with ends may go on with a table of one without, and the reverse, except with a gap of zero.
    if state == "open" and queries[0].get("windows", {}).get("gap") != 0:
        queries = [{**query, "end": None} for query in queries]
    differs = difference(*queries)
    if state == "open":
        return ValueError(
            f"open: the open windows are of another query: {differs}; allowed: the same keys and windows; grace, late, "
            "shards, emit, every and aggregates may differ, and the gap may now be longer, but updates cannot lose "
            "every; a column has the same type in all runs, or a wider one, also in a run where it has no values; or "
            "None to begin anew"
        )
    return ValueError(
        f"{state}: it belongs to another query\n{differs}\n"
        "start from a new checkpointLocation, or run the query as it was"
    )


def difference(saved: Query, own: Query) -> str:
    """The differences on one line.

    >>> difference({"windows": {"gap": 300_000_000}}, {"windows": {"gap": 5_400_000_000}})
    'gap was 5 minutes, is 1 hour 30 minutes'
    """
    differs = [*_differences(_in_words(saved), _in_words(own))]
    more = [f"and {len(differs) - _MOST} more"] if len(differs) > _MOST else []
    return "; ".join(differs[:_MOST] + more) or "another version of windrow wrote it"


def _differences(saved: Query, own: Query) -> Iterator[str]:
    def of(name: str, show: Callable[[Any], Any] = lambda value: value) -> Pair:
        return show(saved.get(name)), show(own.get(name))

    if of("paced") == (True, False):
        yield "every was there, is none, so rows that wait would never leave"
    yield from _of_windows(saved["windows"], own["windows"])
    yield from _changed("retention", of("until"), _plain)
    yield from _changed("keys", of("keys"), _keys, were=True)
    yield from _changed("the query", (_method(saved), _method(own)))
    yield from _of_aggregates(saved, own)
    yield from _changed("emit", of("emit"), _quoted)
    yield from _added("tie", of("tie"), _quoted)
    yield from _changed("end", of("end", bool), lambda has_end: "there" if has_end else "none")
    yield from _added("every", of("every"), _plain)
    yield from _changed("shards", of("shards"), were=True)
    yield from _changed("the query", of("inputs", lambda inputs: inputs and inputs["count"]), _inputs)
    yield from _changed("stream_time", of("sources"), lambda column: "'slowest'" if column else "'source'")
    yield from _changed("the type of the time column", of("time_type"), _type)
    yield from _of_types(*of("types", lambda types: types or {}))
    same = {name: kind for name, kind in own.get("types", {}).items() if saved.get("types", {}).get(name) == kind}
    decimals = {name: kind for name, kind in same.items() if str(kind).startswith("decimal")}  # those of 128 bits
    yield from _of_types(
        *of("layouts", lambda kinds: decimals | {name: kinds[name] for name in kinds or {} if name in same})
    )
    yield from _changed("value", of("kafka"))


def _changed(option: str, pair: Pair, show: Callable[[Any], str] | None = None, *, were: bool = False) -> Iterator[str]:
    """The difference of an option, if any."""
    was, now = map(show or _text, pair)
    if pair[0] != pair[1]:
        yield f"{option} were {was}, are {now}" if were else f"{option} was {was}, is {now}"


def _added(option: str, pair: Pair, show: Callable[[Any], str]) -> Iterator[str]:
    """The difference of an option whose value may change, but which a query either has or lacks."""
    return _changed(option, pair, show) if None in pair else iter(())


def _of_windows(saved: Query, own: Query) -> Iterator[str]:
    def of(name: str) -> Pair:
        return saved.get(name), own.get(name)

    def kind(windows: Query) -> str:
        return "sliding windows" if windows.get("kind") == "sliding" else "sessions"

    def gap(windows: Query) -> str:
        column = windows.get("gap_column")
        return _plain(windows.get("gap")) if column is None else f"the column {_quoted(column)}"

    if kind(saved) != kind(own):
        yield from _changed("windows", (kind(saved), kind(own)), were=True)
    elif (None in of("gap_column")) and of("gap_column") != (None, None):
        yield from _changed("gap", (gap(saved), gap(own)), _plain)
    else:
        for name in ("gap", "difference", "resolution"):
            yield from _changed(name, of(name), _plain)
        yield from _changed("max_duration", of("longest"), _plain)
        yield from _added("end_when", of("ends"), _quoted)
        yield from _added("start_when", of("begins"), _quoted)
        yield from _changed("cut_on", of("cut_on"), _listed)
        yield from _changed("cut_at", of("cut_at"), _quoted)
        yield from _changed("zone", of("zone"), _quoted)
        yield from _changed("max_records", of("most"), _quoted)


def _method(query: Query) -> str:
    """The method that returns windows, or records."""
    has_rows = any(aggregate["name"] == _ROWS for aggregate, _ in _aggregates(query))
    return "with_columns(...)" if has_rows or query.get("over") else "agg(...)"


def _aggregates(query: Query) -> Iterator[tuple[Query, str | None]]:
    """The aggregates, each with the type of its result."""
    aggregates = query["aggregates"]
    return zip_longest(aggregates, (query.get("results") or ())[: len(aggregates)])


def _of_aggregates(saved: Query, own: Query) -> Iterator[str]:
    was, now = ([each for each in _aggregates(query) if each[0]["name"] != _ROWS] for query in (saved, own))
    for (before, result), (after, own_result) in zip_longest(was, now, fillvalue=({}, None)):
        calls = _call(before), _call(after)
        if not after:
            yield f"the aggregate {before['name']}={_short(calls[0])} was there"
        elif not before:
            yield f"the aggregate {after['name']}={_short(calls[1])} is new"
        elif calls[0] != calls[1]:
            yield from _changed(f"the aggregate {_json(after['name'])}", _cut(*calls), _short)
        else:
            yield from _changed(f"the type of {after['name']}={_short(calls[1])}", (result, own_result), _type)


def _call(aggregate: Query) -> str:
    """The call that makes an aggregate."""
    arguments = [*map(_quoted, aggregate.get("columns") or ())]
    funnel = aggregate.get("funnel")
    if funnel is not None:
        values = funnel.get("values")
        arguments = [_json(values), f"column={arguments[0]}"] if values else [f"[{', '.join(arguments)}]"]
        aggregate = {**aggregate, **funnel}
    options = ((name, aggregate.get(name)) for name in _OPTIONS)
    arguments += [f"{name}={_json(value)}" for name, value in options if value is not None and value is not False]
    function = aggregate.get("function")
    filtered = aggregate.get("where")
    where = "" if filtered is None else f".where({_quoted(filtered)})"
    return f"{'a Python function' if function == 'python' else function}({', '.join(arguments)}){where}"


def _of_types(saved: Query, own: Query, within: str = "") -> Iterator[str]:
    """The columns in both that have other types, and those that only one of two structs has."""
    for name, was in saved.items():
        column, now = within + name, own.get(name)
        if isinstance(was, dict) and isinstance(now, dict):
            yield from _of_types(was, now, " " if name.startswith("windrow.") else f"{column}.")
        elif now is not None:
            yield from _changed(f"column {_json(column.lstrip())}", (was, now), _type)
        elif within:
            yield f"column {_json(column.lstrip())} was there"
    new = (within + name for name in own if within and name not in saved)
    yield from (f"column {_json(name.lstrip())} is new" for name in new)


def _in_words(query: Query) -> dict[str, Any]:
    """The query with its lengths of time in words."""

    def microseconds(length: int | None) -> int | str | None:
        if length is None or not query.get("nanoseconds"):
            return length
        return f"{length} nanoseconds" if length % 1_000 else length // 1_000

    def words(length: int | None) -> str | None:
        rest = microseconds(length)
        if not isinstance(rest, int):
            return rest
        counts = []
        for unit, size in _UNITS.items():
            count, rest = divmod(rest, size)
            counts += [f"{count} {unit}{'' if count == 1 else 's'}"] if count else []
        return " ".join(counts) or "0 seconds"

    windows = query.get("windows") or {}
    aggregates = [dict(aggregate) for aggregate in query.get("aggregates") or ()]
    for aggregate in aggregates:
        if funnel := aggregate.get("funnel"):
            aggregate["funnel"] = {**funnel, "within": words(funnel.get("within"))}
        aggregate["limit"] = words(aggregate.get("limit"))
    return {
        **query,
        "windows": {**windows, **{name: words(windows.get(name)) for name in _LENGTHS}},
        "aggregates": aggregates,
        **{name: words(query.get(name)) for name in ("until", "every")},
    }


def _plain(value: str | None) -> str:
    return "none" if value is None else value


def _quoted(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else _text(value)


def _listed(values: Sequence[str] | None) -> str:
    return _short(", ".join(map(_quoted, values or ()))) or "none"


def _keys(names: Sequence[str] | None) -> str:
    return _listed(None if names == _SERIES else names)


def _inputs(count: int | None) -> str:
    return "of one input" if count is None else f"a cogroup of {count} inputs"


def _type(name: object) -> str:
    return _text(None if name is None else words(name))


def _text(value: object) -> str:
    return "none" if value is None else _short(value if isinstance(value, str) else _json(value))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _cut(was: str, now: str) -> Pair:
    """Both texts without most of what they begin with alike, if they are long."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(was, now, strict=False)))
    end, start = _LONGEST // 4, same - _LONGEST // 4
    if start <= end or max(len(was), len(now)) <= _LONGEST:
        return was, now
    return f"{was[:end]}...{was[start:]}", f"{now[:end]}...{now[start:]}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
