"""The number of examples for a property test."""

from __future__ import annotations

from hypothesis import settings


def usually(usual: int) -> settings:
    """`usual` examples, scaled by the profile. The default profile runs 100 examples."""
    return settings(max_examples=max(1, settings().max_examples * usual // 100))
