"""The book of cases as JSON lines, for programs without Python.

`python -m tests.python.harness.book_lines` writes `tests/cases/book.jsonl` anew.

| field | what |
|---|---|
| `rules`, `name` | of the case |
| `why` | why the core cannot play it alone; then the line ends here |
| `spec` | the query as the core reads it |
| `columns` | the names and types of the columns of rows |
| `batch` | whether the rows are those of a batch; otherwise each step is a micro-batch |
| `steps` | `rows`, and what they give: `op`, key, start, end, values by name. `finish` closes all windows |
| `counters` | some counters in the end |

Times and lengths are microseconds.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.testing._definition import plan_of

from ...cases.book import CASES
from ...cases.case import Case
from ...cases.drawing import Step
from .ways import data_of, micros, plan_table, wanted

FILE = Path(__file__).resolve().parents[2] / "cases" / "book.jsonl"
TYPES = {
    pa.string(): "string",
    pa.timestamp("us"): "time",
    pa.duration("us"): "length",
    pa.bool_(): "truth",
    pa.int64(): "integer",
    pa.int32(): "small",
    pa.float64(): "float",
}


def why(case: Case) -> str | None:
    """Why the core cannot play a case alone, if it cannot."""
    query = case.query
    if case.runs:
        return "`advance` keeps the table of open windows in Python"
    if query.group.get("source") and not is_batch(case):
        return "a driver has an operator for each source"
    if query.left_out:
        return "rows of records in no window are put together in Python"
    if query.max_ahead is not None:
        return "the clock is in Python"
    if query.returns_records:
        return "records come back with columns that are joined in Python"
    if plan_of_batch(case).finish is not None:
        return "columns are computed from its results in Python"
    if plan_of_batch(case).functions:
        return "its functions are in Python"
    return None if is_batch(case) else case.cannot.get("driver")


def is_batch(case: Case) -> bool:
    return case.is_timeline and "in_process" not in case.cannot


def plan_of_batch(case: Case) -> Any:
    return case.query.windowed(data_of(case.query, []))._plan(case.query.aggregates)


def plan_of_stream(case: Case) -> Any:
    plan = plan_of(case.query.definition(), case.query.schemas)
    return replace(plan, windows=plan.windows._on_stream(plan.schema.field(plan.time)))


def line(case: Case) -> str:
    """A case as a line."""
    told: dict[str, Any] = {"rules": case.rules, "name": case.name}
    reason = why(case)
    if reason is not None:
        return json.dumps(told | {"why": reason}, ensure_ascii=False)
    query = case.query
    plan = plan_of_batch(case) if is_batch(case) else plan_of_stream(case)
    schema = plan.schema if plan.tick in plan.schema.names else plan.schema.append(pa.field(plan.tick, pa.bool_()))
    steps = case.steps
    if is_batch(case):
        steps = (Step(tuple(case.records), tuple(case.windows)),)

    def shown(step: Step) -> dict[str, Any]:
        table = plan_table(query, plan, schema.names, step.rows)
        rows = [list(row) for row in zip(*map(plain, table.columns), strict=True)]
        gives = [
            [op, key, micros(start), micros(end), values]
            for op, key, start, end, values in wanted(step.gives, query, on_stream=not is_batch(case))
        ]
        return {"rows": rows, "gives": gives, "finish": step.finishes}

    told |= {"spec": plan.spec.fields, "columns": [[field.name, TYPES[field.type]] for field in schema]}
    told |= {"batch": is_batch(case), "steps": list(map(shown, steps)), "counters": dict(case.counters)}
    return json.dumps(told, ensure_ascii=False)


def plain(column: pa.ChunkedArray) -> list[Any]:
    return (column.cast(pa.int64()) if pa.types.is_temporal(column.type) else column).to_pylist()


def text() -> str:
    """The whole book."""
    return "".join(f"{line(case)}\n" for case in CASES)


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
