"""What runs on executors, and the only door to the core: nothing else imports `windrow._native`.

Executors get `shipped(...)`, a function that is pickled by value with plain data in its closure. It looks for windrow
before it uses it, so that an executor without it says so in words, where a function pickled by reference would fail
while it is unpickled.
"""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from windrow._native import Operator, Packer, Query, RowColumns, ShardSessions, SlidingFolds, Sorter
    from windrow.functions.fold import Fold

Batches = Iterator[pa.RecordBatch]
"""What goes into and out of Spark's `mapInArrow`."""


def version() -> str:
    """The version of windrow that this Python has."""
    from windrow._native import __version__

    return __version__


def groupable(kind: pa.DataType) -> bool:
    """Whether a column of this type can be a key."""
    from windrow._native import groupable

    return groupable(kind)


def aggregate_functions() -> tuple[str, ...]:
    """The names of the built-in aggregates."""
    from windrow._native import aggregate_functions

    return tuple(aggregate_functions())


def compares(function: str, column: int) -> bool:
    """Whether the values of a column of an aggregate of the core, by its place, are compared with each other."""
    from windrow._native import compares

    return compares(function, column)


def encode_page(page: bytes) -> str:
    """A page as text."""
    from windrow._native import encode_page

    return encode_page(page)


def decode_page(text: str) -> bytes:
    """The page of a text; `ValueError` for a text of none."""
    from windrow._native import decode_page

    return decode_page(text)


def encode_changes(changes: pa.RecordBatch) -> list[bytes]:
    """Changes as blocks."""
    from windrow._native import encode_changes

    return encode_changes(changes)


def decode_changes(block: bytes) -> pa.RecordBatch:
    """The changes of a block; `ValueError` for bytes of none."""
    from windrow._native import decode_changes

    return decode_changes(block)


def query(spec: str, schema: pa.Schema, memory: int | None = None) -> Query:
    """The query of a plan over columns of these types, checked by the core: `TypeError` or `ValueError`.

    `memory` is how many bytes lists of overlapping windows may take.
    """
    from windrow._native import Query

    return Query(spec, schema, memory)


def rows_query(spec: str, schema: pa.Schema) -> Query:
    """The query for the rows of a plan, as they are and in the order of time; its aggregates do not count."""
    from windrow._native import Query

    return Query.of_rows(spec, schema)


def row_windows_query(spec: str, schema: pa.Schema, memory: int | None) -> Query:
    """The query for the windows of a plan and for the window of each row: `Query.run_over`; `memory` as in `query`."""
    from windrow._native import Query

    return Query.with_rows(spec, schema, memory)


def row_columns(
    windows: list[pa.RecordBatch], of_row: pa.RecordBatch, memory: int | None = None, threads: int | None = 1
) -> RowColumns:
    """The columns of windows for rows, in batches; `of_row` has the position of each row's window, null for none.

    `memory` is how many bytes they may take where lists or texts are among them; `threads` None means one a core.
    """
    from windrow._native import RowColumns

    return RowColumns(windows, of_row, memory, threads)


def over_query(spec: str, schema: pa.Schema) -> Query:
    """The query for the rows of a plan, each with its window: its packer and its merger."""
    from windrow._native import Query

    return Query.over(spec, schema)


def operator(spec: str, schema: pa.Schema, folds: list[Fold]) -> Operator:
    """The record-by-record operator of a plan, checked by the core: `TypeError` or `ValueError`."""
    from windrow._native import Operator

    return Operator(spec, schema, folds)


def folds_in_order(spec: str, schema: pa.Schema, folds: list[Fold]) -> Operator | SlidingFolds:
    """What makes a plan's windows of rows in the order of time, for `finals`; checked by the core as `operator`."""
    from windrow._native import SlidingFolds

    asked = json.loads(spec)
    if asked["windows"]["kind"] != "sliding":
        return operator(spec, schema, folds)
    inputs = asked["inputs"]
    return SlidingFolds(spec, schema, folds if inputs is None else [fold.of_inputs(inputs["column"]) for fold in folds])


def shard_sessions(spec: str, schema: pa.Schema, shard: int) -> ShardSessions:
    """The sessions of a shard, checked by the core: `TypeError` or `ValueError`."""
    from windrow._native import ShardSessions

    return ShardSessions(spec, schema, shard)


def shard_keys(shards: int) -> list[int]:
    """What Spark knows shards by, in the order of their numbers: in turn they go to Spark's partitions."""
    from windrow._native import shard_keys

    return shard_keys(shards)


def loader(expected: str) -> Callable[[str], Any]:
    """A function that imports a module of an executor's own windrow, by name, where that has version `expected`.

    It is pickled by value, with what it is called from: a reference would be resolved while that is unpickled.
    """

    def load(module: str) -> Any:
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
        loaded = importlib.import_module(module)
        importlib.import_module("windrow.collector").keep_modules()
        return loaded

    return load


def shipped(
    step: str,
    expected: str,
    *plan: Any,
    module: str = "windrow._worker",
    finish: bytes | None = None,
    held: tuple[Any, ...] = (),
) -> Callable[[Batches], Batches]:
    """A function for `mapInArrow` that runs a step, of that name, of an executor's own windrow.

    `finish` is the pickled `Finish` of what the step gives, of a query with computed columns. It holds the broadcasts
    `held`, so that Spark sends their values with it.
    """
    load = loader(expected)

    def task(batches: Batches) -> Batches:
        _ = held
        run: Callable[..., Batches] = getattr(load(module), step)
        done = run(batches, *plan)
        return done if finish is None else load("windrow._worker").finished(done, finish)

    return task


def finished(batches: Batches, finish: bytes) -> Batches:
    """Batches of the core's columns, with what a pickled `Finish` computes of them."""
    done: Batches = pickle.loads(finish).batches(batches)
    return done


def pack(batches: Batches, spec: str, schema: bytes, observed: tuple[str, ...]) -> Batches:
    """Records to packed blocks: rows of (shard, first time, block), and one row of counters when `observed`."""
    columns = read_schema(schema)
    return _packed(batches, query(spec, columns).packer(partition()), columns, observed)


def pack_rows(batches: Batches, spec: str, schema: bytes, observed: tuple[str, ...]) -> Batches:
    """The same as `pack` for a plan with Python functions: its blocks hold the records as they are."""
    columns = read_schema(schema)
    return _packed(batches, rows_query(spec, columns).packer(partition()), columns, observed)


def partition() -> int:
    """The number of the partition that a task of Spark works on; 0 outside of one."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _packed(batches: Batches, packer: Packer, columns: pa.Schema, observed: tuple[str, ...]) -> Batches:
    blank = dict.fromkeys(observed)
    for batch in batches:
        for packed in packer.push(conformed(batch, columns)):
            yield with_counters(packed, blank)
    for packed in packer.finish():
        yield with_counters(packed, blank)
    if observed:
        counted = packer.counters()
        row = pa.RecordBatch.from_arrays(
            [pa.array([0], pa.int32()), pa.array([_EARLIEST], pa.int64()), pa.array([b""], pa.binary())],
            names=["shard", "first", "block"],
        )
        yield with_counters(row, {name: counted[name] for name in observed})


def merge(batches: Batches, spec: str, schema: bytes, observed: dict[str, str]) -> Batches:
    """Packed blocks of whole shards, in order, to windows; rows of the counters `observed` follow under their names."""
    plan, counted = query(spec, read_schema(schema)), list[pa.RecordBatch]()
    blank = dict.fromkeys(observed.values())
    for windows in merged(plan, _blocks(batches, observed, counted)):
        yield with_counters(windows, blank)
    for counters in counted:
        yield counters_alone(counters.select([*observed]), plan.output_schema, observed.values())


def merged(plan: Query, blocks: Batches) -> Batches:
    """What a query makes of packed blocks of whole shards, in order."""
    merger = plan.merger()
    for some in blocks:
        yield from merger.push(some)
    yield from merger.finish()


def fold(batches: Batches, spec: str, schema: bytes, observed: dict[str, str], functions: tuple[bytes, ...]) -> Batches:
    """The same as `merge` for what `pack_rows` packed; `functions` are the aggregates that hold them, pickled."""
    columns = read_schema(schema)
    folds = [pickle.loads(function).fold(columns, kafka=False) for function in functions]
    counted = list[pa.RecordBatch]()
    blank = dict.fromkeys(observed.values())
    for windows in folded(spec, columns, folds, _blocks(batches, observed, counted)):
        yield with_counters(windows, blank)
    output = folds_in_order(spec, columns, folds).output_schema
    for counters in counted:
        yield counters_alone(counters.select([*observed]), output, observed.values())


def folded(spec: str, schema: pa.Schema, folds: list[Fold], blocks: Batches) -> Batches:
    """What Python functions make of packed rows of whole shards, in order."""
    rows = sorted_rows(rows_query(spec, schema).sorter(), blocks)
    for _, of_shard in itertools.groupby(rows, itemgetter(0)):
        yield from finals(folds_in_order(spec, schema, folds), map(itemgetter(1), of_shard))


def finals(fed: Operator | SlidingFolds, rows: Iterable[pa.RecordBatch]) -> Batches:
    """The windows that new `folds_in_order` make of rows in the order of time, each as soon as it is final."""
    schema = fed.output_schema

    def shown(changes: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(changes.columns[: len(schema)], schema=schema)

    for batch in rows:
        yield from map(shown, fed.push(batch))
    yield from map(shown, fed.finish())


def sorted_rows(sorter: Sorter, blocks: Batches) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows that are in blocks, with their shard, in the order of time."""
    for batch in blocks:
        # A batch of blocks may be much larger than what a sorter holds.
        for start in range(0, batch.num_rows, _BLOCKS):
            yield from sorter.push(batch.slice(start, _BLOCKS))
    yield from sorter.finish()


def _blocks(batches: Batches, observed: Iterable[str], counted: list[pa.RecordBatch]) -> Batches:
    """Packed rows; rows of counters go to `counted`."""
    for batch in batches:
        blocks = batch
        if observed:
            is_counters = batch.column(next(iter(observed))).is_valid()
            counters = batch.filter(is_counters)
            if counters.num_rows:
                counted.append(counters)
                blocks = batch.filter(pc.invert(is_counters))
        yield blocks.select(["shard", "first", "block"])


def read_schema(serialized: bytes) -> pa.Schema:
    """A schema as it travels."""
    return pa.ipc.read_schema(pa.py_buffer(serialized))


_BLOCKS = 128
_EARLIEST = -(2**63)


def conformed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch of Spark in the columns of a plan."""
    # Spark sends its session's zone and, when asked to, large strings; the plan knows one form of each type.
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def no_rows(schema: pa.Schema) -> pa.RecordBatch:
    """A batch without rows, of columns of any type."""
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def with_counters(batch: pa.RecordBatch, counters: Mapping[str, int | None]) -> pa.RecordBatch:
    """A batch, and these counters in each of its rows."""
    if not counters:
        return batch
    added = [pa.array([value] * batch.num_rows, pa.int64()) for value in counters.values()]
    return pa.RecordBatch.from_arrays([*batch.columns, *added], names=[*batch.schema.names, *counters])


def counters_alone(counters: pa.RecordBatch, output: pa.Schema, names: Iterable[str]) -> pa.RecordBatch:
    """Rows of counters, under these names, that are null in the columns of a result."""
    blank = [pa.nulls(counters.num_rows, field.type) for field in output]
    return pa.RecordBatch.from_arrays([*blank, *counters.columns], names=[*output.names, *names])
