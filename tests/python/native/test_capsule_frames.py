"""Frames of other libraries: those with Arrow streams are queried again and again, errors name the others."""

from __future__ import annotations

import gc
from datetime import datetime
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

import windrow as wr

from ..harness.tables import arrow

TIMES = [datetime(2026, 5, 4, 9, minute) for minute in (0, 4, 30)]
TABLE = pa.table({"user": ["ann", "ann", "bob"], "ts": TIMES, "amount": [5, 2, 7]})
GAP = wr.SessionWindows.with_gap("5 minutes", grace="0 minutes")


class Frame:
    """A frame that gives a new stream each time, as DataFusion's."""

    def __init__(self, table: pa.Table = TABLE) -> None:
        self.table = table
        self.streams = 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self.streams += 1
        return self.table.__arrow_c_stream__(requested_schema)


class Described(Frame):
    """One that also gives its schema, as SedonaDB's."""

    def __arrow_c_schema__(self) -> object:
        return self.table.schema.__arrow_c_schema__()


class Answering(Frame):
    """One that has any attribute, as a frame whose columns are attributes."""

    def __getattr__(self, name: str) -> object:
        return name


class Once:
    """A stream, whose second stream has no rows."""

    def __init__(self) -> None:
        self.reader = TABLE.to_reader()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.reader.__arrow_c_stream__(requested_schema)


class Released(Frame):
    """A stream that fails when it is taken again, as nanoarrow's."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        if self.streams:
            raise RuntimeError("array stream is released")
        return super().__arrow_c_stream__(requested_schema)


class Batch:
    """A record batch of another library."""

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return TABLE.to_batches()[0].__arrow_c_array__(requested_schema)


def answers(data: Any) -> list[Any]:
    """The results of a query in each form."""
    grouped = wr.group_by(data, "user", time="ts")
    windowed = grouped.windowed_by(GAP)
    chosen = {"n": wr.count(), "spend": wr.sum(pc.field("amount") * pc.scalar(2)), "last": wr.last("amount")}
    closed, still_open = windowed.advance(None, to=datetime(2026, 5, 4, 10), **chosen)
    return [
        windowed.agg(**chosen),
        windowed.agg(**chosen),
        windowed.flat().count(),
        windowed.with_columns(**chosen),
        windowed.with_columns(**chosen),
        windowed.to_reader(**chosen).read_all(),
        windowed.to_reader(**chosen).read_all(),
        windowed.agg(folded=wr.reduce("amount", max)),
        wr.cogroup(a=grouped, b=grouped).windowed_by(GAP).count(),
        closed,
        still_open.drop_columns(["state"]),
        pa.table({"text": [wr.explain_record(windowed, "ann", TIMES[0])]}),
    ]


IN_MEMORY: dict[str, Any] = {
    "frame": Frame,
    "frame with a schema": Described,
    "frame with any attribute": Answering,
    "batch": Batch,
    "array of structs": lambda: TABLE.to_batches()[0].to_struct_array(),
    "chunks of structs": lambda: pa.chunked_array([TABLE.to_batches()[0].to_struct_array()]),
    "Series of structs": lambda: pl.DataFrame(TABLE).to_struct("rows"),
}


@pytest.mark.parametrize("name", IN_MEMORY)
def test_a_frame_is_queried_any_number_of_times_as_a_table_is(name: str) -> None:
    for found, expected in zip(answers(IN_MEMORY[name]()), answers(TABLE), strict=True):
        assert isinstance(found, pa.Table)
        assert found.to_pylist() == expected.to_pylist()


def test_a_frame_with_a_schema_computes_its_rows_only_for_queries() -> None:
    frame, plain = Described(), Frame()
    for data, before in ((frame, 0), (plain, 1)):
        windowed = wr.group_by(data, "user", time="ts").windowed_by(GAP)
        assert data.streams == before
        windowed.count()
        assert data.streams == 1
        windowed.count()
        assert data.streams == 2


@pytest.mark.parametrize("kind", [Frame, Described])
def test_a_frame_shows_its_new_rows_and_refuses_new_columns(kind: type[Frame]) -> None:
    frame = kind()
    windowed = wr.group_by(frame, "user", time="ts").windowed_by(GAP)
    assert windowed.count().num_rows == 2
    frame.table = TABLE[:1]
    assert windowed.count().num_rows == 1
    frame.table = TABLE[:0]
    assert windowed.count().num_rows == 0
    frame.table = TABLE.set_column(2, "amount", TABLE["amount"].cast(pa.float64()))
    with pytest.raises(ValueError, match=r"^data: got .*\.\w+, whose columns have changed .*int64 to .*double; all"):
        windowed.count()


@pytest.mark.parametrize("method", ["__next__", "read_next_batch", None])
def test_a_stream_is_read_once(method: str | None) -> None:
    data = TABLE.to_reader() if method is None else type("Known", (Once,), {method: None})()
    windowed = wr.group_by(data, "user", time="ts").windowed_by(GAP)
    assert windowed.count().num_rows == 2
    for again in (windowed.count, windowed.with_columns, lambda: windowed.to_reader(n=wr.count())):
        with pytest.raises(
            ValueError, match="^data: got a stream that an earlier query has read; allowed: a table, or"
        ):
            again()


def test_a_frame_that_gives_no_second_stream_is_named() -> None:
    windowed = wr.group_by(Released(), "user", time="ts").windowed_by(GAP)
    assert windowed.count().num_rows == 2
    gc.collect()
    message = r"^data: got .*Released, which gives no Arrow stream \(.*released\); allowed: a table, or a new stream"
    with pytest.raises(ValueError, match=message):
        windowed.count()


def test_arrow_data_without_columns_is_refused() -> None:
    nulls = pa.StructArray.from_arrays([pa.array([1, 2])], ["user"], mask=pa.array([False, True]))
    for data in (pa.array([1, 2]), pa.chunked_array([[1, 2]]), pl.Series([1, 2]), nulls):
        with pytest.raises(TypeError, match=r"^data: got .*; allowed: data of columns with names \("):
            wr.group_by(data, "user", time="ts").windowed_by(GAP).count()


# Tables without a stream


def of_library(name: str, *bases: str) -> Any:
    """An object of a class with this name and module, whose bases have the other names."""
    module, _, own = name.rpartition(".")
    made: Any = object
    for each in (*bases, own):
        made = type(each, (made,), {"__module__": module})
    return made()


FOREIGN: dict[str, tuple[Any, str]] = {
    "pyiceberg.table.Table": ([], "data.scan().to_arrow_batch_reader()"),
    "pyiceberg.table.DataScan": (["TableScan"], "data.to_arrow_batch_reader()"),
    "deltalake.table.DeltaTable": ([], 'deltalake.QueryBuilder().register("t", data).execute("SELECT * FROM t")'),
    "daft.dataframe.dataframe.DataFrame": ([], "data.to_arrow()"),
    "narwhals.dataframe.LazyFrame": ([], "data.collect()"),
    "pyspark.pandas.frame.DataFrame": (["Frame"], "data.to_spark()"),
    "dask.dataframe.DataFrame": ([], "data.compute()"),
    "vortex.ChunkedArray": (["Array"], "data.to_arrow_table()"),
    "pyarrow._dataset.InMemoryDataset": (ds.dataset(TABLE), "data.scanner().to_reader()"),
    "pyarrow._dataset.Scanner": (ds.dataset(TABLE).scanner(), "data.to_reader()"),
    "somewhere.frames.Table": ([], "a Spark DataFrame, the path of Parquet files"),
}
"""Objects, or the bases of their classes, and what becomes of them a frame that fits."""


@pytest.mark.parametrize("name", FOREIGN)
def test_a_table_of_another_library_is_named_with_the_call_that_makes_it_fit(name: str) -> None:
    made, call = FOREIGN[name]
    data = of_library(name, *made) if isinstance(made, list) else made
    with pytest.raises(TypeError) as raised:
        wr.group_by(data, "user", time="ts")
    assert str(raised.value).startswith(f"data: got {name}; allowed: {call}")
    if call.startswith("data.") and name.startswith("pyarrow"):
        assert wr.group_by(eval(call, {"data": data}), "user", time="ts").windowed_by(GAP).count().num_rows == 2
    with pytest.raises(TypeError, match=r"^open: got "):
        wr.group_by(TABLE, "user", time="ts").windowed_by(GAP).advance(data, to=TIMES[2], n=wr.count())


class Expression:
    """Stands for an expression of pandas 3, which the pandas of these tests does not have."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


Expression.__module__ = "pandas.api.typing"


def test_a_plain_column_of_pandas_is_its_name() -> None:
    frame = TABLE.to_pandas().rename(columns={"amount": 0})
    user, time, amount = map(Expression, ("col('user')", 'col("ts")', "col(0)"))
    for data in (frame, TABLE.rename_columns(["user", "ts", "0"]), pl.DataFrame(frame.rename(columns=str))):
        windowed: Any = wr.group_by(data, user, time=time).windowed_by(GAP)  # type: ignore[call-overload]
        found = arrow(windowed.agg(spend=wr.sum(amount)))  # type: ignore[arg-type]
        assert found["spend"].to_pylist() == [7, 7]


OPERATORS = [
    "col('amount') * 2",
    "(col('amount') + col('amount')) * 3",
    "col('amount') - (col('amount') - 6)",
    "(col('amount') > 1) & (col('user') != 'bob')",
]
FUNCTIONS = ["col('amount') / 2", "col('amount') + 0.1", "-col('amount')", "col('amount').abs()", "col('amount') % 2"]


@pytest.mark.parametrize("text", OPERATORS + FUNCTIONS)
def test_an_expression_of_pandas_is_refused_with_one_that_works(text: str) -> None:
    frame = TABLE.to_pandas()
    windowed = wr.group_by(frame, "user", time="ts").windowed_by(GAP)
    with pytest.raises(TypeError) as raised:
        windowed.agg(x=wr.collect_list(Expression(text)))  # type: ignore[arg-type]
    head, _, example = str(raised.value).partition("of pyarrow" + (": " if text in OPERATORS else ", such as "))
    assert f"list: got an expression of pandas ({text}) for a pandas frame; allowed: the name of a column" in head
    found = windowed.agg(x=wr.collect_list(eval(example, {"pyarrow": pa})))
    values = eval(text if text in OPERATORS else OPERATORS[0], {"col": frame.get})
    expected = frame.assign(x=values).groupby("user")["x"].apply(list)
    assert dict(zip(found["user"], found["x"], strict=True)) == expected.to_dict()
    with pytest.raises(TypeError, match="got an expression of pandas .* for a DuckDB relation; .*SQLExpression"):
        wr.group_by(duckdb.from_arrow(TABLE), Expression(text), time="ts")  # type: ignore[call-overload]
