"""The steps of a batch query: `pack` before the shuffle, `merge` after it.

With Python functions the steps are `pack_rows` and `fold`, and blocks hold the records themselves.
"""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow._aggregates.evaluation import Finish, Tally
from windrow._executor.batches import Batches, conformed, counters_alone, partition, read_schema, with_counters
from windrow._executor.left_out import LeftOutRows
from windrow._executor.stream.change_block import rows_of
from windrow._native import Operator, Query, SlidingFolds, shard_keys
from windrow._plan.plan import Plan
from windrow._plan.spec import Spec

if TYPE_CHECKING:
    from windrow._folds.fold import Fold

LEFT_OUT_BLOCKS = "windrow_left_out"
"""The column with blocks of records in no window, if the query returns them. Their other columns are empty."""

_BLOCKS = 128
EARLIEST = -(2**63)
"""The time of packed rows without records, which come first."""


def folds_in_order(spec: Spec, schema: pa.Schema, folds: list[Fold]) -> Operator | SlidingFolds:
    """The operator for the windows of a plan over rows in time order, for `final_windows`. Raises as `Operator`."""
    if spec.is_session:
        return Operator(spec.text, schema, folds)
    return SlidingFolds(spec.text, schema, folds if spec.input is None else [f.of_inputs(spec.input) for f in folds])


def query_of(plan: Plan) -> Query | Operator | SlidingFolds:
    """What computes the windows of a batch. Raises `TypeError` for columns whose types the aggregates refuse."""
    if plan.functions:
        return folds_in_order(plan.spec.in_order, plan.schema, plan.folds())
    return Query(plan.spec.text, plan.schema)


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
    return _packed(batches, spec, schema, observed, Query)


def pack_rows(batches: Batches, spec: str, schema: bytes, observed: tuple[str, ...]) -> Batches:
    """As `pack`, for a plan with Python functions. Blocks hold the records themselves."""
    return _packed(batches, spec, schema, observed, Query.of_rows)


def _packed(
    batches: Batches, text: str, schema: bytes, observed: tuple[str, ...], query: Callable[[str, pa.Schema], Query]
) -> Batches:
    spec, columns = Spec.of(text), read_schema(schema)
    blank, left_out = dict.fromkeys(observed), LeftOutRows.of(spec, columns)
    packer = query(text, columns if left_out is None else left_out.window_columns).packer(partition())

    def row(shard: int, counters: Mapping[str, int | None], block: bytes | None = None) -> pa.RecordBatch:
        """A row without a block."""
        columns: list[Any] = [pa.array([shard], pa.int32()), pa.array([EARLIEST], pa.int64())]
        columns.append(pa.array([b""], pa.binary()))
        return whole(pa.RecordBatch.from_arrays(columns, names=["shard", "first", "block"]), counters, block)

    def whole(packed: pa.RecordBatch, counters: Mapping[str, int | None], block: bytes | None = None) -> pa.RecordBatch:
        counted = with_counters(packed, counters)
        if left_out is None:
            return counted
        added = pa.array([block] * packed.num_rows, pa.binary())
        return pa.RecordBatch.from_arrays([*counted.columns, added], names=[*counted.schema.names, LEFT_OUT_BLOCKS])

    for batch in batches:
        records = conformed(batch, columns)
        if left_out is not None:
            keys = shard_keys(spec.shards)
            yield from (row(keys[partition() % len(keys)], blank, block) for block in left_out.blocks(records))
            records = records.select(left_out.window_columns.names)
        yield from (whole(packed, blank) for packed in packer.push(records))
    yield from (whole(packed, blank) for packed in packer.finish())
    if observed:
        counted = packer.counters()
        yield row(0, {name: counted.get(name, 0) for name in observed})


def merge(batches: Batches, spec: str, schema: bytes, observed: dict[str, str]) -> Batches:
    """Merges packed blocks of whole shards, in order, into windows. Rows of the counters `observed` follow."""
    columns, packed = read_schema(schema), _PackedRows(batches, observed)
    plan = Query(spec, columns)
    windows = merged(plan, packed.blocks(), packed.tally)
    yield from _result(windows, plan.output_schema, LeftOutRows.of(Spec.of(spec), columns), packed)


def merged(plan: Query, blocks: Batches, tally: Tally) -> Batches:
    """The windows of packed blocks of whole shards, in order. `tally` counts results that do not fit their type."""
    yield from map(itemgetter(1), merged_by_shard(plan, blocks))
    tally.overflows += plan.overflows


def fold(batches: Batches, spec: str, schema: bytes, observed: dict[str, str], functions: tuple[bytes, ...]) -> Batches:
    """As `merge`, for blocks of `pack_rows`. `functions` are the pickled aggregates with Python functions."""
    columns, plan = read_schema(schema), Spec.of(spec)
    left_out = LeftOutRows.of(plan, columns)
    of_windows = columns if left_out is None else left_out.window_columns
    folds = [pickle.loads(function).fold(of_windows, kafka=False) for function in functions]
    packed = _PackedRows(batches, observed)
    windows = folded(plan, of_windows, folds, packed.blocks(), packed.tally)
    yield from _result(windows, folds_in_order(plan, of_windows, folds).output_schema, left_out, packed)


def folded(spec: Spec, schema: pa.Schema, folds: list[Fold], blocks: Batches, tally: Tally) -> Batches:
    """The windows that Python functions compute from packed rows of whole shards, in order. `tally` as in `merged`."""
    rows = merged_by_shard(Query.of_rows(spec.text, schema), blocks)
    for _, of_shard in itertools.groupby(rows, itemgetter(0)):
        operator = folds_in_order(spec, schema, folds)
        yield from final_windows(operator, map(itemgetter(1), of_shard))
        tally.overflows += operator.overflows


def final_windows(operator: Operator | SlidingFolds, rows: Iterable[pa.RecordBatch]) -> Batches:
    """Feeds rows in time order to a new operator of `folds_in_order`. Yields each window as soon as it is final."""
    schema = operator.output_schema

    def of_output(changes: pa.RecordBatch) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(changes.columns[: len(schema)], schema=schema)

    for batch in rows:
        yield from map(of_output, operator.push(batch))
    yield from map(of_output, operator.finish())


def merged_by_shard(plan: Query, blocks: Batches) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The windows of packed blocks with their shard. Of a query of rows: the rows in blocks, in time order."""
    merger = plan.merger()
    for some in _cut(blocks):
        yield from merger.push(some)
    yield from merger.finish()


def _cut(blocks: Batches) -> Batches:
    """Slices of a few blocks. A batch of Spark may have 10,000 blocks, and their windows take much more memory."""
    for batch in blocks:
        for start in range(0, batch.num_rows, _BLOCKS):
            yield batch.slice(start, _BLOCKS)


def _overflows(count: int, observed: Mapping[str, str], output: pa.Schema) -> Batches:
    """A row of the counters `observed` with this count of results that do not fit their type; none for zero."""
    if count and observed:
        first = next(iter(observed))  # a row of counters has this one
        values: dict[str, int | None] = dict.fromkeys(observed) | {first: 0, "overflows": count}
        columns = [pa.array([value], pa.int64()) for value in values.values()]
        counters = pa.RecordBatch.from_arrays(columns, names=[*values])
        yield counters_alone(counters, output, observed.values())


class _PackedRows:
    """The packed rows of whole shards: blocks, counters, and records in no window."""

    def __init__(self, batches: Batches, observed: Mapping[str, str]) -> None:
        """`observed` are the columns of counters in the result, by counter."""
        self.tally = Tally()
        self._batches = batches
        self.observed = observed
        self.counted: list[pa.RecordBatch] = []
        self.left_out: list[pa.RecordBatch] = []

    def blocks(self) -> Batches:
        """The blocks. The other rows wait."""
        counter = next(iter(self.observed), None)
        for batch in self._batches:
            blocks = batch
            for name, kept in ((counter, self.counted), (LEFT_OUT_BLOCKS, self.left_out)):
                if name in batch.schema.names:
                    is_other = blocks.column(name).is_valid()
                    others = blocks.filter(is_other)
                    if others.num_rows:
                        kept.append(others)
                        blocks = blocks.filter(pc.invert(is_other))
            yield blocks.select(["shard", "first", "block"])


def _result(windows: Batches, core: pa.Schema, left_out: LeftOutRows | None, packed: _PackedRows) -> Batches:
    """The rows of a result. Rows of the counters follow."""
    output = core if left_out is None else left_out.output(core)
    if left_out is not None:
        # The rows of records are complete only after all windows have been read.
        of_blocks = (batch.select([LEFT_OUT_BLOCKS]) for batch in packed.left_out)
        windows = left_out.joined(windows, rows_of(of_blocks), output)
    blank = dict.fromkeys(packed.observed.values())
    yield from (with_counters(batch, blank) for batch in windows)
    for counters in packed.counted:
        yield counters_alone(counters.select([*packed.observed]), output, packed.observed.values())
    yield from _overflows(packed.tally.overflows, packed.observed, output)
