"""A query on a stream of micro-batches, with restarts between them, as plain data."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from .scenario import Row, Scenario, changed_fields


@dataclass(frozen=True)
class Restart:
    """The query stops before a batch and continues from its state, with another grace or another way with late records.

    Attributes:
        batch: the number of the batch before which it is.
        grace: the grace from then on.
        late: `drop` or `emit`, from then on.
        every: the pace of updates from then on; none leaves it as it was.
    """

    batch: int
    grace: int
    late: str
    every: int | None = None


@dataclass(frozen=True)
class StreamingScenario(Scenario):
    """A scenario whose rows come in micro-batches; `rows` stays empty, and `kafka` false.

    Attributes:
        ordered: whether the query names an order.
        sourced: whether the query names a source; otherwise the source of rows counts for nothing.
        stream_time: with a source, `source` or `slowest`.
        every_record: whether each change is asked for.
        every: how far stream time moves between two updates of a window; none for not at all.
        batches: the rows of each micro-batch, in any order.
        restarts: at most one before a batch.
    """

    ordered: bool = False
    sourced: bool = False
    stream_time: str = "source"
    every_record: bool = False
    every: int | None = None
    batches: tuple[tuple[Row, ...], ...] = ()
    restarts: tuple[Restart, ...] = ()

    @property
    def slowest(self) -> bool:
        return self.sourced and self.stream_time == "slowest"

    def restart_before(self, batch: int) -> Restart | None:
        return next((restart for restart in self.restarts if restart.batch == batch), None)

    def line(self) -> str:
        """The scenario as a line of JSON; what is left at its default is left out."""
        nested = {
            "batches": [[*map(changed_fields, rows)] for rows in self.batches],
            "restarts": [dataclasses.asdict(restart) for restart in self.restarts],
        }
        return json.dumps({**changed_fields(self), **nested}, ensure_ascii=False)


def streaming_scenario_of(line: str) -> StreamingScenario:
    """The scenario of a line of JSON."""
    read = json.loads(line)
    batches = tuple(tuple(Row(**row) for row in rows) for rows in read["batches"])
    restarts = tuple(Restart(**restart) for restart in read["restarts"])
    return StreamingScenario(**{**read, "batches": batches, "restarts": restarts})
