"""Griffe extensions for the site: docstring examples (`>>>`) become code blocks, private parameters are hidden."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Puts a fence around each example, from `>>>` to the next empty line."""

    def on_object(self, *, obj: griffe.Object, **_others: Any) -> None:
        """Rewrites the docstring of a class, function or module."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


class Public(griffe.Extension):
    """Hides parameters that begin with `_`. The built-in extension `dataclasses` must come first."""

    def on_package(self, *, pkg: griffe.Module, **_others: Any) -> None:
        """Rewrites the signatures of a package."""
        for owner in _owners(pkg):
            for member in owner.members.values():
                if isinstance(member, griffe.Function):
                    hide(member.parameters)


def hide(parameters: griffe.Parameters) -> None:
    """Removes private parameters."""
    for parameter in [each for each in parameters if each.name.startswith("_")]:
        del parameters[parameter.name]


def _owners(owner: griffe.Object) -> Iterator[griffe.Object]:
    """A package, its modules and their classes."""
    yield owner
    for member in owner.members.values():
        if isinstance(member, griffe.Module | griffe.Class):
            yield from _owners(member)


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
