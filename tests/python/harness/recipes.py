"""The recipes of how-to guides: what a page defines, without what it runs."""

from __future__ import annotations

import ast
from typing import Any

from ..test_docs import ROOT, examples


def program(page: str, *runs: str) -> dict[str, Any]:
    """The names that a page defines. A block ends where it calls one of the functions `runs`."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in examples(ROOT / "docs" / "how-to" / page):
        definitions = block.code
        for run in runs:
            definitions = definitions.partition(f"\n\n\n{run}(")[0]
        exec(definitions, names)
    return names


def assigned(page: str, name: str) -> str:
    """A text that a page assigns to a name, without a run of the page."""
    for block in examples(ROOT / "docs" / "how-to" / page):
        for statement in ast.parse(block.code).body:
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name:
                return str(ast.literal_eval(statement.value))
    raise LookupError(f"{page} does not assign {name}")
