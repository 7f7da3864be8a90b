"""PySpark's log of errors."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_LOCK = threading.Lock()
"""`PySparkLogger.getLogger` changes the logger class of the process for a moment."""


class _Thread(threading.local):
    is_silent = False


_THREAD = _Thread()


@contextmanager
def without_error_log() -> Iterator[None]:
    """Keeps errors of this thread out of PySpark's log. PySpark logs an error of Spark even if it is caught."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:  # PySpark 3.5 logs none
        yield
        return
    with _LOCK:
        for name in _LOGGERS:
            PySparkLogger.getLogger(name).addFilter(_is_logged)  # a logger takes a filter only once
    before, _THREAD.is_silent = _THREAD.is_silent, True
    try:
        yield
    finally:
        _THREAD.is_silent = before


def _is_logged(_: logging.LogRecord) -> bool:
    return not _THREAD.is_silent
