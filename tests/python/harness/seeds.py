"""The seeds of random streams."""

from __future__ import annotations

from typing import Any

import pytest


def blocks(seeds: int, together: int) -> list[Any]:
    """The first seed of each block of `together` seeds. `make soak` alone plays two of three blocks."""
    firsts = range(0, seeds, together)
    return [pytest.param(first, marks=[pytest.mark.soak] if first >= seeds / 3 else []) for first in firsts]
