"""Times in objects and zones of pandas: windrow reads them as they are, or an error names a column and two values."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any

import pandas
import pandas as pd
import pytest
from dateutil import tz

import windrow as wr

from ..scenes import all_at

NINE = datetime(2026, 5, 4, 9)
EAST = timezone(timedelta(hours=2))
NANOS = [pd.Timestamp("2026-05-04T09:00:00.123456789"), pd.Timestamp("2026-05-04T09:00:00.123456790")]
SPANS = [pd.Timedelta(250, "ns"), pd.Timedelta(900, "ns")]
GAP = wr.SessionWindows.with_gap("30 minutes")


def objects(*values: Any, column: str = "v") -> pd.DataFrame:
    """A frame with a column of objects."""
    rows = {"user": "ann", "ts": all_at(*range(len(values))), column: pd.Series(values, dtype=object)}
    return pd.DataFrame(rows)


def keys(frame: pd.DataFrame) -> list[Any]:
    return sorted(wr.group_by(frame, "v", time="ts").windowed_by(GAP).count()["v"])


REFUSED: dict[str, tuple[list[Any], str, list[Any]]] = {
    "a date, then times": (
        [date(2026, 5, 4), None, NINE, pd.Timestamp(NINE)],
        "it has datetime.date(2026, 5, 4) and datetime.datetime(2026, 5, 4, 9, 0); ",
        [datetime(2026, 5, 4), NINE],
    ),
    "a time, then a zoned one": (
        [pd.Timestamp(NINE), pd.NaT, pd.Timestamp(NINE, tz="Europe/Madrid")],
        "with and Timestamp('2026-05-04 09:00:00') without an offset from UTC; ",
        [pd.Timestamp("2026-05-04 07:00", tz="UTC"), pd.Timestamp(NINE, tz="UTC")],
    ),
    "a zoned time, then others": (
        [NINE.replace(tzinfo=UTC), NINE, NINE],
        "datetime.timezone.utc) with and datetime.datetime(2026, 5, 4, 9, 0) without an offset",
        [pd.Timestamp(NINE, tz="UTC")],
    ),
    "times of day with offsets": (
        [time(9), time(9, tzinfo=UTC), time(9, tzinfo=EAST), None],
        "it has datetime.time(9, 0, tzinfo=datetime.timezone.utc), and Arrow's times of day have no offset; ",
        ["09:00:00", "09:00:00+00:00", "09:00:00+02:00"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_objects_of_which_arrow_makes_others_are_refused_with_a_cast_that_keeps_them(case: str) -> None:
    values, said, kept = REFUSED[case]
    frame = objects(*values)
    windowed = wr.group_by(frame, "user", time="ts").windowed_by(GAP)
    calls = {
        "keys": lambda: wr.group_by(frame, "v", time="ts"),
        "time": lambda: wr.group_by(frame, "user", time="v"),
        'aggregate "x": first': lambda: windowed.agg(x=wr.first("v")),
        'aggregate "x": collect_list': lambda: windowed.agg(x=wr.collect_list("v")),
    }
    for argument, call in calls.items():
        start = re.escape(f"{argument}: column 'v' cannot be read as Arrow data (it has ")
        with pytest.raises(TypeError, match=f"^{start}.*; allowed: a column of one type that Arrow has$") as raised:
            call()
        assert said in str(raised.value)
        cast = re.search(r"; (\S*frame\['v'\]\S*(?: utc=True\))?) (?:makes|takes) ", str(raised.value))
        assert cast is not None
        made = frame.assign(v=eval(cast[1], {"pandas": pandas, "frame": frame})).dropna()
        assert keys(made) == kept


@pytest.mark.parametrize(
    "cells",
    [
        [[NINE, NINE.replace(tzinfo=UTC)], None],
        [[], [date(2026, 5, 4), NINE]],
        [{"at": NINE}, {"at": NINE.replace(tzinfo=UTC)}],
        [[{"at": [time(9, tzinfo=EAST)]}], [{"at": None}]],
    ],
    ids=["list", "dates", "struct", "nested"],
)
def test_objects_within_lists_and_structs_are_refused_too(cells: list[Any]) -> None:
    windowed = wr.group_by(objects(*cells), "user", time="ts").windowed_by(GAP)
    with pytest.raises(TypeError, match=r"first: column 'v' cannot be read as Arrow data \(it has datetime"):
        windowed.agg(x=wr.first("v"))


@pytest.mark.parametrize("values", [NANOS, [at.tz_localize("Europe/Madrid") for at in NANOS], SPANS], ids=str)
def test_objects_keep_their_nanoseconds(values: list[Any]) -> None:
    frame = objects(*values, None)
    with pytest.warns(wr.LeftOut, match="null_keys 1"):
        assert keys(frame) == values
    windowed = wr.group_by(frame, "user", time="ts").windowed_by(GAP)
    result = windowed.agg(first=wr.first("v"), all=wr.collect_list("v"), least=wr.min("v"))
    assert (result["first"][0], result["all"][0], result["least"][0]) == (values[0], values, values[0])
    nested = wr.group_by(objects([values], [None]), "user", time="ts").windowed_by(GAP).agg(x=wr.first("v"))
    assert nested["x"][0] == [values]


def test_offsets_of_all_kinds_are_times_of_the_first_one() -> None:
    times = [NANOS[0].tz_localize(EAST), NANOS[1].tz_localize("Europe/Madrid"), NINE.replace(tzinfo=UTC)]
    frame = objects(*times)
    assert keys(frame) == times
    result = wr.group_by(frame, "user", time="v").windowed_by(GAP).count()
    assert [(each["start"], each["end"]) for each in result["window"]] == [(times[0], times[1]), (times[2], times[2])]


def test_the_windows_of_a_result_keep_their_nanoseconds_in_the_next_query() -> None:
    result = wr.group_by(objects(*NANOS), "user", time="v").windowed_by(GAP).agg(at=wr.collect_list("v"))
    for column in ("window.start", "at"):
        again = wr.group_by(result, "user", time="window.start").windowed_by(GAP).agg(x=wr.last(column))
        assert again["window"][0]["start"] == NANOS[0]
        assert again["x"][0] == (NANOS if column == "at" else NANOS[0])


@pytest.mark.parametrize("kind", ["objects", "dtype"])
@pytest.mark.parametrize("name", ["IST", "MST", "CEST", None])
def test_an_offset_is_that_of_its_zone_whatever_its_name(name: str | None, kind: str) -> None:
    zone = tz.tzoffset(name, 7200)
    times = [NINE.replace(tzinfo=zone), datetime(2026, 5, 4, 14, tzinfo=zone)]
    frame = objects(*times, column="at")
    if kind == "dtype":
        frame["at"] = pd.to_datetime(frame["at"])
    windowed = wr.group_by(frame, "user", time="at").windowed_by(GAP)
    windows = windowed.count()["window"].tolist()
    assert sorted(str(window["start"]) for window in windows) == [
        "2026-05-04 09:00:00+02:00",
        "2026-05-04 14:00:00+02:00",
    ]
    run = windowed.advance(None, to="2026-05-04 12:00", n=wr.count())
    assert len(run.closed) == 1
    assert wr.group_by(frame, "user", time="at").windowed_by(GAP).agg(x=wr.last("at"))["x"].tolist() == times


def test_a_zone_that_arrow_takes_for_another_one_is_refused_with_its_cast() -> None:
    frame = objects(NINE.replace(tzinfo=tz.tzstr("EST5EDT")))
    with pytest.raises(TypeError, match="^time: column 'v' cannot be read .* no zone tzstr.*; allowed: ") as raised:
        wr.group_by(frame, "user", time="v")
    cast = re.search(r"; (\S+ utc=True\)) has the same times", str(raised.value))
    assert cast is not None
    made = frame.assign(v=eval(cast[1], {"pandas": pandas, "frame": frame}))
    windows = wr.group_by(made, "user", time="v").windowed_by(GAP).count()["window"]
    assert windows[0]["start"] == pd.Timestamp("2026-05-04 13:00", tz="UTC")
