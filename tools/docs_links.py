"""A mkdocs hook that turns links to files outside docs/, which a site does not have, into the paths of these files."""

from __future__ import annotations

import posixpath
import re
from typing import Any

UP = re.compile(r"\[([^\]]*)\]\((\.\./[^)\s#]+)[^)\s]*\)")


def on_page_markdown(markdown: str, *, page: Any, **_others: Any) -> str:
    """Rewrites the text of a page before mkdocs renders it."""
    folder = posixpath.dirname(f"docs/{page.file.src_uri}")

    def named(found: re.Match[str]) -> str:
        text, path = found[1], posixpath.normpath(posixpath.join(folder, found[2]))
        if path.startswith("docs/"):
            return found[0]
        return f"`{path}`" if text.strip("`") in path else f"{text} (`{path}`)"

    return UP.sub(named, markdown)
