"""The control message: a record without a value, with a partition's event time in a header.

```text
header windrow.progress  ┌─ version ─┬─ event time ──┬─ sequence ────┬─ producer id ─┐
                         │ 1 byte: 1 │ 8 bytes, ms   │ 8 bytes       │ 16 bytes      │    33 bytes, big-endian
                         └───────────┴───────────────┴───────────────┴───────────────┘
```
The page `docs/explanation/stream-time.md` explains the format.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from windrow._arguments.errors import bad_type, bad_value
from windrow._arguments.integer import integer

HEADER = "windrow.progress"
"""A record without a value and with this header is a control message."""

VERSION = 1
"""The version of the header format."""

SIZE = 33
"""The number of bytes in the header's value."""

LATEST = 253_402_300_799_999
"""The largest event time, in milliseconds: the end of the year 9999, the last year of timestamps."""

POC_HEADER = "control"
"""The header of the proof of concept, on a record without key and value: milliseconds in decimal digits."""

POC_DIGITS = 15
"""The largest number of digits in the proof of concept's times."""

Headers = Iterable[tuple[str, bytes | None]]
"""The headers of a record, as `confluent_kafka` gives them."""

_FIELDS = struct.Struct(">BqQ16s")


@dataclass(frozen=True)
class ControlMessage:
    """A partition's event time, sent by a producer that knows it.

    Attributes:
        event_time: the partition's event time, in milliseconds since 1970 (0 to the end of the year 9999).
        sequence: how many control messages this producer sent to this partition before (0 to 2**64 - 1).
        producer_id: the sender; each `ProgressProducer` and ticker has a random id.

    Raises:
        ValueError: a number is out of range.
        TypeError: a value has another type.

    >>> message = ControlMessage(1_767_254_400_000, 7, UUID("00112233-4455-6677-8899-aabbccddeeff"))
    >>> message.headers()[0][1].hex(" ", 8)
    '01 0000019b78921c00 0000000000000007 0011223344556677 8899aabbccddeeff'
    """

    event_time: int
    sequence: int
    producer_id: UUID

    def __post_init__(self) -> None:
        """Checks the ranges."""
        for name, value, largest in (
            ("event_time", self.event_time, LATEST),
            ("sequence", self.sequence, 2**64 - 1),
        ):
            number = integer(name, value, "an integer", most=largest, bounds=f"0 to {largest}")
            object.__setattr__(self, name, number)
        if not isinstance(self.producer_id, UUID):
            raise bad_type("producer_id", self.producer_id, "a uuid.UUID")

    def headers(self) -> list[tuple[str, bytes]]:
        """The headers of the record. Produce it without a value.

        >>> [name for name, _ in ControlMessage(0, 0, UUID(int=1)).headers()]
        ['windrow.progress']
        """
        return [(HEADER, _FIELDS.pack(VERSION, self.event_time, self.sequence, self.producer_id.bytes))]

    @classmethod
    def read(cls, value: object, headers: Headers | None) -> ControlMessage | None:
        """The control message in a record; None for a data record.

        A record with a value is always data: some programs copy headers from record to record.

        Args:
            value: the value of the record.
            headers: its headers.

        Raises:
            ValueError: a damaged control message, or one of another version. It is not data, and has no time.

        >>> sent = ControlMessage(1_767_254_400_000, 7, UUID(int=1))
        >>> ControlMessage.read(None, sent.headers()) == sent
        True
        >>> ControlMessage.read(b"data", sent.headers()) is None
        True
        >>> ControlMessage.read(None, [("windrow.progress", b"cut")])
        Traceback (most recent call last):
            ...
        ValueError: windrow.progress: got 3 bytes; allowed: 33 bytes
        """
        bodies = [body for name, body in headers or () if name == HEADER]
        if value is not None or not bodies:
            return None
        (body,) = bodies if len(bodies) == 1 else (None,)
        if body is None:
            raise bad_value(HEADER, bodies, "one header with a value")
        if len(body) != SIZE:
            raise ValueError(f"{HEADER}: got {len(body)} bytes; allowed: {SIZE} bytes")
        version, event_time, sequence, producer_id = _FIELDS.unpack(body)
        if version != VERSION:
            raise bad_value(HEADER, version, f"version {VERSION}")
        if not 0 <= event_time <= LATEST:
            raise bad_value(HEADER, event_time, f"an event time from 0 to {LATEST}")
        return cls(event_time, sequence, UUID(bytes=producer_id))


def is_control(key: object, value: object, headers: Headers | None) -> bool:
    """Whether a record is a control message, including damaged ones and those of the proof of concept.

    >>> is_control(None, None, [("control", b"1767254400000")])
    True
    >>> is_control(b"ann", None, [("control", b"1767254400000")])
    False
    """
    names = {name for name, _ in headers or ()}
    return value is None and (HEADER in names or (key is None and POC_HEADER in names))


def event_time(key: object, value: object, headers: Headers | None) -> int | None:
    """The time in a control message of either form, in milliseconds. None for a damaged one and for data.

    >>> event_time(None, None, [("control", b"1767254400000")])
    1767254400000
    """
    pairs = list(headers or ())
    if not is_control(key, value, pairs):
        return None
    try:
        message = ControlMessage.read(value, pairs)
    except ValueError:
        return None
    if message is not None:
        return message.event_time
    texts = [text for name, text in pairs if name == POC_HEADER]
    if len(texts) != 1 or re.fullmatch(rb"[0-9]{1,%d}" % POC_DIGITS, texts[0] or b"") is None:
        return None
    time = int(texts[0] or b"")
    return time if time <= LATEST else None
