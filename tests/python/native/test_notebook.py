"""The notebook runs from top to bottom; what a cell ends with is what a notebook would show."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).resolve().parents[3] / "docs" / "flights.ipynb"


def shown(cell: str, names: dict[str, Any]) -> Any:
    """Runs a cell; the value of its last expression, None where it ends with a statement."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


def test_the_notebook(capsys: pytest.CaptureFixture[str]) -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(not cell.get("outputs") for cell in notebook["cells"])  # what it shows is not kept, and so never old
    names: dict[str, Any] = {"__name__": "__main__"}
    flights, days, counters, busy, picture, nothing = [shown(cell, names) for cell in cells]
    assert flights == 336_776
    assert days["flights"].is_monotonic_decreasing
    assert (counters["records"], counters["null_keys"]) == (336_776, 2_512)
    assert sorted(busy["origin"]) == ["EWR", "JFK", "LGA"]
    assert "<svg" in picture._repr_svg_()
    assert nothing is None
    assert capsys.readouterr().out.startswith("tailnum 'N328AA' at 2013-01-0")
