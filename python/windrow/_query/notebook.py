"""How notebooks show a query: as a table of its choices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from html import escape
from typing import Any


class ShownInNotebooks:
    """A query that notebooks show as a table: keys, time, windows, and options that differ from their defaults."""

    def _repr_html_(self) -> str:
        cells = (f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in _rows(self))
        return f"<table><caption>{type(self).__name__}: .agg(...) gives its rows</caption>{''.join(cells)}</table>"


def _rows(query: Any) -> Iterator[tuple[str, str]]:
    grouped, windows = getattr(query, "grouped", query), getattr(query, "windows", None)
    inputs = getattr(grouped, "inputs", None)
    if inputs is not None:
        yield "inputs", ", ".join(inputs)
    yield "keys", ", ".join(grouped.keys)
    yield "time", grouped.time if inputs is None else ", ".join(each.time for each in inputs.values())
    for name in ("end", "tick"):
        if inputs is None and getattr(grouped, name) is not None:
            yield name, getattr(grouped, name)
    if windows is not None:
        yield "windows", repr(windows)
        for option in fields(query.options):
            value = getattr(query.options, option.name)
            if value != option.default:
                yield option.name, str(value)
