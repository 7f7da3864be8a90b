"""Recorded runs of Kafka Streams: the parameters, and the answers to each record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pyarrow as pa

from windrow._folds.fold import Fold, of_reduce
from windrow._plan.spec import Spec

# A run counts milliseconds. Here one of them is a tick of a column in microseconds, the unit of the core's lengths, so
# every 64-bit number passes unchanged.
TIME = pa.timestamp("us")
_COLUMNS: list[tuple[str, pa.DataType]] = [
    ("key", pa.string()),
    ("ts", TIME),
    ("value", pa.string()),
    ("tick", pa.bool_()),
    ("input", pa.int8()),
]
SCHEMA = pa.schema(_COLUMNS)
KINDS = ("session", "sliding", "session-cogroup", "sliding-cogroup")
EMISSIONS = ("update", "close")
AGGREGATES = ("count", "reduce", "nullable")
_COUNT = {"name": "value", "function": "count", "columns": []}
_PYTHON = {"name": "value", "function": "python", "columns": ["value"]}


class Output(NamedTuple):
    """An update: the key, the bounds in milliseconds, the value or None for a tombstone, and the update's time."""

    key: str
    start: int
    end: int
    value: str | None
    time: int


class Step(NamedTuple):
    """A record, and what Kafka answered to it. `dropped` counts from the beginning."""

    key: str | None
    value: str | None
    time: int
    input: int
    out: list[Output]
    dropped: int


@dataclass(frozen=True)
class Scenario:
    """One recorded run."""

    name: str
    parameters: dict[str, Any]
    steps: list[Step]

    @property
    def difference(self) -> int | None:
        """The length of a sliding window, in milliseconds; None for sessions."""
        return self.parameters["diff"] if self.parameters["kind"].startswith("sliding") else None

    @property
    def counts(self) -> bool:
        """Whether values are counts."""
        return self.parameters.get("agg") == "count"

    def spec(self) -> str:
        """The query, as the core gets it. It emits the changes of every record."""
        parameters = self.parameters
        grace, width = parameters["grace"], self.difference
        if width is None:
            windows, least = {"kind": "session", "gap": parameters["gap"]}, parameters["gap"] + grace
        else:
            windows, least = {"kind": "sliding", "difference": width, "resolution": 1}, 2 * width + grace
        retention = parameters.get("retention", 0)
        update = parameters.get("emit", "update") == "update"
        spec = Spec(
            keys=["key"],
            time="ts",
            tick="tick",
            windows=windows,
            grace=grace,
            until=retention if retention >= least else None,
            aggregates=[_COUNT if self.counts else _PYTHON],
            op=update,
            emit="update" if update else "close",
            every_record=update,
            shards=1,
            inputs={"column": "input", "count": 2} if parameters["kind"].endswith("cogroup") else None,
            kafka={"value": "value", "saturate": True},
        )
        return spec.text

    def folds(self) -> list[Fold]:
        """The aggregate of the run, as Python functions; a count is built in."""
        match self.parameters.get("agg"):
            case "count":
                return []
            case "reduce":
                fold = of_reduce(lambda a, b: f"{a}+{_text(b)}", pa.field("value", pa.string()), kafka=True)
                return [replace(fold, adds=2 * fold.adds)]  # both inputs of a cogroup, into one accumulator
            case "nullable":
                return [_texts(lambda value: value == "DEL")]
            case _:
                return [_texts(lambda value: False)]


def _texts(deletes: Callable[[str | None], bool]) -> Fold:
    """Strings that show how they were folded: `"0"`, then `+value`, of a second input `-value`, merged as `(a|b)`."""

    def add(sign: str) -> Callable[[Any, Any], Any]:
        return lambda text, value: None if deletes(value) else f"{_text(text)}{sign}{_text(value)}"

    def merge(older: Any, later: Any) -> str:
        return f"({_text(older)}|{_text(later)})"

    def rows(batch: pa.RecordBatch) -> list[Any]:
        return batch.column("value").to_pylist()

    return Fold(pa.string(), lambda: "0", (add("+"), add("-")), merge, rows)


def _text(value: Any) -> str:
    return "null" if value is None else str(value)
