"""`progress`: what is reported of a long query over data in this process, and to whom."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import windrow as wr
from windrow._local import progress

ROWS = 600_000
Steps = list[tuple[str, int, int | None]]


@pytest.fixture(scope="module")
def events() -> pa.Table:
    random = np.random.default_rng(1)
    times = pa.array(random.integers(0, 10**9, ROWS)).cast(pa.timestamp("us"))
    return pa.table({"key": random.integers(0, 1000, ROWS), "ts": times, "x": random.integers(0, 9, ROWS)})


def sessions(data: Any, windows: Any = None) -> Any:
    return wr.group_by(data, "key", time="ts").windowed_by(windows or wr.SessionWindows.with_gap("1 second"))


CALLS: dict[str, Callable[[Any], Any]] = {
    "sessions": lambda query: query.agg(n=wr.count()),
    "functions": lambda query: query.agg(n=wr.reduce("x", max)),
    "batches": lambda query: query.to_reader(n=wr.count()).read_all(),
    "functions in batches": lambda query: query.to_reader(n=wr.reduce("x", max)).read_all(),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("known", [True, False])
def test_both_steps_go_up_to_all_records(events: pa.Table, call: str, known: bool, monkeypatch: Any) -> None:
    monkeypatch.setattr(progress, "_INTERVAL", 0)
    few = events.slice(0, 60_000 if "functions" in call else ROWS)
    steps: Steps = []
    result = CALLS[call](sessions(few if known else few.to_reader()).progress(lambda *step: steps.append(step)))
    assert result.num_rows > 0
    read = [(done, total) for step, done, total in steps if step == "records"]
    made = [(done, total) for step, done, total in steps if step == "windows"]
    assert [step for step, *_ in steps] == ["records"] * len(read) + ["windows"] * len(made)
    assert [done for done, _ in read] == sorted(done for done, _ in read)
    assert [done for done, _ in made] == sorted(done for done, _ in made)
    assert {total for _, total in read[:-1]} <= {few.num_rows if known else None}
    assert read[-1] == made[-1] == (few.num_rows, few.num_rows)
    assert len(read) >= (3 if few.num_rows == ROWS else 2)
    assert all(total == few.num_rows for _, total in made)


def test_the_core_reports_while_it_makes_windows(events: pa.Table) -> None:
    steps: Steps = []
    windows = wr.SlidingWindows.with_time_difference("300 milliseconds")
    deviations = {f"deviation_{number}": wr.stddev("x") for number in range(40)}
    sessions(events.slice(0, 200_000), windows).progress(lambda *step: steps.append(step)).agg(**deviations)
    made = [done for step, done, _ in steps if step == "windows"]
    assert made == sorted(made)
    assert 0 < made[0] < made[-1] == 200_000
    assert {done % (200_000 // 32) for done in made} == {0}  # this many parts of the keys


def test_a_callback_is_called_ten_times_a_second_and_at_the_ends(events: pa.Table) -> None:
    times: list[float] = []
    sessions(pa.concat_tables([events] * 5)).progress(lambda *step: times.append(time.monotonic())).count()
    assert 2 <= len(times) <= 4 + 11 * (times[-1] - times[0])


@pytest.mark.parametrize("step", ["records", "windows"])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("raised", [KeyError("own"), KeyboardInterrupt()], ids=repr)
def test_what_a_callback_raises_ends_the_query_as_it_is(
    events: pa.Table, step: str, call: str, raised: BaseException
) -> None:
    def callback(now: str, done: int, total: int | None) -> None:
        if now == step:
            raise raised

    with pytest.raises(type(raised)) as caught:
        CALLS[call](sessions(events.slice(0, 10_000)).progress(callback))
    assert caught.value is raised


def test_nothing_is_shown_without_progress(events: pa.Table, monkeypatch: Any) -> None:
    def used(*_: object) -> None:
        raise AssertionError("a progress is made")

    monkeypatch.setattr(progress.Progress, "__init__", used)
    assert sessions(events).count().num_rows > 0
    assert sessions(events).progress(True).progress(False).count().num_rows > 0
    with pytest.raises(AssertionError, match="a progress is made"):
        sessions(events).progress().count()


@pytest.mark.parametrize("frame", [pa.Table.to_pandas, pl.from_arrow], ids=["pandas", "Polars"])
def test_the_rows_of_a_frame_are_known(events: pa.Table, frame: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(progress, "_INTERVAL", 0)
    steps: Steps = []
    sessions(frame(events)).progress(lambda *step: steps.append(step)).count()
    assert steps[0][2] == ROWS
    both = {side: wr.group_by(frame(events.slice(0, 10)), "key", time="ts") for side in ("left", "right")}
    wr.cogroup(**both).windowed_by(wr.SessionWindows.with_gap("1 second")).progress(
        lambda *step: steps.append(step)
    ).count()
    assert steps[-1] == ("windows", 20, 20)


class Bar:
    """What tqdm makes, as far as it is used."""

    made: list[Bar]

    def __init__(self, **options: Any) -> None:
        self.options, self.total, self.n, self.closed = options, options["total"], 0, False
        self.made.append(self)

    def update(self, more: int) -> None:
        assert not self.closed
        assert more >= 0
        self.n += more

    def close(self) -> None:
        self.closed = True


def ending(table: pa.Table) -> pa.RecordBatchReader:
    """A reader of a table that fails at its end."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield from table.to_batches()
        raise OverflowError("no more")

    return pa.RecordBatchReader.from_batches(table.schema, batches())


@pytest.mark.parametrize("fails", ["", "agg", "to_reader", "reading"])
def test_tqdm_shows_a_bar_for_each_step_where_it_is_installed(events: pa.Table, monkeypatch: Any, fails: str) -> None:
    module = ModuleType("tqdm.auto")
    made: list[Bar] = []
    monkeypatch.setattr(Bar, "made", made, raising=False)
    monkeypatch.setattr(module, "tqdm", Bar, raising=False)
    monkeypatch.setitem(sys.modules, "tqdm", ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    monkeypatch.setattr(progress, "_INTERVAL", 0)
    if fails:
        large = pa.table({"key": [1, 1], "ts": [datetime(2026, 1, 1)] * 2, "x": [2**63 - 1] * 2})
        query = sessions(ending(large) if fails == "to_reader" else large).progress()
        work = query.agg if fails == "agg" else lambda x: query.to_reader(x=x).read_all()
        with pytest.raises(OverflowError):
            work(x=wr.sum("x"))
    else:
        sessions(events).progress().count()
        assert [(bar.options["desc"], bar.n, bar.total) for bar in made] == [
            ("records", ROWS, ROWS),
            ("windows", ROWS, ROWS),
        ]
    assert made
    assert all(bar.closed and bar.options["disable"] is None for bar in made)


class Terminal(io.StringIO):
    """A stderr that is a terminal, or none."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize("terminal", [True, False])
def test_without_tqdm_a_line_is_written_in_a_terminal_alone(events: pa.Table, monkeypatch: Any, terminal: bool) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)  # cannot be imported
    stderr = Terminal(terminal)
    monkeypatch.setattr(sys, "stderr", stderr)
    sessions(events).progress().count()
    monkeypatch.undo()
    if not terminal:
        assert stderr.getvalue() == ""
        return
    lines = stderr.getvalue().split("\n")
    assert [line.split("\r")[-1] for line in lines] == [
        "records: 600,000 of 600,000 (100 %)",
        "windows: 600,000 of 600,000 (100 %)",
        "",
    ]


@pytest.mark.parametrize("show", [3, None, "bar"])
def test_other_things_are_refused(show: Any) -> None:
    table = pa.table({"key": [1], "ts": [datetime(2026, 1, 1)]})
    with pytest.raises(TypeError, match=r"show: got .*; allowed: True, False, or a function of the step"):
        sessions(table).progress(show)
