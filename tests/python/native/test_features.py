"""The features of the guide over real events: flights, and purchases where they lie next to the repository.

Compared with range frames of DuckDB: the functions are those of `docs/how-to/features.md`, word by word.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from ..harness.flights import flights
from ..test_docs import ROOT, examples

MOST = 120_000
CARDS = {
    "n_1h": ("count(*)", "1 HOUR"),
    "n_7d": ("count(*)", "7 DAYS"),
    "spend_1h": ("sum(amount)", "1 HOUR"),
    "mean_7d": ("avg(amount)", "7 DAYS"),
    "highest": ("max(amount)", "14 DAYS"),
}
USERS = {
    "views_1h": ("count(*)", "1 HOUR"),
    "items_7d": ("count(DISTINCT item)", "7 DAYS"),
    "bought_7d": ("avg(bought::INT)", "7 DAYS"),
}


@pytest.fixture(scope="module")
def guide() -> dict[str, Any]:
    """The names of the guide, from its blocks without Spark."""
    program: dict[str, Any] = {}
    for block in examples(ROOT / "docs" / "how-to" / "features.md"):
        if "pyspark" in block.code:
            break
        exec(block.code, program)
    return program


def purchases(shared: Path) -> pa.Table:
    path = shared / "data" / "online_retail.parquet"
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    bought = pq.read_table(path).slice(0, MOST)
    return pa.table(
        {
            "card": bought["CustomerID"],
            "ts": bought["InvoiceDate"],
            "amount": pc.multiply(bought["Quantity"].cast("float64"), bought["UnitPrice"]),
            "country": bought["Country"],
            "item": bought["StockCode"],
            "category": bought["Country"],
            "bought": pc.greater(bought["Quantity"], pa.scalar(0)),
        }
    )


def trips() -> pa.Table:
    flown = flights().slice(0, MOST)
    delay = flown["delay"].cast("float64")
    return pa.table(
        {
            "card": flown["dest"],
            "ts": flown["departure"],
            "amount": delay,
            "country": flown["origin"],
            "item": flown["tailnum"],
            "category": flown["origin"],
            "bought": pc.greater(delay, pa.scalar(15.0)),
        }
    )


@pytest.mark.parametrize("source", ["flights", "purchases"])
def test_the_features_of_the_guide_are_those_of_range_frames(
    source: str, guide: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    table = trips() if source == "flights" else purchases(request.getfixturevalue("shared"))
    table = table.append_column("id", pa.array(range(len(table)), pa.int64()))
    cards = guide["card_features"](table)
    views = guide["user_features"](table.rename_columns({"card": "user"}))
    connection = duckdb.connect()
    connection.register("events", table.filter(pc.and_(pc.is_valid(table["card"]), pc.is_valid(table["ts"]))))
    for answer, features in ((cards, CARDS), (views, USERS)):
        columns = ", ".join(
            f"{what} OVER (PARTITION BY card ORDER BY ts RANGE BETWEEN INTERVAL {length} PRECEDING AND "
            f"INTERVAL 1 MICROSECOND PRECEDING) AS {name}"
            for name, (what, length) in features.items()
        )
        expected = connection.sql(f"SELECT id, {columns} FROM events ORDER BY id").to_arrow_table()
        assert len(expected) > 50_000
        found = answer.take(expected["id"])
        for name in features:
            ours, theirs = found[name], expected[name].cast(found[name].type)
            assert ours.is_null().equals(theirs.is_null()), name
            apart = pc.max(pc.abs(pc.subtract(ours.cast("float64"), theirs.cast("float64")))).as_py()
            assert apart < 1e-6, name
