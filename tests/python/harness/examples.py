"""The number of examples for a property test."""

from __future__ import annotations

from hypothesis import settings


def usually(usual: int) -> settings:
    """`usual` examples, scaled by the profile's number of examples divided by 100."""
    return settings(max_examples=max(1, settings().max_examples * usual // 100))
