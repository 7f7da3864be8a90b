"""The counters of a query, in an object that the caller makes before the query runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windrow._arguments.errors import bad_type

_NAME = "a name of at least one character, or None"


class Observation:
    """Takes the counters of a query, in-process or in Spark. `WindowedData.observe` fills it.

    It has the name and the property `get` of PySpark's `Observation`, and needs no PySpark. In-process, each call
    of `agg`, `count`, `with_columns` or `to_reader` fills it again. In Spark it belongs to one DataFrame, and the first
    action on that fills it.

    Args:
        name: what Spark calls the counters; a random name by default.

    Raises:
        TypeError: `name` is neither None nor a string with at least one character.

    >>> from datetime import datetime
    >>> import polars as pl
    >>> import windrow as wr
    >>> clicks = pl.DataFrame({"user": ["ann", "ann"], "ts": [datetime(2026, 1, 1, hour) for hour in (8, 10)]})
    >>> seen = wr.Observation()
    >>> windowed = wr.group_by(clicks, "user", time="ts").windowed_by(wr.SessionWindows.with_gap("1 hour"))
    >>> visits = windowed.observe(seen).count()
    >>> seen.get["records"], seen.get["windows"]
    (2, 2)
    """

    def __init__(self, name: str | None = None) -> None:
        """Holds no counters yet."""
        if name is not None and not (isinstance(name, str) and name):
            raise bad_type("name", name, _NAME)
        self.name = name
        self._spark: Any = None
        self._counters: dict[str, int] | None = None

    @property
    def get(self) -> dict[str, int]:
        """The counters by name. In Spark it waits for the first action.

        Raises:
            ValueError: no query has run yet.
        """
        if self._spark is not None:
            return dict(self._spark.get)
        if self._counters is None:
            raise ValueError("observation: got no counters yet; allowed: .observe(observation) before agg or count")
        return dict(self._counters)

    def _of_spark(self) -> Any:
        """PySpark's own observation, which Spark fills."""
        from pyspark.sql import Observation as OfSpark

        self._spark = OfSpark(self.name)
        return self._spark

    def _fill(self, counters: Mapping[str, int]) -> None:
        self._spark, self._counters = None, dict(counters)


def is_observation(observation: object) -> bool:
    """Whether it is windrow's or PySpark's `Observation`."""
    return isinstance(observation, Observation) or any(
        kind.__name__ == "Observation" and kind.__module__.startswith("pyspark.") for kind in type(observation).__mro__
    )


def report(observation: Any, counters: Mapping[str, int]) -> None:
    """Gives the counters of an in-process query to an observation."""
    if isinstance(observation, Observation):
        observation._fill(counters)
        return
    # PySpark fills its class only from the JVM or from a server. This object is the caller's alone, so it becomes one
    # of a subclass that has the counters.
    values, kind = dict(counters), type(observation)
    body = {"__module__": kind.__module__, "get": property(lambda _: dict(values))}
    observation.__class__ = type(kind.__name__, (kind,), body)
