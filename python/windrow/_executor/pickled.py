"""Pickles Python functions for executors, and finds the broadcasts that they use."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

from windrow._aggregates.call import AggregateCall
from windrow._aggregates.evaluation import Expression, Finish
from windrow._arguments.errors import aggregate_argument
from windrow._plan.plan import Plan


class _Pickler(cloudpickle.CloudPickler):
    """Pickles as PySpark does, and collects the broadcasts on the way.

    Spark sends only the broadcasts that it finds in the function it gets. So that function must refer to them, in
    addition to the bytes of the user's functions.
    """

    def __init__(self, file: Any) -> None:
        super().__init__(file)  # type: ignore[no-untyped-call]
        self.broadcasts: list[Any] = []

    def reducer_override(self, obj: Any) -> Any:
        if type(obj).__module__.startswith("pyspark.") and type(obj).__name__ == "Broadcast":
            self.broadcasts.append(obj)
            return NotImplemented
        return super().reducer_override(obj)  # type: ignore[no-untyped-call]


def pickled_functions(plan: Plan) -> tuple[tuple[bytes, ...], tuple[Any, ...]]:
    """The pickled aggregates with Python functions, and all their broadcasts."""
    pairs = [_pickled(name, function) for name, function in plan.functions.items()]
    return tuple(pickled for pickled, _ in pairs), tuple(each for _, broadcasts in pairs for each in broadcasts)


def pickled_finish(plan: Plan, core: pa.Schema) -> tuple[bytes | None, tuple[Any, ...]]:
    """The pickled last step of a plan with computed columns, typed for the columns `core`, and its broadcasts."""
    if plan.finish is None:
        return None, ()
    computed = (name for name, column in plan.finish.columns if isinstance(column, Expression))
    name = next(computed, plan.finish.columns[0][0])
    pickled, broadcasts = _pickled(name, plan.finish.typed(core))
    return pickled, tuple(broadcasts)


def pickled_for_stream(plan: Plan) -> tuple[bytes, ...]:
    """The pickled aggregates with Python functions. Raises `TypeError` for one that uses a broadcast."""
    functions = []
    for name, function in plan.functions.items():
        pickled, broadcasts = _pickled(name, function)
        if broadcasts:
            raise TypeError(
                f"{aggregate_argument(name)}: got functions that use a broadcast, on a stream; allowed: the value "
                "itself instead, because Spark sends no broadcasts to stateful steps of a stream"
            )
        functions.append(pickled)
    return tuple(functions)


def _pickled(name: str, function: AggregateCall | Finish) -> tuple[bytes, list[Any]]:
    """Pickles an aggregate with its functions. The user's own functions go by value: they may be in a notebook."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    try:
        pickler.dump(function)  # type: ignore[no-untyped-call]
    except Exception as error:
        raise TypeError(
            f"{aggregate_argument(name)}: got functions that cannot be pickled ({error}); allowed: functions that can "
            "be sent to executors: they cannot use a Spark session, locks or open files"
        ) from error
    return file.getvalue(), pickler.broadcasts
