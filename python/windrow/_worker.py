"""What runs on executors, and the only door to the core: nothing else imports `windrow._native`.

Executors get `shipped(...)`, a function that is pickled by value with plain data in its closure. It looks for windrow
before it uses it, so that an executor without it says so in words, where a function pickled by reference would fail
while it is unpickled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from windrow._native import Operator, Query
    from windrow.fold import Fold

Batches = Iterator[pa.RecordBatch]
"""What goes into and out of Spark's `mapInArrow`."""


def version() -> str:
    """The version of windrow that this Python has."""
    from windrow._native import __version__

    return __version__


def query(spec: str, schema: pa.Schema) -> Query:
    """The query of a plan over columns of these types, checked by the core: `TypeError` or `ValueError`."""
    from windrow._native import Query

    return Query(spec, schema)


def operator(spec: str, schema: pa.Schema, folds: list[Fold]) -> Operator:
    """The record-by-record operator of a plan, checked by the core: `TypeError` or `ValueError`."""
    from windrow._native import Operator

    return Operator(spec, schema, folds)


def shipped(step: str, expected: str, *plan: Any) -> Callable[[Batches], Batches]:
    """A function for `mapInArrow` that runs `pack` or `merge` of an executor's own windrow of version `expected`."""

    def task(batches: Batches) -> Batches:
        import importlib
        import socket
        import sys

        try:
            import windrow

            found = getattr(windrow, "__version__", None)
            problem = f"has windrow {found}, the driver has {expected}" if found != expected else ""
            if found is None:
                problem = f"has a folder named windrow, but not windrow {expected}"
        except ImportError as error:
            problem = f"cannot import windrow {expected} ({error})"
        if problem:
            raise RuntimeError(
                f"{sys.executable} on host {socket.gethostname()}, the Python of this executor, {problem}: install "
                f"windrow {expected} there, or set PYSPARK_PYTHON or spark.archives to an environment that has it."
            )
        # By name: a reference to this module would be resolved while the function is unpickled.
        run: Callable[..., Batches] = getattr(importlib.import_module("windrow._worker"), step)
        return run(batches, *plan)

    return task


def pack(batches: Batches, spec: str, schema: bytes, observed: tuple[str, ...]) -> Batches:
    """Records to packed blocks: rows of (shard, first time, block), and one row of counters when `observed`."""
    from pyspark import TaskContext

    columns = pa.ipc.read_schema(pa.py_buffer(schema))
    context = TaskContext.get()
    packer = query(spec, columns).packer(context.partitionId() if context is not None else 0)
    blank = dict.fromkeys(observed)
    for batch in batches:
        for packed in packer.push(_conformed(batch, columns)):
            yield _with_counters(packed, blank)
    for packed in packer.finish():
        yield _with_counters(packed, blank)
    if observed:
        counted = packer.counters()
        row = pa.RecordBatch.from_arrays(
            [pa.array([0], pa.int32()), pa.array([_EARLIEST], pa.int64()), pa.array([b""], pa.binary())],
            names=["shard", "first", "block"],
        )
        yield _with_counters(row, {name: counted[name] for name in observed})


def merge(batches: Batches, spec: str, schema: bytes, observed: tuple[str, ...], names: tuple[str, ...]) -> Batches:
    """Packed blocks of whole shards, in order, to windows; rows of counters go through under `names`."""
    plan = query(spec, pa.ipc.read_schema(pa.py_buffer(schema)))
    merger, output = plan.merger(), plan.output_schema
    blank = dict.fromkeys(names)
    for batch in batches:
        blocks = batch
        if observed:
            counted = batch.column(observed[0]).is_valid()
            counters = batch.filter(counted)
            if counters.num_rows:
                yield _counters_alone(counters, output, observed, names)
                blocks = batch.filter(pc.invert(counted))
        for rows in merger.push(blocks.select(["shard", "first", "block"])):
            yield _with_counters(rows, blank)
    for rows in merger.finish():
        yield _with_counters(rows, blank)


_EARLIEST = -(2**63)


def _conformed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    # Spark sends its session's zone and, when asked to, large strings; the plan knows one form of each type.
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _with_counters(batch: pa.RecordBatch, counters: dict[str, int | None]) -> pa.RecordBatch:
    if not counters:
        return batch
    added = [pa.array([value] * batch.num_rows, pa.int64()) for value in counters.values()]
    return pa.RecordBatch.from_arrays([*batch.columns, *added], names=[*batch.schema.names, *counters])


def _counters_alone(
    batch: pa.RecordBatch, output: pa.Schema, observed: tuple[str, ...], names: tuple[str, ...]
) -> pa.RecordBatch:
    blank = [pa.nulls(batch.num_rows, field.type) for field in output]
    return pa.RecordBatch.from_arrays(
        [*blank, *(batch.column(name) for name in observed)], names=[*output.names, *names]
    )
