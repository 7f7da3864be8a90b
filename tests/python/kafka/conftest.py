"""A producer in virtual time, and the broker that librdkafka has for tests: within this process, one for each file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from .scene import DEADLINE, NINE, Scene


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """Its address."""
    mock = Producer({"bootstrap.servers": "mock:1", "test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = mock.list_topics(timeout=DEADLINE).brokers.values()
    yield f"{broker.host}:{broker.port}"
    mock.flush(0)


@pytest.fixture
def scene() -> Scene:
    """A producer that has written one record to partition 0, of the time nine."""
    made = Scene()
    made.write(NINE)
    return made
