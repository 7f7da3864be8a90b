"""A mkdocs hook that formats Python code of the site for 85 columns. The sources have up to 120."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

COLUMNS = 85
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def on_page_markdown(markdown: str, **_others: Any) -> str:
    """Rewrites the text of a page before mkdocs renders it."""
    return PYTHON.sub(lambda found: f"```python\n{formatted(found[1])}```", markdown)


def formatted(code: str) -> str:
    """The code in lines of 85 columns where it has longer ones."""
    if all(len(line) <= COLUMNS for line in code.splitlines()):
        return code
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", str(COLUMNS), "-"]
    ran = subprocess.run(command, input=code, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise ValueError(f"ruff cannot format the code of a page: {ran.stderr}\n{code}")
    return ran.stdout
