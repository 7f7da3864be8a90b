"""Waiting for something to be there, and no longer than a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
STEP = 0.05
"""Seconds."""


def until(there: Callable[[], T], seconds: float, what: str, step: float = STEP) -> T:
    """Asks again, each `step` seconds, until the answer is true, and returns it.

    Raises:
        TimeoutError: it is not true within this many seconds; the message has what was awaited, and the last answer.
    """
    limit = time.monotonic() + seconds
    while not (answer := there()):
        if time.monotonic() > limit:
            raise TimeoutError(f"{what}: not within {seconds:g} s, the last answer is {answer!r}")
        time.sleep(step)
    return answer
