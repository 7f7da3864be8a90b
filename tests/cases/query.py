"""A query as data: what a user writes between the records and the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import windrow as wr

SCHEMA = pa.schema(
    {
        "key": pa.string(),
        "ts": pa.timestamp("us"),
        "tick": pa.bool_(),
        "gap": pa.duration("us"),
        "tie": pa.int64(),
        "source": pa.string(),
        "offset": pa.int64(),
        "v": pa.int64(),
        "x": pa.float64(),
        "word": pa.string(),
        "end": pa.bool_(),
        "begin": pa.bool_(),
        "until": pa.timestamp("us"),
    }
)
"""The columns of every record."""

COUNT = {"n": wr.count()}


def ms(length: float) -> str:
    """A length of time."""
    return f"{round(length * 1000)} microseconds"


def sessions(gap: float, grace: float = 10**10, **options: Any) -> wr.SessionWindows:
    """Sessions with a gap in milliseconds. The usual grace is so long that no record is late."""
    return wr.SessionWindows.with_gap(ms(gap), grace=ms(grace), **options)


def gaps(grace: float = 10**10, max_gap: float | None = None, **options: Any) -> wr.SessionWindows:
    """Sessions whose records bring their own gap."""
    longest = {} if max_gap is None else {"max_gap": ms(max_gap)}
    return wr.SessionWindows.with_dynamic_gap("gap", grace=ms(grace), **longest, **options)


def sliding(difference: float, grace: float = 10**10, unit: float = 1, **options: Any) -> wr.SlidingWindows:
    """Sliding windows. Their unit is a millisecond, as in Kafka."""
    return wr.SlidingWindows.with_time_difference(ms(difference), grace=ms(grace), resolution=ms(unit), **options)


@dataclass(frozen=True)
class Query:
    """A query.

    Attributes:
        windows: its windows.
        aggregates: what it computes.
        group: options of `group_by`: `tie`, `source`, `order`, `stream_time`.
        emit: the arguments of `emit("update", ...)`; None for final windows.
        late: whether late records come back.
        left_out: whether records in no window come back.
        max_ahead: how far ahead of the clock a record may be, in milliseconds.
        overflow: what becomes of results that do not fit.
        returns_records: whether it gives back records, each with its window.
        inputs: the names of the inputs of a cogroup.
        lasts: whether records last until `until`; of a cogroup the inputs whose records do.
    """

    windows: Any
    aggregates: Mapping[str, Any] = field(default_factory=lambda: COUNT)
    group: Mapping[str, Any] = field(default_factory=dict)
    emit: Mapping[str, Any] | None = None
    late: bool = False
    left_out: bool = False
    max_ahead: float | None = None
    overflow: Any = "error"
    returns_records: bool = False
    inputs: tuple[str, ...] = ()
    lasts: bool | tuple[str, ...] = False

    def windowed(self, data: Any, *case: str, **source: str) -> Any:
        """Its windows over records; for a cogroup over a dict of inputs. `case` is a key more; it may be a `source`."""
        group = {**source, **self.group}

        def grouped(records: Any, *, lasts: bool) -> Any:
            end = {"end": "until"} if lasts else {}
            return wr.group_by(records, *case, "key", time="ts", tick="tick", **end, **group)

        if self.inputs:
            lasting = self.lasts or ()
            assert isinstance(lasting, tuple)
            grouping: Any = wr.cogroup(**{name: grouped(data[name], lasts=name in lasting) for name in self.inputs})
        else:
            grouping = grouped(data, lasts=bool(self.lasts))
        windowed = grouping.windowed_by(self.windows).overflow(self.overflow)
        if self.emit is not None:
            windowed = windowed.emit("update", **self.emit)
        if self.late:
            windowed = windowed.late("emit")
        if self.left_out:
            windowed = windowed.left_out("emit")
        return windowed if self.max_ahead is None else windowed.max_ahead(ms(self.max_ahead))

    def result(self, windowed: Any) -> Any:
        """Its result."""
        return windowed.with_columns(**self.aggregates) if self.returns_records else windowed.agg(**self.aggregates)

    def definition(self, opened: Any = None) -> Callable[..., Any]:
        """The function that a job calls. The query may begin with open windows."""

        def begun(data: Any) -> Any:
            windowed = self.windowed(data)
            return self.result(windowed if opened is None else windowed.start_from(opened))

        return (lambda **data: begun(data)) if self.inputs else begun

    @property
    def schemas(self) -> Any:
        """The columns of the data, or of each input."""
        return dict.fromkeys(self.inputs, SCHEMA) if self.inputs else SCHEMA
