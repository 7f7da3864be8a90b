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
