"""Every function that `--help` lists, over CSV and Parquet: the list is that of the command, the values are by hand.

```text
user ann     9:00   9:01   9:02   9:03          one session
x            3      1      null   3
y            2.5    7.5    1.0    null
flag         true   false  null   true
code         007    7      07     007
```
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from decimal import Decimal
from math import isclose, sqrt
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.__main__ import main
from windrow._command.aggregate import FUNCTIONS
from windrow._command.json_lines import json_lines

from ..harness.command import Command, command, json_rows

__all__ = ["command"]

ROWS = [(3, 2.5, True, "007"), (1, 7.5, False, "7"), (None, 1.0, None, "07"), (3, None, True, "007")]
XS = [3, 1, 3]
MEAN = sum(XS) / 3
SQUARES = sum((x - MEAN) ** 2 for x in XS)
CUBES = sum((x - MEAN) ** 3 for x in XS)
FOURTHS = sum((x - MEAN) ** 4 for x in XS)
PAIRS = [(3, 2.5), (1, 7.5)]
PRODUCTS = sum((x - 2) * (y - 5) for x, y in PAIRS)

EXPECTED: dict[str, tuple[str, Any]] = {
    "active_runs": (":30 seconds", 4),
    "active_time": (":30 seconds,cut", timedelta(seconds=90)),
    "any_value": (":code", "007"),
    "approx_count_distinct": (":code", 3),
    "approx_percentile": (":x,0.5", 3),
    "avg": (":x", MEAN),
    "bit_and": (":x", 1),
    "bit_or": (":x", 3),
    "bit_xor": (":x", 1),
    "bool_and": (":flag", False),
    "bool_or": (":flag", True),
    "collect_list": (":code", ["007", "7", "07", "007"]),
    "collect_set": (":code", {"007", "7", "07"}),
    "corr": (":x,y", -1.0),
    "count": ("", 4),
    "count_distinct": (":code,x", 2),
    "count_if": (":flag", 2),
    "covar_pop": (":x,y", PRODUCTS / 2),
    "covar_samp": (":x,y", PRODUCTS),
    "ended_by": ("", "open"),
    "first": (":code", "007"),
    "histogram_numeric": (":x,2", [{"x": 1, "y": 1.0}, {"x": 3, "y": 2.0}]),
    "kurtosis": (":x", 3 * FOURTHS / SQUARES**2 - 3),
    "last": (":code", "007"),
    "max": (":y", 7.5),
    "max_by": (":code,y", "7"),
    "mean": (":x", MEAN),
    "median": (":y", 2.5),
    "min": (":y", 1.0),
    "min_by": (":code,y", "07"),
    "mode": (":code", "007"),
    "path": (":code", ["007", "7", "07", "007"]),
    "percentile": (":x,0.25", 2.0),
    "product": (":x", 9.0),
    "skewness": (":x", sqrt(3) * CUBES / SQUARES**1.5),
    "stddev": (":x", sqrt(SQUARES / 2)),
    "stddev_pop": (":x", sqrt(SQUARES / 3)),
    "stddev_samp": (":x", sqrt(SQUARES / 2)),
    "sum": (":y", 11.0),
    "sum_distinct": (":x", 4),
    "top_k": (":code,1", [{"item": "007", "count": 2}]),
    "var_pop": (":x", SQUARES / 3),
    "var_samp": (":x", SQUARES / 2),
    "variance": (":x", SQUARES / 2),
    "window_id": ("", 6391778698137541490),
    "window_length": ("", timedelta(minutes=3)),
}


LINE = "--key user --time ts --gap '1 hour'"


@pytest.fixture
def rows(command: Command) -> Command:
    """The command in a folder with the rows in files of all formats."""
    table = [
        {"user": "ann", "ts": datetime(2026, 5, 4, 9, minute), "x": x, "y": y, "flag": flag, "code": code}
        for minute, (x, y, flag, code) in enumerate(ROWS)
    ]
    pq.write_table(pa.Table.from_pylist(table), "rows.parquet")
    texts = [["" if value is None else str(value) for value in row.values()] for row in table]
    Path("rows.csv").write_text("\n".join(",".join(row) for row in [list(table[0]), *texts]) + "\n")
    Path("rows.jsonl").write_text("\n".join(json.dumps(row, default=str) for row in table))
    return command


def test_every_function_of_the_list_has_a_value_here(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["sessions", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    (listed,) = re.findall(r"a column of the result \(count=count\): ([\w, ]+?) --", shown)
    assert set(listed.split(", ")) == set(FUNCTIONS) == set(EXPECTED)


@pytest.mark.parametrize("source", ["rows.csv", "rows.parquet", "rows.jsonl"])
@pytest.mark.parametrize("function", EXPECTED)
def test_a_function(function: str, source: str, rows: Command) -> None:
    call, expected = EXPECTED[function]
    line = f"sessions {source} {LINE} --agg 'value={function}{call}'"
    (row,) = rows.rows(line)
    assert_equal(row["value"], expected)
    (written,) = json_rows(rows(f"{line} --out-format jsonl").out)
    assert written["window"] == {"start": "2026-05-04T09:00:00.000000", "end": "2026-05-04T09:03:00.000000"}
    assert_equal(written["value"], expected.total_seconds() if isinstance(expected, timedelta) else expected)


def assert_equal(value: Any, expected: Any) -> None:
    if isinstance(expected, float):
        assert isclose(value, expected, rel_tol=1e-9)
    else:
        assert (set(value) if isinstance(expected, set) else value) == expected
        assert type(value) in (type(expected), list)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_of_csv_are_seconds(unit: str, command: Command) -> None:
    lengths = [timedelta(hours=1), None if unit == "s" else timedelta(milliseconds=-500)]
    table = pa.table({"ts": pa.array([datetime(2026, 5, 4)] * 2), "length": pa.array(lengths, pa.duration(unit))})
    pq.write_table(table, "rows.parquet", store_schema=True)
    line = "sessions rows.parquet --time ts --gap 1h --agg s=sum:length --agg least=min:length"
    (_, row) = command(line).out.splitlines()
    assert row.split(",")[2:] == (["3600", "3600"] if unit == "s" else ["3599.5", "-0.5"])
    (_, row) = command(f"{line} --decimal , --delimiter ';'").out.splitlines()
    assert row.split(";")[2] == ('"3600"' if unit == "s" else '"3599,5"')


def test_long_durations_of_csv_keep_their_digits(command: Command) -> None:
    lengths = pa.array([10**15, -(10**15) - 1, 31_536_000_123_456_789, None], pa.int64()).cast(pa.duration("ns"))
    times = pa.array([datetime(2026, 5, day) for day in range(4, 8)])
    pq.write_table(pa.table({"ts": times, "length": lengths}), "rows.parquet", store_schema=True)
    (_, *rows) = command("sessions rows.parquet --time ts --gap 1h --agg s=sum:length").out.splitlines()
    assert [row.split(",")[2] for row in rows] == ["1000000.000000000", "-1000000.000000001", "31536000.123456789", ""]


IDENTITY = "00112233-4455-6677-8899-aabbccddeeff"
UUIDS = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([UUID(IDENTITY).bytes], pa.binary(16)))
OFFSETS = pa.array([0, 1], pa.int32())
PAIR = pa.array([[1, 2]], pa.list_(pa.int8(), 2))
PRINTED: dict[str, tuple[pa.Array[Any], str | None, str]] = {
    "a UUID": (UUIDS, f'"{IDENTITY}"', f'"{IDENTITY}"'),
    "JSON": (pa.ExtensionArray.from_storage(pa.json_(), pa.array(["[1]"])), '"[1]"', '"[1]"'),
    "a boolean of a byte": (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([2], pa.int8())), "true", "true"),
    "a view": (pa.array(["a"], pa.string_view()), '"a"', '"a"'),
    "a small decimal": (pa.array([Decimal("1e-18")], pa.decimal128(38, 18)), f'"0.{1:018}"', f"0.{1:018}"),
    "a zero with digits": (pa.array([Decimal(0)], pa.decimal128(38, 18)), f'"0.{0:018}"', f"0.{0:018}"),
    "a decimal": (pa.array([Decimal("1.50")], pa.decimal128(38, 2)), "1.50", "1.50"),
    "a tensor": (pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int8(), [2]), PAIR), None, "[1, 2]"),
    "a list of UUIDs": (pa.ListArray.from_arrays(OFFSETS, UUIDS), None, f'["{IDENTITY}"]'),
    "a struct of UUIDs": (pa.StructArray.from_arrays([UUIDS], ["x"]), None, f'{{"x": "{IDENTITY}"}}'),
}
"""A value, its text in CSV, which lacks some types, and its text in JSON."""


@pytest.mark.parametrize("use", ["--agg x=first:x", "--key x"])
@pytest.mark.parametrize("what", PRINTED)
def test_values_of_types_that_text_does_not_have(what: str, use: str, command: Command) -> None:
    value, in_csv, in_json = PRINTED[what]
    pq.write_table(pa.table({"ts": pa.array([0], pa.timestamp("s")), "x": value}), "rows.parquet")
    line = f"sessions rows.parquet --time ts --gap 1h {use}"
    assert f'"x": {in_json}' in command(f"{line} --out-format jsonl").out
    if in_csv is None:
        got = f"{'--key' if 'key' in use else '--agg x'}: got {value.type}".replace("item", "element")
        assert command.refused(line).startswith(f"{got}, which CSV does not have; allowed: Parquet or JSON Lines")
    else:
        assert f",{in_csv}," in f",{command(line).out.splitlines()[1]},"


ASCENDING: dict[str, pa.Array[Any]] = {
    "lists": pa.array([[None], [-1, 5], [-1, 6], [2], None], pa.list_(pa.int8())),
    "UUIDs": pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16, b"b" * 16, None], pa.binary(16))),
    "structs of lists": pa.array([{"x": []}, {"x": ["a"]}, {"x": ["a", "b"]}, {"x": ["b"]}]),
    "categories": pa.array(["a", "b", "c", None]).dictionary_encode(),
    "views": pa.array(["a", "b", None], pa.string_view()),
    "floats": pa.array([-1.5, 0.0, 2.5, None]),
}


@pytest.mark.parametrize("kind", ASCENDING)
def test_keys_of_any_type_are_sorted_with_nulls_last(kind: str, command: Command) -> None:
    keys = ASCENDING[kind]
    mixed = pa.concat_arrays([keys[place : place + 1] for place in (*range(1, len(keys)), 0)] * 2)
    hours = [hour for hour in (24, 0) for _ in keys]
    columns = {"k": mixed, "x": ["x"] * len(mixed), "ts": pa.array([3600 * hour for hour in hours], pa.timestamp("s"))}
    pq.write_table(pa.table(columns), "rows.parquet")
    rows = command.rows("sessions rows.parquet --key k --key x --time ts --gap 1h --sort")
    assert [row["k"] for row in rows] == [each for each in keys.to_pylist() for _ in range(2)]
    assert [row["window"]["start"].day for row in rows] == [1, 2] * len(keys)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("day", "text"),
    [
        (-719_529, None),
        (-719_528, "0000-01-01"),
        (2_932_896, "9999-12-31"),
        (2_932_897, None),
        (-(2**31), None),
        (2**31 - 1, None),
    ],
)
def test_times_beyond_iso_8601_need_parquet(day: int, text: str | None, form: str, command: Command) -> None:
    days, times = pa.array([day], pa.int32()).cast(pa.date32()), pa.array([day * 86_400_000]).cast(pa.timestamp("ms"))
    columns = {"day": days, "time": times, "list": pa.ListArray.from_arrays(OFFSETS, times)}
    pq.write_table(pa.table({"ts": pa.array([0], pa.timestamp("s")), **columns}), "rows.parquet")
    named = {"--time ts --key day": "day", "--time ts --agg x=first:time": "x", "--time time": "window_start"}
    if form == "jsonl":
        named |= {"--time time": "window.start", "--time ts --agg x=first:list": "x"}
    for options, column in named.items():
        line = f"sessions rows.parquet --gap 1h {options}"
        if text is not None:
            assert text in command(f"{line} --out-format {form}").out
            continue
        assert command.refused(f"{line} --out-format {form}") == (
            f"--out: column {column!r}: got a time beyond ISO 8601; "
            "allowed: the years 0 to 9999 in CSV and JSON Lines, or Parquet, as with --out windows.parquet"
        )
        command(f"{line} --out windows.parquet")


CALLS = {
    "n=sum(x)": "got 'n=sum(x)'; allowed: name=function:column: n=sum:x",
    "n=count()": "got 'n=count()'; allowed: name=function:column: n=count",
    "n=max_by(x, y)": "got 'n=max_by(x, y)'; allowed: name=function:column: n=max_by:x,y",
    "n=window_id:x": "got 'n=window_id:x'; allowed: window_id without a column",
}


@pytest.mark.parametrize("call", CALLS)
def test_a_function_as_in_code_names_the_words_of_the_command(call: str, rows: Command) -> None:
    assert rows.refused("sessions rows.csv --time ts --gap 1h --agg", call) == f"--agg: {CALLS[call]}"


LONG = [Decimal("9007199.254740993"), Decimal("-4611686018.427387905"), None]
"""Seconds that no float has."""


def number(text: str) -> float | Decimal:
    """A number of JSON; with all its digits, if a float does not have them."""
    return float(text) if Decimal(repr(float(text))) == Decimal(text) and len(text) < 17 else Decimal(text)


def test_values_of_json_lines_keep_their_nanoseconds_at_every_depth() -> None:
    clock, one = pa.time64("ns"), "00:00:00.000000001"
    pairs = [[one, one], None, [None, one]]
    inner = pa.struct([("x", pa.list_(clock))])
    columns: dict[str, Any] = {
        "clock": (pa.array([1, 86_399_999_999_999, None], clock), [one, "23:59:59.999999999", None]),
        "length": (pa.array([1, 1_500_000_001, None], pa.duration("ns")), [1e-09, 1.500000001, None]),
        "long": (pa.array([2**53 + 1, -(2**62) - 1, None], pa.duration("ns")), LONG),
        "words": (pa.array([1, 2, None]).cast(clock).dictionary_encode(), [one, "00:00:00.000000002", None]),
        "list": (pa.array([[1, None], [], None], pa.list_(clock)), [[one, None], [], None]),
        "large": (pa.array([[0.5], [float("nan")], None], pa.large_list(pa.float64())), [[0.5], ["NaN"], None]),
        "pair": (pa.array([[1, 1], None, [None, 1]], pa.list_(clock, 2)), pairs),
        "map": (pa.array([[("a", 1)], None, []], pa.map_(pa.string(), clock)), [[["a", one]], None, []]),
        "inner": (pa.array([{"x": [1]}, None, {"x": None}], inner), [{"x": [one]}, None, {"x": None}]),
        "empty": (pa.array([{}, None, {}], pa.struct([])), [{}, None, {}]),
    }
    table = pa.table({name: array for name, (array, _) in columns.items()})
    twice = pa.concat_tables([table, table]).combine_chunks()
    for first in range(4):
        for nth, line in enumerate(b"".join(json_lines(twice.slice(first, 3))).splitlines()):
            assert json.loads(line, parse_float=number) == {
                name: values[(first + nth) % 3] for name, (_, values) in columns.items()
            }


def test_a_least_number_of_records_makes_a_result_null(rows: Command) -> None:
    line = f"sessions rows.csv {LINE} --agg three=sum:x --agg four=sum:x --agg rows=count --min-samples"
    (header, row) = rows(f"{line} three=3 --min-samples four=4").out.splitlines()
    assert (header.replace('"', "").split(",")[-3:], row.split(",")[-3:]) == (["three", "four", "rows"], ["7", "", "4"])
    wrong = {"five=3": "three=3", "three": "name=number", "three=0": "from 1 to", "three=-1": "number"}
    for text, says in wrong.items():
        message = rows.refused(f"{line} {text}")
        assert message.startswith("--min-samples: got")
        assert says in message
