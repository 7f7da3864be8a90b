"""How many examples a property is tried with."""

from __future__ import annotations

from hypothesis import settings


def usually(usual: int) -> settings:
    """`usual` examples, or in proportion as many as the profile has where others are tried 100 times."""
    return settings(max_examples=max(1, settings().max_examples * usual // 100))
