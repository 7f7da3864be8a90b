"""Sends steps to executors.

Spark gets `shipped(step, ...)`, a function pickled by value with plain data in its closure. It imports windrow before
it calls the step, so an executor without windrow fails with a clear message. A step pickled by reference would already
fail while Spark unpickles it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from windrow._executor.batch import finished
from windrow._executor.batches import Batches
from windrow._executor.blocks import in_order
from windrow._executor.declared import checked
from windrow._executor.nullability import with_nullability
from windrow._native import __version__

_P = ParamSpec("_P")
_R = TypeVar("_R")


def remote(target: Callable[_P, _R], version: str = __version__) -> Callable[[], Callable[_P, _R]]:
    """A function that loads `target` from the executor's own windrow. It fails unless that has this `version`.

    It is pickled by value and keeps the module and name of the target. A reference would be resolved during unpickling.
    """
    module, name = target.__module__, target.__qualname__

    def load() -> Callable[_P, _R]:
        import importlib
        import socket
        import sys

        try:
            import windrow

            installed = getattr(windrow, "__version__", None)
            problem = f"has windrow {installed}, the driver has {version}" if installed != version else ""
            if installed is None:
                problem = f"has a folder named windrow, but not windrow {version}"
        except ImportError as error:
            problem = f"cannot import windrow {version} ({error})"
        if problem:
            raise RuntimeError(
                f"{sys.executable} on host {socket.gethostname()}, the Python of this executor, {problem}: install the "
                f"wheel of windrow {version} there, or set PYSPARK_PYTHON or spark.archives to an environment with it."
            )
        loaded: Callable[_P, _R] = getattr(importlib.import_module(module), name)
        importlib.import_module("windrow._folds.collector").keep_modules()
        return loaded

    return load


def shipped(
    step: Callable[..., Batches],
    *plan: Any,
    declared: bytes | None = None,
    order: Sequence[str] = (),
    finish: bytes | None = None,
    observed: Mapping[str, str] | None = None,
    broadcasts: tuple[Any, ...] = (),
    version: str = __version__,
) -> Callable[[Batches], Batches]:
    """A function for `mapInArrow` that runs a step of the executor's own windrow.

    Plans and the UI show its name, such as `windrow_pack`.

    Args:
        step: a function of batches and the plan, at the top level of its module.
        plan: plain data that the step takes.
        declared: the columns that the user declares for the batches, serialized.
        order: the columns by which the task sorts packed rows before the step; none if Spark has sorted them.
        finish: the pickled `Finish` of a query with computed columns.
        observed: the columns of observed counters in what the step returns, by counter.
        broadcasts: the broadcasts of the user's functions; Spark sends them because the closure refers to them.
        version: the version of windrow that the executor needs.
    """
    load, load_checked, load_in_order, load_finished = (
        remote(target, version) for target in (step, checked, in_order, finished)
    )

    def task(batches: Batches) -> Batches:
        _ = broadcasts
        if declared is not None:
            batches = load_checked()(batches, declared)
        if order:
            batches = load_in_order()(batches, order)
        done = load()(batches, *plan)
        return done if finish is None else load_finished()(done, finish, observed or {})

    task.__name__ = task.__qualname__ = f"windrow_{step.__name__}"
    return task


def returning(step: Callable[[Batches], Batches], output: bytes, version: str = __version__) -> Callable[..., Batches]:
    """The shipped step, with what the serialized columns `output` declare NOT NULL in its batches."""
    load = remote(with_nullability, version)

    def task(batches: Batches) -> Batches:
        return load()(step(batches), output)

    task.__name__ = task.__qualname__ = step.__name__
    return task
