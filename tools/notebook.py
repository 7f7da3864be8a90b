"""Runs docs/flights.ipynb and stores its outputs. Part of `make pictures`; a test compares the outputs."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parent.parent / "docs" / "flights.ipynb"
FORMS = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def run(notebook: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """The notebook with the outputs of its cells, and the value of each cell's last expression (or None)."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells, values = list[dict[str, Any]](), list[Any]()
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            value, printed = shown("".join(cell["source"]), names)
            values.append(value)
            outputs = outputs_of(value, printed, len(values))
            cells.append(cell | {"execution_count": len(values), "outputs": outputs})
        else:
            cells.append(cell)
    return notebook | {"cells": cells}, values


def shown(code: str, names: dict[str, Any]) -> tuple[Any, str]:
    """The value of a cell's last expression (None for a statement), and the printed text."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None
    return value, printed.getvalue()


def outputs_of(value: Any, printed: str, count: int) -> list[dict[str, Any]]:
    """The outputs of a cell in notebook format."""
    outputs = list[dict[str, Any]]()
    if printed:
        outputs.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if value is not None:
        data = {form: getattr(value, method)() for form, method in FORMS.items() if hasattr(value, method)}
        if "image/svg+xml" not in data:  # the repr of a picture contains its address
            data["text/plain"] = repr(value)
        data = {form: text.splitlines(keepends=True) for form, text in data.items()}
        outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def text_of(notebook: dict[str, Any]) -> str:
    """The text of the file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    NOTEBOOK.write_text(text_of(run(json.loads(NOTEBOOK.read_text(encoding="utf-8")))[0]), encoding="utf-8")
