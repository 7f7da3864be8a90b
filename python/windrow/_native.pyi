"""The binding to the core. Private packages of windrow import it.

Arrow data goes over by the PyCapsule interface and is not copied. While the core works, other threads of Python run;
not so while it calls Python functions. Long work on the main thread hears signals: what a handler raises, such as
`KeyboardInterrupt`, ends it within a fraction of a second. An object is at work on one call at a time: another thread
waits, and an `Operator` refuses (`ValueError`).

Errors, whatever the call:

| exception | what happened |
|---|---|
| `TypeError` | a column has a type that is not allowed; the message names it and says what is allowed |
| `ValueError` | an argument, a record or saved bytes are not what is allowed |
| `OverflowError` | a result, or a bound of a window, does not fit its type |
| `MemoryError` | the allocator refuses what is asked for, or lists would take more than `memory` |
| `RuntimeError` | a function of the user raised, which is the cause; or Arrow failed, or windrow has a bug |
| what the handler raised | a signal's handler raised, as that of Ctrl-C does |

A `spec` is the JSON of `windrow._plan.plan.Plan`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, final

import pyarrow as pa

from windrow._folds.fold import Fold

__all__ = [
    "Merger",
    "Operator",
    "Packer",
    "Query",
    "RowColumns",
    "ShardSessions",
    "SlidingFolds",
    "Sorter",
    "__version__",
    "compares",
    "decode_changes",
    "decode_page",
    "encode_changes",
    "encode_page",
    "groupable",
    "shard_keys",
]

__version__: str
"""The version of the core, which is that of the package."""

def compares(function: str, column: int) -> bool:
    """Whether an aggregate compares the values of its column at this position; `ValueError` for an unknown one."""

def decode_changes(block: bytes) -> pa.RecordBatch:
    """The changes of a block of `encode_changes`; `ValueError` for anything else."""

def decode_page(text: str) -> bytes:
    """The page that `encode_page` made a text of; `ValueError` for any other text."""

def encode_changes(changes: pa.RecordBatch) -> list[bytes]:
    """Changes as blocks of at most 256 KiB, or of so many bytes of values, or of one row: Arrow IPC streams."""

def encode_page(page: bytes) -> str:
    """A page as text of ASCII, eight characters for seven bytes."""

def groupable(data_type: pa.DataType) -> bool:
    """Whether a column of this type can be a key; `ValueError` for no Arrow type."""

@final
class RowColumns:
    """The columns of `windows`, at least one batch, for the rows `of_row` of `Query.run_over`: batch after batch."""

    def __new__(
        cls, windows: list[pa.RecordBatch], of_row: pa.RecordBatch, memory: int | None = ..., threads: int | None = ...
    ) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> pa.RecordBatch: ...
    def read_all(self, threads: int | None = None) -> list[pa.RecordBatch]:
        """All batches, made at once."""

def shard_keys(shards: int) -> list[int]:
    """What Spark knows shards by: its hash of each key is the number of the shard."""

_Progress = Sequence[tuple[int, int, int]]

class _ArrowStream(Protocol):
    """What gives record batches: a table, a reader, and so on."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...

@final
class Query:
    """A plan over columns of certain types, checked."""

    def __new__(cls, spec: str, schema: pa.Schema, memory: int | None = None) -> Query:
        """The query of a plan.

        Args:
            spec: the plan.
            schema: the columns that the plan reads, and their types.
            memory: how many bytes the lists of overlapping windows may take; None for any number.

        Raises:
            TypeError: a key, time or aggregate over a column of a type that it is not defined for.
            ValueError: no such JSON, a column that `schema` lacks, or a length that the time column cannot count.
        """
    @staticmethod
    def of_rows(spec: str, schema: pa.Schema) -> Query:
        """The rows that a plan reads, in order of time; aggregates may be of Python functions. Raises as `Query`."""
    @property
    def output_schema(self) -> pa.Schema:
        """The result: the keys, `window` (a struct of `start` and `end`, of the time column's type), the aggregates,
        and `op` (a string) where the plan asks for it. For rows: the columns of the input.
        """
    @property
    def overlapping_lists(self) -> list[str]:
        """The aggregates whose results are lists, by name, where windows overlap; else none."""
    @staticmethod
    def with_rows(spec: str, schema: pa.Schema, memory: int | None = None) -> Query:
        """The query for windows and for the window of each row: `run_over`. Raises what `Query` raises."""
    @staticmethod
    def over(spec: str, schema: pa.Schema) -> Query:
        """The query for rows, each with its window: `packer`, `merger`. Raises what `Query` raises."""
    def run_over(
        self, reader: _ArrowStream, threads: int | None = None, progress: Callable[[int], object] | None = None
    ) -> tuple[list[pa.RecordBatch], pa.RecordBatch, dict[str, int]]:
        """The windows, the position among them of each row's window (null for none), and the counters."""
    def run(
        self, reader: _ArrowStream, threads: int | None = None, progress: Callable[[int], object] | None = None
    ) -> tuple[list[pa.RecordBatch], dict[str, int]]:
        """All windows, or rows in the order of time, of everything that a reader gives.

        Args:
            reader: batches that have the columns that the plan reads, by name.
            threads: how many threads work; None for one a core.
            progress: is told some ten times a second how many of 32 parts of the keys have given their windows.

        Returns:
            Batches of `output_schema`, in no particular order of windows, and the counters `records`, `null_keys`,
            `null_times`, `bad_gaps`, `clamped_gaps` and `ticks`.

        Raises:
            ValueError: `threads` is zero, a column is missing, or a record is refused (by `invalid_gap="error"`).
            OverflowError: a result or a bound does not fit its type, or more rows than the core numbers.
        """
    def packer(self, partition: int) -> Packer:
        """A packer for the records of one partition, 0 to 2**32 - 1; by it, records of equal times keep one order."""
    def merger(self) -> Merger:
        """A merger of what packers of this query gave."""
    def sorter(self) -> Sorter:
        """A sorter of what packers of this query gave, for a query of rows."""

@final
class Packer:
    """Records to packed blocks, before a shuffle."""

    def push(self, batch: pa.RecordBatch, packers: int = 1) -> list[pa.RecordBatch]:
        """Takes records, in the columns of the schema; so many packers share the memory in which records wait.

        Returns:
            Blocks when enough have come together: rows of `shard` (int32), `first` (int64, the earliest time in the
            block, in ticks) and `block` (binary).
        """
    def finish(self) -> list[pa.RecordBatch]:
        """Packs what there is; in the form of `push`."""
    def counters(self) -> dict[str, int]:
        """What was counted so far, under the names that `Query.run` has."""
    def latest(self) -> list[int | None]:
        """The largest time of the records of each input so far, in ticks of the time column; None before the first."""

@final
class Merger:
    """Packed blocks to windows, after a shuffle."""

    def push(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Takes blocks: whole shards, one after the other, each in the order of `first`.

        Returns:
            The windows that no later block can change, as batches of the query's `output_schema`.

        Raises:
            ValueError: blocks out of order, or that are not of this query.
        """
    def finish(self) -> list[pa.RecordBatch]:
        """All windows that remain; in the form of `push`."""

@final
class Sorter:
    """Packed blocks to the rows that are in them, after a shuffle."""

    def push(self, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
        """Takes blocks as `Merger.push` does; gives rows that no later one comes before, in order, with their shard."""
    def finish(self) -> list[tuple[int, pa.RecordBatch]]:
        """All rows that remain; in the form of `push`."""

@final
class SlidingFolds:
    """Rows in the order of time to sliding windows with Python functions; there is no going on after an error."""

    def __new__(cls, spec: str, schema: pa.Schema, folds: Sequence[Fold]) -> SlidingFolds:
        """No rows yet: as `Operator`, of a plan over sliding windows and folds that each have one function to add."""
    @property
    def output_schema(self) -> pa.Schema:
        """As `Operator.output_schema`."""
    def push(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Takes rows, none before one that came earlier; gives the windows that no later row changes. `RuntimeError`,
        where a Python function raised, names it, the record and the window.
        """
    def finish(self) -> list[pa.RecordBatch]:
        """All windows that remain; as `push`."""

@final
class Operator:
    """The windows of a stream, record by record, with Python functions among its aggregates where `folds` has some.

    After an error of `push`, `finish` or `restore` there is no going on: a new operator is restored from saved pages.
    """

    def __new__(cls, spec: str, schema: pa.Schema, folds: Sequence[Fold] = ...) -> Operator:
        """An operator that has seen no record.

        Args:
            spec: the plan.
            schema: the columns that the plan reads, and their types.
            folds: the functions of each Python aggregate of the plan, in its order.

        Raises:
            TypeError, ValueError: as `Query`; or more or fewer folds than the plan has Python aggregates.
        """
    @property
    def change_schema(self) -> pa.Schema:
        """What `push` gives: the keys, `window`, the aggregates, `op` and `time`."""
    @property
    def output_schema(self) -> pa.Schema:
        """What a query of the plan gives: the keys, `window`, the aggregates, and `op` where the plan asks for it."""
    @property
    def stream_time(self) -> int | None:
        """Stream time in ticks, the smallest over all inputs; None before the first record. Raises as `counters`."""
    @property
    def source_times(self) -> list[tuple[int, int, int]]:
        """The largest time of each known source: the number of its input, its own (0 without `sources` in the plan),
        and ticks of the time column. Raises as `counters`.
        """
    def sort_keys(self, keys: pa.RecordBatch) -> list[bytes | None]:
        """The bytes by which keys are ordered, for each row of the key columns; None where all of them are null."""
    def push(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Takes records in their order, in the columns of the schema.

        Returns:
            The changes, in their order, as `change_schema` has them: one batch, or several where they do not fit one.
            `op` is `upsert`, `delete` (aggregates are null) or `late` (a late record alone); `time` is a session's end,
            or the largest time of a window's records.

        Raises:
            RuntimeError: a Python function raised; the message names it, the record and the window.
        """
    def push_micro_batch(
        self, batch: pa.RecordBatch, progress: _Progress, times: pa.RecordBatch | None = None
    ) -> list[pa.RecordBatch]:
        """Takes the records of a micro-batch, then moves stream time and closes windows: the changes, as of `push`.

        Args:
            batch: the records, in the columns of the schema.
            progress: what the records and ticks of all shards have reached in the micro-batch: input (0 where there is
                one), source (numbered by the caller), largest time in ticks of the time column.
            times: None to judge all records by the stream time before this call; else, parallel to the records and in
                the order of their source, an int64 column for each input with its largest time so far, null for none.

        Raises:
            ValueError: `times` that do not go with the batch or are missing where each record's changes are asked for,
                or progress of no input. Else what `push` raises.
        """
    def push_over(
        self, batch: pa.RecordBatch, progress: _Progress, times: pa.RecordBatch | None = None
    ) -> list[pa.RecordBatch]:
        """As `push_micro_batch`, of a plan over sliding windows whose records come back (`"over"`).

        Gives `window` and the aggregates of each record, in order and in some batches; null for one that is late or
        left out. Without `times` they are those after all records of the batch, else those right after the record.
        """
    def finish(self) -> list[pa.RecordBatch]:
        """The input has ended: the changes that make all windows final, in the form of `push`."""
    def counters(self) -> dict[str, int]:
        """What `Query.run` counts, `late`, `windows_refused`, `late_emitted`, `null_values`, `bad_ticks`, `updates`,
        `windows_closed`, and how many windows are open (`windows_open`). `ValueError` after a `restore` that failed.
        """
    def select(
        self,
        first: pa.RecordBatch | None,
        last: pa.RecordBatch | None,
        start: int | None,
        end: int | None,
        *,
        by: str = "bounds",
        backward: bool = False,
    ) -> list[pa.RecordBatch]:
        """The visible windows between two keys and two times.

        Args:
            first: the first key, one row of the key columns; None for an open side.
            last: the last key, in the same form.
            start: ticks. Of sessions the earliest end; of sliding windows the earliest start.
            end: ticks. The latest start.
            by: what the times are. `"bounds"`: as above; `"window"`: the start and end of the window itself; `"due"`:
                the first and last time at which windows of all keys are due (sessions: their end and gap).
            backward: in reverse.

        Returns:
            The keys, `window`, the aggregates and `time`, by key, then end and start; by `"due"` time goes first. One
            batch, or several where they do not fit one.
        """
    def pages(self) -> list[bytes]:
        """The whole state as pages. What `changed_pages` gives does not change by it."""
    def changed_pages(self) -> list[tuple[str, bytes | None]]:
        """The pages that have changed since this was last called, or since `restore`: by name, None for one that is no
        more. Applied to those before they are the same state as `pages`.
        """
    def restore(self, pages: Sequence[bytes]) -> None:
        """Goes on from saved pages, in any order, before any record; `ValueError`: damaged, missing, another plan's."""
    def touched(
        self, head: bytes, keys: pa.RecordBatch, progress: _Progress, times: pa.RecordBatch | None = None
    ) -> list[str] | None:
        """The pages of a saved state that a micro-batch needs by its key columns, `progress` and `times`: those of its
        keys, and those in which a window closes or leaves. None for all, where the state has other segments or parts.

        `ValueError` for a damaged head, one of another plan, progress of no input, an operator that has seen records.
        """
    def restore_touched(self, pages: Sequence[bytes]) -> None:
        """The head and the pages that `touched` named, for this micro-batch and its `changed_pages`; as `restore`."""
    def restore_part(self, pages: Sequence[bytes]) -> None:
        """Reads the head and some of the pages of a saved state, for `select` alone; raises as `restore`."""

@final
class ShardSessions:
    """The sessions of a shard: in close mode they are joined when they close, in update mode at once. A micro-batch is
    a `push`, which tells which pages of the state it needs, and a `finish` with these.
    """

    def __new__(cls, spec: str, schema: pa.Schema, shard: int) -> ShardSessions:
        """No sessions yet.

        Args:
            spec: the plan: sessions of built-in aggregates, late records dropped, closed sessions not kept.
            schema: the columns that the plan reads, and their types.
            shard: the number of the shard.

        Raises:
            TypeError, ValueError: as `Query`; another plan.
        """
    def restore(self, head: bytes) -> None:
        """Goes on from a saved head, also an `Operator`'s; `ValueError` for a damaged one, or of another plan."""
    def push(self, packed: pa.RecordBatch, progress: _Progress) -> list[str]:
        """Takes the packed blocks, in any order, of partial sessions with the number of their records.

        Args:
            packed: the blocks; `ValueError` for damaged ones, or those of another query.
            progress: how far sources have come: the input (0), the number of the source, ticks of the time column.

        Returns:
            The names of the pages that `finish` needs.
        """
    def finish(self, pages: Sequence[bytes]) -> tuple[list[pa.RecordBatch], list[tuple[str, bytes | None]]]:
        """Joins sessions and closes those that are due; `pages` are those that `push` has named, in any order.

        Returns:
            Finals, as `Query.output_schema` has them, or changes, as `Operator.schema`; the changed pages, as
            `Operator.changed_pages`.

        Raises:
            ValueError: damaged pages, and others than those.
            OverflowError: a result that does not fit its type.
        """
    @property
    def stream_time(self) -> int | None:
        """Stream time in ticks of the time column; None before the first record."""
    def counters(self) -> dict[str, int]:
        """As `Operator.counters`; `windows_open` counts each part of a session that is stored in parts."""
