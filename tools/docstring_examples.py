"""A griffe extension for the site that turns docstring examples (`>>>`) into code blocks."""

from __future__ import annotations

from typing import Any

import griffe


class Examples(griffe.Extension):
    """Puts a fence around each example, from `>>>` to the next empty line."""

    def on_object(self, *, obj: griffe.Object, **_others: Any) -> None:
        """Rewrites the docstring of a class, function or module."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text of a docstring with its examples in fences. Keeps existing fences."""
    lines, inside, code = list[str](), False, False
    for line in text.splitlines():
        code ^= line.lstrip().startswith("```")
        if not code and not inside and line.startswith(">>> "):
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line.replace("<BLANKLINE>", "") if inside else line)
    return "\n".join([*lines, "```"] if inside else lines)
