"""One stream and what is asked of it, as plain data that goes to a line of JSON and back."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """A record, or a tick. Times, ends and gaps are ticks of the time column; source and order are those of a
    micro-batch."""

    key: str | None = None
    time: int | None = None
    x: int | None = None
    word: str | None = None
    gap: int | None = None
    input: int | None = 0
    tick: bool = False
    source: int | None = 0
    order: int | None = None
    end: int | None = None


@dataclass(frozen=True)
class Scenario:
    """A query and its rows, in the order of arrival.

    Attributes:
        kind: `session`, `dynamic` (each record's own gap) or `sliding`.
        length: the gap, the longest gap, or the time difference.
        grace: how long windows wait for records out of order.
        until: how long closed windows stay visible at least; none for no longer than needed.
        resolution: what sliding windows floor times to.
        emit: `update` or `close`.
        late: `drop` or `emit`.
        inputs: 2 for a cogroup.
        values: which aggregates, see `oracle.contents`.
        kafka: whether a null word is what a null value is in Kafka.
        ends: whether records have an end beside their time.
        rows: what arrives.
    """

    kind: str
    length: int
    grace: int
    until: int | None = None
    resolution: int = 1
    emit: str = "update"
    late: str = "drop"
    inputs: int = 1
    values: str = "built_in"
    kafka: bool = False
    ends: bool = False
    rows: tuple[Row, ...] = ()

    @property
    def sliding(self) -> bool:
        return self.kind == "sliding"

    def last(self, row: Row) -> int:
        """The end of a record whose time and end are good."""
        found = row.end if self.ends else row.time
        assert found is not None
        return found

    def line(self) -> str:
        """The scenario as a line of JSON; what is left at its default is left out."""
        return json.dumps({**changed_fields(self), "rows": [*map(changed_fields, self.rows)]}, ensure_ascii=False)


def changed_fields(item: Scenario | Row) -> dict[str, Any]:
    """The fields that are not at their default."""
    pairs = ((field, getattr(item, field.name)) for field in dataclasses.fields(item))
    return {field.name: value for field, value in pairs if value != field.default}


def scenario_of(line: str) -> Scenario:
    """The scenario of a line of JSON."""
    read = json.loads(line)
    return Scenario(**{**read, "rows": tuple(Row(**row) for row in read["rows"])})
