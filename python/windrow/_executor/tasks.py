"""One operator for each source, as Kafka has one task for each partition (rules 1.4).

```text
 rows ── by the values of the source columns ─┬▶ ("clicks", 0)   operator: its own stream time, its own windows
                                              └▶ ("clicks", 1)   operator
```
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow._native import Operator

Source = tuple[Any, ...]
"""The values of the source columns, with None for null. Without source columns there is one source, ()."""


class Tasks(Mapping[Source, "Operator"]):
    """The operators of the known sources, in order of appearance.

    A source becomes known with its first row: a record, a record that is left out, or a tick.
    """

    def __init__(self, make: Callable[[], Operator]) -> None:
        """Knows no sources. `make` creates an operator that has seen no record."""
        self._make = make
        self._operators: dict[Source, Operator] = {}

    def of(self, source: Source) -> Operator:
        """The operator of a source. Creates one for a new source."""
        if source not in self._operators:
            self._operators[source] = self._make()
        return self._operators[source]

    def __getitem__(self, source: Source) -> Operator:
        """The operator of a known source."""
        return self._operators[source]

    def __iter__(self) -> Iterator[Source]:
        """The known sources."""
        return iter(self._operators)

    def __len__(self) -> int:
        """The number of known sources."""
        return len(self._operators)

    def counters(self) -> dict[str, int]:
        """The sums of all operators' counters, by name."""
        counted = Counter[str]()
        for operator in self._operators.values():
            counted.update(operator.counters())
        return dict(counted)

    @property
    def stream_time(self) -> int | None:
        """The smallest stream time of all operators that have one, in units of the time column."""
        times = (operator.stream_time for operator in self._operators.values())
        return min((time for time in times if time is not None), default=None)
