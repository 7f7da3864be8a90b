"""PySpark's log of errors."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_LOCK = threading.Lock()
"""`PySparkLogger.getLogger` changes the logger class of the process for a moment."""


@contextmanager
def without_error_log() -> Iterator[None]:
    """Keeps errors of this thread out of PySpark's log. PySpark logs an error of Spark even if it is caught."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:  # PySpark 3.5 logs none
        yield
        return
    own = threading.get_ident()

    def is_of_another_thread(record: logging.LogRecord) -> bool:
        return record.thread != own

    with _LOCK:
        loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(is_of_another_thread)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_of_another_thread)
