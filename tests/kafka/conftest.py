"""One broker and one Spark with the connector for all tests here; each starts with the first test that takes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .broker import Broker


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """A broker that is killed, and its folder removed, also when a test fails."""
    from .broker import Broker

    with Broker() as started:
        yield started


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """In place of the Spark of all other tests, whose class path has no connector."""
    from . import session

    started = session.start(
        "windrow kafka tests",
        spark_sql_streaming_numRecentProgressUpdates="1000",
        spark_driver_extraJavaOptions=session.QUICK_START,
    )
    yield started
    started.stop()
