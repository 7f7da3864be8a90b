"""Control messages: written and read to the byte, and damaged ones, which are neither data nor a time."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.kafka._control import ControlMessage, event_time, is_control

ID = UUID("00112233-4455-6677-8899-aabbccddeeff")
END_OF_9999 = 253_402_300_799_999


def body(version: int = 1, time: int = 1_767_254_400_000, sequence: int = 7, producer: bytes = ID.bytes) -> bytes:
    return struct.pack(">BQQ", version, time, sequence) + producer


def test_the_bytes_are_those_of_the_page() -> None:
    assert ControlMessage(1_767_254_400_000, 7, ID).headers() == [
        (
            "windrow.progress",
            bytes.fromhex("01 00 00 01 9b 78 92 1c 00 00 00 00 00 00 00 00 07")
            + bytes.fromhex("00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff"),
        )
    ]


@given(st.integers(0, END_OF_9999), st.integers(0, 2**64 - 1), st.uuids())
def test_what_is_written_is_read(time: int, sequence: int, producer: UUID) -> None:
    headers = ControlMessage(time, sequence, producer).headers()
    assert headers[0][1] == struct.pack(">BQQ", 1, time, sequence) + producer.bytes
    assert ControlMessage.read(None, headers) == ControlMessage(time, sequence, producer)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((-1, 0, ID), "event_time: got -1; allowed: 0 to 253402300799999"),
        ((END_OF_9999 + 1, 0, ID), "event_time: got 253402300800000; allowed: 0 to"),
        ((0, 2**64, ID), "sequence: got 18446744073709551616; allowed: 0 to 18446744073709551615"),
        ((0, -1, ID), "sequence: got -1; allowed"),
    ],
)
def test_ranges_are_checked(given: tuple[int, int, UUID], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ControlMessage(*given)


@pytest.mark.parametrize("given", [(True, 0, ID), (1.5, 0, ID), (0, "1", ID), (0, 0, "id")])
def test_types_are_checked(given: tuple[object, object, object]) -> None:
    with pytest.raises(TypeError, match="allowed: an? (integer|uuid)"):
        ControlMessage(*given)  # type: ignore[arg-type]


DAMAGED = {
    "too short": [("windrow.progress", body()[:-1])],
    "too long": [("windrow.progress", body() + b"\0")],
    "empty": [("windrow.progress", b"")],
    "null": [("windrow.progress", None)],
    "version 0": [("windrow.progress", body(version=0))],
    "version 2": [("windrow.progress", body(version=2))],
    "after the year 9999": [("windrow.progress", body(time=END_OF_9999 + 1))],
    "negative": [("windrow.progress", body(time=2**64 - 1))],
    "two headers": [("windrow.progress", body()), ("windrow.progress", body())],
}


@pytest.mark.parametrize("headers", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_message_is_no_data_and_has_no_time(headers: list[tuple[str, bytes | None]]) -> None:
    with pytest.raises(ValueError, match=r"windrow\.progress: got .*; allowed: "):
        ControlMessage.read(None, headers)
    assert is_control(None, None, headers)
    assert event_time(None, None, headers) is None


def test_the_last_times_on_both_sides_of_the_bound() -> None:
    assert event_time(None, None, [("windrow.progress", body(time=END_OF_9999))]) == END_OF_9999
    assert event_time(None, None, [("control", b"%d" % END_OF_9999)]) == END_OF_9999
    assert event_time(None, None, [("control", b"%d" % (END_OF_9999 + 1))]) is None


@pytest.mark.parametrize("headers", [None, [], [("other", b"1")], [("Windrow.progress", body())]])
def test_a_record_without_the_header_is_data(headers: list[tuple[str, bytes]] | None) -> None:
    assert ControlMessage.read(None, headers) is None
    assert not is_control(None, None, headers)


def test_a_record_with_a_value_is_data_with_any_copied_headers() -> None:
    headers = [("windrow.progress", body()), ("control", b"5")]
    assert ControlMessage.read(b"", headers) is None
    assert not is_control(None, b"", headers)
    assert event_time(None, b"", headers) is None


def test_other_headers_and_a_key_do_not_matter() -> None:
    headers = [("traceparent", b"x"), ("windrow.progress", body()), ("control", b"nonsense")]
    assert event_time(b"key", None, headers) == 1_767_254_400_000


@pytest.mark.parametrize("text", [b"", b"-1", b"+1", b"1.0", b" 1", b"1\n", b"0x1", b"1" * 16, b"\xd9\xa1", None])
def test_a_damaged_time_of_the_proof_of_concept_is_none(text: bytes | None) -> None:
    assert is_control(None, None, [("control", text)])
    assert event_time(None, None, [("control", text)]) is None


def test_the_header_of_the_proof_of_concept_is_data_on_a_record_with_a_key_or_a_value() -> None:
    headers = [("control", b"1767254400000")]
    assert event_time(None, None, headers) == 1_767_254_400_000
    assert not is_control(b"key", None, headers)
    assert not is_control(None, b"value", headers)
