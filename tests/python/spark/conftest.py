"""Spark as windrow wants it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import windrow


@pytest.fixture(scope="session", autouse=True)
def configured(spark: SparkSession) -> None:
    """The runtime settings that matter to windrow, as a user makes them."""
    windrow.configure(spark)
