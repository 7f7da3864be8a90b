"""Control messages: written and read to the byte, and damaged ones, which are neither data nor a time."""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.kafka._control import ControlMessage, event_time, is_control

from ..harness.control_messages import CASES, END_OF_9999

ID = UUID("00112233-4455-6677-8899-aabbccddeeff")


def test_the_bytes_are_those_of_the_page() -> None:
    numbers = bytes.fromhex("01 00 00 01 9b 78 92 1c 00 00 00 00 00 00 00 00 07")
    assert ControlMessage(1_767_254_400_000, 7, ID).headers() == [("windrow.progress", numbers + ID.bytes)]


@given(st.integers(0, END_OF_9999), st.integers(0, 2**64 - 1), st.uuids())
def test_what_is_written_is_read(time: int, sequence: int, producer: UUID) -> None:
    headers = ControlMessage(time, sequence, producer).headers()
    assert headers[0][1] == struct.pack(">BQQ", 1, time, sequence) + producer.bytes
    assert ControlMessage.read(None, headers) == ControlMessage(time, sequence, producer)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((-1, 0, ID), ValueError, "event_time: got -1; allowed: 0 to 253402300799999"),
        ((END_OF_9999 + 1, 0, ID), ValueError, "event_time: got 253402300800000; allowed: 0 to"),
        ((0, 2**64, ID), ValueError, "sequence: got 18446744073709551616; allowed: 0 to 18446744073709551615"),
        ((0, -1, ID), ValueError, "sequence: got -1; allowed"),
        ((True, 0, ID), TypeError, "allowed: an integer"),
        ((1.5, 0, ID), TypeError, "allowed: an integer"),
        ((0, "1", ID), TypeError, "allowed: an integer"),
        ((0, 0, "id"), TypeError, "allowed: a uuid"),
    ],
)
def test_ranges_and_types_are_checked(given: tuple[Any, Any, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ControlMessage(*given)


@pytest.mark.parametrize("case", CASES)
def test_a_record_is_data_or_a_tick_with_a_time_or_without(case: str) -> None:
    record, is_tick, time = CASES[case]
    key, value, headers = (record.get(name) for name in ("key", "value", "headers"))
    assert is_control(key, value, headers) == is_tick
    assert event_time(key, value, headers) == (time if is_tick else None)
    is_ours = is_tick and any(name == "windrow.progress" for name, _ in record["headers"])
    if is_ours and time is None:
        with pytest.raises(ValueError, match=r"windrow\.progress: got .*; allowed: "):
            ControlMessage.read(value, headers)
    else:
        message = ControlMessage.read(value, headers)
        assert (message and message.event_time) == (time if is_ours else None)
