"""A table as the data of each library that has frames in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

LIBRARIES: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "pandas": lambda table: table.to_pandas(),
    "Polars": pl.from_arrow,
    "lazy Polars": lambda table: pl.from_arrow(table).lazy(),  # type: ignore[union-attr]
    "DuckDB": duckdb.from_arrow,
}
