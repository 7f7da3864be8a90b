"""Spark's two steps of a batch without Spark: blocks of some splits, sorted and merged by shard."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa

from windrow._executor.batch import fold
from windrow._native import Operator, Query
from windrow._plan.plan import Plan

from .tables import cut


def blocks(query: Any, table: pa.Table, cuts: list[int]) -> pa.Table | None:
    """What the first step makes of the splits of a table, sorted as Spark sorts it."""
    packed = []
    for split, rows in enumerate(cut(table, cuts)):
        packer = query.packer(split)
        packed += [*packer.push(rows), *packer.finish()]
    if not packed:
        return None
    return pa.Table.from_batches(packed).sort_by([("shard", "ascending"), ("first", "ascending")])


def merged(query: Any, packed: pa.Table | None) -> pa.Table:
    merger = query.merger()
    some = [] if packed is None else [one for batch in packed.to_batches(7) for one in merger.push(batch)]
    return pa.Table.from_batches([windows for _, windows in [*some, *merger.finish()]], query.output_schema)


def after_a_shuffle(plan: Plan, table: pa.Table, cuts: list[int]) -> pa.Table:
    query = Query(plan.spec.text, plan.schema)
    answer = merged(query, blocks(query, table.select(plan.schema.names), cuts))
    if plan.finish is None:
        return answer
    finish = plan.finish.typed(answer.schema)
    return pa.Table.from_batches(finish.batches(iter(answer.to_batches())), finish.schema(answer.schema))


def folded_after_a_shuffle(plan: Plan, table: pa.Table, cuts: list[int]) -> pa.Table:
    packed = blocks(Query.of_rows(plan.spec.in_order.text, plan.schema), table.select(plan.schema.names), cuts)
    functions = tuple(pickle.dumps(function) for function in plan.functions.values())
    schema = plan.schema.serialize().to_pybytes()
    found = fold(iter(packed.to_batches(3) if packed else []), plan.spec.in_order.text, schema, {}, functions)
    return pa.Table.from_batches(
        list(found), Operator(plan.spec.in_order.text, plan.schema, plan.folds()).output_schema
    )
