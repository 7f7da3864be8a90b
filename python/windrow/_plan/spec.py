"""What the core computes, with typed fields. It is JSON only where it crosses to the core, to executors or to a state.

Each property that is a `Spec` is the query of another step, and says why that step differs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypedDict

SHARDS = 32
"""Ranges of key hashes, unless `shards` says otherwise."""

_IF_SET = ("end", "invalid_end", "left_out", "nanoseconds", "whole", "kafka", "sources", "over")
"""The fields that the text has only if they are set: it is compared with the text of older checkpoints."""


class LeftOutLayout(TypedDict):
    """How records in no window come back: the fields of `record`, how many columns windows need, names of inputs."""

    record: Sequence[tuple[str, str]]
    columns: int
    inputs: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A query as the core reads it (`rust/plan/spec.rs`). The text has the fields in this order.

    Attributes:
        keys: the key columns.
        time: the column of times.
        end: the column of the ends of records; None if each record is at its time.
        invalid_end: `"error"` if an end that is null or before its time fails the query; None if it leaves out the
            record.
        tick: the boolean column of ticks.
        tie: the integer column that orders records of one time.
        windows: the kind of windows, with their lengths and columns.
        grace: how long windows wait for late records; None for ever.
        until: how long windows stay visible; None for as long as the rules need.
        aggregates: the aggregates, in the order of their columns.
        op: whether the result has the column `op`.
        emit: when windows give rows.
        every_record: whether each change of a window gives a row.
        every: how far stream time moves between two updates of a window.
        late: what happens to late records.
        overflow: what happens to results that do not fit their type.
        shards: how many ranges of key hashes there are.
        inputs: of a cogroup: the column with the numbers of inputs, how many there are, whether they share stream time.
        left_out: how records in no window come back; None if they do not.
        nanoseconds: whether lengths of time are in nanoseconds; else they are in microseconds.
        whole: whether the records are all that there are, and come in the order of time.
        kafka: what null values mean in Kafka; only a driver has it.
        sources: the column that numbers the source of each row; only a driver has it.
        over: whether a stream gives back its records, each with the sliding window that ends at it.
    """

    keys: Sequence[str]
    time: str
    end: str | None = None
    invalid_end: str | None = None
    tick: str | None = None
    tie: str | None = None
    windows: Mapping[str, Any]
    grace: int | None = None
    until: int | None = None
    aggregates: Sequence[Mapping[str, Any]]
    op: bool = False
    emit: str = "close"
    every_record: bool = False
    every: int | None = None
    late: str = "drop"
    overflow: str = "error"
    shards: int
    inputs: Mapping[str, Any] | None = None
    left_out: LeftOutLayout | None = None
    nanoseconds: bool = False
    whole: bool = False
    kafka: Mapping[str, Any] | None = None
    sources: str | None = None
    over: bool = False

    @classmethod
    def of(cls, text: str) -> Self:
        """Reads the text of a query."""
        return cls(**json.loads(text))

    @property
    def fields(self) -> dict[str, Any]:
        """The fields as JSON has them."""
        return {name: value for name, value in vars(self).items() if value or name not in _IF_SET}

    @property
    def text(self) -> str:
        """The query as JSON."""
        return json.dumps(self.fields)

    @property
    def is_session(self) -> bool:
        """Whether its windows are sessions."""
        return bool(self.windows["kind"] == "session")

    @property
    def gap(self) -> str | None:
        """The column of the records' own gaps, if they have any."""
        return self.windows.get("gap_column")

    @property
    def input(self) -> str | None:
        """The column with the number of each record's input, for a cogroup."""
        return None if self.inputs is None else self.inputs["column"]

    @property
    def input_count(self) -> int:
        """How many inputs it has."""
        return 1 if self.inputs is None else self.inputs["count"]

    @property
    def in_order(self) -> Self:
        """For a batch's records in the order of time: nothing is late, and windows close as time passes."""
        whole = replace(
            self, grace=0, until=None, emit="close", every_record=False, every=None, late="drop", whole=True
        )
        return whole if self.inputs is None else replace(whole, inputs={**self.inputs, "one_time": True})

    @property
    def of_run(self) -> Self:
        """For one run of a daily job: a micro-batch whose end the caller sets, in any number of shards."""
        return replace(self.in_order, grace=self.grace or 0, late=self.late, shards=SHARDS, tick=None, whole=False)

    @property
    def of_start(self) -> Self:
        """For the open windows with which a stream begins: those of a run, whose updates go on at the stream's pace."""
        return replace(self.of_run, emit=self.emit, every=self.every)

    @property
    def of_shard(self) -> Self:
        """For blocks and states. They have no ticks, which travel in control rows."""
        return replace(self, tick=None)

    @property
    def of_partials(self) -> Self:
        """For partial sessions, which bring the number of their records, so that a shard can count late ones."""
        counted = [*self.aggregates, {"name": "windrow.records", "function": "count"}]
        return replace(self.of_shard, aggregates=counted)

    @property
    def of_faults(self) -> Self:
        """For the faults of records, which do not depend on aggregates and rules for sessions."""
        return self.with_only({"name": "windrow.records", "function": "count"})

    @property
    def of_state(self) -> Self:
        """For a reader of states, who wants all windows: a result that does not fit its type is null."""
        return replace(self, overflow="null")

    @property
    def returning_records(self) -> Self:
        """For sliding windows of a stream that come beside the records which end them."""
        return replace(self, over=True)

    def ordered_by(self, column: str) -> Self:
        """For rows that travel in the order of a column. If that is not their time, it stands for their ends, too.

        Then ties do not order them: equal orders stay as they are (rules 5.2).
        """
        rows = replace(self.of_shard, time=column)
        return rows if column == self.time else replace(rows, end=self.end and column, tie=None)

    def with_only(self, aggregate: Mapping[str, Any]) -> Self:
        """For a question that one aggregate answers, or whose answer no aggregate changes."""
        return replace(self, aggregates=[aggregate])

    def of_open_rows(self, time: str) -> Self:
        """For rows of open windows, which a packer brings to the shards of their keys, all with one time."""
        windows = {"kind": "session", "gap": 1_000_000}
        rows = replace(self.in_order, windows=windows, nanoseconds=False, time=time, tick=None, tie=None, inputs=None)
        rows = replace(rows, end=None, invalid_end=None)
        return replace(rows, aggregates=[{"name": "n", "function": "count"}], op=False)

    def of_driver(self, tick: str, value: str | None, sources: str | None) -> Self:
        """For a driver, whose rows have ticks and numbers of sources beside them. `value` is the value in Kafka."""
        return replace(self, tick=tick, kafka={"value": value}, sources=sources)
