"""Records of a topic, by the letter of docs/explanation/stream-time.md: which are ticks, and which time they have."""

from __future__ import annotations

import struct
from typing import Any

NINE = 1_767_258_000_000  # 2026-01-01 09:00
END_OF_9999 = 253_402_300_799_999
OWN_TIME = 7
"""The timestamp of each record, in milliseconds."""


def body(time: int = NINE, version: int = 1) -> bytes:
    """The value of the header."""
    return struct.pack(">BQQ", version, time, 3) + bytes(range(16))


def control(time: int = NINE, **given: Any) -> dict[str, Any]:
    """A control message."""
    return {"headers": [("windrow.progress", body(time, **given))]}


def poc(text: bytes | None) -> dict[str, Any]:
    """A control message of the proof of concept."""
    return {"headers": [("control", text)]}


CASES: dict[str, tuple[dict[str, Any], bool, int | None]] = {
    # what a record has, whether it is a tick, and its time; a damaged tick has none, data has its own
    "data": ({"key": b"k", "value": b"v"}, False, OWN_TIME),
    "data without headers": ({"value": b"v", "headers": []}, False, OWN_TIME),
    "a tombstone": ({"key": b"k"}, False, OWN_TIME),
    "neither key nor value": ({}, False, OWN_TIME),
    "another header": ({"headers": [("x", b"1"), ("Windrow.progress", body())]}, False, OWN_TIME),
    "ours": (control(), True, NINE),
    "ours with a key": ({"key": b"progress"} | control(), True, NINE),
    "ours at 0": (control(0), True, 0),
    "ours at the end of 9999": (control(END_OF_9999), True, END_OF_9999),
    "ours after it": (control(END_OF_9999 + 1), True, None),
    "ours beyond 48 bits": (control(2**48 + NINE), True, None),
    "ours beyond 63 bits": (control(2**63 + NINE), True, None),
    "ours below zero": (control(2**64 - 1), True, None),
    "version 0": (control(version=0), True, None),
    "version 2": (control(version=2), True, None),
    "too short": ({"headers": [("windrow.progress", body()[:-1])]}, True, None),
    "too long": ({"headers": [("windrow.progress", body() + b"\0")]}, True, None),
    "empty": ({"headers": [("windrow.progress", b"")]}, True, None),
    "null": ({"headers": [("windrow.progress", None)]}, True, None),
    "twice": ({"headers": [("windrow.progress", body())] * 2}, True, None),
    "ours among others": ({"headers": [("a", b"b"), ("windrow.progress", body(5)), ("control", b"6")]}, True, 5),
    "ours that is damaged beside the other": ({"headers": [("windrow.progress", b""), ("control", b"6")]}, True, None),
    "data with a copied header": ({"value": b"v"} | control(), False, OWN_TIME),
    "data with an empty value": ({"value": b""} | control(), False, OWN_TIME),
    "theirs": (poc(b"1767258000000"), True, NINE),
    "theirs with a key": ({"key": b"k"} | poc(b"5"), False, OWN_TIME),
    "theirs with a value": ({"value": b"v"} | poc(b"5"), False, OWN_TIME),
    "theirs at the end of 9999": (poc(b"%d" % END_OF_9999), True, END_OF_9999),
    "theirs after it": (poc(b"%d" % (END_OF_9999 + 1)), True, None),
    "theirs twice": ({"headers": [("control", b"5"), ("control", b"5")]}, True, None),
    "theirs with leading zeros": (poc(b"000000000000005"), True, 5),
    **{
        f"theirs as {text!r}": (poc(text), True, None)
        for text in (b"", b"-1", b"+1", b"1.5", b" 1", b"1\n", b"1e3", b"0x1", b"9" * 16, b"\xd9\xa1", b"\xff", None)
    },
}
