"""The steps of a batch query: `pack` before the shuffle, `merge` after it.

With Python functions the steps are `pack_rows` and `fold`, and blocks hold the records themselves.
"""

from __future__ import annotations

import itertools
import json
import pickle
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from windrow._aggregates.evaluation import Finish, Tally
from windrow._executor.batches import Batches, conformed, counters_alone, partition, read_schema, with_counters
from windrow._native import Operator, Packer, Query, SlidingFolds, Sorter

if TYPE_CHECKING:
    from windrow._folds.fold import Fold

_BLOCKS = 128
_EARLIEST = -(2**63)


def folds_in_order(spec: str, schema: pa.Schema, folds: list[Fold]) -> Operator | SlidingFolds:
    """The operator that computes a plan's windows from rows in time order, for `finals`. Raises as `Operator`."""
    plan = json.loads(spec)
    if plan["windows"]["kind"] != "sliding":
        return Operator(spec, schema, folds)
    inputs = plan["inputs"]
    return SlidingFolds(spec, schema, folds if inputs is None else [fold.of_inputs(inputs["column"]) for fold in folds])


def finished(batches: Batches, finish: bytes, observed: Mapping[str, str]) -> Batches:
    """Applies a pickled `Finish` to batches of the core's columns. Rows of the counters `observed` may follow."""
    step: Finish = pickle.loads(finish)
    for batch in step.batches(batches):
        output = batch.schema
        yield batch
    if step.tally.overflows:
        names = list(observed.values())
        columns = pa.schema([field for field in output if field.name not in names])
        yield from _overflows(step.tally.overflows, observed, columns)


def pack(batches: Batches, spec: str, schema: bytes, observed: tuple[str, ...]) -> Batches:
    """Packs records into rows of (shard, first time, block), and one row of counters if `observed`."""
    columns = read_schema(schema)
    return _packed(batches, Query(spec, columns).packer(partition()), columns, observed)


def pack_rows(batches: Batches, spec: str, schema: bytes, observed: tuple[str, ...]) -> Batches:
    """As `pack`, for a plan with Python functions. Blocks hold the records themselves."""
    columns = read_schema(schema)
    return _packed(batches, Query.of_rows(spec, columns).packer(partition()), columns, observed)


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
        yield with_counters(row, {name: counted.get(name, 0) for name in observed})


def merge(batches: Batches, spec: str, schema: bytes, observed: dict[str, str]) -> Batches:
    """Merges packed blocks of whole shards, in order, into windows. Rows of the counters `observed` follow."""
    plan, counted, tally = Query(spec, read_schema(schema)), list[pa.RecordBatch](), Tally()
    blank = dict.fromkeys(observed.values())
    for windows in merged(plan, _blocks(batches, observed, counted), tally):
        yield with_counters(windows, blank)
    for counters in counted:
        yield counters_alone(counters.select([*observed]), plan.output_schema, observed.values())
    yield from _overflows(tally.overflows, observed, plan.output_schema)


def merged(plan: Query, blocks: Batches, tally: Tally) -> Batches:
    """The windows of packed blocks of whole shards, in order. `tally` counts results that do not fit their type."""
    merger = plan.merger()
    for some in blocks:
        yield from merger.push(some)
    yield from merger.finish()
    tally.overflows += plan.overflows


def fold(batches: Batches, spec: str, schema: bytes, observed: dict[str, str], functions: tuple[bytes, ...]) -> Batches:
    """As `merge`, for blocks of `pack_rows`. `functions` are the pickled aggregates with Python functions."""
    columns = read_schema(schema)
    folds = [pickle.loads(function).fold(columns, kafka=False) for function in functions]
    counted, tally = list[pa.RecordBatch](), Tally()
    blank = dict.fromkeys(observed.values())
    for windows in folded(spec, columns, folds, _blocks(batches, observed, counted), tally):
        yield with_counters(windows, blank)
    output = folds_in_order(spec, columns, folds).output_schema
    for counters in counted:
        yield counters_alone(counters.select([*observed]), output, observed.values())
    yield from _overflows(tally.overflows, observed, output)


def folded(spec: str, schema: pa.Schema, folds: list[Fold], blocks: Batches, tally: Tally) -> Batches:
    """The windows that Python functions compute from packed rows of whole shards, in order. `tally` as in `merged`."""
    rows = sorted_rows(Query.of_rows(spec, schema).sorter(), blocks)
    for _, of_shard in itertools.groupby(rows, itemgetter(0)):
        fed = folds_in_order(spec, schema, folds)
        yield from finals(fed, map(itemgetter(1), of_shard))
        tally.overflows += fed.overflows


def finals(fed: Operator | SlidingFolds, rows: Iterable[pa.RecordBatch]) -> Batches:
    """Feeds rows in time order to a new operator of `folds_in_order`. Yields each window as soon as it is final."""
    schema = fed.output_schema

    def shown(changes: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(changes.columns[: len(schema)], schema=schema)

    for batch in rows:
        yield from map(shown, fed.push(batch))
    yield from map(shown, fed.finish())


def sorted_rows(sorter: Sorter, blocks: Batches) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows in blocks, with their shard, in time order."""
    for batch in blocks:
        # A batch of blocks may be much larger than the memory of a sorter.
        for start in range(0, batch.num_rows, _BLOCKS):
            yield from sorter.push(batch.slice(start, _BLOCKS))
    yield from sorter.finish()


def _overflows(count: int, observed: Mapping[str, str], output: pa.Schema) -> Batches:
    """A row of the counters `observed` with this count of results that do not fit their type; none for zero."""
    if count and observed:
        first = next(iter(observed))  # a row of counters has this one
        values: dict[str, int | None] = dict.fromkeys(observed) | {first: 0, "overflows": count}
        columns = [pa.array([value], pa.int64()) for value in values.values()]
        counters = pa.RecordBatch.from_arrays(columns, names=[*values])
        yield counters_alone(counters, output, observed.values())


def _blocks(batches: Batches, observed: Iterable[str], counted: list[pa.RecordBatch]) -> Batches:
    """The packed blocks. Rows of counters go to `counted`."""
    for batch in batches:
        blocks = batch
        if observed:
            is_counters = batch.column(next(iter(observed))).is_valid()
            counters = batch.filter(is_counters)
            if counters.num_rows:
                counted.append(counters)
                blocks = batch.filter(pc.invert(is_counters))
        yield blocks.select(["shard", "first", "block"])
