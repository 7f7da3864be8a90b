"""A hook of mkdocs: links of pages to files outside of docs/ lead to the repository."""

from __future__ import annotations

import re
from typing import Any

OUTSIDE = re.compile(r"\]\(\.\./(?=[\w.])([^)\s]+)\)")


def on_page_markdown(markdown: str, *, config: Any, **_others: Any) -> str:
    """The text of a page, before it is rendered; pages of folders link to docs/ by `../` themselves."""
    base = f"{str(config.repo_url).rstrip('/')}/blob/main/"

    def absolute(found: re.Match[str]) -> str:
        return f"]({base}{found[1]})"

    return OUTSIDE.sub(absolute, markdown)
