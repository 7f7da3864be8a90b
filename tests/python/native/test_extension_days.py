"""Extension types of Arrow in a daily job: the core knows their storage only, so another meaning is refused."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from windrow.testing import StreamDriver

from .test_nested_days import ENDS, TIMES, day, windowed


class Length(pa.ExtensionType):
    def __init__(self, unit: str) -> None:
        self.unit = unit
        super().__init__(pa.int64(), "windrow.length")

    def __arrow_ext_serialize__(self) -> bytes:
        return self.unit.encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Length:
        del storage
        return cls(serialized.decode())


class Mass(pa.ExtensionType):
    def __init__(self) -> None:
        super().__init__(pa.int64(), "windrow.mass")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, serialized: bytes) -> Mass:
        del storage, serialized
        return cls()


REGISTERED = (Length(""), Mass())


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    for each in REGISTERED:
        pa.register_extension_type(each)
    yield
    for each in REGISTERED:
        pa.unregister_extension_type(each.extension_name)


def of_storage(kind: Any, value: Any = 1) -> Any:
    return pa.ExtensionArray.from_storage(kind, pa.array([value], kind.storage_type))


def tensor(*shape: int) -> Any:
    return of_storage(pa.fixed_shape_tensor(pa.int8(), shape), [1, 2, 3, 4])


COLUMNS: dict[str, tuple[Any, str]] = {
    "m": (of_storage(Length("m")), "extension<windrow.length, m>"),
    "km": (of_storage(Length("km")), "extension<windrow.length, km>"),
    "mass": (of_storage(Mass()), "extension<windrow.mass>"),
    "2 by 2": (tensor(2, 2), "extension<arrow.fixed_shape_tensor[value_type=int8, shape=[2,2]]>"),
    "4": (tensor(4), "extension<arrow.fixed_shape_tensor[value_type=int8, shape=[4]]>"),
}


def from_parquet(table: pa.Table, *, known: bool) -> pa.Table:
    """The table after a file. `known`: whether the reader knows the types of this module."""
    file = io.BytesIO()
    pq.write_table(table, file)
    if not known:
        for each in REGISTERED:
            pa.unregister_extension_type(each.extension_name)
    try:
        return pq.read_table(file)
    finally:
        if not known:
            for each in REGISTERED:
                pa.register_extension_type(each)


def nested(column: Any) -> Any:
    return pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), column)


CALLS: Mapping[str, Any] = {"x": wr.last("x")}
LISTS: Mapping[str, Any] = {"x": wr.collect_list("x")}
COUNT: Mapping[str, Any] = {"n": wr.count()}


@pytest.mark.parametrize("file", ["none", "known", "unknown"])
@pytest.mark.parametrize(
    ("key", "calls", "made"),
    [
        ("x", COUNT, lambda column: column),
        ("x", COUNT, nested),
        ("user", CALLS, lambda column: column),
        ("user", CALLS, nested),
        ("user", LISTS, lambda column: column),
    ],
    ids=["key", "key of lists", "value", "value of lists", "list"],
)
@pytest.mark.parametrize(
    ("before", "after"), [("m", "km"), ("m", "mass"), ("mass", "km"), ("2 by 2", "4"), ("4", "2 by 2")]
)
def test_another_extension_type_of_the_same_storage_is_refused(
    before: str, after: str, key: str, calls: Mapping[str, Any], made: Any, file: str
) -> None:
    (one, was), (other, now) = COLUMNS[before], COLUMNS[after]
    still_open = windowed(day(0, made(one)), key).advance(None, to=ENDS[0], **calls).still_open
    if file != "none":
        still_open = from_parquet(still_open, known=file == "known")
    with pytest.raises(ValueError, match="^open: ") as refused:
        windowed(day(1, made(other)), key).advance(still_open, to=ENDS[1], **calls)
    says = f"open: column 'x' was {was} in the run before, and is {now} now; allowed: {was}; or None to begin anew"
    assert str(refused.value) == says
    closed = windowed(day(1, made(one)), key).advance(still_open, to=ENDS[1], **calls).closed
    assert closed.num_rows == 1


@pytest.mark.parametrize("key", ["x", "user"])
def test_a_table_that_has_lost_its_extension_type_goes_on(key: str) -> None:
    """As after a library that does not have them."""
    calls = COUNT if key == "x" else CALLS
    still_open = windowed(day(0, COLUMNS["m"][0]), key).advance(None, to=ENDS[0], **calls).still_open
    place = still_open.column_names.index("x")
    plain = still_open.set_column(place, "x", still_open["x"].cast(pa.int64()))
    assert windowed(day(1, COLUMNS["m"][0]), key).advance(plain, to=ENDS[1], **calls).closed.num_rows == 1


def test_a_stream_does_not_start_from_another_extension_type() -> None:
    still_open = windowed(day(0, COLUMNS["m"][0]), "x").advance(None, to=ENDS[0], **COUNT).still_open

    def query(data: Any) -> Any:
        windows = wr.SessionWindows.with_gap("30 minutes", grace="1 hour")
        return wr.group_by(data, "x", time="ts").windowed_by(windows).start_from(still_open).agg(**COUNT)

    schema = {"user": pa.int64(), "ts": pa.timestamp("us"), "x": Length("km")}
    with pytest.raises(ValueError, match="^open: column 'x' was .*length, m> .*; or no start_from, to begin anew$"):
        StreamDriver(query, pa.schema(schema)).pipe(user=1, ts=TIMES[1], x=1)


def test_an_extension_type_is_named_where_a_column_gets_it() -> None:
    first = windowed(day(0, pa.array(["a"])), "x").advance(None, to=ENDS[0], **COUNT)
    with pytest.raises(ValueError, match="^open: column 'x' was string in the run before, and is extension<windrow.le"):
        windowed(day(1, COLUMNS["m"][0]), "x").advance(first.still_open, to=ENDS[1], **COUNT)
