"""Accumulators have the shape of their type: a restart changes nothing, and what it would change is refused."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from copy import deepcopy
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.nested import SCHEMA, SESSIONS, SLIDING, WORDS, driver, records
from ..scenes import at_second

# A restart changes nothing


class Stats(NamedTuple):
    n: int
    seen: list[int]


def counted(held: Any, row: Any) -> Any:
    held[row.word] += row.n
    return held


def got(held: Any, row: Any) -> Any:
    held[row.word] = held.get(row.word, 0) + row.n
    return held


def noted(held: Any, row: Any) -> Any:
    held["seen"].add(row.n)
    held["by"].setdefault(row.word, []).append(row.n)
    return held


def merged(one: Any, other: Any) -> Any:
    return {**one, "seen": one["seen"] | other["seen"], "by": {**one["by"], **other["by"]}}


def united(one: Any, other: Any) -> Any:
    one.update(other)
    return one


def appended(held: Any, row: Any) -> Any:
    held += row.word.encode()
    return held


MAP, SEEN = "map<string, bigint>", "n bigint, seen array<bigint>"
ACCUMULATORS: dict[str, tuple[Any, ...]] = {
    "dict": (dict, got, united, MAP),
    "Counter": (Counter, counted, lambda one, other: one + other, MAP),
    "defaultdict": (lambda: defaultdict(int), counted, united, MAP),
    "OrderedDict": (OrderedDict, got, united, MAP),
    "none, then a dict": (lambda: None, lambda held, row: got(held or {}, row), lambda a, b: united(a or {}, b), MAP),
    "pairs": (list, lambda held, row: [*held, (row.word, row.n)], lambda one, other: one + other, MAP),
    "set": (set, lambda held, row: held | {row.n}, lambda one, other: one | other, "array<bigint>"),
    "frozenset": (frozenset, lambda held, row: held | {row.n}, lambda one, other: one | other, "array<bigint>"),
    "tuple": (tuple, lambda held, row: (*held, row.n), lambda one, other: one + other, "array<bigint>"),
    "tuple of two": (
        lambda: (0, ()),
        lambda held, row: (held[0] + 1, (*held[1], row.n)),
        lambda one, other: (one[0] + other[0], one[1] + other[1]),
        SEEN,
    ),
    "named tuple": (
        lambda: Stats(0, []),
        lambda held, row: Stats(held.n + 1, [*held.seen, row.n]),
        lambda one, other: Stats(one.n + other.n, one.seen + other.seen),
        SEEN,
    ),
    "a set inside": (
        lambda: {"seen": set(), "by": {}},
        noted,
        merged,
        "seen array<bigint>, by map<string, array<bigint>>",
    ),
    "dicts in lists": (
        list,
        lambda held, row: [*held, {"n": row.n + len(held[-1]["m"] if held else {}), "m": {row.word: row.n}}],
        lambda one, other: one + other,
        "array<struct<n: bigint, m: map<string, bigint>>>",
    ),
    "bytearray": (bytearray, appended, lambda one, other: one + other, "binary"),
    "float": (float, lambda held, row: held + row.n / 7, lambda one, other: one + other, "float"),
    "floats": (
        lambda: [0.0],
        lambda held, row: [held[-1] + row.n / 7, *held],
        lambda one, other: [a + b for a, b in zip(one, other, strict=False)],
        "array<float>",
    ),
}


@pytest.mark.parametrize("windows", [SESSIONS, SLIDING], ids=["sessions", "sliding"])
@pytest.mark.parametrize("name", ACCUMULATORS)
def test_a_restart_changes_nothing(name: str, windows: Any) -> None:
    init, add, merge, schema = ACCUMULATORS[name]
    seen: list[Any] = []

    def watched(held: Any, row: Any) -> Any:
        seen.append((type(held), deepcopy(held)))
        return add(held, row)

    aggregate = wr.aggregate(init, watched, merge, schema=schema, columns=["n", "word"])
    for every in (True, False):
        given = []
        for restarts in (False, True):
            seen.clear()
            stream = driver(windows, every=every, x=aggregate)
            changes = []
            for record in records(3):
                changes.append(stream.pipe(**record))
                if restarts:
                    stream = driver(windows, every=every, x=aggregate).restore(stream.snapshot())
            given.append((changes, stream.snapshot(), list(seen)))
        (changes, pages, classes), (restarted, again, same) = given
        if name not in ("set", "frozenset", "a set inside"):  # a set that is recreated may have another order
            assert (restarted, again) == (changes, pages)
        assert same == classes
        assert len(changes) == 30


@pytest.mark.parametrize("column", ["n", "word", "x", "l", "pair", "map"])
def test_a_restart_changes_no_reduction(column: str) -> None:
    def both(one: Any, other: Any) -> Any:
        if column == "x":
            return one / 7 + other
        return {**one, **other} if isinstance(one, dict) else one + other

    for windows in (SESSIONS, SLIDING):
        plain = restarted = driver(windows, x=wr.reduce(column, both))
        for record in records(4):
            restarted = driver(windows, x=wr.reduce(column, both)).restore(restarted.snapshot())
            assert restarted.pipe(**record) == plain.pipe(**record)


def test_a_float_is_rounded_after_each_record() -> None:
    x = pa.array([1.0, 2.0**-24, 2.0**-24], pa.float32())
    table = pa.table({"k": ["a"] * 3, "ts": [at_second(second) for second in range(3)], "x": x})
    total = wr.reduce("x", lambda one, other: one + other)
    assert wr.group_by(table, "k", time="ts").windowed_by(SESSIONS).agg(x=total)["x"].to_pylist() == [1.0]


# What a restart would change is refused


@pytest.mark.parametrize(
    ("init", "held", "schema", "message"),
    [
        (lambda: None, (1, [2]), SEEN, r"result: got \(1, \[2\]\), a tuple; allowed: a dict of n, seen"),
        (lambda: (0, ()), (1, ((2,),)), "n int, s array<array<int>>", r"result\.s\[0\]: got \(2,\), a tuple; .*list"),
        (lambda: (0, []), Stats(1, []), SEEN, "result: got Stats.*, a Stats; allowed: a tuple of n, seen"),
        (lambda: Stats(0, []), (1, []), SEEN, "result: got .*, a tuple; allowed: a Stats of n, seen"),
        (list, [(1, 2)], "array<struct<n: int, w: int>>", r"result\[0\]: got \(1, 2\), a tuple; allowed: a dict"),
        (dict, {"a": {1}}, "map<string, array<int>>", r"result\['a'\]: got \{1\}, a set; allowed: a list"),
        (dict, {"seen": {1}}, "seen array<int>", r"result\.seen: got \{1\}, a set; allowed: a list"),
        (lambda: {"seen": None}, {"seen": {1}}, "seen array<int>", r"result\.seen: got \{1\}, a set; allowed: a list"),
        (dict, {"n": 1}, "n bigint, m bigint", "result: got {'n': 1}; allowed: all of the names n, m"),
        (dict, Counter("a"), MAP, r"result: got Counter\(.*\), a Counter; allowed: a dict"),
        (Counter, {"a": 1}, MAP, "result: got {'a': 1}, a dict; allowed: a Counter"),
        (dict, [("a", 1)], MAP, r"result: got \[\('a', 1\)\], a list; allowed: a dict"),
        (list, [["a", 1]], MAP, r"result: got \[\['a', 1\]\], a list; allowed: tuples \(key, value\)"),
        (list, {1}, "array<bigint>", r"result: got \{1\}, a set; allowed: a list"),
        (set, [1], "array<bigint>", r"result: got \[1\], a list; allowed: a set"),
        (bytes, bytearray(b"a"), "binary", r"result: got bytearray\(b'a'\), a bytearray; allowed: a bytes"),
    ],
)
def test_what_would_not_come_back_as_it_is_is_refused(init: Any, held: Any, schema: str, message: str) -> None:
    aggregate = wr.aggregate(init, lambda _held, _row: held, lambda one, other: other, schema=schema)
    table = pa.Table.from_pylist([{"k": "a", "ts": at_second(0)}], SCHEMA)
    place = r'"x": conversion to its type failed in the window \[2026-01-01T08:00:00, 2026-01-01T08:00:00\]: \w+: '
    with pytest.raises(RuntimeError, match=place + message):
        driver(SESSIONS, x=aggregate).pipe_batch(table)
    with pytest.raises(RuntimeError, match=place + message):
        wr.group_by(table, "k", time="ts").windowed_by(SESSIONS).agg(x=aggregate)


@pytest.mark.parametrize("windows", [SESSIONS, SLIDING], ids=["sessions", "sliding"])
def test_a_snapshot_names_the_window_that_it_cannot_hold(windows: Any) -> None:
    aggregate = wr.aggregate(
        int, lambda held, row: "many" if row.n == 2 else row.n, lambda a, b: b, schema="int", columns=["n"]
    )
    stream = StreamDriver(lambda data: wr.group_by(data, "k", time="ts").windowed_by(windows).agg(x=aggregate), SCHEMA)
    for second, key in enumerate("abc"):
        assert stream.pipe(k=key, ts=at_second(second), n=second + 1) == []
    start = "08:00:01" if windows is SESSIONS else "07:59:56"
    with pytest.raises(
        RuntimeError, match=rf'"x": .* in the window \[2026-01-01T{start}, 2026-01-01T08:00:01\]: .*\'many\''
    ):
        stream.snapshot()


# What functions get


def test_a_row_has_the_shapes_of_an_accumulator() -> None:
    hard = pa.map_(pa.struct([("a", pa.int64())]), pa.int64())
    kinds = {"nested": pa.list_(WORDS), "pair": pa.struct([("m", WORDS)]), "hard": hard}
    values = {"nested": [{"a": [1]}, None], "pair": {"m": {"b": [2]}}, "hard": [({"a": 1}, 2)]}
    columns: dict[str, Any] = {name: pa.array([values[name], None], kind) for name, kind in kinds.items()}
    table = pa.table({"k": ["a"] * 2, "ts": [at_second(0), at_second(1)], **columns})
    seen: list[Any] = []

    def add(held: None, row: Any) -> None:
        return seen.append(row._asdict())

    counted = wr.aggregate(lambda: None, add, lambda a, b: a, schema="bigint", columns=list(kinds))
    wr.group_by(table, "k", time="ts").windowed_by(SESSIONS).agg(
        x=counted, **{name: wr.reduce(name, lambda a, b: a) for name in kinds}
    )
    assert seen == [values, dict.fromkeys(kinds)]


@pytest.mark.parametrize(
    "fold",
    [
        wr.reduce("m", lambda a, b: a),
        wr.aggregate(int, lambda held, row: held, lambda a, b: a, schema="bigint", columns=["m"]),
    ],
    ids=["reduce", "aggregate"],
)
def test_a_map_with_a_key_twice_is_an_error_with_its_column(fold: wr.Aggregate) -> None:
    table = pa.table(
        {"k": ["a"], "ts": [at_second(0)], "m": pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))}
    )
    with pytest.raises(ValueError, match="^column 'm': a map has the key 'a' twice; allowed: each key once"):
        wr.group_by(table, "k", time="ts").windowed_by(SESSIONS).agg(x=fold)
