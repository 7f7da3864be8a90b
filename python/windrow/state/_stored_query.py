"""The query of a state, as its shards have written it."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from windrow._arguments.nested import nulls
from windrow._executor.stream.index import Index
from windrow._folds.fold import Fold
from windrow._native import Operator, Query, shard_keys
from windrow._plan.plan import SERIES
from windrow._plan.spec import Spec
from windrow._windows.session_rules import has_rules


@dataclass(frozen=True)
class StoredQuery:
    """The query of a state.

    Attributes:
        spec: the plan of a shard's operator.
        read: the columns that the stream reads, with the source columns.
        schema: the columns of the plan.
        accumulators: the columns of Python functions, and their types.
        result: the columns of the open windows, as Spark's JSON.
    """

    spec: Spec
    read: pa.Schema
    schema: pa.Schema
    accumulators: pa.Schema
    result: str

    @classmethod
    def open(cls, text: str) -> StoredQuery:
        """Reads what a shard has written; `ValueError` for anything else."""
        try:
            fields = json.loads(text)
            read, accumulators = (
                pa.ipc.read_schema(pa.py_buffer(base64.b64decode(fields[name]))) for name in ("schema", "accumulators")
            )
            plan = pa.schema(list(read)[: fields["columns"]])
            stored = cls(Spec(**fields["spec"]), read, plan, accumulators, fields["result"])
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise ValueError(f"state: its query cannot be read ({error!r}): it is damaged") from None
        if stored.spec.over:
            raise ValueError(
                "state: got a query of with_columns over sliding windows; allowed: a query whose windows stay open "
                "(this one stores the times of records, and each record gets its window at once)"
            )
        if has_rules(stored.spec.windows):
            raise ValueError(
                "state: got a query of sessions with rules; allowed: a query of other windows (with rules, some "
                "records wait and belong to no session yet)"
            )
        return stored

    @property
    def keys(self) -> list[pa.Field[Any]]:
        """The key columns."""
        return [self.schema.field(name) for name in self.spec.keys]

    @property
    def is_series(self) -> bool:
        """Whether the query has no keys."""
        return list(self.spec.keys) == [SERIES]

    @property
    def time(self) -> Any:
        """The type of the time column."""
        return self.schema.field(self.spec.time).type

    @property
    def is_in_parts(self) -> bool:
        """Whether sessions may be stored in parts, each in the segment of its own reach."""
        return self.spec.is_session and self.spec.emit == "close"

    def operator(self, pages: Sequence[bytes], *, is_part: bool = False) -> Operator:
        """The operator of a state, for queries only: it has no Python functions, so it takes no records."""
        operator = Operator(self.spec.of_state.text, self.schema, self.folds)
        if is_part:
            operator.restore_part(pages)
        else:
            operator.restore(pages)
        return operator

    def result_rows(self, operator: Operator, windows: pa.RecordBatch, source: dict[str, Any]) -> pa.RecordBatch:
        """Selected windows with the source columns and stream time, named as in the result."""
        count = windows.num_rows
        columns = windows.columns[:-1]  # the last one is the largest time of the records
        columns = columns[1:] if self.is_series else columns
        for name, value in source.items():
            columns.append(pa.array([value] * count, self.read.field(name).type))
        columns.append(pa.array([operator.stream_time] * count, pa.int64()).cast(self.time))
        return pa.RecordBatch.from_arrays(columns, names=self.names)

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns of the result."""
        return [field["name"] for field in json.loads(self.result)["fields"]]

    def source(self, index: Index, number: int) -> dict[str, Any]:
        """The source of an operator, for the columns of the result; none where sources share their windows."""
        if index.stream_time != "source" or not index.source:
            return {}
        values = zip(index.source, index.sources[number], strict=True)
        return {name: value for name, value in values if name not in self.spec.keys}

    @cached_property
    def folds(self) -> list[Fold]:
        """Placeholders for the Python functions. They take no records."""
        adds = (_kept,) * self.spec.input_count
        return [Fold(field.type, _nothing, adds, _kept, _no_rows) for field in self.accumulators]

    def place(self, key: pa.RecordBatch) -> tuple[int, str]:
        """The value by which Spark finds the shard of a key, and its sort key in hexadecimal digits.

        The core knows both for a record of the key: where it is packed to, and between which keys its page is.
        """
        record = self._record(key)
        packer = Query.of_rows(self.spec.text, self.schema).packer(0)
        blocks = [*packer.push(record), *packer.finish()]
        if not blocks:  # a key that is a gap too, and not a good one: it has no windows
            return shard_keys(1)[0], ""
        shard: int = blocks[0].column("shard")[0].as_py()
        counted = self.spec.with_only({"name": "windrow.count", "function": "count"})
        operator = Operator(counted.text, self.schema, [])
        operator.push(record)
        bounds = (pa.ipc.open_stream(page).schema.metadata or {} for page in operator.pages())
        return shard, next(
            metadata[b"windrow.first_key"] for metadata in bounds if b"windrow.first_key" in metadata
        ).decode()

    def _record(self, key: pa.RecordBatch) -> pa.RecordBatch:
        """A record of a key at time 0, null where a query does not ask for a value."""
        numbers = {self.spec.time: 0, self.spec.end: 0, self.spec.gap: 1, self.spec.input: 0}
        columns = []
        for field in self.schema:
            if field.name in key.schema.names:
                columns.append(key.column(field.name))
            elif field.name in numbers:
                columns.append(pa.array([numbers[field.name]], pa.int64()).cast(field.type))
            else:
                columns.append(nulls(1, field.type))
        return pa.RecordBatch.from_arrays(
            columns, schema=pa.schema([field.with_nullable(True) for field in self.schema])
        )


def _nothing() -> None:
    """The accumulator of no records."""


def _kept(value: Any, _: Any) -> Any:
    return value


def _no_rows(_: pa.RecordBatch) -> list[Any]:
    return []
