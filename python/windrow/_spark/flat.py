"""The bounds of windows as columns of a DataFrame of Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from windrow._plan.flat import BOUNDS, WINDOW


def flat(frame: DataFrame) -> DataFrame:
    """The frame with `window_start` and `window_end` in place of `window`."""
    # Columns go by number, as names may hold anything.
    names = [f"_{position}" for position in range(len(frame.columns))]
    columns = []
    for number, name in zip(names, frame.columns, strict=True):
        if name == WINDOW:
            columns += [
                F.col(f"{number}.{part}").alias(bound) for part, bound in zip(("start", "end"), BOUNDS, strict=True)
            ]
        else:
            columns.append(F.col(number).alias(name))
    return frame.toDF(*names).select(*columns)
