"""Imports the library `confluent_kafka` on first use."""

from __future__ import annotations

import importlib
from typing import Any


def confluent_kafka(module: str = "") -> Any:
    """The package `confluent_kafka`, or one of its modules.

    Raises:
        ImportError: it is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(f"confluent_kafka.{module}" if module else "confluent_kafka")
    except ImportError as error:
        raise ImportError(
            f"windrow.kafka: got a Python without confluent-kafka ({error}); allowed: one that has it "
            "(pip install confluent-kafka)",
            name="confluent_kafka",
        ) from error
