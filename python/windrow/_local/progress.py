"""The progress of a query in this process: a callback, or a bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Protocol, Self

import pyarrow as pa

from windrow._plan.plan import Callback

RECORDS, WINDOWS = "records", "windows"
"""The steps of a query: records are read, windows are made of them. Both are counted in records."""

PARTS = 32
"""The parts of the keys in which the core makes windows."""

_INTERVAL = 0.1
_ROWS = 1 << 18


class _Shown(Protocol):
    def __call__(self, step: str, done: int, total: int | None, /) -> object: ...
    def close(self) -> None: ...


class Progress:
    """The progress of one call: reported at most ten times a second, and at the end of each step.

    Attributes:
        raised: what the callback raised, so that it comes out as it is where Arrow passes on a message alone.
    """

    def __init__(self, show: Callback | bool) -> None:
        """Tells a callback, or shows a bar."""
        self._shown: _Shown = _bar() if isinstance(show, bool) else _Called(show)
        self._due = 0.0
        self._read = 0
        self.raised: BaseException | None = None

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        """Takes the bar away."""
        self.close()

    def close(self) -> None:
        """Takes the bar away."""
        self._shown.close()

    def reading(self, stream: Any, total: int | None) -> pa.RecordBatchReader:
        """A stream of the same rows, which are counted as they are read."""
        reader = pa.RecordBatchReader.from_stream(stream)
        return pa.RecordBatchReader.from_batches(reader.schema, self._told(reader, total))

    def parts(self, done: int) -> None:
        """Tells that windows are made of so many parts of all keys."""
        if done:
            self.made(self._read * done // PARTS)

    def made(self, records: int) -> None:
        """Tells of how many records windows are made."""
        self._tell(WINDOWS, min(records, self._read), self._read, end=False)

    def making(self, rows: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The same rows, which are counted when they are done."""
        done = 0
        for batch in rows:
            yield batch
            done += batch.num_rows
            self.made(done)

    def merging(self, blocks: Iterator[pa.RecordBatch], total: int) -> Iterator[pa.RecordBatch]:
        """The same blocks, which are counted as their part of all records."""
        done = 0
        for batch in blocks:
            yield batch
            done += batch.num_rows
            self.made(self._read * done // total)

    def end(self) -> None:
        """Tells that all windows are made."""
        self._tell(WINDOWS, self._read, self._read, end=True)

    def _told(self, reader: pa.RecordBatchReader, total: int | None) -> Iterator[pa.RecordBatch]:
        for batch in reader:
            for start in range(0, batch.num_rows, _ROWS):
                piece = batch.slice(start, _ROWS)
                yield piece
                self._read += piece.num_rows
                self._tell(RECORDS, self._read, total, end=False)
        self._tell(RECORDS, self._read, self._read, end=True)

    def _tell(self, step: str, done: int, total: int | None, *, end: bool) -> None:
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
    """A bar of tqdm for each step, in a notebook or a terminal."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._step, self._bar = "", None

    def __call__(self, step: str, done: int, total: int | None, /) -> None:
        if step != self._step:
            self.close()
            # None: not where stderr is no terminal
            self._step = step
            self._bar = self._make(total=total, desc=step, unit=" records", unit_scale=True, disable=None)
        bar: Any = self._bar
        bar.total = total
        bar.update(done - bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class _Line:
    """A line of text on stderr that is written again and again, in a terminal."""

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
