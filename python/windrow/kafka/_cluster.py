"""Queries to a Kafka cluster: which partitions exist, where they end, and which records are near their ends."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

from windrow._arguments.errors import bad_type, bad_value
from windrow.kafka._control import Headers
from windrow.kafka._library import confluent_kafka
from windrow.kafka._options import client_settings

_SHARED = (
    "allow.auto.create.topics",
    "api.version.",
    "bootstrap.servers",
    "broker.",
    "client.",
    "connections.",
    "debug",
    "enable.metrics.push",
    "enable.ssl.",
    "enable.sasl.",
    "https.",
    "log",
    "metadata.",
    "oauth_cb",
    "reconnect.",
    "resolve_",
    "retry.",
    "sasl.",
    "security.",
    "socket.",
    "ssl",
)
"""Prefixes of settings that every kind of client accepts."""


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        """The form of Kafka's tools."""
        return f"{self.topic}-{self.partition}"


class Ends(NamedTuple):
    """Where a partition ends.

    Attributes:
        high: the offset of the next record.
        stable: the offset of the first record of an open transaction (Kafka's last stable offset); else `high`.
    """

    high: int
    stable: int


class Record(NamedTuple):
    """The fields of a record that matter for control messages.

    Attributes:
        offset: its offset in the partition.
        timestamp: its time in milliseconds; None if it has none.
        key: its key.
        value: its value.
        headers: its headers.
    """

    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers


class Cluster(Protocol):
    """A Kafka cluster. Tests use one in memory."""

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """The partitions of these topics. Raises the client's errors, and `LookupError` for a missing topic."""

    def ends(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, Ends | Exception]:
        """The ends of these partitions. An error replaces an unknown end."""

    def records(self, partition: TopicPartition, start: int, end: int) -> Iterator[Record]:
        """The records of a partition from offset `start` to before `end`, without transaction markers."""

    def close(self) -> None:
        """Closes the connections."""


class KafkaCluster:
    """A cluster that uses an admin client and a consumer without a group. Creates both on first use."""

    def __init__(self, config: Mapping[str, object], *, timeout: int, committed: bool) -> None:
        """Takes the settings of a client.

        Args:
            config: settings of `confluent_kafka`; settings for producers only are ignored.
            timeout: how long to wait for an answer, in milliseconds.
            committed: whether to skip records of open and aborted transactions.

        Raises:
            TypeError: `bootstrap.servers` is not text.
            ValueError: `bootstrap.servers` is missing.
            ImportError: `confluent_kafka` is not installed.
        """
        settings = {name: value for name, value in client_settings(config).items() if name.startswith(_SHARED)}
        servers = settings.get("bootstrap.servers")
        if not servers or not isinstance(servers, str):
            bad = bad_type if servers else bad_value
            allowed = "the brokers of the cluster, such as 'localhost:9092', which are asked where partitions end"
            raise bad("config: bootstrap.servers", servers, allowed)
        self._library = confluent_kafka()
        self._settings = settings
        self._timeout = timeout / 1000
        self._committed = committed
        self._admin: Any = None
        self._consumer: Any = None

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """The partitions of these topics."""
        # Lists all topics, because a broker may create a topic that is requested by name.
        every, partitions = self._administrator().list_topics(timeout=self._timeout).topics, []
        for topic in topics:
            metadata = every.get(topic)
            if metadata is None or metadata.error is not None:
                raise LookupError(f"topic {topic!r}: {'it is absent' if metadata is None else metadata.error.str()}")
            partitions += [TopicPartition(topic, number) for number in sorted(metadata.partitions)]
        return partitions

    def ends(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, Ends | Exception]:
        """The ends of these partitions."""
        wanted = list(partitions)
        level = self._library.IsolationLevel
        high, stable = self._offsets(wanted, level.READ_UNCOMMITTED), self._offsets(wanted, level.READ_COMMITTED)
        ends: dict[TopicPartition, Ends | Exception] = {}
        for partition in wanted:
            both = high[partition], stable[partition]
            failed = next((one for one in both if isinstance(one, Exception)), None)
            # The stable offset was read later, so it may be past the end.
            ends[partition] = failed if failed is not None else Ends(both[0], min(both))
        return ends

    def records(self, partition: TopicPartition, start: int, end: int) -> Iterator[Record]:
        """The records of a partition. Raises `TimeoutError` if they do not arrive."""
        if start >= end:
            return
        library, consumer = self._library, self._reader()
        consumer.assign([library.TopicPartition(partition.topic, partition.partition, start)])
        deadline = time.monotonic() + self._timeout
        try:
            while (left := deadline - time.monotonic()) > 0:
                message = consumer.poll(left)
                if message is None:
                    continue
                error = message.error()
                if error is not None and error.code() == library.KafkaError._PARTITION_EOF:
                    return
                if error is not None and error.code() == library.KafkaError.GROUP_AUTHORIZATION_FAILED:
                    continue  # a consumer must name a group, but this one does not use it
                if error is not None:
                    raise library.KafkaException(error)
                if message.offset() >= end:
                    return
                kind, timestamp = message.timestamp()
                record_time = timestamp if kind != library.TIMESTAMP_NOT_AVAILABLE else None
                headers = message.headers() or []
                yield Record(message.offset(), record_time, message.key(), message.value(), headers)
                if message.offset() == end - 1:
                    return
            raise TimeoutError(f"{partition}: no answer within {self._timeout} s")
        finally:
            consumer.unassign()

    def close(self) -> None:
        """Closes the consumer, if there is one."""
        if self._consumer is not None:
            self._consumer.close()
        self._consumer = self._admin = None

    def _administrator(self) -> Any:
        if self._admin is None:
            self._admin = confluent_kafka("admin").AdminClient(self._settings)
        return self._admin

    def _reader(self) -> Any:
        if self._consumer is None:
            settings = {
                "group.id": f"windrow-progress-{uuid4()}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 50,  # reports the end of a partition without a long wait
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed" if self._committed else "read_uncommitted",
            }
            self._consumer = self._library.Consumer(self._settings | settings)
        return self._consumer

    def _offsets(self, partitions: list[TopicPartition], level: Any) -> dict[TopicPartition, Any]:
        latest = confluent_kafka("admin").OffsetSpec.latest()
        requests = {self._library.TopicPartition(*partition): latest for partition in partitions}
        options = {"isolation_level": level, "request_timeout": self._timeout}
        offsets: dict[TopicPartition, Any] = {}
        for partition, answer in self._administrator().list_offsets(requests, **options).items():
            place = TopicPartition(partition.topic, partition.partition)
            try:
                offsets[place] = answer.result(self._timeout + 1).offset
            except Exception as error:  # the library's error for this partition
                offsets[place] = error
                self._admin = None  # a client caches the leader's epoch; after a broker restart all its requests fail
        return offsets
