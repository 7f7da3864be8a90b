"""Cogroups whose inputs come from several sources, paired by equal values (rules 5.2)."""

from __future__ import annotations

import pyarrow as pa

from ..harness.sources import CLICKS, ORDERS, cogrouped
from ..scenes import at


def test_sources_of_the_inputs_are_paired_by_equal_values() -> None:
    driver = cogrouped()
    driver.pipe("clicks", k="a", ts=at(0), part=0)
    driver.pipe("orders", k="a", at=at(1), partition=0)
    driver.pipe("orders", k="a", at=at(30), partition=1)  # whose clicks have not come: nothing closes
    assert driver.stream_times == {(0,): at(0), (1,): None}
    assert driver.tick(at(9), input="clicks", source=0) == []
    (final,) = driver.tick(at(9), input="orders", source=0)
    assert final.values == {"clicks": 1, "n": 2}
    assert driver.stream_time == at(9)
    (final,) = driver.tick(at(40))
    assert (final.values, driver.stream_times) == ({"clicks": 0, "n": 1}, {(0,): at(40), (1,): at(40)})


def test_interleaved_rows_have_the_sources_of_their_inputs() -> None:
    rows = [
        {"of": "clicks", "k": "a", "ts": at(0), "part": 0, "partition": 9},
        {"of": "orders", "k": "a", "at": at(1), "partition": 1, "part": 9},
        {"of": "orders", "k": "a", "at": at(2), "partition": 0},
        {"of": "clicks", "k": "b", "ts": at(3)},
        {"at": at(9), "tick": True, "partition": 0, "part": 9},
    ]
    fields = {field.name: field for schema in (CLICKS, ORDERS) for field in schema} | {
        "of": pa.field("of", pa.string())
    }
    data = pa.Table.from_pylist(rows, pa.schema(fields.values()))
    driver = cogrouped()
    (final,) = driver.pipe_batch(data, input_column="of")
    assert final.values == {"clicks": 1, "n": 2}
    assert driver.stream_times == {(0,): at(9), (1,): None, (None,): None}
    again = cogrouped().restore(driver.snapshot())
    assert (again.stream_times, again.sessions.all()) == (driver.stream_times, driver.sessions.all())
