"""The stream driver: what a user's own definition does record by record, and which definitions are refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from ..scenes import EIGHT, PAYMENTS, at


def sessions(data: Any) -> Any:
    windows = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
    return wr.group_by(data, "user", time="ts").windowed_by(windows).agg(n=wr.count(), spent=wr.sum("amount"))


def updates(data: Any) -> Any:
    windows = wr.SessionWindows.with_gap("5 minutes", grace="1 hour")
    grouped = wr.group_by(data, "user", time="ts").windowed_by(windows)
    return grouped.emit("update", every_record=True).agg(n=wr.count())


def sliding(data: Any) -> Any:
    windows = wr.SlidingWindows.with_time_difference("5 minutes", grace="1 minute")
    grouped = wr.group_by(data, "user", time="ts").windowed_by(windows)
    return grouped.emit("update").late("emit").agg(n=wr.count())


def test_the_definition_of_a_job_is_driven_as_it_is() -> None:
    """
    ann   x────x·····|·      gap 5, grace 1: final when time passes 3 + 5 + 1
          0    3     8 9
    """
    table = pa.table({"user": ["ann"], "ts": [at(0)], "amount": [3]}, schema=PAYMENTS)
    assert sessions(table).num_rows == 1
    driver = StreamDriver(sessions, PAYMENTS)
    assert driver.stream_time is None
    assert driver.pipe(user="ann", ts=at(0), amount=3) == []
    assert driver.pipe(user="ann", ts=at(3), amount=4) == []
    assert driver.tick(at(9)) == []
    (final,) = driver.tick(at(9.1))
    assert (final.kind, final.key, final.window) == ("final", {"user": "ann"}, (at(0), at(3)))
    assert final.values == {"n": 2, "spent": 7}
    assert driver.stream_time == at(9.1)
    window = {"start": at(0), "end": at(3)}
    assert driver.read_table().to_pylist() == [{"user": "ann", "window": window, "n": 2, "spent": 7}]
    assert driver.read_table().num_rows == 0
    assert driver.read_table().schema == sessions(table).schema.remove_metadata()


def test_sliding_windows_of_a_driver_count_in_the_unit_of_a_time_column_that_is_coarser() -> None:
    driver = StreamDriver(sliding, PAYMENTS.set(1, pa.field("ts", pa.timestamp("s"))))
    driver.pipe(user="ann", ts=EIGHT)
    second = timedelta(seconds=1)
    ends = [change.window.end for change in driver.pipe(user="ann", ts=EIGHT + second)]
    assert sorted(ends) == [EIGHT + second, EIGHT + timedelta(minutes=5) + second]


@pytest.mark.parametrize(("argument", "difference", "grace"), [("difference", 1500, 1000), ("grace", 1000, 1500)])
def test_a_driver_refuses_lengths_that_are_no_milliseconds(argument: str, difference: int, grace: int) -> None:
    micro = timedelta(microseconds=1)
    windows = wr.SlidingWindows.with_time_difference(difference * micro, grace=grace * micro)

    def definition(data: Any) -> Any:
        return wr.group_by(data, "user", time="ts").windowed_by(windows).count()

    assert definition(pa.table({"user": ["ann"], "ts": [EIGHT], "amount": [1]}, schema=PAYMENTS)).num_rows == 1
    with pytest.raises(ValueError, match=f"{argument}: got '1 millisecond 500 .*a multiple of 1 millisecond, the reso"):
        StreamDriver(definition, PAYMENTS)


def test_what_is_in_no_window_is_dropped() -> None:
    driver = StreamDriver(sliding, PAYMENTS)
    for user, time in (("ann", at(60)), ("ann", at(30)), (None, at(60)), ("ann", None)):
        driver.pipe(user=user, ts=time)
    assert driver.dropped == 3


def test_a_store_of_the_other_kind_of_windows_is_refused() -> None:
    with pytest.raises(TypeError, match=r"\.sessions|\.windows"):
        StreamDriver(updates, PAYMENTS).windows  # noqa: B018


def test_pages_of_another_query_or_without_an_end_are_refused() -> None:
    driver = StreamDriver(sessions, PAYMENTS)
    driver.pipe(user="ann", ts=at(0), amount=3)
    pages = driver.snapshot()
    assert pa.ipc.open_stream(pages[1]).read_all()["user"].to_pylist() == ["ann"]
    with pytest.raises(ValueError, match="another query\n"):
        StreamDriver(updates, PAYMENTS).restore(pages)
    with pytest.raises(ValueError, match="checksum"):
        StreamDriver(sessions, PAYMENTS).restore([page[:-1] for page in pages])


@pytest.mark.parametrize("definition", [updates, sliding])
def test_a_table_of_updates_is_null_where_it_says_that_it_may_be(definition: Any) -> None:
    driver = StreamDriver(definition, PAYMENTS)
    for minute in (0, 3, -2):
        driver.pipe(user="ann", ts=at(minute))
    table = driver.read_table()
    assert table.schema.names == ["user", "window", "n", "op"]
    assert table.schema.field("n") == pa.field("n", pa.int64(), nullable=True)
    assert not table.schema.field("op").nullable
    assert [row["n"] is None for row in table.to_pylist()] == [row["op"] == "delete" for row in table.to_pylist()]
    assert ("delete" in table["op"].to_pylist()) == (definition is updates)  # sliding windows are never deleted
    written = pa.BufferOutputStream()
    parquet.write_table(table, written)
    assert parquet.read_table(written.getvalue()).to_pylist() == table.to_pylist()
    assert driver.read_table().schema == table.schema


def no_grace(data: Any) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes")).count()


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: StreamDriver(lambda a, b: a, {"a": PAYMENTS, "c": PAYMENTS}),
        r"schema: got \('a', 'c'\); allowed: .*takes, \(a, b\)",
    ),
    (lambda: StreamDriver(lambda a, b: a, {"a": PAYMENTS}), r"schema: got \('a',\); allowed: .*takes, \(a, b\)"),
    (lambda: StreamDriver(lambda a, b: a, PAYMENTS), r"schema: got 'one schema'; allowed: .*takes, \(a, b\)"),
    (lambda: StreamDriver(lambda: 3, PAYMENTS), r"schema: got 'one schema'; allowed: .*takes, \(\)"),
    (lambda: StreamDriver(lambda a: a, {1: PAYMENTS}), r"schema: got \(1,\); allowed: .*takes, \(a\)"),  # type: ignore[dict-item]
    (lambda: StreamDriver(no_grace, PAYMENTS), "grace: got None"),
    (lambda: StreamDriver(sessions, PAYMENTS, value="amont"), "did you mean 'amount'"),
    (lambda: StreamDriver(sessions, PAYMENTS).pipe(usr="ann"), "did you mean 'user'"),
    (lambda: StreamDriver(sessions, pa.schema({"user": pa.string()})), "time: got 'ts'"),
]
OTHER_TYPES: list[tuple[Callable[[], Any], str]] = [
    (lambda: StreamDriver(lambda data: 3, PAYMENTS), "definition: got 3"),
    (lambda: StreamDriver(lambda data: data, PAYMENTS), "definition: got a function|definition: got <"),
    (lambda: StreamDriver("query", PAYMENTS), "definition: got 'query'"),  # type: ignore[arg-type]
    (lambda: StreamDriver(sessions, ["user"]), "schema: got"),  # type: ignore[arg-type]
    (lambda: StreamDriver(sessions, PAYMENTS).pipe_batch([1]), "data: got"),
]


WRONG = [*((ValueError, *each) for each in REFUSED), *((TypeError, *each) for each in OTHER_TYPES)]


@pytest.mark.parametrize(("error", "make", "message"), WRONG, ids=[message for *_, message in WRONG])
def test_wrong_arguments_are_refused(error: type[Exception], make: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        make()


SESSIONS = wr.SessionWindows.with_gap("5 minutes", grace="1 minute")
INSTEAD = re.escape(
    "allowed: a function that takes the data and returns group_by(data, ...).windowed_by(...).agg(...); Spark's steps "
    "before and after that belong outside the function"
)


def counted(data: Any) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(SESSIONS).count()


STEPS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "where": (lambda data: counted(data.where("amount > 1")), r"got \.where on the data"),
    "withWatermark": (lambda data: counted(data.withWatermark("ts", "1 hour")), r"got \.withWatermark on the data"),
    "a column": (lambda data: counted([data, data["amount"]][0]), r"got \['amount'\] on the data"),
    "a column by its name": (lambda data: counted([data, data.amount][0]), r"got \.amount on the data"),
    "where behind agg": (lambda data: counted(data).where("count > 1"), r"got \.where behind agg\(\.\.\.\)"),
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
    for failing, error, said in (
        (lambda data: {}["its own"], KeyError, "^'its own'$"),
        (lambda data: len(data, 1), TypeError, r"len\(\) takes exactly one argument"),  # type: ignore[call-arg]
    ):
        with pytest.raises(error, match=said):
            StreamDriver(failing, PAYMENTS)
