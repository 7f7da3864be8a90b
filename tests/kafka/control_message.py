"""Control messages by the letter of docs/explanation/stream-time.md: an oracle, which imports nothing from windrow.

header windrow.progress     version 1 (1 byte), event time in ms (8), sequence (8), producer (16), big-endian
header control              the form of the proof of concept: decimal ms, on a record with neither key nor value
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from .topics import Record

Headers = list[tuple[str, bytes]]


def ours(time: int, version: int = 1, sequence: int = 0, producer: bytes = b"windrow's oracle") -> Headers:
    """The headers of a control message."""
    return [("windrow.progress", struct.pack(">BqQ16s", version, time, sequence, producer))]


def poc(time: int) -> Headers:
    """Those of the proof of concept."""
    return [("control", b"%d" % time)]


def time_of(record: Record) -> int | None:
    """The time of a record that is a control message; None for data."""
    if record.value is not None:
        return None
    for name, value in record.headers:
        if name == "windrow.progress" and value is not None:
            version, time, _, _ = struct.unpack(">BqQ16s", value)
            assert version == 1, version
            return int(time)
        if name == "control" and record.key is None and value is not None:
            return int(value)
    return None


def sequences(records: Iterable[Record]) -> dict[tuple[int, bytes], list[int]]:
    """The sequence numbers of each producer in each partition, in their order."""
    found: dict[tuple[int, bytes], list[int]] = {}
    for record in records:
        for name, value in record.headers:
            if name == "windrow.progress" and value is not None:
                _, _, sequence, producer = struct.unpack(">BqQ16s", value)
                found.setdefault((record.partition, producer), []).append(sequence)
    return found
