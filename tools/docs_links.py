"""A mkdocs hook that points links to files outside docs/ at the repository."""

from __future__ import annotations

import posixpath
import re
from typing import Any

UP = re.compile(r"\]\((\.\./[^)\s]+)\)")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_others: Any) -> str:
    """Rewrites the text of a page before mkdocs renders it."""
    base = f"{str(config.repo_url).rstrip('/')}/blob/main/"
    folder = posixpath.dirname(f"docs/{page.file.src_uri}")

    def absolute(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, found[1]))
        return found[0] if path.startswith("docs/") else f"]({base}{path})"

    return UP.sub(absolute, markdown)
