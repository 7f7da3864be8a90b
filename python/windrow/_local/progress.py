"""Reports the progress of an in-process query, to a callback or a bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Protocol, Self

import pyarrow as pa

from windrow._executor.batches import stream_reader
from windrow._plan.plan import Callback, Plan

RECORDS, WINDOWS = "records", "windows"
"""The steps of a query: it reads records, then computes windows. Both count records."""

PARTS = 32
"""The core splits the keys into this many parts."""

_INTERVAL = 0.1
_ROWS = 1 << 18


class _Shown(Protocol):
    def __call__(self, step: str, done: int, total: int | None, /) -> object: ...
    def close(self) -> None: ...


class Progress:
    """The progress of one call. Reports at most ten times a second, and at the end of each step.

    Attributes:
        raised: the exception of the callback. Arrow passes on only its message, so the caller raises this one.
    """

    def __init__(self, show: Callback | bool) -> None:
        """Calls a callback, or shows a bar."""
        self._shown: _Shown = _bar() if isinstance(show, bool) else _Called(show)
        self._due = 0.0
        self._read = 0
        self.raised: BaseException | None = None

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        """Removes the bar."""
        self.close()

    def close(self) -> None:
        """Removes the bar."""
        self._shown.close()

    def reading(self, stream: Any, total: int | None) -> pa.RecordBatchReader:
        """The same rows, counted as they are read."""
        reader = stream_reader(stream)
        return pa.RecordBatchReader.from_batches(reader.schema, self._counted(reader, total))

    def parts(self, done: int) -> None:
        """Reports how many of the `PARTS` have their windows."""
        if done:
            self.made(self._read * done // PARTS)

    def made(self, records: int) -> None:
        """Reports how many records are in windows so far."""
        self._report(WINDOWS, min(records, self._read), self._read, end=False)

    def making(self, rows: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same rows, counted when each batch is done."""
        done = 0
        for batch in rows:
            yield batch
            done += batch.num_rows
            self.made(done)

    def merging(self, blocks: Iterator[pa.RecordBatch], total: int) -> Iterator[pa.RecordBatch]:
        """The same blocks, counted as their share of all records."""
        done = 0
        for batch in blocks:
            yield batch
            done += batch.num_rows
            self.made(self._read * done // total)

    def end(self) -> None:
        """Reports that all windows are done."""
        self._report(WINDOWS, self._read, self._read, end=True)

    def _counted(self, reader: pa.RecordBatchReader, total: int | None) -> Iterator[pa.RecordBatch]:
        for batch in reader:
            for start in range(0, batch.num_rows, _ROWS):
                piece = batch.slice(start, _ROWS)
                yield piece
                self._read += piece.num_rows
                self._report(RECORDS, self._read, total, end=False)
        self._report(RECORDS, self._read, self._read, end=True)

    def _report(self, step: str, done: int, total: int | None, *, end: bool) -> None:
        now = time.monotonic()
        if not end and now < self._due:
            return
        self._due = now + _INTERVAL
        try:
            self._shown(step, done, total)
        except BaseException as raised:
            self.raised = raised
            raise


class _Called:
    """A callback."""

    def __init__(self, callback: Callback) -> None:
        self._callback = callback

    def __call__(self, step: str, done: int, total: int | None, /) -> None:
        self._callback(step, done, total)

    def close(self) -> None:
        pass


class _Bars:
    """A tqdm bar for each step, in a notebook or a terminal."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._step, self._bar = "", None

    def __call__(self, step: str, done: int, total: int | None, /) -> None:
        if step != self._step:
            self.close()
            # disable=None: no bar if stderr is not a terminal
            self._step = step
            self._bar = self._make(total=total, desc=step, unit=" records", unit_scale=True, disable=None)
        bar: Any = self._bar
        bar.total = total
        bar.update(done - bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class _Line:
    """A line of text on stderr that updates in place, in a terminal."""

    def __init__(self) -> None:
        self._step = ""

    def __call__(self, step: str, done: int, total: int | None, /) -> None:
        if not sys.stderr.isatty():
            return
        if self._step not in ("", step):
            sys.stderr.write("\n")
        self._step = step
        of_all = f" of {total:,} ({100 * done // max(total, 1)} %)" if total is not None else ""
        sys.stderr.write(f"\r{step}: {done:,}{of_all}")
        sys.stderr.flush()

    def close(self) -> None:
        if self._step:
            sys.stderr.write("\n")
            sys.stderr.flush()


def _bar() -> _Shown:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    return _Bars(tqdm)


def progress_of(plan: Plan) -> AbstractContextManager[Progress | None]:
    """Shows the progress of a plan, if it asks for that."""
    show = plan.options.progress
    return Progress(show) if show else nullcontext()


def with_progress(plan: Plan, work: Callable[[Plan, Progress | None], Any]) -> Any:
    """The result of `work`, with its progress reported to the end."""
    with progress_of(plan) as progress:
        made = work(plan, progress)
        if progress is not None:
            progress.end()
        return made
