"""The arguments of tools: a bad one ends the run with one sentence."""

from __future__ import annotations

import re


def stop(sentence: str) -> SystemExit:
    """An end with one sentence."""
    return SystemExit(f"windrow: {sentence}")


def number(name: str, text: str, least: int) -> int:
    """A whole number that was given as text."""
    if not re.fullmatch(r"\d{1,18}", text) or int(text) < least:
        raise stop(f"{name}: got {text!r}; allowed: a whole number from {least}")
    return int(text)
