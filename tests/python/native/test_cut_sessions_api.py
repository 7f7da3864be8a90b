"""`max_duration` and `end_when`, as a user meets them: any library, cogroups, errors, refusals, explanations."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from windrow.__main__ import main
from windrow.plot import timeline
from windrow.testing import StreamDriver

from ..harness.tables import arrow
from ..scenes import all_at, at

TICK = timedelta(microseconds=1)


CLICKS = pa.table(
    {
        "user": ["ann"] * 5 + ["bob"],
        "ts": all_at(0, 4, 8, 12, 13, 1),
        "logout": [False, False, None, True, False, True],
        "url": ["/", "/a", "/b", "/c", "/d", "/"],
    }
)
CUT = wr.SessionWindows.with_gap("5 minutes", max_duration="10 minutes", end_when="logout")
SESSIONS = [
    ("ann", *all_at(0, 8), 3),
    ("ann", *all_at(12, 12), 1),
    ("ann", *all_at(13, 13), 1),
    ("bob", *all_at(1, 1), 1),
]


def shown(answer: pa.Table) -> list[tuple[Any, ...]]:
    rows = ((row["user"], row["window"]["start"], row["window"]["end"], row["n"]) for row in answer.to_pylist())
    return sorted(rows)


LIBRARIES: dict[str, Callable[[], Any]] = {
    "pyarrow": lambda: CLICKS,
    "batches": lambda: CLICKS.to_batches(max_chunksize=2),
    "polars": lambda: pl.from_arrow(CLICKS),
    "lazy": lambda: pl.from_arrow(CLICKS).lazy(),
    "duckdb": lambda: duckdb.from_arrow(CLICKS),
    "pandas": lambda: pd.DataFrame(CLICKS.drop_columns("logout").to_pydict()).assign(
        logout=pd.array(CLICKS["logout"].to_pylist(), dtype="boolean")
    ),
    "dictionary": lambda: CLICKS.set_column(0, "user", CLICKS["user"].dictionary_encode()),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_any_library_gives_the_same(library: str) -> None:
    data = LIBRARIES[library]()
    assert shown(arrow(wr.group_by(data, "user", time="ts").windowed_by(CUT).agg(n=wr.count()))) == SESSIONS


def test_bounds_as_columns_and_counters_go_along() -> None:
    table = pa.concat_tables([CLICKS, CLICKS.slice(0, 1).set_column(0, "user", pa.array([None], pa.string()))])
    grouped = wr.group_by(table, "user", time="ts").windowed_by(CUT).flat()
    with pytest.warns(wr.LeftOut, match="1 of 7 records"):
        answer = grouped.count()
    assert answer.column_names == ["user", "window_start", "window_end", "count"]
    assert wr.counters(answer)["windows"] == 4
    updates = wr.group_by(CLICKS, "user", time="ts").windowed_by(CUT).emit("update").count()
    assert updates["op"].to_pylist() == ["upsert"] * 4


def test_a_cogroup_is_cut_by_a_column_of_one_input() -> None:
    orders = pa.table({"user": ["ann", "ann"], "paid": all_at(3, 11), "amount": [30, 40], "logout": [True, True]})
    both = wr.cogroup(clicks=wr.group_by(CLICKS, "user", time="ts"), orders=wr.group_by(orders, "user", time="paid"))
    windows = wr.SessionWindows.with_gap("5 minutes", max_duration="11 minutes", end_when="clicks.logout")
    aggregates = {"n": wr.count(), "clicks": wr.count("clicks.*"), "spent": wr.sum("orders.amount")}
    wanted = [
        ("ann", *all_at(0, 11), 5),
        ("ann", *all_at(12, 12), 1),
        ("ann", *all_at(13, 13), 1),
        ("bob", *all_at(1, 1), 1),
    ]
    answer = both.windowed_by(windows).agg(**aggregates)
    assert shown(answer) == wanted
    assert sorted(answer["spent"].to_pylist(), key=str) == [70, None, None, None]
    folded = both.windowed_by(windows).agg(n=wr.count(), most=wr.reduce("orders.amount", max))
    assert shown(folded) == wanted
    tagged = both.windowed_by(windows).with_columns(**aggregates)
    assert tagged.column_names == ["user", "ts", "logout", "url", "paid", "amount", "input", "window", *aggregates]
    assert set(shown(tagged)) == set(wanted)
    assert tagged["n"].to_pylist() == [5, 5, 5, 1, 1, 1, 5, 5]
    with pytest.raises(ValueError, match=r"end_when: got 'logout'.*'clicks\.logout'"):
        both.windowed_by(wr.SessionWindows.with_gap("5 minutes", end_when="logout"))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_a_length_counts_in_ticks_rounded_down(unit: str) -> None:
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    times = pa.array([0, per, 2 * per], pa.int64()).cast(pa.timestamp(unit))
    grouped = wr.group_by(pa.table({"user": ["ann"] * 3, "ts": times}), "user", time="ts")
    two = timedelta(seconds=2)
    for longest, sizes in ((two - TICK, [1, 2]), (two, [3]), (two + TICK, [3])):
        windows = wr.SessionWindows.with_gap("1 second", max_duration=longest)
        assert sorted(grouped.windowed_by(windows).count()["count"].to_pylist()) == sizes
    short = wr.SessionWindows.with_gap("1 second", max_duration=TICK)
    if unit in ("s", "ms"):
        with pytest.raises(
            ValueError, match=r"max_duration: got '1 microsecond'; allowed: at least 1 (milli)?second, as"
        ):
            grouped.windowed_by(short)
    else:
        assert grouped.windowed_by(short).count().num_rows == 3


def refused(error: type[Exception], words: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=words):
        call()


def test_wrong_arguments_are_errors_at_the_call() -> None:
    with_gap, dynamic = wr.SessionWindows.with_gap, wr.SessionWindows.with_dynamic_gap
    refused(ValueError, "max_duration: got '0 seconds'", lambda: with_gap("1 second", max_duration="0 seconds"))
    refused(TypeError, "max_duration: got 30, an int", lambda: with_gap("1 second", max_duration=30))  # type: ignore[arg-type]
    refused(ValueError, "max_duration: got '1 month'", lambda: dynamic("pause", max_duration="1 month"))
    refused(ValueError, "end_when: got ''", lambda: with_gap("1 second", end_when=""))
    refused(TypeError, "end_when: got True, a bool", lambda: dynamic("pause", end_when=True))  # type: ignore[arg-type]
    refused(TypeError, "grace='1 hour', max_duration='2 hours'", lambda: with_gap("1 second", "1 hour", "2 hours"))  # type: ignore[arg-type]
    refused(TypeError, "did you mean 'max_duration'", lambda: dynamic("pause", max_durtion="1 hour"))  # type: ignore[call-arg]
    grouped = wr.group_by(CLICKS, "user", time="ts")
    refused(
        ValueError, "end_when: got 'out'.*'logout'", lambda: grouped.windowed_by(with_gap("1 second", end_when="out"))
    )
    refused(
        TypeError,
        "end_when: column 'url' has type string; allowed: a boolean, such as",
        lambda: grouped.windowed_by(with_gap("1 second", end_when="url")),
    )
    nanoseconds = CLICKS.set_column(1, "ts", CLICKS["ts"].cast(pa.timestamp("ns")))
    far = with_gap("1 second", max_duration=timedelta(days=200_000))
    refused(
        ValueError,
        "max_duration: got '28571 weeks 3 days'; allowed: at most 15250 weeks",
        lambda: wr.group_by(nanoseconds, "user", time="ts").windowed_by(far),
    )


def test_windows_show_the_call_that_makes_them_and_are_values() -> None:
    dynamic = wr.SessionWindows.with_dynamic_gap("pause", max_gap="1 hour", max_duration="2 hours", end_when="out")
    made = "SessionWindows.with_dynamic_gap('pause', max_gap='1 hour', max_duration='2 hours', end_when='out')"
    assert repr(dynamic) == made
    assert repr(CUT) == "SessionWindows.with_gap('5 minutes', max_duration='10 minutes', end_when='logout')"
    assert eval(repr(CUT), {"SessionWindows": wr.SessionWindows}) == CUT
    assert wr.SessionWindows.with_gap("5 minutes", end_when=pl.col("logout")).rules.end_when == "logout"
    assert pickle.loads(pickle.dumps(CUT)) == CUT != wr.SessionWindows.with_gap("5 minutes")
    kept = wr.SessionWindows.with_gap("5 minutes", grace="0 seconds", max_duration="1 hour", retention="1 day")
    assert (kept.rules.max_duration, kept.retention) == (3_600_000_000, 86_400_000_000)


def test_what_a_stream_and_an_explanation_do_not_take_is_refused_with_the_reason() -> None:
    kept = wr.SessionWindows.with_gap("5 minutes", grace="1 minute", max_duration="1 hour", retention="1 day")

    def visits(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(kept).agg(n=wr.count())

    refused(ValueError, "retention: got '1 day'; allowed: None", lambda: StreamDriver(visits, CLICKS.schema))
    ended = wr.SessionWindows.with_gap("5 minutes", grace="1 minute", end_when="logout")
    grouped = wr.group_by(CLICKS, "user", time="ts").windowed_by(ended)
    reason = "stream: got True; allowed: False or None for sessions with rules"
    refused(ValueError, reason, lambda: wr.explain_record(grouped, "ann", at(0), stream=True))
    assert "closes" not in wr.explain_record(grouped, "ann", at(0))  # as a batch
    full = wr.group_by(CLICKS, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes", max_records=2))
    refused(ValueError, "windowed: max_records: got 2", lambda: wr.explain_record(full, "ann", at(0)))


def test_it_explains_what_ended_a_session() -> None:
    explained = functools.partial(wr.explain_record, wr.group_by(CLICKS, "user", time="ts").windowed_by(CUT), "ann")
    too_long = "4 minutes away, at most the gap of 5 minutes, but its session would be longer than 10 minutes"
    logout = "1 minute away, at most the gap of 5 minutes, but 'logout' is true at 2026-01-01 08:12:00, which ends its"
    assert f"next record: 2026-01-01 08:12:00, {too_long}: the session ends here" in explained(at(8))
    assert f"previous record: 2026-01-01 08:08:00, {too_long}: the session starts here" in explained(at(12))
    assert f"next record: 2026-01-01 08:13:00, {logout} session: the session ends here" in explained(at(12))
    assert f"previous record: 2026-01-01 08:12:00, {logout} session: the session starts here" in explained(at(13))
    assert "next record: 2026-01-01 08:04:00, 4 minutes away, at most the gap of 5 minutes: one session" in explained(
        at(0)
    )


def test_it_explains_what_ended_a_session_of_own_gaps() -> None:
    gaps = pa.array([timedelta(minutes=minutes) for minutes in (60, 2, 2, 60, 1, 1)])
    table = CLICKS.append_column("pause", gaps)
    windows = wr.SessionWindows.with_dynamic_gap("pause", max_duration="10 minutes", end_when="logout")
    explained = functools.partial(wr.explain_record, wr.group_by(table, "user", time="ts").windowed_by(windows), "ann")
    first = "that of 2026-01-01 08:00:00 with its gap of 1 hour reaches to 2026-01-01 09:00:00"
    too_long = "but its session would be longer than 10 minutes"
    assert f"next record: 2026-01-01 08:12:00; {first}, {too_long}: the session ends here" in explained(at(8))
    assert f"previous record: {first}, {too_long}: the session starts here" in explained(at(12))
    ended = "but 'logout' is true at 2026-01-01 08:12:00, which ends its session"
    assert f"{ended}: the session ends here" in explained(at(12))


def test_a_picture_has_the_sessions_and_no_closing_times() -> None:
    windows = wr.SessionWindows.with_gap("5 minutes", grace="1 minute", max_duration="10 minutes", end_when="logout")
    drawn = timeline(CLICKS, wr.group_by(CLICKS, "user", time="ts").windowed_by(windows), ["ann"])
    assert "max_duration='10 minutes', end_when='logout'" in drawn.svg
    assert "closes" not in drawn.svg


def test_the_command_cuts_sessions_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = zip(CLICKS["user"].to_pylist(), CLICKS["ts"].to_pylist(), CLICKS["logout"].to_pylist(), strict=True)
    lines = [f"{user},{at},{'' if out is None else str(out).lower()}" for user, at, out in rows]
    (tmp_path / "clicks.csv").write_text("\n".join(["user,ts,logout", *lines]))
    given = ["sessions", str(tmp_path / "clicks.csv"), "--key", "user", "--time", "ts", "--gap", "5 minutes"]
    picture = ["--timeline", "ann", "--timeline-out", str(tmp_path / "ann.svg")]
    assert main([*given, "--max-duration", "10 minutes", "--end-when", "logout", "--sort", "--quiet", *picture]) == 0
    written = [line.replace('"', "").split(",") for line in capsys.readouterr().out.splitlines()[1:]]
    assert [(user, start[11:16], end[11:16], int(n)) for user, start, end, n in written] == [
        (user, f"{start:%H:%M}", f"{end:%H:%M}", n) for user, start, end, n in SESSIONS
    ]
    assert "end_when='logout'" in (tmp_path / "ann.svg").read_text()
    for options, message in (
        (["--max-duration", "10"], "windrow: --max-duration: got '10'"),
        (["--end-when", "out"], "windrow: --end-when: got 'out'; allowed: a column"),
        (
            ["--end-when", "user"],
            "--end-when: column 'user': got 'ann'; allowed: booleans (true and false, or 1 and 0)",
        ),
    ):
        assert main([*given, *options]) == 2
        assert message in capsys.readouterr().err


def test_a_column_of_a_file_that_has_few_ends_or_none_is_boolean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "clicks.csv"
    given = [
        "sessions",
        str(file),
        "--key",
        "user",
        "--time",
        "ts",
        "--gap",
        "5 minutes",
        "--end-when",
        "logout",
        "--sort",
    ]
    times = [f"ann,2026-05-04T09:0{minute}:00" for minute in range(3)]
    for ends, counts in ((["", "1", ""], [2, 1]), (["", "", ""], [3]), ([], [])):
        rows = [f"{time},{end}" for time, end in zip(times, ends, strict=bool(ends))]
        file.write_text("\n".join(["user,ts,logout", *rows]) + "\n")
        assert main([*given, "--quiet"]) == 0
        assert [int(line.split(",")[-1]) for line in capsys.readouterr().out.splitlines()[1:]] == counts
