"""Ticks among the records of a cogroup: without the name of an input they are of all inputs (rules 1.5)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..scenes import at

TIME = pa.timestamp("us")
CLICKS = pa.schema({"k": pa.string(), "ts": TIME, "beat": pa.bool_()})
ORDERS = pa.schema({"k": pa.string(), "at": TIME, "tick": pa.bool_()})
ROWS = pa.schema({"of": pa.string(), "k": pa.string(), "ts": TIME, "beat": pa.bool_(), "at": TIME, "tick": pa.bool_()})
SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="10 minutes")


def driven(beat: str | None = None) -> StreamDriver:
    """Orders have ticks, clicks have them where their column is named."""

    def definition(clicks: Any, orders: Any) -> Any:
        inputs = {
            "clicks": wr.group_by(clicks, "k", time="ts", tick=beat),
            "orders": wr.group_by(orders, "k", time="at", tick="tick"),
        }
        return wr.cogroup(**inputs).windowed_by(SESSIONS).agg(n=wr.count())

    return StreamDriver(definition, {"clicks": CLICKS, "orders": ORDERS})


def fed(driver: StreamDriver, *rows: dict[str, Any]) -> list[Any]:
    return driver.pipe_batch(pa.Table.from_pylist(list(rows), ROWS), input_column="of")


def test_a_tick_without_an_input_is_of_all() -> None:
    driver = driven()
    assert fed(driver, {"of": "clicks", "k": "a", "ts": at(0)}, {"at": at(15), "tick": True}) == []
    assert driver.stream_time == at(15)
    (final,) = fed(driver, {"at": at(16), "tick": True})
    assert (final.kind, final.window.end, final.values) == ("final", at(0), {"n": 1})
    assert (driver.counters["records"], driver.counters["ticks"]) == (1, 2)


@pytest.mark.parametrize(("beat", "tick", "reached"), [(True, None, 3), (False, True, 4), (True, True, 3)])
def test_the_time_of_a_tick_without_an_input_is_where_its_tick_is(beat: bool, tick: bool | None, reached: int) -> None:
    driver = driven("beat")
    fed(driver, {"ts": at(3), "at": at(4), "beat": beat, "tick": tick})
    assert driver.stream_time == at(reached)


def test_the_column_of_inputs_has_a_name() -> None:
    with pytest.raises(TypeError, match="input_column: got 5, an int; allowed: the name of a column"):
        driven().pipe_batch(ROWS.empty_table(), input_column=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("tick", [False, None])
def test_a_record_without_an_input_is_refused(tick: bool | None) -> None:
    driver = driven()
    with pytest.raises(ValueError, match="input_column: got None; allowed: 'clicks' or 'orders'"):
        fed(driver, {"of": "clicks", "k": "a", "ts": at(0)}, {"k": "a", "at": at(1), "tick": tick})
    assert driver.counters["records"] == 0
