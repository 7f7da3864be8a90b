"""The Python binding of the Rust core. Only windrow's own packages import it.

Arrow data crosses through the PyCapsule interface without a copy. Other Python threads run while the core works, except
while it calls Python functions. Long work on the main thread checks for signals: an exception of a signal handler, such
as `KeyboardInterrupt`, ends the work within a fraction of a second. An object serves one call at a time: another thread
waits, but an `Operator` raises `ValueError`.

Errors of all calls:

| exception | what happened |
|---|---|
| `TypeError` | a column has a type that is not allowed; the message names it and says what is allowed |
| `ValueError` | an argument, a record or saved bytes are not allowed |
| `OverflowError` | a result or a window bound does not fit its type |
| `MemoryError` | the allocator is out of memory, or lists would take more than `memory` |
| `RuntimeError` | a user's function raised (its exception is the cause), Arrow failed, or windrow has a bug |

A `spec` is the text of a `windrow._plan.spec.Spec`.
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
    "__version__",
    "change_clock",
    "compares",
    "decode_changes",
    "decode_page",
    "encode_changes",
    "encode_page",
    "groupable",
    "join_clocks",
    "read_clock",
    "shard_keys",
    "sort_keys",
    "tally_open",
]

__version__: str

def compares(function: str, column: int) -> bool:
    """Whether a function compares the values of its column at this position. `ValueError` for an unknown function."""

def decode_changes(block: bytes) -> pa.RecordBatch:
    """The changes in a block of `encode_changes`. `ValueError` for anything else."""

def decode_page(text: str) -> bytes:
    """The page in a text of `encode_page`. `ValueError` for any other text."""

def encode_changes(changes: pa.RecordBatch) -> list[bytes]:
    """Changes as Arrow IPC streams: at most 256 KiB each encoded, or 256 KiB of values, or a single row."""

def encode_page(page: bytes) -> str:
    """A page as ASCII text, eight characters for seven bytes."""

def groupable(data_type: pa.DataType) -> bool:
    """Whether a column of this type can be a key. `ValueError` if it is not an Arrow type."""

@final
class RowColumns:
    """The columns of `windows`, one batch at least, for the rows of `of_row`; `positions` differ within a window."""

    def __new__(
        cls,
        windows: list[pa.RecordBatch],
        of_row: pa.RecordBatch,
        memory: int | None = ...,
        threads: int | None = ...,
        positions: list[str] = ...,
    ) -> Self: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> pa.RecordBatch: ...
    def read_all(self, threads: int | None = None) -> list[pa.RecordBatch]:
        """All batches at once."""

def change_clock(clock: bytes, to: int | None = None, without: tuple[int, int] = ...) -> bytes:
    """The clock row at another time, or of a table without some rows: their number and the sum of their checksums."""

def join_clocks(clocks: Sequence[bytes]) -> tuple[bytes, int]:
    """The clock row of a table whose shards have these, and its time."""

def read_clock(clock: bytes) -> str:
    """A clock row as JSON. `ValueError`."""

def tally_open(states: pa.RecordBatch) -> tuple[list[int], int, int, tuple[int, str] | None]:
    """Of states: places of clock rows, number and checksum of the others, the first bad row and why."""

def sort_keys(keys: pa.RecordBatch) -> list[bytes | None]:
    """The bytes of each row's key, the same for equal keys; None where all columns are null."""

def shard_keys(shards: int) -> list[int]:
    """The grouping keys of shards in Spark: Spark's hash of each key is the shard number."""

_Clock = tuple[bytes, int | None]
_Open = tuple[list[pa.RecordBatch], bytes]
_Progress = Sequence[tuple[int, int, int]]  # the input, the number of the source, and ticks

class _ArrowStream(Protocol):
    """A source of record batches: a table, a reader and so on."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any: ...

@final
class Query:
    """A checked plan over typed columns."""

    def __new__(cls, spec: str, schema: pa.Schema, memory: int | None = None) -> Query:
        """The query of a plan over the columns of `schema`. `memory`: most bytes of lists of overlapping windows.

        Raises:
            TypeError: a key, time or aggregate does not support the type of its column.
            ValueError: the JSON is not a plan, `schema` lacks a column, or the time column cannot count a length.
        """
    @staticmethod
    def of_rows(spec: str, schema: pa.Schema) -> Query:
        """The query for the plan's input rows in time order. Allows Python aggregates. Raises as `Query`."""
    @property
    def output_schema(self) -> pa.Schema:
        """The result: keys, `window` (a struct of times), aggregates, `op` if planned. Of a query of rows: its rows."""
    @property
    def overflows(self) -> int:
        """How many results were null so far because they did not fit their type, over all runs and mergers."""
    @property
    def overlapping_lists(self) -> list[str]:
        """The names of aggregates with list results if windows overlap, else empty."""
    @staticmethod
    def with_rows(spec: str, schema: pa.Schema, memory: int | None = None) -> Query:
        """The query for windows and the window of each row, with `run_with_rows`. Raises as `Query`."""
    @staticmethod
    def rows_with_windows(spec: str, schema: pa.Schema) -> Query:
        """The query for rows with their windows, with `packer` and `merger`. Raises as `Query`."""
    def run_with_rows(
        self, reader: _ArrowStream, threads: int | None = None, progress: Callable[[int], object] | None = None
    ) -> tuple[list[pa.RecordBatch], pa.RecordBatch, dict[str, int]]:
        """The windows; each row's window among them (null: none) and place in it if asked; the counters."""
    def run(
        self, reader: _ArrowStream, threads: int | None = None, progress: Callable[[int], object] | None = None
    ) -> tuple[list[pa.RecordBatch], dict[str, int]]:
        """All windows of a reader's rows, or its rows in time order.

        Args:
            reader: batches with the columns that the plan reads, by name.
            threads: the number of threads; None for one per core.
            progress: called about ten times a second with the number of finished parts of the keys, of 32.

        Returns:
            Batches of `output_schema`, with windows in no particular order, and the counters `records`, `null_keys`,
            `null_times`, `null_ties`, `bad_gaps`, `bad_ends`, `clamped_gaps` and `ticks`.

        Raises:
            ValueError: `threads` is zero, a column is missing, or a record is refused (`invalid_gap`, `invalid_end`).
            OverflowError: a result or bound does not fit its type, or there are more rows than the core can number.
        """
    def faults(self, batch: pa.RecordBatch) -> pa.StringArray:
        """Why each row is in no window, whatever its time: `null_key` and so on. Null for other rows and for ticks."""
    def packer(self, partition: int) -> Packer:
        """A packer for the records of a partition, 0 to 2**32 - 1. The number orders records of equal times."""
    def merger(self) -> Merger:
        """A merger for blocks from packers of this query."""

@final
class Packer:
    """Packs records into blocks, before a shuffle."""

    def push(self, batch: pa.RecordBatch, packers: int = 1) -> list[pa.RecordBatch]:
        """Takes records, in the columns of the schema. `packers` packers share the memory for waiting records.

        Returns:
            Blocks once there are enough records: rows of `shard` (int32), `first` (int64, the earliest time in the
            block, in ticks) and `block` (binary).
        """
    def finish(self) -> list[pa.RecordBatch]:
        """Packs the remaining records. Returns blocks as `push`."""
    def counters(self) -> dict[str, int]:
        """The counters so far, with the names of `Query.run`."""
    def latest(self) -> list[int | None]:
        """The largest record time of each input so far, in units of the time column; None before the first record."""

@final
class Merger:
    """Merges packed blocks into windows, or into rows in time order, after a shuffle."""

    def push(self, batch: pa.RecordBatch) -> list[tuple[int, pa.RecordBatch]]:
        """Takes blocks: whole shards, one after the other, each in the order of `first`.

        Returns:
            The windows that no later block can change, as batches of the query's `output_schema`, with their shard.
            Of a query of rows: the rows that precede all later rows, in order.

        Raises:
            ValueError: blocks are out of order or belong to another query.
        """
    def finish(self) -> list[tuple[int, pa.RecordBatch]]:
        """The remaining windows or rows, as `push`."""

@final
class SlidingFolds:
    """Computes sliding windows with Python functions from rows in time order. Unusable after an error."""

    def __new__(cls, spec: str, schema: pa.Schema, folds: Sequence[Fold]) -> SlidingFolds:
        """As `Operator`, for a plan over sliding windows. Each fold has one function to add a value."""
    @property
    def output_schema(self) -> pa.Schema:
        """As `Operator.output_schema`."""
    @property
    def overflows(self) -> int:
        """How many results were null so far because they did not fit their type."""
    def push(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Takes rows in time order. Returns the windows that no later row can change. Raises as `Operator.push`."""
    def finish(self) -> list[pa.RecordBatch]:
        """The remaining windows, as `push`."""

@final
class Operator:
    """The windows of a stream, record by record. `folds` are its Python aggregates.

    After an error of `push`, `finish` or `restore` an operator is unusable. Restore a new one from saved pages.
    """

    def __new__(cls, spec: str, schema: pa.Schema, folds: Sequence[Fold] = ...) -> Operator:
        """An operator that has seen no record.

        Args:
            spec: the plan.
            schema: the columns that the plan reads, with their types.
            folds: the functions of the plan's Python aggregates, in order.

        Raises:
            TypeError, ValueError: as `Query`; or the number of folds differs from the number of Python aggregates.
        """
    @property
    def change_schema(self) -> pa.Schema:
        """The columns of `push`: the keys, `window`, the aggregates, `op` and `time`."""
    @property
    def output_schema(self) -> pa.Schema:
        """The columns of a query of the plan: the keys, `window`, the aggregates, and `op` if the plan has it."""
    @property
    def overflows(self) -> int:
        """The counter `overflows`. Raises as `counters`."""
    @property
    def stream_time(self) -> int | None:
        """Stream time in ticks, the smallest of all inputs; None before the first record. Raises as `counters`."""
    @property
    def source_times(self) -> list[tuple[int, int, int]]:
        """The largest time of each known source: input, source (0 without `sources`), ticks. Raises as `counters`."""
    def push(self, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Takes records in order, in the columns of the schema.

        Returns:
            The changes in order, with the columns of `change_schema`: one batch, or several if one is too small.
            `op` is `upsert`, `delete` (aggregates are null) or `late` (a late record alone). `time` is a session's end,
            or the largest time of a window's records.

        Raises:
            RuntimeError: a Python function raised; the message names the function, the record and the window.
        """
    def push_micro_batch(
        self, batch: pa.RecordBatch, progress: _Progress, times: pa.RecordBatch | None = None
    ) -> list[pa.RecordBatch]:
        """Takes the records of a micro-batch, moves stream time and closes windows. Returns changes as `push`.

        Args:
            batch: the records, in the columns of the schema.
            progress: the times that records and ticks of all shards have reached in the micro-batch: input (0 if there
                is one), source (numbered by the caller) and largest time in units of the time column.
            times: None judges all records by the stream time before this call. Otherwise a row for each record, in the
                order of its source, with an int64 column for each input: its largest time so far, or null.

        Raises:
            ValueError: `times` do not match the batch, are missing for a plan that emits each record's changes, or
                `progress` names an unknown input. Also as `push`.
        """
    def push_returned_records(
        self, batch: pa.RecordBatch, progress: _Progress, times: pa.RecordBatch | None = None
    ) -> list[pa.RecordBatch]:
        """As `push_micro_batch`, for a plan over sliding windows that returns records (`"over"`).

        Returns `window` and the aggregates of each record, in order, in one or more batches; null for a late record or
        one left out. Without `times` the values are those after the whole batch, else those right after the record.
        """
    def left_out(self) -> pa.RecordBatch | None:
        """Once: `row`, `reason`, `late_by` and `stream_time` (ticks) of the last batch's records in no window."""
    def finish(self) -> list[pa.RecordBatch]:
        """Ends the input. Returns the changes that make all windows final, as `push`."""
    def counters(self) -> dict[str, int]:
        """The counters of `Query.run` and of a stream; `windows_open` is now. `ValueError` after a failed restore."""
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
            first: the first key, as one row of the key columns; None for no bound.
            last: the last key, in the same form.
            start: the earliest end of sessions, or the earliest start of sliding windows, in ticks.
            end: the latest start, in ticks.
            by: the meaning of the times. `"bounds"`: as above. `"window"`: the window's own start and end. `"due"`:
                the first and last time at which windows of all keys are due (sessions: their end and gap).
            backward: whether to reverse the order.

        Returns:
            The keys, `window`, the aggregates and `time`, ordered by key, end and start; `"due"` orders by time first.
            One batch, or several if one is too small.
        """
    def pages(self) -> list[bytes]:
        """The whole state as pages. Does not affect `changed_pages`."""
    def changed_pages(self) -> list[tuple[str, bytes | None]]:
        """The pages changed since the last call or `restore`, by name; None for a deleted page."""
    def restore(self, pages: Sequence[bytes]) -> None:
        """Loads saved pages, in any order, before any record. `ValueError`: damaged or missing pages, another plan."""
    def resume_open(
        self, clock: _Clock, tally: tuple[int, int], rows: Sequence[pa.RecordBatch], by_source: bool = ...
    ) -> tuple[int, int]:
        """Loads open windows with one time, or that of each source. Returns the time and the number of their run."""
    def open_windows(self, to: int | None, batch: int, sources: Sequence[str] = ...) -> _Open:
        """The windows to keep after the run up to `to`, or else up to its own time, and their clock row."""
    def touched(
        self, head: bytes, keys: pa.RecordBatch, progress: _Progress, times: pa.RecordBatch | None = None
    ) -> list[str] | None:
        """The pages of a saved state that a micro-batch needs: those of its keys, and those in which a window closes or
        leaves. None means all. `ValueError`: a damaged head or another plan, an unknown input, a used operator.
        """
    def restore_touched(self, pages: Sequence[bytes]) -> list[str]:
        """As `restore`, for one micro-batch: the head and the pages from `touched`, then the pages that it returns."""
    def restore_part(self, pages: Sequence[bytes]) -> None:
        """Loads the head and some pages of a saved state, only for `select`. Raises as `restore`."""

@final
class ShardSessions:
    """The sessions of a shard. Close mode merges sessions when they close, update mode at once. A micro-batch is a
    `push`, which returns the names of the pages it needs, and a `finish` with these pages.
    """

    def __new__(cls, spec: str, schema: pa.Schema, shard: int) -> ShardSessions:
        """No sessions yet.

        Args:
            spec: a plan of sessions with built-in aggregates that drops late records and has no retention.
            schema: the columns that the plan reads, with their types.
            shard: the number of the shard.

        Raises:
            TypeError, ValueError: as `Query`; or the plan is of another kind.
        """
    def restore(self, head: bytes) -> None:
        """Loads a saved head, of this class or `Operator`. `ValueError` if it is damaged or of another plan."""
    def push(self, packed: pa.RecordBatch, progress: _Progress) -> list[str]:
        """Takes partial sessions with record counts, packed in any order. Returns the pages that `finish` needs."""
    def push_records(self, records: pa.RecordBatch, progress: _Progress) -> list[str]:
        """As `push`, for records that have a key, a time, a tie and a gap."""
    def push_records_in_time(self, packed: pa.RecordBatch, progress: _Progress) -> list[str] | None:
        """As `push_records`, packed in any order. Takes none and returns None if one may be late or order matters."""
    def left_out(self) -> pa.RecordBatch | None:
        """The late records of the last `push_records`, as `Operator.left_out`; None if there are none."""
    def finish(self, pages: Sequence[bytes]) -> tuple[list[pa.RecordBatch], list[tuple[str, bytes | None]]]:
        """Merges sessions and closes due ones. `pages` are those that `push` named, in any order.

        Returns:
            Finals with the columns of `Query.output_schema`, or changes with those of `Operator.change_schema`; and
            the changed pages, as `Operator.changed_pages`.

        Raises:
            ValueError: pages are damaged, or are not the named ones.
            OverflowError: a result does not fit its type.
        """
    @property
    def stream_time(self) -> int | None:
        """Stream time in units of the time column; None before the first record."""
    def counters(self) -> dict[str, int]:
        """As `Operator.counters`. If a session is stored in parts, `windows_open` counts each part."""
