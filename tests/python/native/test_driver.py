"""The stream driver: what a user's own definition does record by record, and which definitions are refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow as wr
from windrow.testing import StreamDriver

from ..harness.examples import usually
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


def user_changes(changes: list[Any]) -> list[tuple[Any, ...]]:
    return [
        (change.kind, change.key["user"], *((bound - EIGHT).seconds / 60 for bound in change.window), change.values)
        for change in changes
    ]


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
    assert user_changes(driver.tick(at(9.1))) == [("final", "ann", 0.0, 3.0, {"n": 2, "spent": 7})]
    assert driver.stream_time == at(9.1)
    assert driver.read_table().to_pylist() == [
        {"user": "ann", "window": {"start": at(0), "end": at(3)}, "n": 2, "spent": 7}
    ]
    assert driver.read_table().num_rows == 0
    assert driver.read_table().schema == sessions(table).schema.remove_metadata()


def test_sliding_windows_of_a_driver_count_in_milliseconds_where_nothing_else_is_said() -> None:
    driver = StreamDriver(sliding, PAYMENTS)
    one, other = (EIGHT + timedelta(microseconds=odd) for odd in (1500, 1999))
    driver.pipe(user="ann", ts=one)
    (change,) = driver.pipe(user="ann", ts=other)
    assert (change.window.end, change.values) == (EIGHT + timedelta(milliseconds=1), {"n": 2})

    seconds = pa.schema({"user": pa.string(), "ts": pa.timestamp("s"), "amount": pa.int64()})
    coarse = StreamDriver(sliding, seconds)
    coarse.pipe(user="ann", ts=EIGHT)
    ends = [change.window.end for change in coarse.pipe(user="ann", ts=EIGHT + timedelta(seconds=1))]
    assert sorted(ends) == [EIGHT + timedelta(seconds=1), EIGHT + timedelta(minutes=5, seconds=1)]


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


def test_sessions_are_queried_in_kafkas_words() -> None:
    driver = StreamDriver(updates, PAYMENTS)
    for user, minute in (("b", 0), ("a", 0), ("a", 3), ("ab", 1), ("a", 9)):
        driver.pipe(user=user, ts=at(minute))
    store = driver.sessions
    assert store.all()["user"].to_pylist() == ["a", "a", "ab", "b"]
    assert store.fetch("a")["n"].to_pylist() == [2, 1]
    assert store.backward_fetch("a", "ab")["user"].to_pylist() == ["ab", "a", "a"]
    assert store.find_sessions("a", at(4), at(9))["n"].to_pylist() == [1]
    assert store.find_sessions("a", at(3), at(8))["n"].to_pylist() == [2]
    assert store.fetch_session("a", at(0), at(3)) == {
        "user": "a",
        "window": {"start": at(0), "end": at(3)},
        "n": 2,
        "time": at(3),
    }
    assert store.fetch_session("a", at(0), at(2)) is None
    assert store.find_closed(latest=at(8))["user"].to_pylist() == ["b", "ab", "a"]
    assert store.fetch("nobody").num_rows == 0
    with pytest.raises(TypeError, match=r"\.sessions|\.windows"):
        driver.windows  # noqa: B018


def test_sliding_windows_are_queried_by_their_starts() -> None:
    driver = StreamDriver(sliding, PAYMENTS)
    for user, minute in (("a", 10), ("a", 12), ("b", 12)):
        driver.pipe(user=user, ts=at(minute))
    store = driver.windows
    assert store.fetch("a")["n"].to_pylist() == [1, 2, 1]
    assert store.fetch("a", at(7), at(9))["n"].to_pylist() == [2]
    assert store.fetch_window("a", at(7))["n"] == 2  # type: ignore[index]
    assert store.fetch_window("a", at(8)) is None
    assert store.backward_fetch_all(at(7))["user"].to_pylist() == ["b", "a", "a"]


def test_a_snapshot_is_gone_on_from() -> None:
    driver = StreamDriver(sessions, PAYMENTS)
    driver.pipe(user="ann", ts=at(0), amount=3)
    pages = driver.snapshot()
    assert pa.ipc.open_stream(pages[1]).read_all()["user"].to_pylist() == ["ann"]
    again = StreamDriver(sessions, PAYMENTS).restore(pages)
    assert user_changes(again.tick(at(60))) == [("final", "ann", 0.0, 0.0, {"n": 1, "spent": 3})]
    assert set(driver.changed_pages()) > {"head"}
    assert set(driver.changed_pages()) == {"head"}
    with pytest.raises(ValueError, match="another query\n"):
        StreamDriver(updates, PAYMENTS).restore(pages)
    with pytest.raises(ValueError, match="checksum"):
        StreamDriver(sessions, PAYMENTS).restore([page[:-1] for page in pages])


@usually(40)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 60), st.integers(-3, 3)), max_size=25),
    st.lists(st.integers(1, 6), max_size=6),
)
def test_any_cut_gives_the_same_finals(records: list[tuple[str, int, int]], lengths: list[int]) -> None:
    users, minutes, amounts = zip(*records, strict=True) if records else ((), (), ())
    table = pa.table({"user": users, "ts": [at(minute) for minute in minutes], "amount": amounts}, schema=PAYMENTS)
    whole, cut, single = (StreamDriver(sessions, PAYMENTS) for _ in range(3))
    changes = [*whole.pipe_batch(table), *whole.finish()]
    assert [*cut.pipe_batch(table, rows=lengths), *cut.finish()] == changes
    one_by_one = [change for row in table.to_pylist() for change in single.pipe(**row)]
    assert [*one_by_one, *single.finish()] == changes
    assert whole.counters == cut.counters == single.counters


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


def test_an_error_of_the_definition_comes_through() -> None:
    def failing(data: Any) -> Any:
        return len(data, 1)  # type: ignore[call-arg]

    with pytest.raises(TypeError, match=r"len\(\) takes exactly one argument"):
        StreamDriver(failing, PAYMENTS)


@pytest.mark.parametrize(
    ("definition", "schema", "message"),
    [
        (lambda a, b: a, {"a": PAYMENTS, "c": PAYMENTS}, r"schema: got \('a', 'c'\); allowed: .*takes, \(a, b\)"),
        (lambda a, b: a, {"a": PAYMENTS}, r"schema: got \('a',\); allowed: .*takes, \(a, b\)"),
        (lambda a, b: a, PAYMENTS, r"schema: got 'one schema'; allowed: .*takes, \(a, b\)"),
        (lambda: 3, PAYMENTS, r"schema: got 'one schema'; allowed: .*takes, \(\)"),
        (lambda a: a, {1: PAYMENTS}, r"schema: got \(1,\); allowed: .*takes, \(a\)"),
    ],
)
def test_schemas_that_the_definition_does_not_take_are_named(definition: Any, schema: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StreamDriver(definition, schema)


def no_grace(data: Any) -> Any:
    return wr.group_by(data, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("5 minutes")).count()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: StreamDriver(no_grace, PAYMENTS), ValueError, "grace: got None"),
        (lambda: StreamDriver(lambda data: 3, PAYMENTS), TypeError, "definition: got 3"),
        (lambda: StreamDriver("query", PAYMENTS), TypeError, "definition: got 'query'"),  # type: ignore[arg-type]
        (lambda: StreamDriver(sessions, ["user"]), TypeError, "schema: got"),  # type: ignore[arg-type]
        (lambda: StreamDriver(sessions, PAYMENTS, value="amont"), ValueError, "did you mean 'amount'"),
        (lambda: StreamDriver(sessions, PAYMENTS).pipe(usr="ann"), ValueError, "did you mean 'user'"),
        (lambda: StreamDriver(sessions, PAYMENTS).pipe_batch([1]), TypeError, "data: got"),
        (lambda: StreamDriver(sessions, pa.schema({"user": pa.string()})), ValueError, "time: got 'ts'"),
    ],
)
def test_wrong_arguments_are_refused(make: Any, error: type[Exception], message: str) -> None:
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
