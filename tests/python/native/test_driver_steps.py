"""The error for a definition with steps of Spark says what to give a driver instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..scenes import PAYMENTS

SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
INSTEAD = re.escape(
    "allowed: a function that takes the data and returns group_by(data, ...).windowed_by(...).agg(...); Spark's steps "
    "before and after that belong outside the function"
)


def counted(data: Any) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(SESSIONS).count()


STEPS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "where": (lambda data: counted(data.where("amount > 1")), r"got \.where on the data"),
    "select": (lambda data: counted(data.select("user", "ts")), r"got \.select on the data"),
    "withColumn": (lambda data: counted(data.withColumn("a", 1)), r"got \.withColumn on the data"),
    "withWatermark": (lambda data: counted(data.withWatermark("ts", "1 hour")), r"got \.withWatermark on the data"),
    "union": (lambda data: counted(data.union(data)), r"got \.union on the data"),
    "a column": (lambda data: counted([data, data["amount"]][0]), r"got \['amount'\] on the data"),
    "a column by its name": (lambda data: counted([data, data.amount][0]), r"got \.amount on the data"),
    "where behind agg": (lambda data: counted(data).where("count > 1"), r"got \.where behind agg\(\.\.\.\)"),
    "withColumn behind agg": (lambda data: counted(data).withColumn("a", 1), r"got \.withColumn behind agg"),
    "select behind agg": (lambda data: counted(data).select("count"), r"got \.select behind agg"),
    "a column behind agg": (lambda data: counted(data)["count"], r"got \['count'\] behind agg"),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_around_the_windows_is_refused(step: str) -> None:
    definition, message = STEPS[step]
    with pytest.raises(AttributeError, match=f"^definition: {message}.*; {INSTEAD}$"):
        StreamDriver(definition, PAYMENTS)


def test_a_step_on_an_input_of_a_cogroup_is_refused() -> None:
    def definition(clicks: Any, orders: Any) -> Any:
        grouped = {
            name: wr.group_by(data, "user", time="ts") for name, data in (("a", clicks), ("b", orders.where("x")))
        }
        return wr.cogroup(**grouped).windowed_by(SESSIONS).count()

    with pytest.raises(AttributeError, match=r"got \.where on the data"):
        StreamDriver(definition, {"clicks": PAYMENTS, "orders": PAYMENTS})


def test_functions_of_pyspark_are_refused() -> None:
    """Without a session they raise by themselves, with any arguments."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as F

    if SparkSession.getActiveSession() is not None:
        pytest.fail("this test is for a process without a session")
    for called in (lambda _: F.col("amount") > 1, lambda data: F.broadcast(data), lambda _: F.sum("amount")):
        with pytest.raises(TypeError, match=f"definition: got a function of pyspark, which raised .*; {INSTEAD}$"):
            StreamDriver(lambda data, called=called: counted(data) if called(data) else None, PAYMENTS)


def test_what_python_asks_of_any_object_is_answered() -> None:
    def definition(data: Any) -> Any:
        assert not hasattr(data, "__array__")
        assert not hasattr(data, "sparkSession")
        assert list(data.columns) == ["user", "ts", "amount"]
        return counted(data)

    assert StreamDriver(definition, PAYMENTS)._plan.keys == ("user",)


def test_other_errors_of_a_definition_come_through() -> None:
    def definition(data: Any) -> Any:
        raise LookupError("its own")

    with pytest.raises(LookupError, match="^'?its own'?$"):
        StreamDriver(definition, PAYMENTS)
    with pytest.raises(TypeError, match="definition: got a function|definition: got <"):
        StreamDriver(lambda data: data, PAYMENTS)
