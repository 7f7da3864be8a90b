"""What rules, records left out, a pace, ends, least numbers of records and active time cost: each query compared with
the plain one, in this process, in one run.

    python benches/python/records.py                                        4 M events
    python benches/python/records.py --events 400000 --repeats 3 --order shuffled --only rules

All queries but those of `active` compute count, sum, min and max of sessions with a gap of 5 minutes. They take turns,
so a slow minute of the machine slows all of them. Rows, by group:

* rules: sessions that a rule ends, over a table. A record in twenty begins a session, or has another value than the one
  before it; a day ends once; a session has at most ten records. numpy finds the same sessions.
* ledger: `left_out("emit")` while no record is left out, over a table, and in the steps of a stream.
* every: `emit("update", every=)` compared with `emit("update")`, in the steps of a stream.
* ends: records that last up to 20 seconds, `end=`, over a table, and in the steps of a stream, where each record ends
  when it starts, so that the sessions are the same. numpy finds the sessions of the table.
* samples: `.min_samples(3)` of sum, min and max, over a table.
* active: `active_time` and `active_runs` compared with `count`, each alone, over a table. Limits of 1, 3 and 5 minutes
  make breaks of 55, 14 and 0 percent of the distances between two records.

The steps of a stream pack a micro-batch, join it in eight shards and write their pages to a dict (`growth.py`). Prints
medians and the ratio of each query to the plain one: of the seconds, and of the processor time. Exit 1 when an answer
is wrong.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import events
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from growth import GAP, MINUTE, Stream

import windrow as wr

MOST = 10
EVERY = "5 minutes"
BORDER = "01:30"
BORDER_MICROSECONDS = 90 * MINUTE
LIMITS = (1, 3, 5)
"""The limits of active times, in minutes."""
LONGEST = MINUTE // 3
"""How long a record lasts at most, in microseconds."""
BEFORE = 6
"""Micro-batches before those that are measured. A session of a stream is about as long as three."""

Run = Callable[[], object]


def table(count: int, order: str) -> pa.Table:
    """The events of the other benches at different times, with the columns of rules."""
    random = np.random.default_rng(events.SEED)
    made = events.table(count, "in order", "i64")
    ts = made["ts"].cast(pa.int64()).to_numpy() + np.arange(count)
    begins = random.random(count) < 0.05
    made = made.set_column(1, "ts", pa.array(ts, pa.timestamp("us"))).append_column("begins", pa.array(begins))
    made = made.append_column("device", pa.array(devices(made["user"].to_numpy(), random)))
    return made.take(pa.array(random.permutation(count))) if order == "shuffled" else made


def devices(user: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The device of each event of a user, in the order of time. One event in twenty changes it."""
    order = np.argsort(user, kind="stable")
    changes = np.cumsum(random.random(len(user)) < 0.05)
    device = np.empty_like(user)
    device[order] = changes % 7
    return device


def ordered(data: pa.Table, rule: str) -> tuple[np.ndarray, np.ndarray]:
    """The times of all events by user and time, and which of them begin a session."""
    user, ts = data["user"].to_numpy(), data["ts"].cast(pa.int64()).to_numpy()
    order = np.lexsort((ts, user))
    user, ts = user[order], ts[order]
    first = np.ones(len(ts), bool)
    until = ts
    if rule == "end":  # the latest end of a user so far; users lie further apart than all times
        apart = (user - user.min()) * (2 * (ts.max() - ts.min()) + events.GAP_MICROSECONDS)
        until = np.maximum.accumulate(data["stopped"].cast(pa.int64()).to_numpy()[order] + apart) - apart
    first[1:] = (user[1:] != user[:-1]) | (ts[1:] - until[:-1] > events.GAP_MICROSECONDS)
    if rule == "start_when":
        first |= data["begins"].to_numpy()[order]
    if rule == "cut_on":
        device = data["device"].to_numpy()[order]
        first[1:] |= device[1:] != device[:-1]
    if rule == "cut_at":
        is_after = ts >= events.EPOCH + BORDER_MICROSECONDS
        first[1:] |= is_after[1:] != is_after[:-1]
    if rule == "max_records":
        places = np.flatnonzero(first)
        nth = np.arange(len(ts)) - np.repeat(places, np.diff(np.append(places, len(ts))))
        first |= nth % MOST == 0
    return ts, first


def expected(data: pa.Table, rule: str) -> tuple[np.ndarray, np.ndarray]:
    """The start and the count of each session, by user and start."""
    ts, first = ordered(data, rule)
    places = np.flatnonzero(first)
    return ts[places], np.diff(np.append(places, len(ts)))


def expected_activity(data: pa.Table) -> dict[str, np.ndarray]:
    """The result of each query of `active`, by user and start."""
    ts, first = ordered(data, "plain")
    distance = np.where(first, 0, np.diff(ts, prepend=ts[:1]))
    of_events = {"count": np.ones_like(ts)}
    for limit in LIMITS:
        of_events[f"time, {limit} min"] = np.minimum(distance, limit * MINUTE)
        of_events[f"runs, {limit} min"] = (first | (distance > limit * MINUTE)).astype(int)
    return {name: np.add.reduceat(values, np.flatnonzero(first)) for name, values in of_events.items()}


def is_right(answer: pa.Table, data: pa.Table, rule: str) -> bool:
    """Whether an answer has exactly the sessions that numpy finds."""
    starts, counts = expected(data, rule)
    start = pc.struct_field(answer["window"], "start").cast(pa.int64()).to_numpy()
    order = np.lexsort((start, answer["user"].to_numpy()))
    return np.array_equal(start[order], starts) and np.array_equal(answer["clicks"].to_numpy()[order], counts)


def measured(runs: Mapping[str, Run], repeats: int) -> dict[str, tuple[float, float]]:
    """The medians of the seconds and of the processor time of each run. The runs take turns."""
    seconds = {name: list[tuple[float, float]]() for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            gc.collect()
            begin, worked = time.perf_counter(), time.process_time()
            run()
            seconds[name].append((time.perf_counter() - begin, time.process_time() - worked))
    return {name: (statistics.median(wall), statistics.median(cpu)) for name, (wall, cpu) in columns(seconds).items()}


def columns(seconds: Mapping[str, list[tuple[float, float]]]) -> dict[str, tuple[tuple[float, ...], ...]]:
    """The seconds and the processor times of each run."""
    return {name: tuple(zip(*each, strict=True)) for name, each in seconds.items()}


def shown(title: str, found: Mapping[str, tuple[float, float]], notes: Mapping[str, str]) -> None:
    """Prints the runs of a group. The first one is the plain query."""
    print(f"\n{title}")
    (plain, worked), *_ = found.values()
    for name, (wall, cpu) in found.items():
        ratios = f"{wall / plain:5.2f} times, {cpu / worked:5.2f} times the processor"
        print(f"  {name:<14}{wall * 1000:8.0f} ms  {ratios}  {notes.get(name, '')}".rstrip(), flush=True)


def over_table(
    data: pa.Table, windows: wr.SessionWindows, *, keeps: bool = False, end: str | None = None, least: int | None = None
) -> pa.Table:
    """Count, sum, min and max of each session, null below `least` records; with `keeps` also records in no session."""
    windowed = wr.group_by(data, "user", time="ts", end=end).windowed_by(windows)
    windowed = windowed.left_out("emit", columns=["amount"]) if keeps else windowed
    values = {"spend": wr.sum("amount"), "low": wr.min("amount"), "high": wr.max("amount")}
    if least is not None:
        values = {name: value.min_samples(least) for name, value in values.items()}
    return windowed.agg(clicks=wr.count(), **values)


def rules(options: argparse.Namespace) -> bool:
    """Sessions that a rule ends, over a table."""
    data, gap = table(options.events, options.order), wr.SessionWindows.with_gap
    windows = {
        "plain": gap(GAP),
        "start_when": gap(GAP, start_when="begins"),
        "cut_on": gap(GAP, cut_on="device"),
        "cut_at": gap(GAP, cut_at=BORDER),
        "max_records": gap(GAP, max_records=MOST),
    }
    runs = {name: lambda own=own: over_table(data, own) for name, own in windows.items()}
    right, notes = True, dict[str, str]()
    for name, run in runs.items():
        answer = run()
        right = right and is_right(answer, data, name)
        notes[name] = f"{answer.num_rows:,} sessions"
    shown(f"rules: {options.events:,} events of a table, {options.order}", measured(runs, options.repeats), notes)
    return right


def ledger(options: argparse.Namespace) -> bool:
    """A query that returns left-out records, while no record is left out."""
    data, right = table(options.events, options.order), True
    for gap in (GAP, "30 minutes"):
        windows = wr.SessionWindows.with_gap(gap)
        runs = {
            "plain": lambda windows=windows: over_table(data, windows),
            "left_out": lambda windows=windows: over_table(data, windows, keeps=True),
        }
        plain, kept = (run() for run in runs.values())
        right = right and plain.equals(kept.select(plain.column_names).cast(plain.schema))
        found = measured(runs, options.repeats)
        shown(f"ledger: {options.events:,} events of a table, {options.order}, gap {gap}", found, {})
    return right and streams("ledger", options, dict.fromkeys(("plain", "left_out"), "close"), ())


def every(options: argparse.Namespace) -> bool:
    """Updates that leave at a pace, compared with all updates."""
    return streams("every", options, dict.fromkeys(("update", "every"), "update"), ("every",))


def ends(options: argparse.Namespace) -> bool:
    """Records with an end."""
    data, windows = table(options.events, options.order), wr.SessionWindows.with_gap(GAP)
    lasting = np.random.default_rng(events.SEED).integers(0, LONGEST, len(data))
    stopped = pa.array(data["ts"].cast(pa.int64()).to_numpy() + lasting, pa.timestamp("us"))
    data = data.append_column("stopped", stopped)
    runs = {
        "plain": lambda: over_table(data, windows),
        "end": lambda: over_table(data, windows, end="stopped"),
    }
    right = all(is_right(run(), data, name) for name, run in runs.items())
    shown(f"ends: {options.events:,} events of a table, {options.order}", measured(runs, options.repeats), {})
    over_streams = [streams("ends", options, dict.fromkeys(("plain", "end"), emit), ()) for emit in ("close", "update")]
    return right and all(over_streams)


def samples(options: argparse.Namespace) -> bool:
    """Aggregates of a least number of records."""
    data, windows = table(options.events, options.order), wr.SessionWindows.with_gap(GAP)
    runs = {
        "plain": lambda: over_table(data, windows),
        "min_samples": lambda: over_table(data, windows, least=3),
    }
    plain, least = (run() for run in runs.values())
    enough = pc.greater_equal(plain["clicks"], 3)
    right = all(
        least[name].combine_chunks().equals(pc.if_else(enough, plain[name], None).combine_chunks())
        for name in ("spend", "low", "high")
    )
    shown(f"samples: {options.events:,} events of a table, {options.order}", measured(runs, options.repeats), {})
    return right


def active(options: argparse.Namespace) -> bool:
    """How long sessions are active, over a table."""
    data = table(options.events, options.order)
    windowed = wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap(GAP))
    asked = {"count": wr.count()}
    for limit in LIMITS:
        asked[f"time, {limit} min"] = wr.active_time(f"{limit} minutes")
        asked[f"runs, {limit} min"] = wr.active_runs(f"{limit} minutes")
    runs = {name: lambda each=each: windowed.agg(x=each) for name, each in asked.items()}
    right = True
    for name, wanted in expected_activity(data).items():
        answer = runs[name]()
        start = pc.struct_field(answer["window"], "start").cast(pa.int64()).to_numpy()
        order = np.lexsort((start, answer["user"].to_numpy()))
        right = right and np.array_equal(answer["x"].cast(pa.int64()).to_numpy()[order], wanted)
    shown(f"active: {options.events:,} events of a table, {options.order}", measured(runs, options.repeats), {})
    return right


def streams(title: str, options: argparse.Namespace, queries: Mapping[str, Any], fewer: tuple[str, ...]) -> bool:
    """Micro-batches of streams, which take turns. A user has an event a minute on average.

    All streams give the same number of rows, except the streams in `fewer`, which give fewer.
    """
    batch, users = options.events // 4, options.events // 8
    made = {name: stream(name, emit) for name, emit in queries.items()}
    random, clock = np.random.default_rng(events.SEED), events.EPOCH
    rows = dict.fromkeys(made, 0)

    def push(name: str, data: pa.Table) -> None:
        rows[name] += sum(changes.num_rows for changes in made[name].push_batches([data]))

    seconds = {name: list[tuple[float, float]]() for name in made}
    for number in range(BEFORE + options.repeats):
        span = batch * MINUTE // users
        ts = clock + np.sort(random.integers(0, span, batch))
        clock += span
        amount = random.integers(1, 10_000, batch) / 100
        data = pa.table(
            {"user": random.integers(0, users, batch), "ts": pa.array(ts, pa.timestamp("us")), "amount": amount}
        )
        once = measured({name: lambda name=name, data=data: push(name, data) for name in made}, 1)
        if number >= BEFORE:
            for name, took in once.items():
                seconds[name].append(took)
    medians = {
        name: (statistics.median(wall), statistics.median(cpu)) for name, (wall, cpu) in columns(seconds).items()
    }
    shown(
        f"{title}: micro-batches of {batch:,} events of a stream, {users:,} users",
        medians,
        {name: f"{count:,} rows in all" for name, count in rows.items()},
    )
    whole = max(rows.values())
    right = all(0 < rows[name] < whole if name in fewer else rows[name] == whole for name in made)
    records = (BEFORE + options.repeats) * batch
    return right and all(each.counters["records"] == records and not each.counters["late"] for each in made.values())


def stream(name: str, emit: Any) -> Stream:
    """A stream without records."""
    pace = {"every": EVERY} if name == "every" else {}

    def definition(data: Any) -> Any:
        windows = wr.SessionWindows.with_gap(GAP, grace="1 minute")
        end = "ts" if name == "end" else None
        windowed = wr.group_by(data, "user", time="ts", end=end).windowed_by(windows).emit(emit, **pace)
        windowed = windowed.left_out("emit", columns=["amount"]) if name == "left_out" else windowed
        return windowed.agg(clicks=wr.count(), spend=wr.sum("amount"), low=wr.min("amount"), high=wr.max("amount"))

    schema = pa.schema([("user", pa.int64()), ("ts", pa.timestamp("us")), ("amount", pa.float64())])
    return Stream(definition, schema, shards=8)


GROUPS = {"rules": rules, "ledger": ledger, "every": every, "ends": ends, "samples": samples, "active": active}


def main() -> int:
    """All groups."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=4_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--order", choices=events.ORDERS, default="in order")
    parser.add_argument("--only", choices=GROUPS, action="append")
    options = parser.parse_args()
    print(f"{datetime.date.today()}, {platform.machine()}, {os.cpu_count()} cores, medians of {options.repeats}")
    right = [GROUPS[name](options) for name in options.only or GROUPS]
    print("\nall answers are right" if all(right) else "\nA WRONG ANSWER")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
