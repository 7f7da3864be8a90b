"""Python's garbage collector, which looks for cycles whenever some hundred objects have been made."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_modules = 0
"""How many modules a worker of Spark had when they were last kept."""


@contextmanager
def paused() -> Iterator[None]:
    """Pauses it while many plain objects are made. None of them is in a cycle, so searching for cycles wastes time.

    >>> with paused():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def keep_modules() -> None:
    """Hides the loaded modules of a Spark worker from it, because PySpark collects after each task.

    Modules are never garbage, and a search through the modules of PySpark, pandas and Arrow takes longer than many
    tasks. It works again when modules have been loaded since, as most are by the end of a worker's first task. Outside
    a Spark task it does nothing.
    """
    global _modules  # noqa: PLW0603  a worker has its modules for as long as it lives
    from pyspark import TaskContext

    if len(sys.modules) > _modules and TaskContext.get() is not None:
        _modules = len(sys.modules)
        gc.collect()
        gc.freeze()
